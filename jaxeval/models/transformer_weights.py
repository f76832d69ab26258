"""The weights of a transformer as they start, padded to a cohort's sizes.

Initialisers: those of the public code of Wiemerslage et al. (2024), see `models.transformer`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.models import ragged
from jaxeval.models.ragged import RaggedAxis
from jaxeval.models.seq2seq import Live, Seq2SeqShape, Weights

Array = jax.Array
# keys of the parameter tree, which saved models have too
SELF_ATTENTION, CROSS_ATTENTION, FEED_FORWARD = "own", "across", "feed_forward"
QKV, OUTPUT_PROJECTION = "inner", "outer"  # of an attention


class Axes(NamedTuple):
    """Axes of the arrays, each with the units that are live."""

    model: RaggedAxis
    heads: RaggedAxis  # as many units as `model`, in A blocks
    qkv: RaggedAxis  # queries, keys and values
    hidden: RaggedAxis


def axes_of(shape: Seq2SeqShape, live: Live) -> Axes:
    """The axes of a model of some shape."""
    size = shape.embedding // shape.heads
    used = None if live.embedding is None else live.embedding / shape.heads
    return Axes(
        ragged.axis(shape.embedding, live.embedding),
        ragged.axis(size, used, shape.heads),
        ragged.axis(size, used, 3 * shape.heads),
        ragged.axis(shape.hidden, live.hidden),
    )


def embeddings(key: Array, symbols: int, columns: RaggedAxis) -> Array:
    """A table [symbols, E] of variance 1/E, its first row, that of padding, 0."""
    table = ragged.normal(key, ragged.axis(symbols), columns, lax.rsqrt(columns.units))
    return table.at[0].set(0.0)


def _attention(key: Array, axes: Axes) -> Weights:
    """Projections to queries, keys and values (Glorot uniform as one matrix), and out."""
    qkv_key, output_key = jax.random.split(key)
    bound = jnp.sqrt(6.0 / (4.0 * axes.model.units))
    output = ragged.linear(output_key, axes.heads, axes.model)
    return {
        QKV: {
            "kernel": ragged.uniform(qkv_key, axes.model, axes.qkv, -bound, bound),
            "bias": jnp.zeros(len(axes.qkv)),
        },
        OUTPUT_PROJECTION: {**output, "bias": jnp.zeros_like(output["bias"])},
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
        named = zip(attentions, keys[1:], strict=True)
        weights = {name: _attention(k, axes) for name, k in named}
        weights[FEED_FORWARD] = _feed_forward(keys[0], axes)
        return weights if live is None else jax.tree.map(lambda w: w * (number < live), weights)

    return {
        "layers": jax.vmap(layer)(jnp.arange(layers)),
        "norm": ragged.layer_norm_weights(axes.model),
    }
