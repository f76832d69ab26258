"""Convolutions of taggers: over the characters of a word, and over the words of a sentence.

Notation: N words, W characters of the longest word, C characters of the alphabet, D size of a
character's vector or of a word's features, F filters, H units, T positions, B sentences. Character
0 is padding, at the end of a word.
"""

from typing import Literal

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array
from jaxeval.models import Module, glorot_uniform
from jaxeval.models.dropout import KeyedDropout


@reading.settings
class CharacterSettings:
    """Character representation of a word."""

    encoder: Literal["none", "cnn", "lstm"] = Field("cnn", description="none, cnn or lstm")
    dimension: fields.Size = Field(30, description="size of a character's vector")
    filters: fields.Size = Field(30, description="cnn: number of filters")
    width: fields.Size = Field(3, description="cnn: characters per window")
    activation: Literal["tanh", "linear"] = Field(
        "tanh", description="cnn: applied to the maximum"
    )
    full_padding: bool = Field(False, description="cnn: windows beyond both ends (LasagneNLP)")
    masked: bool = Field(True, description="cnn: padding is left out of the maximum")
    units: fields.Size = Field(25, description="lstm: units per direction")


@reading.settings
class WindowSettings:
    """A perceptron over the words around each word (Collobert et al. 2011, section 3.3.1)."""

    reach: int = Field(2, ge=0, le=64, description="words read on either side")
    hidden: fields.Size = Field(50, description="window: units of the tanh layer")


class CharacterConvolution(Module):
    """Convolution over characters, then the maximum over positions (Ma & Hovy 2016).

    Reads a table of characters [C, D] and words [N, W] int32, rows of the table; returns [N, F].
    """

    choices: CharacterSettings

    @nn.compact
    def __call__(self, table: Array, ids: Array, drop: KeyedDropout) -> Array:
        choices, width, filters = self.choices, self.choices.width, self.choices.filters
        shape = (width * table.shape[1], filters)
        kernel = self.param("kernel", glorot_uniform, shape)
        bias = self.param("bias", nn.initializers.zeros, (filters,))
        before = width - 1 if choices.full_padding else (width - 1) // 2  # zeros before a word
        margins = before, before if choices.full_padding else width - 1 - before
        beyond = sum(margins) - (width - 1)
        if choices.masked:
            positions = jnp.maximum(jnp.sum(ids > 0, axis=-1) + beyond, 1)
        else:  # the padding of the longest word too (UKPLab, LasagneNLP)
            positions = jnp.full(len(ids), ids.shape[1] + beyond)
        if drop.drops("characters"):
            # faster than XLA's convolution on a CPU
            embedded = drop.elements("characters", table[ids])
            padded = jnp.pad(embedded, ((0, 0), margins, (0, 0)))
            count = padded.shape[1] - width + 1
            windows = jnp.concatenate([padded[:, k : k + count] for k in range(width)], axis=-1)
            inside = jnp.arange(count)[None] < positions[:, None]
            largest = jnp.max(jnp.where(inside[..., None], windows @ kernel, -jnp.inf), axis=1)
        else:
            kernels = kernel.reshape(width, -1, filters)
            products = jnp.pad(jnp.einsum("cd,kdf->kcf", table, kernels), ((0, 0), (0, 1), (0, 0)))
            padded = jnp.pad(ids, ((0, 0), margins), constant_values=len(table))
            largest = _table_convolution(products, padded, positions)
        shifted = largest + bias[None]  # neither bias nor tanh changes which position is largest
        if choices.activation == "linear":
            return shifted
        # tanh(10) is 1; without bounds LLVM unrolls rows of 30 filters: a sixth of compiling
        return jnp.tanh(lax.clamp(-20.0, shifted, 20.0))


@jax.custom_vjp
def _table_convolution(products: Array, ids: Array, positions: Array) -> Array:
    """Largest response of each filter over a word [N, F], from a table of products.

    With products[k, c] = embedding[c] @ kernel[k], the response at position p is the sum over k of
    products[k, ids[p + k]], and gradients reach only the winning positions: 8 times faster than
    windows on a CPU.

    Args:
      products: [width, C + 1, F]; the last row is zero, for what lies beyond a word.
      ids: [N, P + width - 1] int32 rows of `products`, margins included.
      positions: [N] int32 >= 1, the number of leading positions that take part in the maximum.
    """
    return _largest(products, ids, positions)[0]


def _largest(products: Array, ids: Array, positions: Array) -> tuple[Array, tuple]:
    (width, rows, filters), by_position = products.shape, ids.T
    table = products.reshape(-1, filters)

    def step(position: Array, best: tuple[Array, Array]) -> tuple[Array, Array]:
        largest, winner = best
        window = (by_position[position + k] + rows * k for k in range(width))
        response = sum(jnp.take(table, places, axis=0, mode="clip") for places in window)
        better = (response > largest) & (position < positions)[:, None]
        return jnp.where(better, response, largest), jnp.where(better, position, winner)

    shape = (len(ids), filters)
    start = (jnp.full(shape, -jnp.inf), jnp.zeros(shape, jnp.int32))
    # up to this batch's longest word; few are as long as the longest of the corpus
    largest, winner = lax.fori_loop(0, jnp.max(positions), step, start)
    return largest, (products, ids, winner)


def _largest_gradient(residuals: tuple, d_largest: Array) -> tuple[Array, None, None]:
    products, ids, winner = residuals
    (width, rows, filters), (words, length) = products.shape, ids.shape
    gradient = jnp.zeros(products.size, products.dtype)
    first = length * jnp.arange(words)
    for k in range(width):
        row = jnp.take(ids.reshape(-1), first[:, None] + winner + k, mode="clip") + rows * k
        gradient = gradient.at[filters * row + jnp.arange(filters)[None]].add(d_largest)
    return gradient.reshape(products.shape), None, None


_table_convolution.defvjp(_largest, _largest_gradient)


class Window(Module):
    """A tanh layer over each word with its neighbours: [T + 2 reach, B, D] -> [T, B, H]."""

    choices: WindowSettings

    @nn.compact
    def __call__(self, features: Array) -> Array:
        span = 2 * self.choices.reach + 1
        return jnp.tanh(_Convolution(span, self.choices.hidden, name="hidden")(features))


class _Convolution(Module):
    span: int
    width: int

    @nn.compact
    def __call__(self, x: Array) -> Array:
        shape = self.span * x.shape[-1], self.width
        kernel = self.param("kernel", glorot_uniform, shape)
        return _convolve(x, kernel, self.param("bias", nn.initializers.zeros, (self.width,)))


@jax.custom_vjp
def _convolve(x: Array, kernel: Array, bias: Array) -> Array:
    """Convolves x [T + span - 1, B, D] with kernel [span D, H] and bias [H]: [T, B, H].

    One product makes what each word adds to every window; shifted copies of it are added up. So no
    window is written out, and no product has as few columns as H.
    """
    width = kernel.shape[1]
    span = len(kernel) // x.shape[-1]
    steps = len(x) - span + 1
    parts = (x.reshape(-1, x.shape[-1]) @ _by_word(kernel, span)).reshape(*x.shape[:-1], -1)
    shifted = [parts[n : n + steps, :, n * width : (n + 1) * width] for n in range(span)]
    return sum(shifted, bias[None, None])


def _by_word(kernel: Array, span: int) -> Array:
    """Kernel [span D, H] as [D, span H]."""
    return jnp.concatenate(jnp.split(kernel, span), axis=1)  # a transpose is not vectorised


def _convolve_backward(saved: tuple, d_out: Array) -> tuple[Array, Array, Array]:
    x, kernel = saved
    span = len(kernel) // x.shape[-1]
    shifted = [jnp.pad(d_out, ((n, span - 1 - n), (0, 0), (0, 0))) for n in range(span)]
    d_parts = jnp.concatenate(shifted, axis=-1).reshape(-1, span * d_out.shape[-1])
    d_x = (d_parts @ _by_word(kernel, span).T).reshape(x.shape)
    by_word = x.reshape(-1, x.shape[-1]).T @ d_parts
    d_kernel = jnp.concatenate(jnp.split(by_word, span, axis=1))
    d_rows = d_out.reshape(-1, d_out.shape[-1])
    # a product, so that the gradient is computed once; a sum would compute it again
    d_bias = jnp.ones((1, len(d_rows)), x.dtype) @ d_rows
    return d_x, d_kernel, d_bias[0]


_convolve.defvjp(
    lambda x, kernel, bias: (_convolve(x, kernel, bias), (x, kernel)), _convolve_backward
)
