"""Encoders that see no target: the last state of an LSTM, convolutions, the mean word vector.

Notation as in `sentence_lstm`; N filters.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.models import module, recurrence, sentence_lstm
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.initialisers import Initial
from jaxeval.models.sentence_lstm import Sentences

Array = jax.Array


class LastState(module.Module):
    """The last state of an LSTM over the words: [B, H]."""

    hidden: int
    initial: Initial

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all sentences."""
        words = drop.steps("input", sentences.words)
        weights = self.param("lstm", self.initial.lstm, words.shape[-1], self.hidden)
        gates = sentence_lstm.input_gates(weights["kernel"], sentences, words)
        return sentence_lstm.run(weights, gates, sentences.valid)[-1]


class Convolutions(module.Module):
    """The maximum over all windows of filters of several widths: [B, N widths] (Kim 2014).

    c(i) = relu(w . x(i : i + width) + b), equation 2. A text shorter than a filter has one window,
    filled up with zeros. One product makes the parts of all filters at all words; shifted copies
    of it are added up.
    """

    widths: tuple[int, ...]
    filters: int
    initial: Initial

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all sentences."""
        words = drop.steps("input", sentences.words)
        words = jnp.where(sentences.valid[..., None], words, 0.0)
        layers = [
            self.param(f"filters{w}", self.initial.linear, w * words.shape[-1], self.filters)
            for w in self.widths
        ]
        kernels = [
            layer["kernel"]
            .reshape(width, -1, self.filters)
            .transpose(1, 0, 2)
            .reshape(-1, width * self.filters)
            for width, layer in zip(self.widths, layers, strict=True)
        ]
        products = recurrence.project(words, jnp.concatenate(kernels, axis=1), sentences.frozen)
        ends = [sum(self.widths[: n + 1]) * self.filters for n in range(len(self.widths) - 1)]
        pooled = [
            _pooled(of_width, width, layer["bias"], sentences.length)
            for of_width, width, layer in zip(
                jnp.split(products, ends, axis=-1), self.widths, layers, strict=True
            )
        ]
        return jnp.concatenate(pooled, axis=-1)


def _pooled(products: Array, width: int, bias: Array, length: Array) -> Array:
    """The maximum [B, N] over windows: products [T, B, width N] of each word with each part."""
    steps = len(products)
    products = jnp.pad(products, ((0, width - 1), (0, 0), (0, 0)))
    parts = jnp.split(products, width, axis=-1)
    windows = sum((part[n : n + steps] for n, part in enumerate(parts)), bias[None, None])
    last = jnp.maximum(length - width, 0)
    valid = jnp.arange(steps)[:, None] <= last[None]
    return jnp.max(jnp.where(valid[..., None], jax.nn.relu(windows), 0.0), axis=0)


class Bag(module.Module):
    """The mean of the word vectors through ReLU layers (Iyyer et al. 2015): [B, last width]."""

    widths: tuple[int, ...]
    initial: Initial

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all sentences."""
        words = drop.steps("input", sentences.words)
        features = sentence_lstm.mean(words, sentences.valid)
        for number, width in enumerate(self.widths):
            size = features.shape[-1]
            layer = self.param(f"layer{number}", self.initial.linear, size, width)
            features = jax.nn.relu(features @ layer["kernel"] + layer["bias"][None])
        return features
