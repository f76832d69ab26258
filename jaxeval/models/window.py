"""A perceptron over the words around each word (Collobert et al. 2011, section 3.3.1).

Notation: T positions, B sentences, D features of a word, N rows, M inputs, H units.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.models import module
from jaxeval.models import tagging_settings as settings

Array = jax.Array
_COLUMNS = 48  # that the CPU's matrix product takes at once; two more cost it half as much again


class Window(module.Module):
    """A tanh layer over each word with its neighbours, padding beyond both ends: [T, B, H]."""

    sizes: settings.WindowSettings

    @nn.compact
    def __call__(self, features: Array) -> Array:
        """The states of words.

        Args:
          features: [T + 2 reach, B, D], of `reach` positions more on either side.
        """
        span = 2 * self.sizes.reach + 1
        steps = len(features) - span + 1
        windows = jnp.concatenate([features[n : n + steps] for n in range(span)], axis=-1)
        return jnp.tanh(Dense(self.sizes.hidden, name="hidden")(windows))


class Dense(module.Module):
    """x @ kernel + bias: [T, B, M] -> [T, B, H]."""

    width: int

    @nn.compact
    def __call__(self, x: Array) -> Array:
        shape = x.shape[-1], self.width
        kernel = self.param("kernel", nn.initializers.glorot_uniform(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.width,))
        return dense(x.reshape(-1, x.shape[-1]), kernel, bias).reshape(*x.shape[:-1], -1)


@jax.custom_vjp
def dense(x: Array, kernel: Array, bias: Array) -> Array:
    """x [N, M] @ kernel [M, H] + bias [H]."""
    whole = kernel.shape[1] // _COLUMNS * _COLUMNS
    parts = [kernel[:, :whole], kernel[:, whole:]]
    return jnp.concatenate([x @ part for part in parts if part.size], axis=1) + bias[None]


def _forward(x: Array, kernel: Array, bias: Array) -> tuple[Array, tuple]:
    return dense(x, kernel, bias), (x, kernel)


def _backward(residuals: tuple, d_out: Array) -> tuple[Array, Array, Array]:
    x, kernel = residuals
    # products alone read the gradient, so that it is computed once; a sum would have it anew
    d_bias = jnp.ones((1, len(x)), x.dtype) @ d_out
    return d_out @ kernel.T, x.T @ d_out, d_bias[0]


dense.defvjp(_forward, _backward)
