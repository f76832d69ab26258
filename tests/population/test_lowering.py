"""What XLA is given under `vmap`: a real branch over buckets, and one corpus for all lanes."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest
from jax import export

from jaxeval.contracts import Corpus, Split
from jaxeval.population import engine, lanes
from jaxeval.population.member import Problem
from tests import quick
from tests.population import toy

S = 6  # lanes


def _programs(
    problem: Problem, mode: lanes.Mode = "vmap"
) -> tuple[engine.Engine, dict[str, tuple]]:
    """The programs on one device, and arguments for them."""
    split, training = problem.split(0), dataclasses.replace(problem.training, lane_mode=mode)
    mesh = lanes.make_mesh(jax.devices()[:1])
    engine_ = engine.build(problem._replace(training=training), split, mesh)
    lane = engine.lane_of(problem.program, toy.member(1), split, 0)
    state = engine.empty_state(engine_, problem.program, lane, S)
    return engine_, engine.arguments(state, engine.stack([lane] * S), np.zeros(S, bool))


@pytest.mark.parametrize("micro", [None, 3])
def test_an_epoch_computes_one_bucket_a_step(micro: int | None) -> None:
    """Dies if the number of a step's bucket is given a lane axis: lax.cond over the whole epoch
    leaves a selection among all buckets, and no `case`. Micro-batches have a branch too."""
    programs, arguments = _programs(toy.problem(micro_batch=micro))
    for platform in ("cuda", "tpu"):
        exported = export.export(programs.epoch, platforms=[platform])
        text = exported(programs.shared, *arguments["epoch"]).mlir_module()
        assert text.count("stablehlo.case") == 1


def _wide(rows: int) -> Problem:
    """The toy problem on one bucket of wide rows, beside which row numbers are nothing."""
    columns = {"x": np.ones((rows, 256), np.int32), "y": np.zeros(rows, np.int32)}
    order = np.arange(rows, dtype=np.int32)
    split = Split((order[40:],), (order[:20],), (order[20:40],), {})
    corpus = Corpus((columns, columns), toy.corpus().shared)
    twice = Split(*(part * 2 for part in split[:3]), {})
    return toy.problem()._replace(corpus=corpus, split=lambda number: twice)


def test_no_program_copies_the_corpus_for_each_lane() -> None:
    """Dies if the corpus is given a lane axis, as by a lax.cond that closes over it: temporaries
    then grow by S times what the corpus grows by."""
    temporaries: dict[str, list[int]] = {}
    for rows in (500, 2000):
        programs, arguments = _programs(_wide(rows))
        for name in ("epoch", "evaluate", "fill"):
            lowered = getattr(programs, name).lower(programs.shared, *arguments[name])
            compiled = quick.compiled(lowered)
            size = compiled.memory_analysis().temp_size_in_bytes
            temporaries.setdefault(name, []).append(size)
    corpus = sum(leaf.nbytes for leaf in jax.tree.leaves(_wide(2000).corpus))
    grown = {name: after - before for name, (before, after) in temporaries.items()}
    assert max(grown.values()) < 0.2 * S * 0.75 * corpus, grown


@pytest.mark.parametrize("mode", ["map", "vmap"])
def test_only_fresh_lanes_are_filled(mode: lanes.Mode) -> None:
    """Dies if a running member is started anew beside a fresh one, or the fresh one keeps NaN or
    another part of the state of the member before it."""
    programs, arguments = _programs(toy.problem(), mode)
    state, lane, _ = arguments["fill"]
    state = jax.tree.map(lambda leaf: np.full_like(leaf, 7), state)
    state = state._replace(params=jax.tree.map(lambda leaf: leaf * np.nan, state.params))
    fresh = np.arange(S) == 2
    filled: Any = jax.device_get(programs.fill(programs.shared, state, lane, fresh))
    assert filled.epoch.tolist() == [7, 7, 0, 7, 7, 7]
    for leaf in jax.tree.leaves(filled.params):
        assert np.isnan(leaf[~fresh]).all() and np.isfinite(leaf[2]).all() and leaf[2].any()
    for leaf in jax.tree.leaves((filled.optimiser, filled.best)):
        assert (leaf[~fresh] == 7).all()
    assert not any(leaf[2].any() for leaf in jax.tree.leaves(filled.optimiser))  # Adam's zeros
    for best, params in zip(*map(jax.tree.leaves, (filled.best, filled.params)), strict=True):
        assert (best[2] == params[2]).all()
