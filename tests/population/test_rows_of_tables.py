"""Rows of a table updated alone against updates of all rows, in NumPy."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxeval import studies
from jaxeval.contracts import Batch, Corpus, Member, Metric, Split, Table, Task
from jaxeval.data import buckets, generated
from jaxeval.population import Training, member, optimisers
from jaxeval.population import epoch as epochs

ROWS, BATCH, RATE = 40, 4, 0.3
TABLE = Table("table", lambda batch: batch.rows["x"].reshape(-1))
CHANGES = [
    *("data.vocabulary=all", "data.dimension=5", "data.max_widths=1", "training.batch_size=4"),
    *("model.encoder=window", "model.characters.encoder=none", "model.classifier=softmax"),
    *("model.words.trained=true", "model.words.unknown_rate=0.9", "model.dropout.kind=none"),
]


def _loss(params: Any, carry: Any, batch: Batch, key: Any, hparams: Any) -> tuple:
    """Half of the squared distances of all vectors to 1, times a weight."""
    rows = batch.rows["x"]
    if "place" in batch.split:
        rows = batch.split["place"][rows]
    squares = jnp.sum((params["table"][rows] - 1.0) ** 2, axis=(1, 2))
    return 0.5 * params["scale"] * jnp.sum(squares * batch.weight), carry


def _initial(key: Any, batch: Batch, hparams: Any) -> dict[str, jax.Array]:
    return {"scale": jnp.float32(1), "table": jnp.linspace(-1, 1, 2 * ROWS).reshape(ROWS, 2)}


def _toy(
    batch_size: int, table: Table | None
) -> tuple[member.Problem, member.Shared, member.Lane]:
    """A program that reads at most 5 rows of the table per row of a batch, in two buckets."""
    generator = np.random.default_rng(0)
    words = [generator.integers(2, 14, (rows, width)) for rows, width in ((10, 2), (7, 5))]
    words[1][:, 3:] += 20  # of the wider bucket alone
    unused: Any = None
    scoring = unused, unused, unused, Metric("loss")
    task = Task(_initial, lambda size: (), _loss, *scoring, table=table)
    adagrad = optimisers.Optimiser(name="adagrad", clip="value", clip_at=2.0)
    training = Training(batch_size=batch_size, optimiser=adagrad)
    steps = member.steps([10, 7], batch_size)
    hparams = {"learning_rate": np.float32(RATE), "epsilon": np.float32(1e-8)}
    hparams["clip_at"] = np.float32(2)
    rows = [np.arange(len(x), dtype=np.int32) for x in words]
    lane = member.Lane(np.uint32(3), hparams, {}, rows)
    corpus = Corpus(tuple({"x": x.astype(np.int32)} for x in words), {})
    split = Split((), (), (), {})
    problem = member.Problem(task, corpus, lambda number: split, training)
    return problem, member.Shared(corpus, steps), lane


def test_an_epoch_is_that_of_all_rows() -> None:
    """Dies if repeated rows are added up otherwise or written twice, if rows that another bucket
    lacks are left out, if others or padding are changed, or if a row's state is another's."""
    problem, shared, lane = _toy(BATCH, TABLE)
    steps, words = shared.steps, [bucket["x"] for bucket in shared.corpus.buckets]

    @jax.jit
    def epoch(shared: member.Shared, lane: member.Lane) -> tuple:
        key = member.key_of(lane.seed, member.ORDER, 0)
        state = member.init(problem, shared, lane)
        trained, _ = epochs.train_epoch(problem, shared, state, lane)
        return trained, epochs._epoch_order(key, lane.train, BATCH)

    state, order = epoch(shared, lane)
    expected, squares = _in_numpy(words, order, steps)
    sums = optax.tree.get(state.optimiser, "sum_of_squares")
    np.testing.assert_allclose(state.params["table"], expected, rtol=1e-5)
    np.testing.assert_allclose(sums["table"], squares, rtol=1e-5)
    untouched = ~np.isin(np.arange(ROWS), np.concatenate([x.ravel() for x in words]))
    assert untouched.sum() > 10 and not sums["table"][untouched].any()
    np.testing.assert_array_equal(state.params["table"][untouched], state.best["table"][untouched])


def _in_numpy(words: Any, order: Any, steps: member.Steps) -> tuple[np.ndarray, np.ndarray]:
    """The table and its sums of squares after an epoch of Adagrad over all rows."""
    table = np.linspace(-1, 1, 2 * ROWS, dtype=np.float32).reshape(ROWS, 2).astype(float)
    scale, squares, of_scale = 1.0, np.zeros_like(table), 0.0
    for bucket, batch in zip(steps.bucket, steps.batch, strict=True):
        chosen = np.asarray(order[bucket])[batch * BATCH : (batch + 1) * BATCH]
        read = words[bucket][chosen[chosen >= 0]].ravel()
        gradient = np.zeros_like(table)
        np.add.at(gradient, read, scale * (table[read] - 1))
        gradient = np.clip(gradient, -2, 2)
        by_scale = np.clip(0.5 * np.sum((table[read] - 1) ** 2), -2, 2)
        squares, of_scale = squares + gradient**2, of_scale + by_scale**2
        table = table - RATE * gradient / np.sqrt(squares + 1e-8)
        scale = scale - RATE * by_scale / np.sqrt(of_scale + 1e-8)
    return table, squares


def test_a_tagger_reads_the_rows_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the rows of a batch lack the padding's, the unknown words' or a word's, or if the
    loss or a gradient is another one with a table of these rows alone."""
    sentences = generated.sentences(1, 6)["train"]
    parts = {"train": sentences, "dev": sentences[:1], "test": sentences[1:2]}
    monkeypatch.setattr(generated, "sentences", lambda seed: parts)
    monkeypatch.setattr(buckets, "choose_shapes", lambda of, *rest: [buckets.Shape(max(of))])
    problem = studies.prepare(studies.read(None, CHANGES)).problem
    task, split = problem.task, problem.split_of(Member(3))
    table = task.table
    assert table is not None
    shared = member.Shared(problem.corpus, member.steps([6], 4))
    longest = jnp.asarray(np.argsort(problem.corpus.buckets[0]["length"])[-1:])  # not padded

    @jax.jit
    def both(shared: member.Shared, tables: Any) -> tuple:
        batch = member.gather(shared, tables, 0, longest)
        params = task.init(jax.random.key(0), batch, {})
        loss = jax.value_and_grad(lambda p, b: task.loss(p, (), b, jax.random.key(1), {})[0])
        rows, _, few, own = epochs._restrict_table(table, batch, params)
        return loss(params, batch), loss(own, few), rows

    (loss, grads), (loss_of_few, grads_of_few), rows = both(shared, split.tables)
    summed = np.zeros_like(grads["features"]["words"])
    np.add.at(summed, rows, grads_of_few["features"]["words"])
    grads_of_few["features"]["words"] = summed
    assert summed[0].any() and summed[1].any()
    for few, whole in zip(*map(jax.tree.leaves, (grads_of_few, grads)), strict=True):
        np.testing.assert_allclose(few, whole, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(loss_of_few, loss, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "l2", "clip"),
    [
        *((name, 0.0, "none") for name in optimisers.DEFAULTS),
        *[("adagrad", 0.1, "none"), ("adagrad", 0.0, "value"), ("adagrad", 0.0, "global_norm")],
    ],
)
def test_rules_that_leave_other_rows(name: Any, l2: float, clip: Any) -> None:
    """Dies if a rule is taken to leave rows without gradient, though it moves them, changes their
    state or asks what their gradients are, or if one that does is overlooked."""
    settings = optimisers.Optimiser(name=name, l2=l2, clip=clip)
    begun, updates, after, alone = jax.jit(functools.partial(_steps, settings))()
    same = [
        bool(leaf[0] == old[0])
        for leaf, old in zip(jax.tree.leaves(after), jax.tree.leaves(begun), strict=True)
        if leaf.ndim
    ]
    leaves = bool(updates[0] == 0) and all(same) and bool(updates[1] == alone[0])
    # momentum is a member's own; a norm is the same but for the order in which it is added up
    unknown = name == "sgd" or clip == "global_norm"
    assert epochs._moves_read_rows_only(settings) == (leaves and not unknown)


def _steps(settings: optimisers.Optimiser) -> tuple:
    """The state after a step in two rows; what a step in the second one changes in both, the
    state then; what the same step of this row alone changes."""
    hparams = {name: jnp.float32(x) for name, x in optimisers.DEFAULTS[settings.name].items()}
    hparams |= {"l2": jnp.float32(settings.l2), "clip_at": jnp.float32(0.5)}
    rule = optimisers.make(settings, hparams, jnp.int32(0), 1)
    params = jnp.array([[0.7], [-0.3]])
    _, begun = rule.update(jnp.array([[0.2], [5.0]]), rule.init(params), params)
    updates, after = rule.update(jnp.array([[0.0], [1.0]]), begun, params)
    alone, _ = rule.update(jnp.array([[1.0]]), jax.tree.map(_second, begun), params[1:])
    return begun, updates, after, alone


def _second(leaf: jax.Array) -> jax.Array:
    return leaf[1:] if leaf.ndim else leaf
