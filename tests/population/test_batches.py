"""Batches cut into parts, and members with batch sizes of their own, against plain batches."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.contracts import Array, Batch, Member, Task
from jaxeval.errors import ConfigError
from jaxeval.population import engine, host, lanes, member, optimisers
from jaxeval.population import epoch as epochs
from tests.population import toy

EPOCHS = 2


# (shared, lane) -> a member's first state, which knows of no batch size
_INIT = jax.jit(functools.partial(member.init, toy.problem()))


def _trained(members: list[Member], task: Task = toy.TASK, **changes: Any) -> tuple[Any, Any]:
    """Params and losses after some epochs, leaves [S, ...]; members one after the other."""
    problem = toy.problem(**changes)._replace(task=task)
    mesh = lanes.make_mesh(jax.devices()[:1])
    epoch = jax.jit(functools.partial(epochs.train_epoch, problem))
    each, losses = [], []
    for who in members:
        split = problem.split_of(who)
        shared, first = (engine._shared(of, split, mesh) for of in (problem, toy.problem()))
        inputs = engine.lane_of(problem, who, 0)
        state = _INIT(first, inputs)
        losses.append([])
        for _ in range(EPOCHS):
            state, loss = epoch(shared, state, inputs)
            losses[-1].append(float(loss))
        each.append(jax.device_get(state.params))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *each), np.array(losses)


def _in_lanes(members: list[Member], **changes: Any) -> tuple[Any, Any]:
    """The same of members that are trained side by side, in lanes of one device."""
    problem = toy.problem(**changes)
    population = host.Population(problem, members, len(members), jax.devices()[:1])
    assert population.arrange()
    flags, losses = population.flags([True] * len(members)), []
    for _ in range(EPOCHS):
        population.state, loss = population.engine.epoch(
            population.engine.shared, population.state, population.lanes, flags
        )
        losses.append(np.asarray(loss))
    return jax.device_get(population.state.params), np.transpose(losses)


def _by_value(batch: Batch) -> Array:
    return jnp.sum(batch.weight * (1.0 + batch.rows["x"][:, 0]))


def _loss_by_value(params: Any, carry: Any, batch: Batch, key: Any, hparams: Any) -> tuple:
    """The toy's loss, rows counted by their first value."""
    counted = batch.weight * (1.0 + batch.rows["x"][:, 0])
    loss, carry = toy.TASK.loss(params, carry, batch._replace(weight=counted), key, hparams)
    return loss, carry


BY_VALUE = dataclasses.replace(toy.TASK, loss=_loss_by_value, normaliser=_by_value)


def test_parts_add_up_to_the_whole() -> None:
    """Dies if parts are averaged alike, by rows instead of normaliser, or the last one is lost."""
    members = [toy.member(1, rate=0.0), toy.member(2, rate=0.0)]
    cut, whole = _trained(members, BY_VALUE, micro_batch=3), _trained(members, BY_VALUE)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), cut, whole)


def test_members_with_batch_sizes_of_their_own() -> None:
    """Dies if a member takes a step or a row more, less, or of another; if its warm-up is counted
    by the program's batch size; or if its loss is another's (50 rows in each of two buckets)."""
    sizes = [3, 64]
    plain = [toy.member(seed, rate=0.0, warmup=40.0) for seed, _ in enumerate(sizes, 1)]
    varied = [
        dataclasses.replace(
            who, hparams=tuple(sorted((*who.hparams, ("batch_size", float(size)))))
        )
        for who, size in zip(plain, sizes, strict=True)
    ]
    params, losses = _in_lanes(varied, buckets=2, micro_batch=5)
    for k, size in enumerate(sizes):
        alone, expected = _trained([plain[k]], buckets=2, batch_size=size)
        for name, leaf in alone.items():
            np.testing.assert_allclose(params[name][k], leaf[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(losses[k], expected[0], rtol=1e-5)


@pytest.mark.parametrize("at_once", [None, 4])
def test_batches_without_rows_move_nothing(at_once: int | None) -> None:
    """Dies if weights decay, or move by momentum, in batches of padding (of a block split)."""
    adam = optimisers.Optimiser(name="adam", l2=0.1)
    problem = toy.problem(optimiser=adam, micro_batch=at_once)
    split = toy.split(1, 0)._replace(padded=True)
    problem, who = problem._replace(split=lambda number: split), toy.member(1, l2=0.1)
    shared = engine._shared(problem, split, lanes.make_mesh(jax.devices()[:1]))
    lane = engine.lane_of(problem, who, 0)
    epoch = jax.jit(functools.partial(epochs.train_epoch, problem))
    begin = jax.jit(functools.partial(member.init, problem))(shared, lane)
    trained, _ = epoch(shared, begin, lane)
    empty = lane._replace(train=[np.full_like(rows, -1) for rows in lane.train])
    after, _ = epoch(shared, trained, empty)
    jax.tree.map(np.testing.assert_array_equal, after[:2], trained[:2])


def test_carried_state_is_not_cut() -> None:
    """Dies if members of a task that carries state have batch sizes of their own."""
    task = dataclasses.replace(toy.TASK, start=lambda rows: jnp.zeros(rows))
    with pytest.raises(ConfigError, match="batch_size: this task carries state"):
        host.Population(toy.problem()._replace(task=task), [toy.member(1, batch_size=4.0)], 1)


@pytest.mark.parametrize("most", [1, 7, 20, 64])
def test_evaluated_rows_are_few_more_than_asked(most: int) -> None:
    """Dies if a bucket's batches do not hold its rows, are larger than asked, or if the padded
    rows are cut otherwise; if 65 rows in batches of 64 are computed as 128."""
    problem = toy.problem(evaluation_batch_size=most)
    for rows in range(1, 300):
        size = member.evaluation_rows(problem, rows)
        padded = -(-rows // size) * size
        assert size == most or (size < most and size % 16 == 0)
        assert member.evaluation_rows(problem, padded) == size
        assert -(-rows // size) == -(-rows // most)
        assert padded < rows + min(16, most) * padded // size


def test_carried_state_keeps_the_rows() -> None:
    """Dies if a task whose state is carried from batch to batch gets other rows than asked."""
    carried = dataclasses.replace(toy.TASK, start=lambda size: jnp.zeros(size))
    problem = toy.problem(evaluation_batch_size=64)._replace(task=carried)
    assert member.evaluation_rows(problem, 65) == 64


def test_counts_of_rows_do_not_depend_on_batches() -> None:
    """Dies if the counts of a later batch are written to the rows of another."""
    each = []
    for size in (16, 5):
        problem, who = toy.problem(evaluation_batch_size=size), toy.member(1)
        lane = engine.lane_of(problem, who, 0)
        mesh = lanes.make_mesh(jax.devices()[:1])
        shared = engine._shared(problem, problem.split_of(who), mesh)
        params = jax.jit(functools.partial(member.init, problem))(shared, lane).params
        count = jax.jit(functools.partial(member.row_counts, problem))
        real = np.concatenate(lane.dev) >= 0
        counts = count(shared, params, lane, lane.dev)
        each.append({name: np.asarray(leaf)[real] for name, leaf in counts.items()})
    for name, values in each[0].items():
        np.testing.assert_array_equal(values, each[1][name])
    assert any(np.ptp(values) for values in each[0].values())
