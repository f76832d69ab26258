"""Layers padded to one size for members of several sizes; each computes what its own would.

Notation: n units of a padded axis, u of them live.

One compilation per shape would be too many. So axes are padded, and weights to and from a dead
unit are zero; then its output and gradient are zero, and no optimiser moves it. Dead layers are
zero and skipped. Three things would still differ from a model of the live size and are made equal
here: random draws (a weight depends on the numbers of its live units), means over units (layer
normalisation), and what depends on a size (bounds of initialisers, positions).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxeval.contracts import Array
from jaxeval.models import Weights, dropout, times_transposed

_Bound = Array | float


class RaggedAxis(NamedTuple):
    """The units of an axis."""

    number: Array  # [n] int32 of each unit among the live ones; arbitrary for dead ones
    live: Array  # [n] float32, 1 or 0
    units: Array  # [] float32 number of live ones

    def __len__(self) -> int:
        return len(self.number)


def axis(size: int, live: Array | float | None = None, blocks: int = 1) -> RaggedAxis:
    """Returns an axis of equal blocks (gates, directions, heads), each padded at its end.

    `live` of the `size` units of a block are live, perhaps traced; None: all.
    """
    # a quotient of whole numbers may come out a little less
    count = jnp.round(jnp.asarray(size if live is None else live, jnp.float32))
    unit = jnp.arange(size)
    number = jnp.arange(blocks)[:, None] * count.astype(jnp.int32) + unit[None]
    is_live = jnp.tile((unit < count).astype(jnp.float32), blocks)
    return RaggedAxis(number.reshape(-1), is_live, blocks * count)


def joined(first: RaggedAxis, second: RaggedAxis) -> RaggedAxis:
    """Concatenates axes and their numbers."""
    number = second.number + first.units.astype(jnp.int32)
    live = jnp.concatenate([first.live, second.live])
    return RaggedAxis(jnp.concatenate([first.number, number]), live, first.units + second.units)


def uniform(
    key: Array, rows: RaggedAxis | None, columns: RaggedAxis, low: _Bound, high: _Bound
) -> Array:
    """Draws from (low, high), 0 at dead units: [rows, columns], or [columns] without rows."""
    drawn, live = _drawn(key, rows, columns)
    return (low + (high - low) * drawn) * live


def _normal(key: Array, rows: RaggedAxis, columns: RaggedAxis, scale: _Bound = 1.0) -> Array:
    """Draws normal [rows, columns] with standard deviation `scale`, 0 at dead units."""
    drawn, live = _drawn(key, rows, columns)
    return scale * jax.scipy.special.ndtri(drawn) * live


def _drawn(key: Array, rows: RaggedAxis | None, columns: RaggedAxis) -> tuple[Array, Array]:
    """Uniform in (0, 1), and which units are live: [rows, columns], or [columns]."""
    numbers = jnp.zeros(1) if rows is None else rows.number
    drawn = _open_interval(dropout.bits(dropout.words(key), numbers, columns.number))
    if rows is None:
        return drawn[0], columns.live
    return drawn, rows.live[:, None] * columns.live[None]


def _open_interval(bits: Array) -> Array:
    """Maps uniform bits, uint32, to float32 in (0, 1): the middles of 2**24 equal steps."""
    # the last would be rounded to 1, whose normal quantile is infinite
    steps = (bits >> 8).astype(jnp.float32)
    return jnp.minimum((steps + 0.5) * jnp.float32(2.0**-24), jnp.float32(1 - 2.0**-24))


def affine(weights: Weights, x: Array) -> Array:
    """Computes x [..., rows] @ kernel + bias as one product over all leading axes."""
    flat = x.reshape(-1, x.shape[-1])
    if "transposed" in weights:
        product = times_transposed(flat, weights["transposed"])
    else:
        product = flat @ weights["kernel"]
    return (product + weights["bias"][None]).reshape(*x.shape[:-1], -1)


def transposed(weights: Weights) -> Weights:
    """Returns weights whose kernels, nested or stacked, are transposed: faster for few rows."""
    if "kernel" in weights:
        return {"transposed": weights["kernel"].mT, "bias": weights["bias"]}
    return {n: transposed(w) if isinstance(w, dict) else w for n, w in weights.items()}


def linear(key: Array, rows: RaggedAxis, columns: RaggedAxis) -> Weights:
    """Draws kernel and bias of a linear layer, uniform within 1 / sqrt(inputs) as in torch."""
    bound = jax.lax.rsqrt(rows.units)
    kernel_key, bias_key = jax.random.split(key)
    return {
        "kernel": uniform(kernel_key, rows, columns, -bound, bound),
        "bias": uniform(bias_key, None, columns, -bound, bound),
    }


def layer_norm(x: Array, weights: Weights, over: RaggedAxis) -> Array:
    """Layer normalisation (Ba et al. 2016) of x [..., n] over live units; 0 at dead ones."""
    axes = tuple(range(x.ndim - 1))
    live = jnp.expand_dims(over.live, axes)
    # dead units are 0 in x, but would change the mean's gradient
    mean = jnp.sum(x * live, axis=-1, keepdims=True) / over.units
    centred = (x - mean) * live
    variance = jnp.sum(centred * centred, axis=-1, keepdims=True) / over.units
    scaled = centred * jax.lax.rsqrt(variance + 1e-5)
    scale, bias = (jnp.expand_dims(weights[name], axes) for name in ("scale", "bias"))
    return scaled * scale + bias


def embeddings(key: Array, symbols: int, columns: RaggedAxis, scale: _Bound = 1.0) -> Array:
    """Draws a normal table [symbols, columns]; the first row, padding, is 0."""
    return _normal(key, axis(symbols), columns, scale).at[0].set(0.0)
