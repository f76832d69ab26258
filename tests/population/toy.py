"""A small task of one or two row shapes, with dropout and a traced hyperparameter."""

import contextlib
import functools
from collections.abc import Generator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.config import fields
from jaxeval.contracts import Batch, Corpus, Member, Metric, Split, Task
from jaxeval.population import Training, loop, optimisers
from jaxeval.population.host import Population, Report
from jaxeval.population.member import Problem

CLASSES, VALUES = 3, 11


def _logits(params: Any, batch: Batch, keep: Any) -> jax.Array:
    embedded = params["table"][batch.rows["x"]].mean(axis=1)
    return jnp.tanh(embedded * keep) @ params["out"] + batch.shared["shift"][None]


def _loss(params: Any, carry: Any, batch: Batch, key: jax.Array, hparams: Any) -> tuple:
    keep = jax.random.bernoulli(key, 1.0 - hparams["rate"], (len(batch.weight), 8)) * 1.0
    log_p = jax.nn.log_softmax(_logits(params, batch, keep))
    chosen = jnp.take_along_axis(log_p, batch.rows["y"][:, None], axis=1)[:, 0]
    return -jnp.sum(chosen * batch.weight) / jnp.maximum(jnp.sum(batch.weight), 1.0), carry


def _count(outputs: jax.Array, batch: Batch) -> dict[str, jax.Array]:
    right = (outputs == batch.rows["y"]) * batch.weight
    return {"rows": jnp.sum(batch.weight), "right": jnp.sum(right)}


def _init(key: jax.Array, batch: Batch, hparams: Any) -> dict[str, jax.Array]:
    del batch, hparams
    first, second = jax.random.split(key)
    return {
        "table": jax.random.normal(first, (VALUES, 8)),
        "out": jax.random.normal(second, (8, CLASSES)) * 0.3,
    }


TASK = Task(
    _init,
    lambda size: (),
    _loss,
    lambda p, carry, b, key, h: (jnp.argmax(_logits(p, b, 1.0), axis=1), carry),
    _count,
    lambda counts: {"accuracy": counts["right"] / counts["rows"]},
    Metric("accuracy"),
)


def corpus(count: int) -> Corpus:
    """One or two buckets: rows of 3, of 5 values; the class depends on their sum and on noise."""
    generator = np.random.default_rng(0)
    buckets = []
    for width, rows in ((3, 90), (5, 70))[:count]:
        x = generator.integers(0, VALUES, (rows, width)).astype(np.int32)
        noise = generator.integers(0, 4, rows)
        buckets.append({"x": x, "y": ((x.sum(1) + noise) // 12 % CLASSES).astype(np.int32)})
    return Corpus(tuple(buckets), {"shift": np.zeros(CLASSES, np.float32)})


def places() -> list[np.ndarray]:
    """Where each row stands: those of the second bucket come first, from the last to the first."""
    return [np.arange(70, 160), np.arange(70)[::-1]]


def split(count: int, number: int) -> Split:
    """Rows of each bucket, shuffled by the split's number."""
    parts: list[list[np.ndarray]] = [[], [], []]
    for bucket in corpus(count).buckets:
        order = np.random.default_rng(number).permutation(len(bucket["y"])).astype(np.int32)
        for part, rows in zip(parts, np.split(order, [50, 58]), strict=True):
            part.append(rows)
    return Split(*map(tuple, parts), {})


def problem(buckets: int = 1, **changes: Any) -> Problem:
    """The toy problem with changes to its training settings; each bucket is compiled by itself."""
    settings = {
        "batch_size": 8,
        "evaluation_batch_size": 16,
        "epochs": 6,
        "patience": 2,
        "checkpoint_every": 2,
        "lane_mode": "map",
        "optimiser": optimisers.Optimiser(name="adam", hyperparameters={"learning_rate": 0.02}),
    }
    training = Training(**{**settings, **changes})
    return Problem(TASK, corpus(buckets), functools.partial(split, buckets), training)


def member(seed: int, number: int = 0, **changes: float) -> Member:
    """A member of the toy problem."""
    traced = {**fields.active(problem().training.optimiser), "rate": 0.2, **changes}
    return Member(seed, number, tuple(sorted(traced.items())))


def train(
    problem: Problem,
    members: Any,
    folder: Path,
    record: Any,
    count: int,
    *more: Any,
    **options: Any,
) -> Generator[Any, None, None]:
    """`loop.train` of a population; `more` and options are of the population."""
    population = Population(problem, members, count, *more, **options)
    return loop.train(population, folder, record)


def reports(*arguments: Any, **options: Any) -> Generator[Report, None, None]:
    """What `train` yields of epochs; closing it closes the training."""
    with contextlib.closing(train(*arguments, **options)) as events:
        for event in events:
            if isinstance(event, Report):
                yield event
