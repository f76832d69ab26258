"""Sentences with their targets, an LSTM over them, and the encoders that read no target.

Notation: T positions, B sentences, K targets of a sentence, R = B K rows, one a target (row
b K + k), W words of the longest target, D size of a word vector, P of a position's, H hidden
units, N filters. Sequences are time-major.

Of an LSTM over words with a target beside each of them, [x(t); target], the kernel's first rows
are multiplied once a sentence, the others once a target: [T, R, 2 D] is never formed.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.contracts import Array
from jaxeval.models import lstm, recurrence
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.parameters import Initial, Module, Weights

_CELL = lstm.LSTMCell(lstm.LSTMVariant())


class Sentences(NamedTuple):
    """A batch of sentences.

    Attributes:
      words: [T, B, D] vectors.
      length: [B].
      start, end: [R] positions of each target, the end exclusive; 0, 0: there is none.
      target_words: [W, R, D] vectors of the targets' words.
      empty: [D] stands for a side of a target without words; None: no model asks for it.
      frozen: so many features of a word, from the first, need no gradient.
    """

    words: Array
    length: Array
    start: Array
    end: Array
    target_words: Array
    empty: Array | None
    frozen: int

    @property
    def positions(self) -> Array:
        """[T, 1]."""
        return jnp.arange(len(self.words))[:, None]

    @property
    def valid(self) -> Array:
        """[T, B] true at words, false at padding."""
        return self.positions < self.length[None]

    @property
    def valid_target(self) -> Array:
        """[W, R] true at the words of `target_words`."""
        return jnp.arange(len(self.target_words))[:, None] < (self.end - self.start)[None]

    @property
    def lengths(self) -> Array:
        """[R] words of each target's sentence."""
        return jnp.repeat(self.length, len(self.start) // len(self.length))

    @property
    def distance(self) -> Array:
        """[T, R] words to the nearest word of the target, 0 at its words."""
        before = self.start[None] - self.positions
        after = self.positions - (self.end[None] - 1)
        return jnp.maximum(jnp.maximum(before, after), 0)

    def by_target(self, x: Array) -> Array:
        """[T, B, ...], the same for all targets of a sentence, as [T, R, ...], which stays."""
        rows = len(self.start)
        return x if x.shape[1] == rows else jnp.repeat(x, rows // len(self.length), axis=1)


def mean(x: Array, valid: Array) -> Array:
    """[T, R, D] averaged where `valid` [T, R]: [R, D]; 0 where nothing is."""
    total = jnp.sum(jnp.where(valid[..., None], x, 0.0), axis=0)
    return total / jnp.maximum(jnp.sum(valid, axis=0), 1)[:, None]


def input_gates(
    kernel: Array,
    sentences: Sentences,
    words: Array,
    target: Array | None = None,
    position: Array | None = None,
) -> Array:
    """The inputs' part of all gates: [T, B, 4 H]; [T, R, 4 H] where they depend on the target.

    Args:
      kernel: [D (+ Dt) (+ P), 4 H], rows in the order of the following.
      words: [T, B, D], those of the sentences, perhaps some of them dropped.
      target: [R, Dt], the same at all words.
      position: [N, P], a vector of each distance from the target; the last of longer ones too.
    """
    size = words.shape[-1]
    gates = recurrence.project(words, kernel[:size], sentences.frozen)
    if target is not None:
        of_target = target @ kernel[size : size + target.shape[-1]]
        gates = sentences.by_target(gates) + of_target[None]
    if position is not None:
        of_position = position @ kernel[-position.shape[-1] :]
        distance = jnp.minimum(sentences.distance, len(position) - 1)
        gates = sentences.by_target(gates) + of_position[distance]
    return gates


def run(weights: Weights, gates: Array, valid: Array, reverse: bool = False) -> Array:
    """Hidden states [T, R, H] of an LSTM with the weights of `Initial.lstm`.

    Where `valid` [T, R] is false the state before is held, at first zero.
    """
    zeros = jnp.zeros((gates.shape[1], len(weights["recurrent"])))
    bias, start = jnp.sum(weights["biases"], axis=0), (zeros, zeros)
    recurrent = weights["recurrent"]
    return recurrence.run(_CELL, reverse, None, gates, bias, recurrent, {}, start, valid, None)


class LastState(Module):
    """The last state of an LSTM over the words: [B, H]."""

    hidden: int
    initial: Initial

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all sentences."""
        words = drop.steps("input", sentences.words)
        weights = self.param("lstm", self.initial.lstm, words.shape[-1], self.hidden)
        gates = input_gates(weights["kernel"], sentences, words)
        return run(weights, gates, sentences.valid)[-1]


class Convolutions(Module):
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
        size, filters = words.shape[-1], self.filters
        layers = [
            self.param(f"filters{w}", self.initial.linear, w * size, filters) for w in self.widths
        ]
        kernels = [
            layer["kernel"].reshape(width, -1, filters).transpose(1, 0, 2).reshape(size, -1)
            for width, layer in zip(self.widths, layers, strict=True)
        ]
        products = recurrence.project(words, jnp.concatenate(kernels, axis=1), sentences.frozen)
        ends = [sum(self.widths[: n + 1]) * filters for n in range(len(self.widths) - 1)]
        parts = zip(jnp.split(products, ends, axis=-1), self.widths, layers, strict=True)
        pooled = [
            _pooled(part, width, layer["bias"], sentences.length) for part, width, layer in parts
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


class Bag(Module):
    """The mean of the word vectors through ReLU layers (Iyyer et al. 2015): [B, last width]."""

    widths: tuple[int, ...]
    initial: Initial

    @nn.compact
    def __call__(self, sentences: Sentences, drop: KeyedDropout) -> Array:
        """The features of all sentences."""
        features = mean(drop.steps("input", sentences.words), sentences.valid)
        for number, width in enumerate(self.widths):
            size = features.shape[-1]
            layer = self.param(f"layer{number}", self.initial.linear, size, width)
            features = jax.nn.relu(features @ layer["kernel"] + layer["bias"][None])
        return features
