"""The weights of a transformer as they start, padded to a cohort's sizes.

Initialisers: those of the public code of Wiemerslage et al. (2024), see `models.transformer`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.models import ragged
from jaxeval.models.ragged import Axis
from jaxeval.models.seq2seq import Live, Shape, Weights

Array = jax.Array


class Axes(NamedTuple):
    """Axes of the arrays, each with the units that are live."""

    model: Axis
    heads: Axis  # as many units as `model`, in S blocks
    thrice: Axis  # queries, keys and values
    hidden: Axis


def axes_of(shape: Shape, live: Live) -> Axes:
    """The axes of a model of some shape."""
    size = shape.embedding // shape.heads
    used = None if live.embedding is None else live.embedding / shape.heads
    return Axes(
        ragged.axis(shape.embedding, live.embedding),
        ragged.axis(size, used, shape.heads),
        ragged.axis(size, used, 3 * shape.heads),
        ragged.axis(shape.hidden, live.hidden),
    )


def embeddings(key: Array, symbols: int, columns: Axis) -> Array:
    """A table [symbols, E] of variance 1/E, its first row, that of padding, 0."""
    table = ragged.normal(key, ragged.axis(symbols), columns, lax.rsqrt(columns.units))
    return table.at[0].set(0.0)


def _attention(key: Array, axes: Axes) -> Weights:
    """Projections to queries, keys and values (Glorot uniform as one matrix), and back."""
    inner, outer = jax.random.split(key)
    bound = jnp.sqrt(6.0 / (4.0 * axes.model.units))
    back = ragged.linear(outer, axes.heads, axes.model)
    return {
        "inner": {
            "kernel": ragged.uniform(inner, axes.model, axes.thrice, -bound, bound),
            "bias": jnp.zeros(len(axes.thrice)),
        },
        "outer": {**back, "bias": jnp.zeros_like(back["bias"])},
        "norm": ragged.layer_norm_weights(axes.model),
    }


def _feed_forward(key: Array, axes: Axes) -> Weights:
    inner, outer = jax.random.split(key)
    return {
        "inner": ragged.linear(inner, axes.model, axes.hidden),
        "outer": ragged.linear(outer, axes.hidden, axes.model),
        "norm": ragged.layer_norm_weights(axes.model),
    }


def stack(
    key: Array, layers: int, live: Array | None, attentions: tuple[str, ...], axes: Axes
) -> Weights:
    """The weights of all layers, leaves [layers, ...], 0 where not live; and the last norm."""

    def layer(number: Array) -> Weights:
        keys = jax.random.split(jax.random.fold_in(key, number), len(attentions) + 1)
        made = {name: _attention(k, axes) for name, k in zip(attentions, keys[1:], strict=True)}
        made["feed_forward"] = _feed_forward(keys[0], axes)
        return made if live is None else jax.tree.map(lambda w: w * (number < live), made)

    return {
        "layers": jax.vmap(layer)(jnp.arange(layers)),
        "norm": ragged.layer_norm_weights(axes.model),
    }
