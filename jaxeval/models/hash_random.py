"""Random bits of a row and a column number: a cheap counter-based generator.

`jax.random.bits` would depend on the shape; a key for every row makes 40 % of a program's compile
time where masks are many.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Array

_GOLDEN = np.uint32(0x9E3779B9)


def _mix(x: Array) -> Array:
    """A bijection of 32-bit numbers whose outputs look random (murmur3's last step, Appleby)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def words(key: Array) -> Array:
    """[2] uint32: what `bits` needs of a threefry key, which is consumed."""
    return jax.random.key_data(key).astype(jnp.uint32)


def fold_in(words: Array, number: Array | int) -> Array:
    """Other words for every number."""
    return _mix(words + _mix(jnp.asarray(number).astype(jnp.uint32) * _GOLDEN + 3))


def key_of(key: Array, number: Array | int) -> Array:
    """Another key for every number, as `jax.random.fold_in` without JAX's generator."""
    return jax.random.wrap_key_data(fold_in(words(key), number), impl=jax.random.key_impl(key))


@jax.jit  # traced once for all masks and weights of a shape
def bits(words: Array, rows: Array, columns: Array) -> Array:
    """[rows, columns] uint32 that depend on the words and the numbers of row and column alone."""
    first, second = words
    by_row = _mix(first ^ _mix(rows.astype(jnp.uint32) * _GOLDEN + 1))
    by_column = _mix(second ^ _mix(columns.astype(jnp.uint32) * _GOLDEN + 2))
    return _mix(by_row[:, None] + by_column[None])


def uniform(words: Array, rows: Array, columns: Array) -> Array:
    """[rows, columns] uniform in (0, 1), both ends left out: as `open_interval`."""
    return open_interval(bits(words, rows, columns))


def open_interval(bits: Array) -> Array:
    """Uniform bits, uint32 -> float32 in (0, 1): the middle of one of 2**24 equal steps.

    That of the last step would be rounded to 1, of which the normal quantile is infinite; it is
    1 - 2**-24.
    """
    steps = (bits >> 8).astype(jnp.float32)
    return jnp.minimum((steps + 0.5) * jnp.float32(2.0**-24), jnp.float32(1 - 2.0**-24))
