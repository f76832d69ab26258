"""Lanes are filled one by one, under `map` and `vmap`, and members scored with parameters."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import models
from jaxeval.contracts import Batch
from jaxeval.population import engine, lanes
from jaxeval.population.member import Problem
from tests.population import toy

S = 6  # lanes


def _programs(
    problem: Problem, mode: lanes.Mode = "vmap"
) -> tuple[engine.Engine, dict[str, tuple]]:
    """The programs on one device, and arguments for them."""
    split, training = problem.split(0), dataclasses.replace(problem.training, lane_mode=mode)
    mesh = lanes.make_mesh(jax.devices()[:1])
    engine_ = engine.build(problem._replace(training=training), split, mesh)
    lane = engine.lane_of(problem, toy.member(1), 0)
    state = engine.empty_state(problem, engine_.shared, lane, S)
    return engine_, engine._arguments(state, engine.stack([lane] * S), np.zeros(S, bool))


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


@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="rounds otherwise; harms no score")
def test_initial_values_do_not_depend_on_the_level_of_optimisation() -> None:
    """Dies if programs that run for moments, which are optimised less, round otherwise."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    try:
        programs, arguments = _programs(toy.problem(), "map")
        assert lanes._options(programs.mesh, brief=False) is None
        lowered = programs.fill.lower(programs.shared, *arguments["fill"])  # type: ignore[attr-defined]
        state, lane, fresh = arguments["fill"]
        each = programs.shared, state, lane, ~fresh
        less = jax.device_get(lowered.compile(lanes._options(programs.mesh, brief=True))(*each))
        most = jax.device_get(lowered.compile({"xla_backend_optimization_level": 3})(*each))
    finally:
        jax.config.update("jax_disable_most_optimizations", before)
    for one, other in zip(*map(jax.tree.leaves, (less, most)), strict=True):
        assert np.array_equal(one, other)


def test_members_are_scored_with_other_hyperparameters() -> None:
    """Dies if those for all do not reach a member, or an idle lane has a score: the accuracies of
    models that always name the same class add up to 1."""

    def predict(params: Any, carry: Any, batch: Batch, key: Any, hparams: Any) -> tuple:
        return jnp.full(len(batch.weight), hparams["rate"]).astype(jnp.int32), carry

    problem = toy.problem()._replace(task=dataclasses.replace(toy.TASK, predict=predict))
    params = jax.device_get(toy.TASK.init(jax.random.key(0), Batch((), (), (), ()), {}))
    scores = engine.scorer(problem, [toy.member(seed) for seed in (1, 2, 3)], [params] * 3)
    each = [scores("dev", {"rate": float(label)}) for label in range(toy.CLASSES)]
    assert [len(of_label) for of_label in each] == [3] * toy.CLASSES
    for own in zip(*each, strict=True):
        assert sum(score["accuracy"] for score in own) == pytest.approx(1.0)


def test_small_and_large_parameters_are_drawn_as_jax_draws_them() -> None:
    """Dies if a number depends on how many are drawn at once."""
    key = jax.random.key(3)
    for shape in (5, 3), (600, 300):
        drawn = jax.random.uniform(key, shape, minval=-0.1, maxval=0.1)
        assert (models.uniform(key, shape, 0.1) == drawn).all()
        glorot = jax.nn.initializers.glorot_uniform()(key, shape)
        assert (models.glorot_uniform(key, shape) == glorot).all()
