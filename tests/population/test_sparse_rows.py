"""Rows of a table updated alone against updates of all rows, bit for bit."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import studies
from jaxeval.contracts import Member
from jaxeval.data import buckets, generated
from jaxeval.population import engine, member, optimisers, schedule, sparse_rows, training

CHANGES = [
    *("data.vocabulary=all", "data.dimension=5", "data.max_widths=2", "training.batch_size=4"),
    *("model.encoder=window", "model.characters.encoder=none", "model.classifier=softmax"),
    *("model.words.trained=true", "model.words.unknown_rate=0.3", "model.dropout.kind=none"),
    *("training.optimiser.name=adagrad", "training.optimiser.clip=none"),
    "training.optimiser.hyperparameters={learning_rate=0.3}",
]


def test_an_epoch_changes_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if repeated rows are added up otherwise or written twice, if rows that another bucket
    lacks, the padding's or the unknown words' are left out, or if the state of a row is another's.

    Operation by operation: XLA may fuse others in one of both, and round other weights otherwise.
    """
    sentences = {part: generated.generate(10, 1, part) for part in ("train", "dev", "test")}
    monkeypatch.setattr(generated, "parts", lambda seed: sentences)
    monkeypatch.setattr(buckets, "choose_widths", lambda of, *rest: [int(np.median(of)), max(of)])
    prepared = studies.prepare(studies.read(None, CHANGES))
    task = prepared.problem.task
    assert task.table is not None
    begun = _begin(prepared)
    with jax.disable_jit():
        trained = [_epoch(prepared, begun, table) for table in (task.table, None)]
    for sparse, dense in zip(*map(jax.tree.leaves, trained), strict=True):
        np.testing.assert_array_equal(sparse, dense)
    state, _ = trained[0]
    words, before = (of.params["features"]["words"] for of in (state, begun))
    moved = np.any(np.asarray(words) != np.asarray(before), axis=1)
    assert moved[0] and moved[1] and moved.mean() > 0.3


def _parts(prepared: Any, table: Any) -> tuple[member.Program, member.Shared, member.Inputs]:
    problem = prepared.problem
    task = dataclasses.replace(problem.task, table=table)
    program = problem._replace(task=task).program
    split = problem.split_of(Member(3))
    steps = schedule.steps([len(rows) for rows in split.train], program.batch_size)
    assert (
        len({*steps.bucket.tolist()}) == 2 < len(steps.bucket)
    )  # which read different numbers of rows
    hparams = {"learning_rate": np.float32(0.3), "epsilon": np.float32(1e-8)}
    lane = engine.lane_of(program, Member(3, 0, (*hparams.items(),)), split, 0)
    corpus, inputs = jax.tree.map(jnp.asarray, (problem.corpus, lane.inputs))
    return program, member.Shared(corpus, schedule.Steps(*steps)), inputs


def _begin(prepared: Any) -> member.MemberState:
    program, shared, inputs = _parts(prepared, None)
    return member.init(program, shared, inputs)


def _epoch(prepared: Any, begun: member.MemberState, table: Any) -> tuple[member.MemberState, Any]:
    """State and loss after an epoch."""
    program, shared, inputs = _parts(prepared, table)
    return training.train_epoch(program, shared, begun, inputs)


@pytest.mark.parametrize("clip", ["none", "value", "global_norm"])
@pytest.mark.parametrize("l2", [0.0, 0.1])
@pytest.mark.parametrize("name", optimisers.DEFAULTS)
def test_rules_that_leave_other_rows(name: Any, l2: float, clip: Any) -> None:
    """Dies if a rule is taken to leave rows without gradient, though it moves them, changes their
    state or asks what their gradients are, or if one that does is overlooked."""
    settings = optimisers.Optimiser(name=name, l2=l2, clip=clip)
    hparams = {name: jnp.float32(x) for name, x in optimisers.DEFAULTS[name].items()}
    hparams |= {"l2": jnp.float32(l2), "clip_at": jnp.float32(0.5)}
    rule = optimisers.make(settings, hparams, jnp.int32(0), 1)
    params = jnp.array([[0.7], [-0.3]])
    _, begun = rule.update(jnp.array([[0.2], [5.0]]), rule.init(params), params)
    updates, after = rule.update(jnp.array([[0.0], [1.0]]), begun, params)
    alone, _ = rule.update(jnp.array([[1.0]]), jax.tree.map(_second, begun), params[1:])
    same = [
        bool(leaf[0] == old[0])
        for leaf, old in zip(jax.tree.leaves(after), jax.tree.leaves(begun), strict=True)
        if leaf.ndim
    ]
    leaves = bool(updates[0] == 0) and all(same) and bool(updates[1] == alone[0])
    # momentum is a member's own; a norm is the same but for the order in which it is added up
    unknown = name == "sgd" or clip == "global_norm"
    assert sparse_rows.leaves_others(settings) == (leaves and not unknown)


def _second(leaf: jax.Array) -> jax.Array:
    return leaf[1:] if leaf.ndim else leaf
