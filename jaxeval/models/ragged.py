"""Layers whose members differ in size: padded to one size, each computes what its own would.

Notation: n units of a padded axis, u live ones among them.

The members of a sweep differ in widths, heads and depths, and every shape of its own would be
compiled. So axes are padded, and what a dead unit is fed and feeds is zero: then its output is
zero, its gradient is zero, and no optimiser of ours moves it; dead layers are zero and skipped.
Three things would still differ from a model of the live size, and are made equal here: the random
draws (a weight's value depends on the numbers of its units among the live ones, never on the
padded size), means over units (layer normalisation counts the live ones) and what is made of a
size (bounds of initialisers, positions).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
_LEVELS = 1 << 24  # of a dropout rate
_GOLDEN = np.uint32(0x9E3779B9)


class Axis(NamedTuple):
    """The units of an axis.

    Attributes:
      number: [n] int32 of each unit among the live ones; for a dead unit anything.
      live: [n] float32, 1 or 0.
      units: [] float32 live ones.
    """

    number: Array
    live: Array
    units: Array

    def __len__(self) -> int:
        return len(self.number)


def axis(size: int, live: Array | float | None = None, blocks: int = 1) -> Axis:
    """An axis of `blocks` equal blocks (gates, directions, heads), each padded at its end.

    Args:
      size: n / blocks, static.
      live: u / blocks, may be traced; None: all.
    """
    # rounded: a quotient of whole numbers may come out a little less
    count = jnp.round(jnp.asarray(size if live is None else live, jnp.float32))
    place = jnp.arange(size)
    of_block = (place < count).astype(jnp.float32)
    number = jnp.arange(blocks)[:, None] * count.astype(jnp.int32) + place[None]
    return Axis(number.reshape(-1), jnp.tile(of_block, blocks), blocks * count)


def joined(*axes: Axis) -> Axis:
    """Axes one after the other, numbered on."""
    before, numbers = jnp.float32(0), []
    for one in axes:
        numbers.append(one.number + before.astype(jnp.int32))
        before = before + one.units
    return Axis(jnp.concatenate(numbers), jnp.concatenate([a.live for a in axes]), before)


def _mix(x: Array) -> Array:
    """A bijection of 32-bit numbers whose outputs look random (murmur3's last step, Appleby)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def words(key: Array) -> Array:
    """[2] uint32: what the cheap generator below needs of a key, which is consumed."""
    return jax.random.key_data(key).astype(jnp.uint32)


def folded(words: Array, number: Array | int) -> Array:
    """Other words for every number."""
    return _mix(words + _mix(jnp.asarray(number).astype(jnp.uint32) * _GOLDEN + 3))


def _bits(words: Array, rows: Array, columns: Array) -> Array:
    """[rows, columns] uint32 that depend on the words and the numbers of row and column alone.

    Neither `jax.random.bits` of a shape nor a key for every row would do: the one depends on the
    shape, and the other makes 40 % of a program's compile time where masks are many.
    """
    first, second = words
    by_row = _mix(first ^ _mix(rows.astype(jnp.uint32) * _GOLDEN + 1))
    by_column = _mix(second ^ _mix(columns.astype(jnp.uint32) * _GOLDEN + 2))
    return _mix(by_row[:, None] + by_column[None])


def _unit(bits: Array) -> Array:
    """Uniform in (0, 1): the middle of one of 2**24 equal steps."""
    return ((bits >> 8).astype(jnp.float32) + 0.5) * jnp.float32(2.0**-24)


def _living(values: Array, rows: Axis | None, columns: Axis) -> Array:
    live = columns.live if rows is None else rows.live[:, None] * columns.live[None]
    return values * live


def _drawn(key: Array, rows: Axis | None, columns: Axis) -> tuple[Array, Array]:
    """Uniform in (0, 1), and which are of live units: [rows, columns], or [columns]."""
    if rows is None:
        return _unit(_bits(words(key), jnp.zeros(1), columns.number))[0], columns.live
    share = _unit(_bits(words(key), rows.number, columns.number))
    return share, rows.live[:, None] * columns.live[None]


def uniform(
    key: Array, rows: Axis | None, columns: Axis, low: Array | float, high: Array | float
) -> Array:
    """Uniform in (low, high), 0 at dead units: [rows, columns], or [columns] without rows."""
    share, live = _drawn(key, rows, columns)
    return (low + (high - low) * share) * live


def normal(key: Array, rows: Axis | None, columns: Axis, scale: Array | float = 1.0) -> Array:
    """Normal with standard deviation `scale`, 0 at dead units; shapes as for `uniform`."""
    share, live = _drawn(key, rows, columns)
    return scale * jax.scipy.special.ndtri(share) * live


def _along(units: Array, x: Array) -> Array:
    """[n] as the last axis of x's rank."""
    return jnp.expand_dims(units, tuple(range(x.ndim - 1)))


def affine(weights: dict[str, Array], x: Array) -> Array:
    """x [..., rows] -> [..., columns]: one product over all leading axes."""
    kernel = weights["kernel"]
    product = x.reshape(-1, len(kernel)) @ kernel
    return (product + weights["bias"][None]).reshape(*x.shape[:-1], -1)


def linear(key: Array, rows: Axis, columns: Axis, fan_in: Array | None = None) -> dict[str, Array]:
    """Kernel and bias of a linear layer, uniform within 1 / sqrt(fan in), as torch has it."""
    bound = jax.lax.rsqrt(rows.units if fan_in is None else fan_in)
    kernel_key, bias_key = jax.random.split(key)
    return {
        "kernel": uniform(kernel_key, rows, columns, -bound, bound),
        "bias": uniform(bias_key, None, columns, -bound, bound),
    }


def layer_norm(x: Array, weights: dict[str, Array], over: Axis, epsilon: float = 1e-5) -> Array:
    """Layer normalisation (Ba et al. 2016) over the live units of the last axis.

    Args:
      x: [..., n], 0 at dead units.
      weights: scale and bias [n].
    """
    live = _along(over.live, x)
    # dead units are 0 in x, but would take a share of the mean's gradient
    mean = jnp.sum(x * live, axis=-1, keepdims=True) / over.units
    centred = (x - mean) * live
    variance = jnp.sum(centred * centred, axis=-1, keepdims=True) / over.units
    scaled = centred * jax.lax.rsqrt(variance + epsilon)
    return scaled * _along(weights["scale"], x) + _along(weights["bias"], x)


def layer_norm_weights(over: Axis) -> dict[str, Array]:
    """Scale 1 and bias 0."""
    return {"scale": over.live, "bias": jnp.zeros_like(over.live)}


def dropout(
    words: Array, rate: Array | float, x: Array, places: Array, numbers: Array | None = None
) -> Array:
    """x [..., n] with units zeroed at random, the others scaled up.

    A hash makes the bits of one unit: when two shared one, putting the halves side by side was a
    pass of its own, 15 % of a transformer's step. Rates are multiples of 2**-24.

    Args:
      words: consumed.
      places: [...] int32; the mask of a unit depends on its place and number, not on the shape.
      numbers: [n] int32 of the units; None: in order.
    """
    numbers = jnp.arange(x.shape[-1]) if numbers is None else numbers
    drawn = _bits(words, places.reshape(-1), numbers) >> 8
    keep = jnp.round((1.0 - rate) * _LEVELS).astype(jnp.uint32)
    return jnp.where(drawn.reshape(x.shape) < keep, x / (1.0 - rate), 0.0)
