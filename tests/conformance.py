"""The laws of a Task (jaxeval/contracts.py): every task's test calls `check` on a small corpus."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Batch, Task


class Case(NamedTuple):
    """A task with a batch that it can learn by heart."""

    task: Task
    batch: Batch  # B >= 4 rows, all of weight 1
    hparams: dict[str, Any]
    gold: Sequence[str]  # names of the row fields that hold the truth
    outcomes: int  # classes of a decision
    decisions: Callable[[Batch], float]  # decisions a row, as the loss counts them
    perfect: Callable[[Batch], Any]  # outputs that are right
    tolerance: float = 0.5  # of the untrained loss, relative
    best: float = 1.0  # value of the metric


class Compiled(NamedTuple):
    """The task's functions, compiled once for the case's shapes."""

    gradient: Callable[..., Any]  # (params, batch, key, hparams) -> (loss, gradient)
    outputs: Callable[..., Any]  # (params, batch) -> outputs
    counts: Callable[..., Any]  # (outputs, batch) -> counts
    normaliser: Callable[..., Any]  # (batch) -> []


def check(case: Case) -> None:
    """Holds a task to all laws.

    Batches and parameters are numpy's between the compiled functions: what jax computes outside
    of them is compiled operation by operation.
    """
    task, case = case.task, case._replace(batch=jax.device_get(case.batch))

    def loss(params: Any, batch: Batch, key: Any, hparams: Any) -> Any:
        return task.loss(params, task.start(len(batch.weight)), batch, key, hparams)[0]

    def outputs(params: Any, batch: Batch) -> Any:
        carry = task.start(len(batch.weight))
        return task.predict(params, carry, batch, jax.random.key(2), case.hparams)[0]

    compiled = Compiled(
        jax.jit(jax.value_and_grad(loss)),
        jax.jit(outputs),
        jax.jit(task.count),
        jax.jit(task.normaliser),
    )
    init = jax.jit(task.init)
    params = jax.device_get(init(jax.random.key(0), case.batch, case.hparams))
    _seeded(init, case, params)
    laws = (_weightless, _additive, _shared, _blind, _uninformed, _drops, _learns, _compiles_once)
    for law in laws:
        law(case, compiled, params)
    _best(case, compiled)


def _weighted(batch: Batch, weight: Any) -> Batch:
    return batch._replace(weight=np.asarray(weight, np.float32))


def _loss(case: Case, compiled: Compiled, params: Any, batch: Batch) -> Any:
    return float(compiled.gradient(params, batch, jax.random.key(1), case.hparams)[0])


def _counts(compiled: Compiled, params: Any, batch: Batch) -> dict[str, float]:
    counts = compiled.counts(compiled.outputs(params, batch), batch)
    return {name: float(value) for name, value in counts.items()}


def _seeded(init: Any, case: Case, params: Any) -> None:
    """The same key gives the same params, another key others."""
    same, other = (init(jax.random.key(seed), case.batch, case.hparams) for seed in (0, 1))
    equal = jax.tree.map(lambda a, b: np.array_equal(a, b), params, same)
    assert all(jax.tree.leaves(equal))
    differ = jax.tree.map(lambda a, b: not np.array_equal(a, b), params, other)
    assert any(jax.tree.leaves(differ))


def _weightless(case: Case, compiled: Compiled, params: Any) -> None:
    """What rows of weight 0 hold changes neither loss nor counts."""
    size = len(case.batch.weight)
    weight = np.arange(size) < size // 2
    first = _weighted(case.batch, weight)
    swapped = np.where(weight, np.arange(size), size - 1)  # other rows where the weight is 0
    rows = jax.tree.map(lambda column: column[swapped], first.rows)
    other = first._replace(rows=rows)
    np.testing.assert_allclose(
        _loss(case, compiled, params, first), _loss(case, compiled, params, other), rtol=1e-6
    )
    assert _counts(compiled, params, first) == _counts(compiled, params, other)
    whole = _loss(case, compiled, params, case.batch)
    assert abs(whole - _loss(case, compiled, params, first)) > 1e-4 * abs(whole)


def _additive(case: Case, compiled: Compiled, params: Any) -> None:
    """Counts of two parts sum to the whole."""
    size = len(case.batch.weight)
    part = np.arange(size) < size // 3
    counts = [
        _counts(compiled, params, _weighted(case.batch, w)) for w in (part, ~part, part | True)
    ]
    for name, whole in counts[2].items():
        np.testing.assert_allclose(counts[0][name] + counts[1][name], whole, rtol=1e-6)
    assert any(counts[0].values()) and any(counts[1].values())


def _shared(case: Case, compiled: Compiled, params: Any) -> None:
    """The loss of the whole is its parts' mean, weighted by normaliser; the draws are the same."""
    part = np.arange(len(case.batch.weight)) < len(case.batch.weight) // 3
    parts = [_weighted(case.batch, weight) for weight in (part, ~part)]
    normalisers = [float(compiled.normaliser(batch)) for batch in parts]
    assert min(normalisers) > 0
    assert sum(normalisers) == float(compiled.normaliser(case.batch))
    losses = [_loss(case, compiled, params, batch) for batch in parts]
    whole = _loss(case, compiled, params, case.batch)
    np.testing.assert_allclose(np.average(losses, weights=normalisers), whole, rtol=1e-5)


def _blind(case: Case, compiled: Compiled, params: Any) -> None:
    """Shuffled gold fields change no output."""
    shuffled = {
        name: np.flip(column, axis=0) if name in case.gold else column
        for name, column in case.batch.rows.items()
    }
    other = case.batch._replace(rows=shuffled)
    outputs = [compiled.outputs(params, batch) for batch in (case.batch, other)]
    jax.tree.map(np.testing.assert_array_equal, *outputs)


def _uninformed(case: Case, compiled: Compiled, params: Any) -> None:
    """The loss of an untrained model is near log(outcomes) a decision."""
    expected = math.log(case.outcomes) * case.decisions(case.batch)
    loss = _loss(case, compiled, params, case.batch)
    np.testing.assert_allclose(loss, expected, rtol=case.tolerance)


def _drops(case: Case, compiled: Compiled, params: Any) -> None:
    """Another rate of any dropout gives another loss; of large parameters, which tell more."""
    draw = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: np.float32(draw.normal(0, 0.3, leaf.shape)), params)
    before = _loss(case, compiled, params, case.batch)
    for name in case.hparams:
        if name.startswith("dropout"):
            other = case._replace(hparams={**case.hparams, name: jnp.float32(0.8)})
            assert _loss(other, compiled, params, case.batch) != before, name


def _learns(case: Case, compiled: Compiled, params: Any) -> None:
    """The loss falls below half on fixed rows."""
    losses = []
    first = second = jax.tree.map(np.zeros_like, params)
    for seed in range(60):
        loss, grads = compiled.gradient(params, case.batch, jax.random.key(seed), case.hparams)
        losses.append(float(loss))
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * np.asarray(g), first, grads)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * np.square(g), second, grads)
        params = jax.tree.map(functools.partial(_adam_step, seed + 1), params, first, second)
    assert losses[-1] < 0.5 * losses[0]


def _adam_step(number: int, params: Any, first: Any, second: Any) -> Any:
    """Adam's step with rate .01 (Kingma and Ba 2015, Algorithm 1), from its biased moments."""
    mean, square = first / (1 - 0.9**number), second / (1 - 0.999**number)
    return np.float32(params - 0.01 * mean / (np.sqrt(square) + 1e-8))


def _compiles_once(case: Case, compiled: Compiled, params: Any) -> None:
    """Other values of the traced hparams cause no compilation."""
    before = compiled.gradient._cache_size()
    for factor in (1.0, 0.5, 0.0):
        other = {name: jnp.float32(factor * value) for name, value in case.hparams.items()}
        compiled.gradient(params, case.batch, jax.random.key(0), other)
    assert compiled.gradient._cache_size() == before > 0


def _best(case: Case, compiled: Compiled) -> None:
    """Perfect outputs score the metric's best value."""
    counts = compiled.counts(case.perfect(case.batch), case.batch)
    score = case.task.score({n: float(v) for n, v in counts.items()})[case.task.metric.name]
    assert score == case.best
