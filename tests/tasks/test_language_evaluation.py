"""Averages over dropout masks, temperature, dynamic evaluation, texts of one's own."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval.contracts import Batch
from jaxeval.models import language as models
from jaxeval.tasks import language, language_evaluation
from jaxeval.tasks.language_evaluation import Averaging, WindowSequence

V, T, B, K = 9, 4, 2, 3
CHOICES = models.LanguageModelSettings(hidden=6, embedding=5)
LANGUAGE = language.Language(CHOICES, V, T, 60)
TOKENS = np.random.default_rng(0).integers(0, V, 100).astype(np.int32)
RATES = {f"dropout_{s}": jnp.float32(r) for s, r in (("input", 0.5), ("state", 0.3))}
KEYS = [jax.random.key(5), jax.random.key(6)]
TASK = language.build(LANGUAGE)


def _batch(step: int, length: int = T) -> Batch:
    rows = {"start": np.int32([0, 40]) + np.int32(step * T), "length": np.int32([T, length])}
    return Batch(rows, np.ones(B, np.float32), {"tokens": TOKENS}, ())


@functools.cache
def _params() -> Any:
    params = jax.jit(TASK.init)(jax.random.key(0), _batch(0), {})
    bias = np.linspace(-1.0, 1.0, V, dtype=np.float32)
    return {**jax.tree.map(lambda leaf: 2 * np.asarray(leaf), params), "softmax_bias": bias}


_run = jax.jit(LANGUAGE.run)


def _probabilities(params: Any, hidden: Any) -> np.ndarray:
    table, bias = map(np.asarray, models.softmax_table(params))
    powers = np.exp(np.asarray(hidden, np.float64) @ table.T + bias)
    normal: np.ndarray = powers / powers.sum(-1, keepdims=True)
    return normal


def _nats(task: Any, hparams: dict) -> list[float]:
    """Of two windows in turn."""
    carry, actual = task.start(B), []
    predict, count = jax.jit(task.predict), jax.jit(task.count)
    for step, key in enumerate(KEYS):
        batch = _batch(step, length=2)
        outputs, carry = predict(_params(), carry, batch, key, hparams)
        actual.append(float(count(outputs, batch)["nats"]))
    return actual


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_averages_over_masks(mean: Any) -> None:
    """Dies if samples share a state that they should not, are averaged in the wrong space, or
    their rates are not scaled; from the definition, sample by sample."""
    params, expected = _params(), []
    halved = {site: rate / 2 for site, rate in RATES.items()}
    zero = jax.tree.map(
        lambda leaf: np.zeros((K * B, leaf.shape[1]), np.float32), CHOICES.start(B)
    )
    states = plain = zero
    for step, key in enumerate(KEYS):
        positions = np.asarray(_batch(step).rows["start"]) + np.arange(T + 1)[:, None]
        read = np.asarray(TOKENS)[positions]
        inputs = np.tile(read[:-1], (1, K))
        after, hidden = _run(params, states, inputs, halved, key)
        plain, _ = _run(params, plain, inputs, {}, None)
        states = after if mean == "arithmetic" else plain
        p = _probabilities(params, hidden).reshape(T, K, B, V)
        p = p.mean(1) if mean == "arithmetic" else np.exp(np.log(p).mean(1))
        gold = np.take_along_axis(p / p.sum(-1, keepdims=True), read[1:, :, None], axis=-1)
        counted = np.arange(T)[:, None] < np.array([T, 2])
        expected.append(-np.sum(np.log(gold[..., 0]) * counted))
    averaged = functools.partial(language_evaluation.averaged, LANGUAGE, Averaging(mean, K))
    actual, without = _nats(averaged(factor=0.5), RATES), _nats(TASK, {})
    np.testing.assert_allclose(actual, expected, rtol=2e-5)
    assert abs(actual[0] - without[0]) > 1e-3
    np.testing.assert_allclose(_nats(averaged(), {}), without, rtol=2e-5)


def test_temperature_divides_the_scores() -> None:
    """Dies if the bias is left hot."""
    batch, expected = _batch(0), 0.0
    _, hidden = _run(_params(), CHOICES.start(B), TOKENS[_positions(batch)[:-1]], {}, None)
    p = _probabilities(_params(), hidden) ** (1 / 0.7)
    gold = np.take_along_axis(p, TOKENS[_positions(batch)[1:]][..., None], axis=-1)[..., 0]
    nats = -np.log(gold / p.sum(-1))
    expected = nats.sum() - nats[2:, 1].sum()
    actual = _nats(TASK, {"temperature": jnp.float32(0.7)})
    assert actual[0] == pytest.approx(expected, rel=1e-5)


def _positions(batch: Batch) -> np.ndarray:
    return np.asarray(batch.rows["start"]) + np.arange(T + 1)[:, None]


def _loss(params: Any, state: Any, read: Any, counted: Any) -> tuple[jax.Array, Any]:
    """By a plain softmax: the sum over a window and all streams, and the state after it."""
    state, hidden = LANGUAGE.run(params, state, read[:-1], {}, None)
    table, bias = models.softmax_table(params)
    logs = jax.nn.log_softmax(hidden @ table.T + bias[None, None])
    gold = jnp.take_along_axis(logs, read[1:, :, None], axis=-1)[..., 0]
    return -jnp.sum(gold * counted[:, None]), state


_loss_and_gradient = jax.jit(jax.value_and_grad(_loss, has_aux=True))
DECAY, EPSILON = 0.3, 0.2


def _loop(params: Any, scale: Any, windows: WindowSequence, rate: float) -> float:
    """Nats of dynamic evaluation by the book, window by window."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(scale)]
    mean = np.concatenate([leaf.ravel() for leaf in leaves]).mean()
    now, state, total = params, CHOICES.start(1), 0.0

    def moved(p: Any, g: Any, r: Any, p0: Any) -> Any:
        p, g, r, p0 = map(np.asarray, (p, g, r, p0))
        back = np.minimum(1.0, DECAY * r / mean) * (p0 - p)
        return p - rate * g / (r + EPSILON * mean) + back

    for start, length in zip(np.asarray(windows.start), np.asarray(windows.length), strict=True):
        read = TOKENS[int(start[0]) + np.arange(T + 1)][:, None]
        counted = np.arange(T) < int(length[0])
        (nats, state), gradient = _loss_and_gradient(now, state, read, counted)
        total += float(nats)
        now = jax.tree.map(moved, now, gradient, scale, params)
    return total


def test_dynamic_evaluation_learns_after_it_has_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a window is learned from before it is scored, the step is another, or gradients
    are averaged before they are squared, or over the wrong windows."""
    monkeypatch.setattr(language_evaluation, "_DECAY", DECAY)
    monkeypatch.setattr(language_evaluation, "_EPSILON", EPSILON)
    params, train = _params(), language_evaluation.train_windows(LANGUAGE, 3)
    assert train.start.tolist() == [[0 + k, 20 + k, 40 + k] for k in (0, 4, 8, 12, 16)]
    compiled = (language_evaluation.gradient_scale, language_evaluation.dynamic)
    gradient_scale, dynamic = (jax.jit(functools.partial(f, LANGUAGE)) for f in compiled)
    state, squares = CHOICES.start(3), jax.tree.map(np.zeros_like, params)
    for start in np.asarray(train.start):
        read = TOKENS[start[None] + np.arange(T + 1)[:, None]]
        (_, state), gradient = _loss_and_gradient(params, state, read, np.ones(T))
        squares = jax.tree.map(lambda s, g: s + (np.asarray(g) / 3) ** 2, squares, gradient)
    scale = jax.device_get(gradient_scale(params, TOKENS, train))
    close = functools.partial(np.testing.assert_allclose, rtol=2e-4, atol=1e-6)
    jax.tree.map(close, scale, jax.tree.map(lambda s: np.sqrt(s / 5), squares))
    windows = WindowSequence(61 + T * np.arange(6)[:, None], np.array([[T]] * 5 + [[2]]))
    learned, still = (dynamic(params, scale, TOKENS, windows, rate) for rate in (0.05, 0.0))
    assert float(learned["tokens"]) == 22
    for counts, rate in ((learned, 0.05), (still, 0.0)):
        expected = _loop(params, scale, windows, rate)
        assert float(counts["nats"]) == pytest.approx(expected, rel=1e-4)
    assert abs(float(still["nats"]) - float(learned["nats"])) > 0.1
