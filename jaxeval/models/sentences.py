"""Sentences and targets in them, an LSTM over words, initial weights; a classifier of pairs.

Notation: T positions, B sentences, K targets of a sentence, R = B K rows, one per target (row
b K + k), W words of the longest target, D size of a word vector, P of a position's, H hidden
units, N filters, Y classes. Sequences are time-major.

An LSTM may read each word with a target, [x(t); target]. The kernel's first rows are multiplied
once per sentence, the others once per target: [T, R, 2 D] is never formed.
"""

from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.config.fields import Rate, about
from jaxeval.contracts import Array, Batch, Hparams
from jaxeval.models import (
    Module,
    Weights,
    cells,
    dropout,
    glorot_uniform,
    recurrence,
    uniform,
    word_vectors,
)
from jaxeval.models.dropout import KeyedDropout, site

InitialKind = Literal["keras", "torch", "uniform"]
_SMALL = 0.01  # bound of an attention's vector


class Sentences(NamedTuple):
    """A batch of sentences; a target from 0 to 0 is none."""

    words: Array  # [T, B, D] vectors
    length: Array  # [B]
    start: Array  # [R] position of each target's first word
    end: Array  # [R] position after its last word
    target_words: Array  # [W, R, D] vectors
    frozen: int  # number of leading features of a word that need no gradient
    empty: Array | None = None  # [D] replaces a side without words

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
        """[R] number of words of each target's sentence."""
        return jnp.repeat(self.length, len(self.start) // len(self.length))

    @property
    def distance(self) -> Array:
        """[T, R] words to the nearest word of the target, 0 at its words."""
        before = self.start[None] - self.positions
        after = self.positions - (self.end[None] - 1)
        return jnp.maximum(jnp.maximum(before, after), 0)

    def by_target(self, x: Array) -> Array:
        """Repeats x [T, B, ...] for all targets of a sentence: [T, R, ...], which stays."""
        rows = len(self.start)
        return x if x.shape[1] == rows else jnp.repeat(x, rows // len(self.length), axis=1)

    def like(self, x: Array, valid: Array) -> Array:
        """`valid` of each row of x: repeated for all targets if x is [T, R, ...]."""
        return valid if x.shape[1] == valid.shape[1] else self.by_target(valid)

    def gates(
        self,
        kernel: Array,
        words: Array,
        target: Array | None = None,
        position: Array | None = None,
    ) -> Array:
        """The inputs' part of all gates: [T, B, 4 H], or [T, R, 4 H] with a target or position.

        Args:
          kernel: [D (+ Dt) (+ P), 4 H], rows in the order of the following.
          words: [T, B, D], those of the sentences, some perhaps dropped.
          target: [R, Dt], the same at all words.
          position: [N, P], a vector per distance from the target; the last for longer ones too.
        """
        size = words.shape[-1]
        gates = recurrence.project(words, kernel[:size], self.frozen)
        if target is not None:
            from_target = target @ kernel[size : size + target.shape[-1]]
            gates = self.by_target(gates) + from_target[None]
        if position is not None:
            from_position = position @ kernel[-position.shape[-1] :]
            distance = jnp.minimum(self.distance, len(position) - 1)
            gates = self.by_target(gates) + from_position[distance]
        return gates


def mean(x: Array, valid: Array) -> Array:
    """Mean [R, D] of x [T, R, D] where `valid` [T, R]; 0 where nothing is valid."""
    total = jnp.sum(jnp.where(valid[..., None], x, 0.0), axis=0)
    return total / jnp.maximum(jnp.sum(valid, axis=0), 1)[:, None]


def run(weights: Weights, gates: Array, valid: Array, reverse: bool = False) -> Array:
    """Hidden states [T, R, H] of an LSTM with the weights of `Initial.lstm`."""
    bias = jnp.sum(weights["biases"], axis=0)
    return cells.plain_states(gates, bias, weights["recurrent"], valid, reverse)


class Initial(NamedTuple):
    """Initial weights: as in Keras, as in PyTorch, or uniform within a traced scale."""

    kind: InitialKind = "keras"
    scale: Array | float = 0.0
    zero_biases: bool = False  # for uniform

    def linear(self, key: Array, inputs: int, outputs: int, biased: bool = True) -> Weights:
        """Kernel [D, N] and, if biased, bias [N] of a linear layer of N outputs."""
        kernel_key, bias_key = jax.random.split(key)
        kernel = self._kernel(kernel_key, (inputs, outputs), inputs)
        return {"kernel": kernel} | (
            {"bias": self._bias(bias_key, (outputs,), inputs)} if biased else {}
        )

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
        by_scale = self.kind == "uniform"
        return (
            self._uniform(key, (rows, size), 1) if by_scale else glorot_uniform(key, (rows, size))
        )

    def vector(self, key: Array, size: int) -> Array:
        """An attention's vector [size], U(-.01, .01)."""
        bound = self.scale if self.kind == "uniform" else _SMALL
        return uniform(key, (size,), bound)

    def _kernel(self, key: Array, shape: tuple[int, int], inputs: int) -> Array:
        return (
            glorot_uniform(key, shape)
            if self.kind == "keras"
            else self._uniform(key, shape, inputs)
        )

    def _bias(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        zero = self.kind == "keras" or self.zero_biases
        return jnp.zeros(shape) if zero else self._uniform(key, shape, inputs)

    def _uniform(self, key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        bound = self.scale if self.kind == "uniform" else inputs**-0.5
        return uniform(key, shape, bound)


class WordLSTM(Module):
    """States [T, B, H] of an LSTM over words [T, B, D]; [T, R, H] if they read the target.

    A call takes `valid` [T, B], `target` [R, Dt], which is concatenated to every word, and
    `positions`: the number of distances whose vectors are concatenated too, and their size P.
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
        gates = sentences.gates(weights["kernel"], words, target, position)
        return run(weights, gates, sentences.like(gates, valid))


@reading.settings
class _PairWords:
    """Word embeddings."""

    trained: bool = Field(True, description="train word vectors; false: keep them as read")


@reading.settings
class _PairDropout(dropout.DropoutSettings):
    """Dropout of a classifier of pairs."""

    input: Annotated[Rate, site("input"), about("rate on word vectors")] = 0.0
    output: Annotated[Rate, site("output"), about("rate on last states")] = 0.0


@reading.settings
class PairModel:
    """A classifier of pairs of sentences."""

    hidden: fields.Size = Field(50, description="units of each LSTM")
    layer: fields.Size = Field(50, description="units of the tanh layer over both states")
    words: _PairWords = Field(_PairWords(), description="word embeddings")
    dropout: _PairDropout = Field(_PairDropout(), description="dropout")


class PairClassifier(Module):
    """Logits [B, Y] of B pairs: two LSTMs, a tanh layer over both last states, a linear layer.

    Bowman et al. (2015, section 4.3) with a single layer, as in VecEval (Nayak et al. 2016). Rows
    of a batch are premise and hypothesis [B, T] int32 with premise_length and hypothesis_length
    [B]; `shared` and `split` are as for `word_vectors`, arguments as for `sentiment.Classifier`.
    """

    choices: PairModel
    labels: int
    words: int  # leading rows of the word table that may be trained: the vocabulary

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        choices = self.choices
        initial = Initial("keras")
        variational = choices.dropout.kind == "variational"
        drop = KeyedDropout(dropout.rates(hparams), key, variational=variational)
        table = None
        frozen = word_vectors.size(batch)
        if choices.words.trained:
            table = word_vectors.parameter(self, "words", batch, self.words)
            frozen = 0
        states = []
        for side in ("premise", "hypothesis"):
            rows = word_vectors.known_rows(batch, batch.rows[side].T)
            words = word_vectors.look_up(table, batch, rows, key is not None)
            length = batch.rows[f"{side}_length"]
            nowhere = jnp.zeros_like(length)  # nothing is a target
            texts = Sentences(words, length, nowhere, nowhere, words[:1], frozen)
            encoder = WordLSTM(choices.hidden, initial, name=side)
            hidden = encoder(texts, drop.steps("input", words), texts.valid)
            states.append(drop.elements("output", hidden[-1]))
        pair = jnp.concatenate(states, axis=-1)
        layer = self.param("layer", initial.linear, pair.shape[-1], choices.layer)
        hidden = jnp.tanh(pair @ layer["kernel"] + layer["bias"][None])
        last = self.param("logits", initial.linear, choices.layer, self.labels)
        logits: Array = hidden @ last["kernel"] + last["bias"][None]
        return logits
