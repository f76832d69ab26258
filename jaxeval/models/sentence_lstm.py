"""Sentences with their targets, and an LSTM over them whose inputs are projected once.

Notation: T positions, B sentences, K targets of a sentence, R = B K rows, one a target (row
b K + k), W words of the longest target, D size of a word vector, P of a position's, H hidden
units. Sequences are time-major.

The input of an LSTM over words with a target beside each of them, [x(t); target], times its kernel
is x(t) times the first rows of the kernel, computed once a sentence, and the target times the
others, once a target: [T, R, 2 D] is never formed.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxeval.models import lstm, recurrence
from jaxeval.models.initialisers import Weights

Array = jax.Array
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
    def targets(self) -> int:
        """K."""
        return len(self.start) // len(self.length)

    @property
    def valid(self) -> Array:
        """[T, B] true at words, false at padding."""
        return self._positions < self.length[None]

    @property
    def valid_target(self) -> Array:
        """[W, R] true at the words of `target_words`."""
        return jnp.arange(len(self.target_words))[:, None] < (self.end - self.start)[None]

    @property
    def lengths(self) -> Array:
        """[R] words of each target's sentence."""
        return jnp.repeat(self.length, self.targets)

    @property
    def distance(self) -> Array:
        """[T, R] words to the nearest word of the target, 0 at its words."""
        before = self.start[None] - self._positions
        after = self._positions - (self.end[None] - 1)
        return jnp.maximum(jnp.maximum(before, after), 0)

    @property
    def _positions(self) -> Array:
        return jnp.arange(len(self.words))[:, None]

    def left(self, end: Array) -> Array:
        """[T, R] true at words before `end` [R]."""
        return self._positions < end[None]

    def right(self, start: Array) -> Array:
        """[T, R] true at words from `start` [R] on."""
        return (self._positions >= start[None]) & (self._positions < self.lengths[None])

    def by_target(self, x: Array) -> Array:
        """[T, B, ...], the same for all targets of a sentence, as [T, R, ...], which stays."""
        return x if x.shape[1] == len(self.start) else jnp.repeat(x, self.targets, axis=1)


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
    """Hidden states [T, R, H] of an LSTM (`initialisers.Initial.lstm`).

    Where `valid` [T, R] is false the state before is held, at first zero.
    """
    zeros = jnp.zeros((gates.shape[1], len(weights["recurrent"])))
    bias, start = jnp.sum(weights["biases"], axis=0), (zeros, zeros)
    recurrent = weights["recurrent"]
    return recurrence.run(_CELL, reverse, None, gates, bias, recurrent, {}, start, valid, None)
