"""Members with and without warm-up and plateau in one program, update by update."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.config import fields
from jaxeval.contracts import Batch, Corpus, Member, Metric, Split, Task
from jaxeval.population import Plateau, Training, host, member, optimisers
from jaxeval.population.member import Problem

RATE, EPOCHS = 0.5, 9


def _loss(params: Any, carry: Any, batch: Batch, key: Any, hparams: Any) -> tuple:
    """The weights of the batch's rows: each row's gradient is 1, in a place of its own."""
    del key, hparams
    chosen = params[batch.rows["place"]]
    return jnp.sum(chosen * batch.weight) / jnp.maximum(jnp.sum(batch.weight), 1.0), carry


def _score(counts: Any) -> dict[str, float]:
    return {"sum": counts["0"] + counts["1"], "0": counts["0"], "1": counts["1"]}


def _problem() -> Problem:
    """Two buckets of one row each: two updates an epoch, which dev scores tell apart."""
    task = Task(
        lambda key, batch, hparams: jnp.zeros(2),
        lambda size: (),
        _loss,
        lambda params, carry, batch, key, hparams: (params, carry),
        lambda params, batch: {str(k): params[k] * jnp.sum(batch.weight) for k in range(2)},
        _score,
        Metric("sum"),
    )
    buckets = tuple({"place": np.array([k, 0], np.int32)} for k in range(2))
    single, none = np.array([0], np.int32), np.array([], np.int32)
    split = Split((single, single), (single, none), (single, none), ())
    sgd = optimisers.Optimiser(name="sgd", clip="none", hyperparameters={"learning_rate": RATE})
    training = Training(batch_size=1, epochs=EPOCHS, patience=0, optimiser=sgd, lane_mode="map")
    return Problem(task, Corpus(buckets, ()), lambda number: split, training)


def _expected(update: int, epoch: int, hparams: dict[str, float]) -> float:
    """The rate of an update (from 1) in an epoch (from 1), by the formulas.

    dev is best after epoch 1, so that with after = 1 a decay follows epochs 3, 5, 7 ...
    """
    decays = max(0, (epoch - 2) // 2)
    rate = max(RATE * hparams["plateau_factor"] ** decays, hparams["plateau_floor"])
    w = hparams["warmup"]
    return rate * (min(update / w, math.sqrt(w / update)) if w else 1.0)


def test_schedulers_of_all_kinds_in_one_program() -> None:
    """Dies if a schedule is shared by members, a neutral value is none, a count starts anew with
    an epoch, the floor is left out, or a value is compiled in."""
    plateau = fields.active(Plateau(patience=1, factor=0.5, floor=0.1))
    none = {"plateau_factor": 1.0}
    kinds = [
        {"warmup": warmup, **plateau, **changes}
        for warmup in (0.0, 5.0)
        for changes in (none, {}, {"plateau_factor": 0.8, "plateau_floor": 0.0})
    ]
    problem = _problem()
    base = fields.active(problem.training.optimiser)
    members = [
        Member(k, 0, tuple(sorted({**base, **kind}.items()))) for k, kind in enumerate(kinds)
    ]
    population = host.Population(problem, members, len(members), jax.devices()[:1])
    order = member.steps([1, 1], 1).bucket.tolist()
    before = {who: {"0": 0.0, "1": 0.0} for who in members}
    [*population.compile()]  # one program, ahead of time: it cannot be compiled again
    while population.arrange():
        for entry in population.epoch().scores:
            if entry.part != "dev":
                continue
            hparams = dict(entry.member.hparams)
            for k, bucket in enumerate(order):
                rate = before[entry.member][str(bucket)] - entry.scores[str(bucket)]
                expected = _expected(2 * (entry.epoch - 1) + k + 1, entry.epoch, hparams)
                assert rate == pytest.approx(expected, rel=1e-5)
            before[entry.member] = dict(entry.scores)
    assert population.epochs == EPOCHS
