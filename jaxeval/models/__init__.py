"""Flax modules and pure functions: cells, recurrences, the CRF, encoders, classifiers."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax

from jaxeval.contracts import Array

Weights = dict[str, Any]  # arrays, or nested weights, by name
_LEAST = 2**17  # numbers drawn at once


class Module(nn.Module):
    """A Flax module that traces initialisers only while it is initialised.

    Flax traces them at every call to compare shapes: a quarter of a transformer's tracing time.
    """

    def param(self, name: str, init_fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Returns a parameter, as Flax does."""
        if not self.is_initializing() and self.has_variable("params", name):
            return self.get_variable("params", name)
        return super().param(name, init_fn, *args, **kwargs)


def uniform(key: Array, shape: tuple[int, ...], bound: float | Array) -> Array:
    """Draws U(-b, b), as `jax.random.uniform` does.

    So many numbers are drawn at once that XLA compiles one generator for all small parameters;
    each depends on the key and its own place alone.
    """
    size = math.prod(shape)
    drawn = jax.random.uniform(key, (max(size, _LEAST),), jnp.float32, -bound, bound)
    return drawn[:size].reshape(shape)


def glorot_uniform(key: Array, shape: tuple[int, int], dtype: Any = jnp.float32) -> Array:
    """Draws a kernel [D, N], as `nn.initializers.glorot_uniform()` does."""
    return (uniform(key, shape, 1.0) * jnp.sqrt(3 * jnp.float32(2 / sum(shape)))).astype(dtype)


def nll(logits: Array, labels: Array, smoothing: Array | None = None) -> Array:
    """Negative log-likelihood [...] of labels [...] int32 given logits [..., V], in nats.

    With label smoothing a: (1 - a) (-log p(label)) + a mean over V of (-log p).
    """
    log_probs = jax.nn.log_softmax(logits)
    losses = -jnp.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]
    if smoothing is None:
        return losses
    return (1 - smoothing) * losses - smoothing * jnp.mean(log_probs, axis=-1)


def attend(scores: Array, values: Array) -> Array:
    """Mean [..., H] of values [T, ..., H], weighted by the softmax of scores [T, ...] over T."""
    return jnp.sum(jax.nn.softmax(scores, axis=0)[..., None] * values, axis=0)


def transposed(kernel: Array) -> Array:
    """Returns kernel.T, on a CPU copied 16 rows at a time.

    XLA's copy misses the cache at every element if the columns are a power of two: 2 to 5 times
    as slow.
    """
    rows, columns = kernel.shape
    if rows % 16 or jax.default_backend() != "cpu":
        return kernel.T

    def copied(number: Array, copy: Array) -> Array:
        block = lax.dynamic_slice(kernel, (16 * number, 0), (16, columns))
        return lax.dynamic_update_slice(copy, block.T, (0, 16 * number))

    return lax.fori_loop(0, rows // 16, copied, jnp.zeros((columns, rows), kernel.dtype))


def times_transposed(x: Array, transposed: Array) -> Array:
    """Computes x [B, D] @ kernel from the transposed kernel [K, D]: [B, K].

    The product is made as kernel.T @ x.T, which on a CPU is up to 1.7 times as fast if rows are
    few: Eigen packs the kernel anew for every product, and faster as the second of its factors.
    """
    product = lax.dot_general(transposed, x, (((1,), (1,)), ((), ())))
    return lax.optimization_barrier(product).T  # otherwise XLA swaps the factors
