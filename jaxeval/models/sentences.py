"""Sentences with their targets, an LSTM over them, and how weights of classifiers begin.

Notation: T positions, B sentences, K targets of a sentence, R = B K rows, one a target (row
b K + k), W words of the longest target, D size of a word vector, P of a position's, H hidden
units, N filters. Sequences are time-major.

Of an LSTM over words with a target beside each of them, [x(t); target], the kernel's first rows
are multiplied once a sentence, the others once a target: [T, R, 2 D] is never formed.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.contracts import Array
from jaxeval.models import Module, Weights, cells, recurrence

InitialKind = Literal["keras", "torch", "uniform"]
_SMALL = 0.01  # bound of an attention's vector


class Sentences(NamedTuple):
    """A batch of sentences; a target at 0, 0 is none."""

    words: Array  # [T, B, D] vectors
    length: Array  # [B]
    start: Array  # [R] position of each target's first word
    end: Array  # [R] and behind its last
    target_words: Array  # [W, R, D] vectors
    frozen: int  # so many features of a word, from the first, need no gradient
    empty: Array | None = None  # [D] stands for a side of a target without words

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
    """Hidden states [T, R, H] of an LSTM with the weights of `Initial.lstm`."""
    bias = jnp.sum(weights["biases"], axis=0)
    return cells.plain_states(gates, bias, weights["recurrent"], valid, reverse)


class Initial(NamedTuple):
    """How weights begin: as in Keras, as in PyTorch, or uniform within a scale (traced)."""

    kind: InitialKind = "keras"
    scale: Array | float = 0.0
    zero_biases: bool = False  # of uniform

    def linear(self, key: Array, inputs: int, outputs: int, biased: bool = True) -> Weights:
        """Kernel [D, N] and, if biased, bias [N] of a linear layer of N outputs."""
        kernel_key, bias_key = jax.random.split(key)
        kernel = self._kernel(kernel_key, (inputs, outputs), inputs)
        bias = {"bias": self._bias(bias_key, (outputs,), inputs)} if biased else {}
        return {"kernel": kernel, **bias}

    def lstm(self, key: Array, inputs: int, width: int) -> Weights:
        """Kernel [D, 4 H], recurrent [H, 4 H] and biases [n, 4 H], which are added up.

        Torch has two biases, and so twice the step of one; its bound is 1 / sqrt(H) for all.
        """
        first, second, third = jax.random.split(key, 3)
        units = 4 * width
        if self.kind == "keras":
            bias = jnp.zeros((1, units)).at[:, 3 * width :].set(1.0)  # remembers at first
            recurrent = nn.initializers.orthogonal()(second, (width, units))
        else:
            bias = self._bias(third, (2 if self.kind == "torch" else 1, units), width)
            recurrent = self._uniform(second, (width, units), width)
        kernel = self._kernel(first, (inputs, units), width)
        return {"kernel": kernel, "recurrent": recurrent, "biases": bias}

    def table(self, key: Array, rows: int, size: int) -> Array:
        """Embeddings [rows, size], or a bilinear form: Glorot uniform, as in AllenNLP."""
        uniform = self.kind == "uniform"
        return self._uniform(key, (rows, size), 1) if uniform else _glorot(key, (rows, size))

    def vector(self, key: Array, size: int) -> Array:
        """A vector [size] of an attention, U(-.01, .01)."""
        bound = self.scale if self.kind == "uniform" else _SMALL
        return jax.random.uniform(key, (size,), minval=-bound, maxval=bound)

    def _kernel(self, key: Array, shape: tuple[int, int], inputs: int) -> Array:
        return _glorot(key, shape) if self.kind == "keras" else self._uniform(key, shape, inputs)

    def _bias(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        zero = self.kind == "keras" or self.zero_biases
        return jnp.zeros(shape) if zero else self._uniform(key, shape, inputs)

    def _uniform(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        bound = self.scale if self.kind == "uniform" else inputs**-0.5
        return jax.random.uniform(key, shape, minval=-bound, maxval=bound)


def _glorot(key: Array, shape: tuple[int, int]) -> Array:
    drawn: Array = nn.initializers.glorot_uniform()(key, shape)
    return drawn


class WordLSTM(Module):
    """States [T, B, H] of an LSTM over words [T, B, D]; [T, R, H] where they read the target.

    Args of a call: `valid` [T, B]; `target` [R, Dt], beside every word; `positions` and their
    size P: so many distances have a vector, beside every word.
    """

    hidden: int
    initial: Initial

    @nn.compact
    def __call__(
        self,
        sentences: Sentences,
        words: Array,
        valid: Array,
        target: Array | None = None,
        positions: tuple[int, int] | None = None,
    ) -> Array:
        inputs = words.shape[-1] + (0 if target is None else target.shape[-1])
        position = None
        if positions is not None:
            position = self.param("position", self.initial.table, *positions)
            inputs += positions[1]
        weights = self.param("lstm", self.initial.lstm, inputs, self.hidden)
        gates = input_gates(weights["kernel"], sentences, words, target, position)
        by_target = gates.shape[1] != valid.shape[1]
        return run(weights, gates, sentences.by_target(valid) if by_target else valid)
