"""Character encoders: the characters of a word -> one vector.

Notation: N words, W characters of the longest word, C characters of the alphabet, D the size of a
character's vector, F filters. Character 0 is padding and stands at the end of a word.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax

from jaxeval.models import lstm, module
from jaxeval.models.dropout import KeyedDropout

Array = jax.Array


def windows(x: Array, width: int, full: bool) -> Array:
    """All windows of a convolution side by side: [N, W, D] -> [N, P, width * D].

    P = W positions for `same` padding with zeros, W + width - 1 for `full`. A matrix product over
    these windows is the convolution, and faster on a CPU than `conv_general_dilated`.
    """
    padded = jnp.pad(x, ((0, 0), _margins(width, full), (0, 0)))
    positions = padded.shape[1] - width + 1
    return jnp.concatenate([padded[:, k : k + positions] for k in range(width)], axis=-1)


def _margins(width: int, full: bool) -> tuple[int, int]:
    """Zeros before and after a word."""
    if full:
        return width - 1, width - 1
    return (width - 1) // 2, width - 1 - (width - 1) // 2


@jax.custom_vjp
def table_convolution(products: Array, ids: Array, positions: Array) -> Array:
    """Largest response of each filter over a word, from a table of products.

    A convolution over embedded characters is linear in each of them: with products[k, c] =
    embedding[c] @ kernel[k], the response at position p is the sum over k of
    products[k, ids[p + k]]. So `width` rows are added a position instead of a matrix product over
    width * D numbers, and the gradient goes to the winning positions alone: 8 times faster than
    `windows` on a CPU (640 words of 25 characters), with the same values.

    Args:
      products: [width, C + 1, F], the last row of zeros stands for what lies beyond a word.
      ids: [N, P + width - 1] int32 rows of `products`, margins included.
      positions: [N] int32 >= 1, only so many first positions take part in the maximum.

    Returns:
      [N, F].
    """
    return _largest(products, ids, positions)[0]


def _largest(products: Array, ids: Array, positions: Array) -> tuple[Array, tuple]:
    width = len(products)
    by_position = ids.T

    def step(position: Array, best: tuple[Array, Array]) -> tuple[Array, Array]:
        largest, winner = best
        response = sum(products[k, by_position[position + k]] for k in range(width))
        better = (response > largest) & (position < positions)[:, None]
        return jnp.where(better, response, largest), jnp.where(better, position, winner)

    shape = (len(ids), products.shape[-1])
    start = (jnp.full(shape, -jnp.inf), jnp.zeros(shape, jnp.int32))
    # up to this batch's longest word: few words are as long as the longest of the corpus
    largest, winner = lax.fori_loop(0, jnp.max(positions), step, start)
    return largest, (products, ids, winner)


def _largest_gradient(residuals: tuple, d_largest: Array) -> tuple[Array, None, None]:
    products, ids, winner = residuals
    filters = jnp.arange(products.shape[-1])
    gradient = jnp.zeros_like(products)
    for k in range(len(products)):
        rows = jnp.take_along_axis(ids, winner + k, axis=1)
        gradient = gradient.at[k, rows, filters].add(d_largest)
    return gradient, None, None


table_convolution.defvjp(_largest, _largest_gradient)


class ConvolutionEncoder(module.Module):
    """Convolution over the characters, then the maximum over positions (Ma & Hovy 2016).

    Attributes:
      filters: F.
      width: characters per window.
      activation: "tanh" (LasagneNLP, NeuroNLP2) or "linear" (UKPLab).
      full: pad `width - 1` zeros on both sides (LasagneNLP) instead of `same`.
      masked: the maximum runs over the word's own characters only; False lets the padding of the
        corpus' longest word take part (UKPLab, LasagneNLP).
    """

    filters: int
    width: int
    activation: str
    full: bool
    masked: bool

    @nn.compact
    def __call__(self, table: Array, ids: Array, drop: KeyedDropout) -> Array:
        """Characters of words, rows of their table: [C, D], [N, W] int32 -> [N, F]."""
        shape = (self.width * table.shape[1], self.filters)
        kernel = self.param("kernel", nn.initializers.glorot_uniform(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.filters,))
        positions = self._positions(ids)
        if drop.drops("characters"):
            unfolded = windows(drop.elements("characters", table[ids]), self.width, self.full)
            inside = jnp.arange(unfolded.shape[1])[None] < positions[:, None]
            largest = jnp.max(jnp.where(inside[..., None], unfolded @ kernel, -jnp.inf), axis=1)
        else:
            kernels = kernel.reshape(self.width, -1, self.filters)
            products = jnp.pad(jnp.einsum("cd,kdf->kcf", table, kernels), ((0, 0), (0, 1), (0, 0)))
            margins = ((0, 0), _margins(self.width, self.full))
            padded = jnp.pad(ids, margins, constant_values=len(table))
            largest = table_convolution(products, padded, positions)
        # bias and tanh do not change which position is largest, so they come after
        shifted = largest + bias[None]
        return jnp.tanh(shifted) if self.activation == "tanh" else shifted

    def _positions(self, ids: Array) -> Array:
        """How many positions of each word take part in the maximum: [N]."""
        beyond = sum(_margins(self.width, self.full)) - (self.width - 1)
        if not self.masked:
            return jnp.full(len(ids), ids.shape[1] + beyond)
        return jnp.maximum(jnp.sum(ids > 0, axis=-1) + beyond, 1)


class RecurrentEncoder(module.Module):
    """Last states of a forward and a backward LSTM over the characters (Lample et al. 2016)."""

    units: int
    variant: lstm.LSTMVariant

    @nn.compact
    def __call__(self, table: Array, ids: Array, drop: KeyedDropout) -> Array:
        """Characters of words, rows of their table: [C, D], [N, W] int32 -> [N, 2 units]."""
        inputs = drop.elements("characters", table[ids.T])
        valid = (ids > 0).T
        forward = lstm.LSTM(self.units, self.variant, name="forward")(inputs, valid)
        backward = lstm.LSTM(self.units, self.variant, True, name="backward")(inputs, valid)
        return jnp.concatenate([forward[-1], backward[0]], axis=-1)
