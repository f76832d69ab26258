"""Layers whose members differ in size: padded to one size, each computes what its own would.

Notation: n units of a padded axis, u live ones among them.

Every shape of its own would be compiled. So axes are padded, and weights to and from a dead unit
are zero: then its output is zero, its gradient is zero, and no optimiser of ours moves it; dead
layers are zero and skipped. Three things would still differ from a model of the live size, and
are made equal here: random draws (a weight depends on the numbers of its units among the live
ones), means over units (layer normalisation) and what depends on a size (bounds of initialisers,
positions).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxeval.contracts import Array
from jaxeval.models import Weights, dropout

Bound = Array | float


class RaggedAxis(NamedTuple):
    """The units of an axis."""

    number: Array  # [n] int32 of each unit among the live ones; for a dead unit anything
    live: Array  # [n] float32, 1 or 0
    units: Array  # [] float32 live ones

    def __len__(self) -> int:
        return len(self.number)


def axis(size: int, live: Array | float | None = None, blocks: int = 1) -> RaggedAxis:
    """An axis of equal blocks (gates, directions, heads) of `size` units, padded at their ends.

    So many of a block are live, may be traced; None: all.
    """
    # rounded: a quotient of whole numbers may come out a little less
    count = jnp.round(jnp.asarray(size if live is None else live, jnp.float32))
    unit = jnp.arange(size)
    of_block = (unit < count).astype(jnp.float32)
    number = jnp.arange(blocks)[:, None] * count.astype(jnp.int32) + unit[None]
    return RaggedAxis(number.reshape(-1), jnp.tile(of_block, blocks), blocks * count)


def joined(first: RaggedAxis, second: RaggedAxis) -> RaggedAxis:
    """Axes one after the other, numbered on."""
    number = second.number + first.units.astype(jnp.int32)
    live = jnp.concatenate([first.live, second.live])
    return RaggedAxis(jnp.concatenate([first.number, number]), live, first.units + second.units)


def uniform(
    key: Array, rows: RaggedAxis | None, columns: RaggedAxis, low: Bound, high: Bound
) -> Array:
    """Uniform in (low, high), 0 at dead units: [rows, columns], or [columns] without rows."""
    drawn, live = _drawn(key, rows, columns)
    return (low + (high - low) * drawn) * live


def normal(key: Array, rows: RaggedAxis, columns: RaggedAxis, scale: Bound = 1.0) -> Array:
    """Normal [rows, columns] with standard deviation `scale`, 0 at dead units."""
    drawn, live = _drawn(key, rows, columns)
    return scale * jax.scipy.special.ndtri(drawn) * live


def _drawn(key: Array, rows: RaggedAxis | None, columns: RaggedAxis) -> tuple[Array, Array]:
    """Uniform in (0, 1), and which are of live units: [rows, columns], or [columns]."""
    numbers = jnp.zeros(1) if rows is None else rows.number
    drawn = open_interval(dropout.bits(dropout.words(key), numbers, columns.number))
    if rows is None:
        return drawn[0], columns.live
    return drawn, rows.live[:, None] * columns.live[None]


def open_interval(bits: Array) -> Array:
    """Uniform bits, uint32 -> float32 in (0, 1): the middle of one of 2**24 equal steps."""
    # that of the last would be rounded to 1, of which the normal quantile is infinite
    steps = (bits >> 8).astype(jnp.float32)
    return jnp.minimum((steps + 0.5) * jnp.float32(2.0**-24), jnp.float32(1 - 2.0**-24))


def affine(weights: Weights, x: Array) -> Array:
    """x [..., rows] -> [..., columns]: one product over all leading axes."""
    kernel = weights["kernel"]
    product = x.reshape(-1, len(kernel)) @ kernel
    return (product + weights["bias"][None]).reshape(*x.shape[:-1], -1)


def linear(key: Array, rows: RaggedAxis, columns: RaggedAxis) -> Weights:
    """Kernel and bias of a linear layer, uniform within 1 / sqrt(inputs), as torch has it."""
    bound = jax.lax.rsqrt(rows.units)
    kernel_key, bias_key = jax.random.split(key)
    return {
        "kernel": uniform(kernel_key, rows, columns, -bound, bound),
        "bias": uniform(bias_key, None, columns, -bound, bound),
    }


def layer_norm(x: Array, weights: Weights, over: RaggedAxis) -> Array:
    """Layer normalisation (Ba et al. 2016) of x [..., n], 0 at dead units, over its live ones."""
    axes = tuple(range(x.ndim - 1))
    live = jnp.expand_dims(over.live, axes)
    # dead units are 0 in x, but would take part in the mean's gradient
    mean = jnp.sum(x * live, axis=-1, keepdims=True) / over.units
    centred = (x - mean) * live
    variance = jnp.sum(centred * centred, axis=-1, keepdims=True) / over.units
    scaled = centred * jax.lax.rsqrt(variance + 1e-5)
    scale, bias = (jnp.expand_dims(weights[name], axes) for name in ("scale", "bias"))
    return scaled * scale + bias


def embeddings(key: Array, symbols: int, columns: RaggedAxis, scale: Bound = 1.0) -> Array:
    """A table [symbols, columns], normal; its first row, that of padding, is 0."""
    return normal(key, axis(symbols), columns, scale).at[0].set(0.0)
