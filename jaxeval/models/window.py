"""A perceptron over the words around each word (Collobert et al. 2011, section 3.3.1).

Notation: T positions, B sentences, D features of a word, H units.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.models import module
from jaxeval.models import tagging_settings as settings

Array = jax.Array


class Window(module.Module):
    """A tanh layer over each word with its neighbours, padding beyond both ends: [T, B, H].

    A convolution over time. One product makes what each word adds to every window that it is in,
    [D, span H], and shifted copies of that are added up. So no window is written out, and no
    product has as few columns as H, of which the CPU takes 48 at once, and 50 as slowly as 96.
    """

    sizes: settings.WindowSettings

    @nn.compact
    def __call__(self, features: Array) -> Array:
        """The states of words.

        Args:
          features: [T + 2 reach, B, D], of `reach` positions more on either side.
        """
        span = 2 * self.sizes.reach + 1
        return jnp.tanh(Convolution(span, self.sizes.hidden, name="hidden")(features))


class Convolution(module.Module):
    """[T + span - 1, B, D] -> [T, B, H], of a kernel [span D, H] and a bias."""

    span: int
    width: int

    @nn.compact
    def __call__(self, x: Array) -> Array:
        shape = self.span * x.shape[-1], self.width
        kernel = self.param("kernel", nn.initializers.glorot_uniform(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.width,))
        return convolve(x, kernel, bias)


@jax.custom_vjp
def convolve(x: Array, kernel: Array, bias: Array) -> Array:
    """x [T + span - 1, B, D], kernel [span D, H], bias [H] -> [T, B, H]."""
    width = kernel.shape[1]
    span = len(kernel) // x.shape[-1]
    steps = len(x) - span + 1
    parts = (x.reshape(-1, x.shape[-1]) @ _by_word(kernel, span)).reshape(*x.shape[:-1], -1)
    shifted = [parts[n : n + steps, :, n * width : (n + 1) * width] for n in range(span)]
    return sum(shifted, bias[None, None])


def _by_word(kernel: Array, span: int) -> Array:
    """Kernel [span D, H] as [D, span H]."""
    return jnp.concatenate(jnp.split(kernel, span), axis=1)  # a transpose is not vectorised


def _forward(x: Array, kernel: Array, bias: Array) -> tuple[Array, tuple]:
    return convolve(x, kernel, bias), (x, kernel)


def _backward(residuals: tuple, d_out: Array) -> tuple[Array, Array, Array]:
    x, kernel = residuals
    span = len(kernel) // x.shape[-1]
    shifted = [jnp.pad(d_out, ((n, span - 1 - n), (0, 0), (0, 0))) for n in range(span)]
    d_parts = jnp.concatenate(shifted, axis=-1).reshape(-1, span * d_out.shape[-1])
    d_x = (d_parts @ _by_word(kernel, span).T).reshape(x.shape)
    by_word = x.reshape(-1, x.shape[-1]).T @ d_parts
    d_kernel = jnp.concatenate(jnp.split(by_word, span, axis=1))
    d_rows = d_out.reshape(-1, d_out.shape[-1])
    # products alone read the gradient, so that it is computed once; a sum would have it anew
    d_bias = jnp.ones((1, len(d_rows)), x.dtype) @ d_rows
    return d_x, d_kernel, d_bias[0]


convolve.defvjp(_forward, _backward)
