"""Settings, sizes, costs and decoding of both sequence-to-sequence models.

Notation, here and in `attentive_lstm` and `transformer`: B rows, Ts and Tt positions of sources
and targets, E embedding size, H hidden units (of a direction; of a transformer's feed-forward
layer), V target symbols, K beams. Models follow the public code of Wiemerslage et al. (2024).

A model is a Flax module that encodes sources once (`encode`), and decodes with `teacher_forced`,
or step by step with what `stepwise` returns. Beams of a source share what was encoded.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.config.fields import about
from jaxeval.contracts import Array, Hparams, Tree

_Architecture = Literal["attentive_lstm", "transformer"]


class Decoder(NamedTuple):
    """A model that decodes K beams of each source step by step."""

    # (state, last symbols [B, K], position []) -> (logits [B, K, V], state)
    step: Callable[[Tree, Array, Array], tuple[Array, Tree]]
    reorder: Callable[[Tree, Array], Tree]  # (state, parents [B, K]) -> state of the parents
    state: Tree  # before the first symbol


class Seq2SeqShape(NamedTuple):
    """Sizes of arrays; source and target: symbols."""

    source: int
    target: int
    embedding: int
    hidden: int
    encoder_layers: int
    decoder_layers: int
    heads: int


class Live(NamedTuple):
    """The part of a shape that a member uses, traced; None: all of it (`models.ragged`)."""

    embedding: Array | None = None
    hidden: Array | None = None
    encoder_layers: Array | None = None
    decoder_layers: Array | None = None
    heads: Array | None = None

    @classmethod
    def from_hparams(cls, hparams: Hparams) -> "Live":
        """The sizes among a member's hyperparameters."""
        return cls(*(hparams.get(name) for name in cls._fields))


@reading.settings
class Seq2Seq:
    """The model; defaults are the LSTM of Wiemerslage et al. (2024) in the middle of its range."""

    architecture: Annotated[_Architecture, about("which model")] = "attentive_lstm"
    embedding: Annotated[
        fields.Size, fields.RAGGED, about("size of embeddings; a transformer's width")
    ] = 128
    hidden: Annotated[
        fields.Size,
        fields.RAGGED,
        about("units per direction; of a transformer's feed-forward layer"),
    ] = 512
    encoder_layers: Annotated[fields.Layers, fields.RAGGED, about("layers")] = 1
    decoder_layers: Annotated[
        fields.Layers, fields.RAGGED, about("layers; an LSTM's decoder has one")
    ] = 1
    heads: Annotated[
        fields.Size, fields.RAGGED, about("heads of a transformer; an LSTM has one")
    ] = 1
    dropout: Annotated[
        fields.Rate, fields.dropout("dropout", alone=False), about("rate at all sites")
    ] = 0.1
    label_smoothing: Annotated[
        fields.Rate,
        fields.dropout("label_smoothing", alone=False),
        about("share of the loss spread evenly over all symbols"),
    ] = 0.0
    beam: fields.Size = Field(1, description="beam width of decoding; 1: greedy")

    @model_validator(mode="after")
    def _possible(self) -> "Seq2Seq":
        if self.architecture == "attentive_lstm":
            if self.decoder_layers != 1 or self.heads != 1:
                raise ValueError("an attentive_lstm has one decoder layer and one head")
        elif self.embedding % self.heads:
            raise ValueError(
                f"heads: {self.heads} heads do not divide an embedding of {self.embedding} evenly"
            )
        return self

    def shape(self, source: int, target: int) -> Seq2SeqShape:
        """Sizes of arrays, given numbers of source and target symbols."""
        return Seq2SeqShape(source, target, *(getattr(self, name) for name in Live._fields))


@dataclasses.dataclass(frozen=True)
class Seq2SeqSizes:
    """Sizes of arrays that hold members of several sizes, and the cost of a training step."""

    architecture: _Architecture
    shape: Seq2SeqShape
    lengths: tuple[float, float]  # mean Ts and Tt
    grain: int  # embedding sizes of all members are multiples of it

    def joined(self, other: "Seq2SeqSizes") -> "Seq2SeqSizes | None":
        """Returns the largest of all sizes, or None if heads cannot be groups of computed ones."""
        heads = math.lcm(self.shape.heads, other.shape.heads)
        grain = math.gcd(self.grain, other.grain)
        if self.architecture != other.architecture or grain % heads:
            return None
        shape = Seq2SeqShape(*map(max, zip(self.shape, other.shape, strict=True)))
        embedding = math.ceil(shape.embedding / heads) * heads
        shape = shape._replace(heads=heads, embedding=embedding)
        return dataclasses.replace(self, shape=shape, grain=grain)

    def sizes(self) -> dict[str, int]:
        """Sizes by key of the config."""
        return {name: getattr(self.shape, name) for name in Live._fields}

    def describe(self) -> str:
        """Formats the sizes for people."""
        shape = self.shape
        layers = f"{shape.encoder_layers}+{shape.decoder_layers} layers"
        heads = f", heads {shape.heads}" if self.architecture == "transformer" else ""
        return f"embedding {shape.embedding}, hidden {shape.hidden}, {layers}{heads}"

    def operations(self, own: "Seq2SeqSizes") -> float:
        """Floating-point operations of a training step, per row of a member of `own` sizes.

        Two per product of the forward pass, three times; layers that it lacks are skipped.
        """
        (_, _, e, h, *_), (source, target), s = self.shape, self.lengths, own.shape
        if self.architecture == "attentive_lstm":
            widths = [e] + [2 * h] * (s.encoder_layers - 1)
            encoder = 2.0 * h * h + sum(2 * 4 * h * (w + h) for w in widths)
            decoder = 3 * h * source + 4 * h * (e + 2 * h + h) + h * h
            output = h * self.shape.target
        else:
            encoder = s.encoder_layers * (4 * e * e + 2 * e * h + 2 * source * e)
            encoder += s.decoder_layers * 2 * e * e
            decoder = s.decoder_layers * (6 * e * e + 2 * e * h + 2 * (source + target) * e)
            output = e * self.shape.target
        return 2.0 * 3.0 * (source * encoder + target * (decoder + output))

    def parameters(self) -> int:
        """Number of a member's parameters: the closed forms of the reference."""
        s, e, h = self.shape, self.shape.embedding, self.shape.hidden
        embeddings = (s.source + s.target) * e + s.target  # and the bias of the logits
        if self.architecture == "attentive_lstm":
            widths = [e] + [2 * h] * (s.encoder_layers - 1)
            encoder = sum(2 * (4 * h * (w + h) + 8 * h) for w in widths)
            decoder = 4 * h * (2 * h + e + h) + 8 * h + 2 * h
            attention = 3 * h * h + h + h + 1
            return embeddings + encoder + decoder + attention + h * s.target
        encoder = s.encoder_layers * (4 * e * e + 2 * e * h + 9 * e + h)
        decoder = s.decoder_layers * (8 * e * e + 2 * e * h + 15 * e + h)
        return embeddings + encoder + decoder + 4 * e + e * s.target


def greedy(decoder: Decoder, rows: int, steps: int, begin: int, end: int) -> Array:
    """Returns the best symbol at each step: [B, T] int32, at most `steps` symbols.

    `begin` precedes the first symbol; `end` is generated once and repeated to T. The decoder has
    one beam.
    """

    def generate(running: tuple) -> tuple:
        position, last, state, sequences = running
        logits, state = decoder.step(state, last[:, None], position)
        best = jnp.argmax(logits[:, 0], axis=-1)
        token = jnp.where(last == end, end, best).astype(jnp.int32)
        sequences = lax.dynamic_update_slice(sequences, token[:, None], (0, position))
        return position + 1, token, state, sequences

    first = jnp.full(rows, begin, jnp.int32)
    sequences = jnp.full((rows, steps), end, jnp.int32)
    start = (jnp.int32(0), first, decoder.state, sequences)
    return _until_ended(generate, start, steps, end)[-1]


def beams(
    decoder: Decoder, rows: int, steps: int, begin: int, end: int, width: int
) -> tuple[Array, Array]:
    """Returns the sequences of a beam search of K = `width`, the most probable first.

    Sequences rank by the sum of their log probabilities; ended ones compete with the others.

    Returns:
      [B, K, T] int32, and the sums of their log probabilities [B, K]; -inf if there are fewer.
    """

    def generate(running: tuple) -> tuple:
        position, last, total, state, sequences = running
        logits, state = decoder.step(state, last, position)
        log_probs = jax.nn.log_softmax(logits)
        symbols = jnp.arange(log_probs.shape[-1])
        ended = jnp.where(symbols == end, 0.0, -jnp.inf)[None, None]
        log_probs = jnp.where((last == end)[..., None], ended, log_probs)
        candidates = (total[..., None] + log_probs).reshape(rows, -1)
        total, chosen = lax.top_k(candidates, width)
        parent = chosen // len(symbols)
        token = (chosen % len(symbols)).astype(jnp.int32)
        sequences = of_parents(sequences, parent)
        sequences = lax.dynamic_update_slice(sequences, token[..., None], (0, 0, position))
        return position + 1, token, total, decoder.reorder(state, parent), sequences

    first = jnp.full((rows, width), begin, jnp.int32)
    first_only = jnp.where(jnp.arange(width) == 0, 0.0, -jnp.inf)  # all beams begin equal
    total = jnp.broadcast_to(first_only, (rows, width))
    sequences = jnp.full((rows, width, steps), end, jnp.int32)
    start = (jnp.int32(0), first, total, decoder.state, sequences)
    _, _, total, _, sequences = _until_ended(generate, start, steps, end)
    return sequences, total


def of_parents(beams: Array, parent: Array) -> Array:
    """Returns what belongs to the parents [B, K] int32 of beams: [B, K, N]."""
    return jnp.take_along_axis(beams, parent[..., None], axis=1)


def _until_ended(generate: Callable, start: tuple, steps: int, end: int) -> tuple:
    """Generates from (position, last symbols, ...) until all rows have ended."""

    def unfinished(running: tuple) -> Array:
        position, last, *_ = running
        return (position < steps) & jnp.any(last != end)

    return lax.while_loop(unfinished, generate, start)
