"""Draws that depend on the numbers of live units alone: exactly, and random enough."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxeval.models import ragged
from jaxeval.models.ragged import RaggedAxis

KEY = jax.random.key(5)
ROWS, COLUMNS = 240, 400


def _live(axis: RaggedAxis) -> np.ndarray:
    return np.flatnonzero(np.asarray(axis.live))


def independent(series: np.ndarray) -> None:
    """Asserts: the mean of n r^2 over all pairs of the series [k, n] is 1, as of independent ones.

    r^2 is large too where products of two series' values depend on each other, so that a sum of a
    row's and a column's hash, not mixed again, is found.
    """
    r = np.corrcoef(series)[np.triu_indices(len(series), 1)]
    assert np.mean(r**2) * series.shape[1] == pytest.approx(1.0, abs=4 * (2 / len(r)) ** 0.5)


@jax.jit
def _axes() -> tuple[RaggedAxis, ...]:
    gates = ragged.axis(5, jnp.float32(3), 2)
    return gates, ragged.joined(gates, ragged.axis(4, 2.0)), ragged.axis(3, blocks=2)


def test_units_are_numbered_among_the_live_ones() -> None:
    """Dies if padding shifts a block's numbers, or a joined axis does not go on counting."""
    gates, both, whole = _axes()
    assert _live(gates).tolist() == [0, 1, 2, 5, 6, 7]
    assert np.asarray(gates.number)[_live(gates)].tolist() == list(range(6))
    assert float(gates.units) == 6 and len(gates) == 10
    assert _live(both).tolist() == [0, 1, 2, 5, 6, 7, 10, 11]
    assert np.asarray(both.number)[_live(both)].tolist() == list(range(8))
    assert float(both.units) == 8
    assert np.asarray(whole.number).tolist() == list(range(6)) and np.all(whole.live == 1)


def test_distributions() -> None:
    """Dies if bounds, the standard deviation or the shape of a distribution is wrong."""

    @jax.jit
    def drawn() -> tuple[jax.Array, ...]:
        rows, columns = ragged.axis(ROWS), ragged.axis(COLUMNS)
        return (
            ragged.uniform(KEY, rows, columns, -2.0, 3.0),
            ragged._normal(KEY, rows, columns, 0.7),
            ragged.uniform(KEY, None, ragged.axis(20_000), 0.0, 1.0),
        )

    flat, bell, lone = (np.asarray(draw, np.float64).ravel() for draw in drawn())
    assert stats.kstest(flat, stats.uniform(-2, 5).cdf).pvalue > 0.01
    assert flat.mean() == pytest.approx(0.5, abs=4 * 5 / (12 * flat.size) ** 0.5)
    assert flat.min() > -2 and flat.max() < 3
    assert stats.kstest(bell, stats.norm(0, 0.7).cdf).pvalue > 0.01
    assert bell.mean() == pytest.approx(0, abs=4 * 0.7 / bell.size**0.5)
    assert bell.std() == pytest.approx(0.7, rel=4 / (2 * bell.size) ** 0.5)
    assert stats.kurtosis(bell) == pytest.approx(0, abs=4 * (24 / bell.size) ** 0.5)
    assert stats.kstest(lone, stats.uniform.cdf).pvalue > 0.01


def _norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias


def test_layer_norm_counts_live_units_only() -> None:
    """Dies if mean or variance is divided by the padded size, or a dead unit is moved."""
    draw, over = np.random.default_rng(0), jax.device_get(ragged.axis(7, 4.0, 2))
    live, dead = _live(over), np.flatnonzero(np.asarray(over.live) == 0)
    x, scale, bias = (np.zeros(shape, np.float32) for shape in ((2, 3, 14), 14, 14))
    for array in (x, scale, bias):
        array[..., live] = draw.normal(size=(*array.shape[:-1], 8)) + 0.5
    weights = {"scale": scale, "bias": bias}
    actual = np.asarray(jax.jit(ragged.layer_norm)(x, weights, over))
    expected = _norm(x[..., live], scale[live], bias[live])
    np.testing.assert_allclose(actual[..., live], expected, rtol=1e-5, atol=1e-6)
    assert np.all(actual[..., dead] == 0)
