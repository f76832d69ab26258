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
from jaxeval.models import hash_random

Bound = Array | float


class RaggedAxis(NamedTuple):
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


def axis(size: int, live: Array | float | None = None, blocks: int = 1) -> RaggedAxis:
    """An axis of `blocks` equal blocks (gates, directions, heads), each padded at its end.

    Args:
      size: n / blocks, static.
      live: u / blocks, may be traced; None: all.
    """
    # rounded: a quotient of whole numbers may come out a little less
    count = jnp.round(jnp.asarray(size if live is None else live, jnp.float32))
    unit = jnp.arange(size)
    of_block = (unit < count).astype(jnp.float32)
    number = jnp.arange(blocks)[:, None] * count.astype(jnp.int32) + unit[None]
    return RaggedAxis(number.reshape(-1), jnp.tile(of_block, blocks), blocks * count)


def joined(*axes: RaggedAxis) -> RaggedAxis:
    """Axes one after the other, numbered on."""
    before, numbers = jnp.float32(0), []
    for part in axes:
        numbers.append(part.number + before.astype(jnp.int32))
        before = before + part.units
    return RaggedAxis(
        jnp.concatenate(numbers), jnp.concatenate([part.live for part in axes]), before
    )


def uniform(
    key: Array, rows: RaggedAxis | None, columns: RaggedAxis, low: Bound, high: Bound
) -> Array:
    """Uniform in (low, high), 0 at dead units: [rows, columns], or [columns] without rows."""
    drawn, live = _drawn(key, rows, columns)
    return (low + (high - low) * drawn) * live


def normal(
    key: Array, rows: RaggedAxis | None, columns: RaggedAxis, scale: Array | float = 1.0
) -> Array:
    """Normal with standard deviation `scale`, 0 at dead units; shapes as for `uniform`."""
    drawn, live = _drawn(key, rows, columns)
    return scale * jax.scipy.special.ndtri(drawn) * live


def _drawn(key: Array, rows: RaggedAxis | None, columns: RaggedAxis) -> tuple[Array, Array]:
    """Uniform in (0, 1), and which are of live units: [rows, columns], or [columns]."""
    words = hash_random.words(key)
    if rows is None:
        return hash_random.uniform(words, jnp.zeros(1), columns.number)[0], columns.live
    drawn = hash_random.uniform(words, rows.number, columns.number)
    return drawn, rows.live[:, None] * columns.live[None]


def affine(weights: dict[str, Array], x: Array) -> Array:
    """x [..., rows] -> [..., columns]: one product over all leading axes."""
    kernel = weights["kernel"]
    product = x.reshape(-1, len(kernel)) @ kernel
    return (product + weights["bias"][None]).reshape(*x.shape[:-1], -1)


def linear(
    key: Array, rows: RaggedAxis, columns: RaggedAxis, fan_in: Array | None = None
) -> dict[str, Array]:
    """Kernel and bias of a linear layer, uniform within 1 / sqrt(fan in), as torch has it."""
    bound = jax.lax.rsqrt(rows.units if fan_in is None else fan_in)
    kernel_key, bias_key = jax.random.split(key)
    return {
        "kernel": uniform(kernel_key, rows, columns, -bound, bound),
        "bias": uniform(bias_key, None, columns, -bound, bound),
    }


def layer_norm(
    x: Array, weights: dict[str, Array], over: RaggedAxis, epsilon: float = 1e-5
) -> Array:
    """Layer normalisation (Ba et al. 2016) over the live units of the last axis.

    Args:
      x: [..., n], 0 at dead units.
      weights: scale and bias [n].
    """

    def along(units: Array) -> Array:
        return jnp.expand_dims(units, tuple(range(x.ndim - 1)))

    live = along(over.live)
    # dead units are 0 in x, but would take part in the mean's gradient
    mean = jnp.sum(x * live, axis=-1, keepdims=True) / over.units
    centred = (x - mean) * live
    variance = jnp.sum(centred * centred, axis=-1, keepdims=True) / over.units
    scaled = centred * jax.lax.rsqrt(variance + epsilon)
    return scaled * along(weights["scale"]) + along(weights["bias"])


def layer_norm_weights(over: RaggedAxis) -> dict[str, Array]:
    """Scale 1 and bias 0."""
    return {"scale": over.live, "bias": jnp.zeros_like(over.live)}
