"""Averages over dropout masks, temperature and dynamic evaluation, against plain computations."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.contracts import Batch
from jaxeval.models import budget
from jaxeval.models import language as models
from jaxeval.models.cells import Cell
from jaxeval.tasks import dynamic_evaluation, language
from jaxeval.tasks.dynamic_evaluation import Dynamic, WindowSequence
from jaxeval.tasks.language_averaging import Averaging, averaged
from tests import quick

V, T, B, K = 9, 4, 2, 3
LANGUAGE = language.Language(budget.LanguageShape(V, 6, 5), Cell(), T, 60)
TOKENS = np.random.default_rng(0).integers(0, V, 100).astype(np.int32)
RATES = {
    "dropout_input": jnp.float32(0.5),
    "dropout_state": jnp.float32(0.3),
    "dropout_output": jnp.float32(0.4),
}
KEYS = [jax.random.key(5), jax.random.key(6)]


def _batch(step: int, length: int = T) -> Batch:
    rows = {"start": np.int32([0, 40]) + np.int32(step * T), "length": np.int32([T, length])}
    return Batch(rows, np.ones(B, np.float32), {"tokens": TOKENS}, ())


def _params() -> Any:
    task = language.build(LANGUAGE)
    params = quick.jit(task.init)(jax.random.key(0), _batch(0), {})
    return jax.tree.map(lambda leaf: np.float32(2) * np.asarray(leaf), params)


def _probabilities(params: Any, hidden: Any) -> np.ndarray:
    table, bias = quick.jit(models.softmax_table)(params)
    scores = np.asarray(hidden, np.float64) @ np.asarray(table).T + np.asarray(bias)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    normal: np.ndarray = powers / powers.sum(-1, keepdims=True)
    return normal


def _nats(task: Any, params: Any, hparams: dict) -> list[float]:
    """Of two windows in turn."""
    predict, count = quick.jit(task.predict), quick.jit(task.count)
    carry, actual = task.start(B), []
    for step, key in enumerate(KEYS):
        batch = _batch(step, length=2)
        outputs, carry = predict(params, carry, batch, key, hparams)
        actual.append(float(count(outputs, batch)["nats"]))
    return actual


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_averages_over_masks(mean: Any) -> None:
    """Dies if samples share a state that they should not, are averaged in the wrong space, or
    their rates are not scaled; from the definition, sample by sample."""
    params, run = _params(), quick.jit(language.runner(LANGUAGE))
    hparams = {**RATES, "rate_factor": jnp.float32(0.5)}
    halved = {site: rate / 2 for site, rate in RATES.items()}
    states = many = jax.tree.map(
        lambda leaf: np.zeros((K * B, leaf.shape[1]), np.float32),
        language.build(LANGUAGE).start(B).state,
    )
    expected = []
    for step, key in enumerate(KEYS):
        positions = np.asarray(_batch(step).rows["start"]) + np.arange(T + 1)[:, None]
        read = np.asarray(TOKENS)[positions]
        inputs = np.tile(read[:-1], (1, K))
        after, hidden = run(params, states, inputs, halved, key)
        plain, _ = run(params, many, inputs, {}, None)
        states = after if mean == "arithmetic" else plain
        many = plain
        p = _probabilities(params, hidden).reshape(T, K, B, V)
        if mean == "arithmetic":
            p = p.mean(1)
        else:
            p = np.exp(np.log(p).mean(1))
            p /= p.sum(-1, keepdims=True)
        gold = np.take_along_axis(p, read[1:, :, None], axis=-1)[..., 0]
        counted = np.arange(T)[:, None] < np.array([T, 2])
        expected.append(-np.sum(np.log(gold) * counted))
    actual = _nats(averaged(LANGUAGE, Averaging(mean, K)), params, hparams)
    np.testing.assert_allclose(actual, expected, rtol=2e-5)
    plain_task = language.build(LANGUAGE)
    assert abs(actual[0] - _nats(plain_task, params, hparams)[0]) > 1e-3
    none = {**RATES, "rate_factor": jnp.float32(0.0)}
    np.testing.assert_allclose(
        _nats(averaged(LANGUAGE, Averaging(mean, K)), params, none),
        _nats(plain_task, params, {}),
        rtol=2e-5,
    )


def test_temperature_divides_the_scores() -> None:
    """Dies if the bias is left hot."""
    task, params = language.build(LANGUAGE), _params()
    params = {**params, "softmax_bias": np.linspace(-1.0, 1.0, V, dtype=np.float32)}
    batch = _batch(0)
    predict = quick.jit(task.predict)
    outputs, _ = predict(params, task.start(B), batch, KEYS[0], {})
    p = _probabilities(params, outputs.hidden) ** (1 / 0.7)
    p /= p.sum(-1, keepdims=True)
    positions = np.asarray(batch.rows["start"]) + 1 + np.arange(T)[:, None]
    gold = np.take_along_axis(p, np.asarray(TOKENS)[positions][..., None], axis=-1)
    hparams = {"temperature": jnp.float32(0.7)}
    outputs, _ = predict(params, task.start(B), batch, KEYS[0], hparams)
    actual = float(quick.jit(task.count)(outputs, batch)["nats"])
    assert actual == pytest.approx(-np.log(gold).sum(), rel=1e-5)


def _loop(params: Any, scale: Any, windows: WindowSequence, how: Dynamic) -> list[float]:
    """Dynamic evaluation by the book: a plain softmax, window by window; nats of each."""
    run = language.runner(LANGUAGE)

    def loss(p: Any, state: Any, read: Any, counted: Any) -> Any:
        state, hidden = run(p, state, read[:-1], {}, None)
        table, bias = models.softmax_table(p)
        logs = jax.nn.log_softmax(hidden @ table.T + bias[None, None])
        gold = jnp.take_along_axis(logs, read[1:, :, None], axis=-1)[..., 0]
        return -jnp.sum(gold * counted[:, None]), state

    value_and_grad = quick.jit(jax.value_and_grad(loss, has_aux=True))
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(scale)]
    mean = np.concatenate([leaf.ravel() for leaf in leaves]).mean()
    trained, now, state = params, params, models.start(LANGUAGE.shape, LANGUAGE.cell, 1)
    actual = []
    for start, length in zip(np.asarray(windows.start), np.asarray(windows.length), strict=True):
        read = TOKENS[int(start[0]) + np.arange(T + 1)][:, None]
        counted = np.arange(T) < int(length[0])
        (nats, state), gradient = value_and_grad(now, state, read, counted)
        actual.append(float(nats))
        now = jax.tree.map(
            lambda p, g, r, p0: (
                np.asarray(p)
                - how.learning_rate * np.asarray(g) / (np.asarray(r) + how.epsilon * mean)
                + np.minimum(1.0, how.decay * np.asarray(r) / mean)
                * (np.asarray(p0) - np.asarray(p))
            ),
            now,
            gradient,
            scale,
            trained,
        )
    return actual


def test_dynamic_evaluation_learns_after_it_has_predicted() -> None:
    """Dies if a window is learned from before it is scored, or the step is another."""
    params, how = _params(), Dynamic(0.05, 0.3, 0.2)
    positions = 61 + T * np.arange(6)[:, None]
    windows = WindowSequence(jnp.asarray(positions), jnp.array([[T]] * 5 + [[2]]))
    train = dynamic_evaluation.train_windows(LANGUAGE, 3)
    assert train.start.tolist() == [[0 + k, 20 + k, 40 + k] for k in (0, 4, 8, 12, 16)]
    scale = dynamic_evaluation.gradient_scale(LANGUAGE, params, jnp.asarray(TOKENS), train)
    actual = dynamic_evaluation.evaluate(
        LANGUAGE, params, scale, jnp.asarray(TOKENS), windows, how
    )
    expected = _loop(params, scale, windows, how)
    assert float(actual["nats"]) == pytest.approx(sum(expected), rel=1e-4)
    assert float(actual["tokens"]) == 22
    still = dynamic_evaluation.evaluate(
        LANGUAGE, params, scale, jnp.asarray(TOKENS), windows, Dynamic(0.0, 0.0)
    )
    assert float(still["nats"]) == pytest.approx(
        sum(_loop(params, scale, windows, Dynamic(0.0, 0.0))), rel=1e-5
    )
    assert abs(float(still["nats"]) - float(actual["nats"])) > 0.1


def test_gradient_scale_is_a_root_mean_square() -> None:
    """Dies if gradients are averaged before they are squared, or over the wrong windows."""
    params, run = _params(), language.runner(LANGUAGE)
    train = dynamic_evaluation.train_windows(LANGUAGE, 3)
    state = models.start(LANGUAGE.shape, LANGUAGE.cell, 3)
    squares = None

    def loss(p: Any, state: Any, read: Any) -> Any:
        state, hidden = run(p, state, read[:-1], {}, None)
        table, bias = models.softmax_table(p)
        logs = jax.nn.log_softmax(hidden @ table.T + bias[None, None])
        return -jnp.take_along_axis(logs, read[1:, :, None], axis=-1).sum() / 3, state

    gradient_of = quick.jit(jax.grad(loss, has_aux=True))
    for start in np.asarray(train.start):
        read = TOKENS[start[None] + np.arange(T + 1)[:, None]]
        gradient, state = gradient_of(params, state, read)
        actual = jax.tree.map(lambda g: np.asarray(g, np.float64) ** 2, gradient)
        squares = actual if squares is None else jax.tree.map(np.add, squares, actual)
    expected = jax.tree.map(lambda s: np.sqrt(s / len(train.start)), squares)
    scale = dynamic_evaluation.gradient_scale(LANGUAGE, params, jnp.asarray(TOKENS), train)
    for leaf, other in zip(jax.tree.leaves(scale), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(leaf, other, rtol=2e-4, atol=1e-6)
