"""Averages over dropout masks, temperature and dynamic evaluation, against plain computations."""

import functools
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


TASK, RUN = language.build(LANGUAGE), language.runner(LANGUAGE)


@functools.cache
def _params() -> Any:
    params = quick.jit(TASK.init)(jax.random.key(0), _batch(0), {})
    return jax.tree.map(lambda leaf: np.float32(2) * np.asarray(leaf), params)


_table, _run = quick.jit(models.softmax_table), quick.jit(RUN)
_gradient_scale = quick.jit(functools.partial(dynamic_evaluation.gradient_scale, LANGUAGE))
_evaluate = quick.jit(functools.partial(dynamic_evaluation.evaluate, LANGUAGE))


@functools.cache
def _functions(mean: Any) -> tuple[Any, Any]:
    """What predicts and what counts, compiled; None: the plain task."""
    task = TASK if mean is None else averaged(LANGUAGE, Averaging(mean, K))
    return quick.jit(task.predict), quick.jit(task.count)


def _probabilities(params: Any, hidden: Any) -> np.ndarray:
    table, bias = _table(params)
    scores = np.asarray(hidden, np.float64) @ np.asarray(table).T + np.asarray(bias)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    normal: np.ndarray = powers / powers.sum(-1, keepdims=True)
    return normal


def _nats(mean: Any, params: Any, hparams: dict) -> list[float]:
    """Of two windows in turn."""
    predict, count = _functions(mean)
    task = TASK if mean is None else averaged(LANGUAGE, Averaging(mean, K))
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
    params = _params()
    hparams = {**RATES, "rate_factor": jnp.float32(0.5)}
    halved = {site: rate / 2 for site, rate in RATES.items()}
    states = many = jax.tree.map(
        lambda leaf: np.zeros((K * B, leaf.shape[1]), np.float32),
        TASK.start(B).state,
    )
    expected = []
    for step, key in enumerate(KEYS):
        positions = np.asarray(_batch(step).rows["start"]) + np.arange(T + 1)[:, None]
        read = np.asarray(TOKENS)[positions]
        inputs = np.tile(read[:-1], (1, K))
        after, hidden = _run(params, states, inputs, halved, key)
        plain, _ = _run(params, many, inputs, {}, None)
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
    actual = _nats(mean, params, hparams)
    np.testing.assert_allclose(actual, expected, rtol=2e-5)
    plain_nats = _nats(None, params, {})
    assert abs(actual[0] - plain_nats[0]) > 1e-3
    none = {**RATES, "rate_factor": jnp.float32(0.0)}
    np.testing.assert_allclose(_nats(mean, params, none), plain_nats, rtol=2e-5)


def test_temperature_divides_the_scores() -> None:
    """Dies if the bias is left hot."""
    params = {**_params(), "softmax_bias": np.linspace(-1.0, 1.0, V, dtype=np.float32)}
    batch = _batch(0)
    predict, count = _functions(None)
    outputs, _ = predict(params, TASK.start(B), batch, KEYS[0], {})
    p = _probabilities(params, outputs.hidden) ** (1 / 0.7)
    p /= p.sum(-1, keepdims=True)
    positions = np.asarray(batch.rows["start"]) + 1 + np.arange(T)[:, None]
    gold = np.take_along_axis(p, np.asarray(TOKENS)[positions][..., None], axis=-1)
    hparams = {"temperature": jnp.float32(0.7)}
    outputs, _ = predict(params, TASK.start(B), batch, KEYS[0], hparams)
    actual = float(count(outputs, batch)["nats"])
    assert actual == pytest.approx(-np.log(gold).sum(), rel=1e-5)


def _loss(params: Any, state: Any, read: Any, counted: Any) -> tuple[jax.Array, Any]:
    """By a plain softmax: the sum over a window and all streams, and the state after it."""
    state, hidden = RUN(params, state, read[:-1], {}, None)
    table, bias = models.softmax_table(params)
    logs = jax.nn.log_softmax(hidden @ table.T + bias[None, None])
    gold = jnp.take_along_axis(logs, read[1:, :, None], axis=-1)[..., 0]
    return -jnp.sum(gold * counted[:, None]), state


_loss_and_gradient = quick.jit(jax.value_and_grad(_loss, has_aux=True))


def _loop(params: Any, scale: Any, windows: WindowSequence, how: Dynamic) -> list[float]:
    """Dynamic evaluation by the book, window by window; nats of each."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(scale)]
    mean = np.concatenate([leaf.ravel() for leaf in leaves]).mean()
    trained, now, state = params, params, models.start(LANGUAGE.shape, LANGUAGE.cell, 1)
    actual = []
    for start, length in zip(np.asarray(windows.start), np.asarray(windows.length), strict=True):
        read = TOKENS[int(start[0]) + np.arange(T + 1)][:, None]
        counted = np.arange(T) < int(length[0])
        (nats, state), gradient = _loss_and_gradient(now, state, read, counted)
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
    windows = WindowSequence(positions, np.array([[T]] * 5 + [[2]]))
    train = dynamic_evaluation.train_windows(LANGUAGE, 3)
    assert train.start.tolist() == [[0 + k, 20 + k, 40 + k] for k in (0, 4, 8, 12, 16)]
    scale = jax.device_get(_gradient_scale(params, TOKENS, train))
    actual = _evaluate(params, scale, TOKENS, windows, how)
    expected = _loop(params, scale, windows, how)
    assert float(actual["nats"]) == pytest.approx(sum(expected), rel=1e-4)
    assert float(actual["tokens"]) == 22
    frozen = Dynamic(0.0, 0.0)
    still = _evaluate(params, scale, TOKENS, windows, frozen)
    expected = _loop(params, scale, windows, frozen)
    assert float(still["nats"]) == pytest.approx(sum(expected), rel=1e-5)
    assert abs(float(still["nats"]) - float(actual["nats"])) > 0.1


def test_gradient_scale_is_a_root_mean_square() -> None:
    """Dies if gradients are averaged before they are squared, or over the wrong windows."""
    params = _params()
    train = dynamic_evaluation.train_windows(LANGUAGE, 3)
    state = models.start(LANGUAGE.shape, LANGUAGE.cell, 3)
    squares = None
    for start in np.asarray(train.start):
        read = TOKENS[start[None] + np.arange(T + 1)[:, None]]
        (_, state), gradient = _loss_and_gradient(params, state, read, np.ones(T))
        of_window = jax.tree.map(lambda g: (np.asarray(g, np.float64) / 3) ** 2, gradient)
        squares = of_window if squares is None else jax.tree.map(np.add, squares, of_window)
    expected = jax.tree.map(lambda s: np.sqrt(s / len(train.start)), squares)
    scale = _gradient_scale(params, TOKENS, train)
    close = functools.partial(np.testing.assert_allclose, rtol=2e-4, atol=1e-6)
    jax.tree.map(close, scale, expected)
