"""What both sequence-to-sequence models share: settings, sizes and costs, how they are called.

Notation, here and in `attentive_lstm` and `transformer`: B rows, Ts and Tt positions of sources
and targets, E embedding size, H hidden units (of a direction; of a transformer's feed-forward
layer), V target symbols. After Wiemerslage et al. (2024), as their public code computes it.
"""

import dataclasses
import math
from typing import Annotated, ClassVar, Literal, NamedTuple, Protocol

from pydantic import Field, model_validator

from jaxeval.config import fields, markers, reading
from jaxeval.contracts import Array, Hparams, Tree
from jaxeval.models.dropout import HashedDropout

Architecture = Literal["attentive_lstm", "transformer"]


class Seq2SeqShape(NamedTuple):
    """Sizes of arrays."""

    source: int  # symbols
    target: int  # symbols
    embedding: int
    hidden: int
    encoder_layers: int
    decoder_layers: int
    heads: int


class Live(NamedTuple):
    """How much of a shape a member uses, traced; None: all of it (`models.ragged`)."""

    embedding: Array | None = None
    hidden: Array | None = None
    encoder_layers: Array | None = None
    decoder_layers: Array | None = None
    heads: Array | None = None


def live_of(hparams: Hparams) -> Live:
    """What a member's hyperparameters say of its sizes."""
    return Live(*(hparams.get(name) for name in Live._fields))


@reading.settings
class Seq2Seq:
    """The model; defaults are the LSTM of Wiemerslage et al. (2024) in the middle of its range."""

    architecture: Architecture = Field("attentive_lstm", description="which model")
    embedding: Annotated[fields.Size, markers.RAGGED] = Field(
        128, description="size of embeddings; a transformer's width"
    )
    hidden: Annotated[fields.Size, markers.RAGGED] = Field(
        512, description="units per direction; of a transformer's feed-forward layer"
    )
    encoder_layers: Annotated[fields.Layers, markers.RAGGED] = Field(1, description="layers")
    decoder_layers: Annotated[fields.Layers, markers.RAGGED] = Field(
        1, description="layers; an LSTM's decoder has one"
    )
    heads: Annotated[fields.Size, markers.RAGGED] = Field(
        1, description="heads of a transformer; an LSTM has one"
    )
    dropout: Annotated[fields.Rate, markers.dropout("dropout", alone=False)] = Field(
        0.1, description="rate at all sites"
    )
    label_smoothing: Annotated[fields.Rate, markers.dropout("label_smoothing", alone=False)] = (
        Field(0.0, description="fraction of the loss spread evenly over all symbols")
    )
    beam: fields.Size = Field(1, description="width of the beam while decoding; 1: greedy")

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
        """Sizes of arrays for vocabularies of such sizes."""
        sizes = {name: getattr(self, name) for name in Live._fields}
        return Seq2SeqShape(source, target, **sizes)


class Model(Protocol):
    """A Flax module that encodes sources once, and decodes teacher-forced or step by step."""

    rows_axis: ClassVar[int]  # axis of the rows in the leaves of a state

    def encode(self, source: Array, length: Array, drop: HashedDropout) -> Tree:
        """Sources [B, Ts] and their lengths [B] -> what the decoder attends to."""

    def teacher_forced(self, memory: Tree, target: Array, drop: HashedDropout) -> Array:
        """Logits [B, Tt, V] of the symbol after each of the gold ones [B, Tt]."""

    def initial_state(self, memory: Tree, steps: int) -> Tree:
        """The decoder's state before at most so many steps."""

    def step(self, memory: Tree, state: Tree, token: Array, position: Array) -> tuple[Array, Tree]:
        """Logits [B, V] after one more symbol [B] at a position [], and the state."""


@dataclasses.dataclass(frozen=True)
class Seq2SeqSizes:
    """Arrays that hold members of several sizes, and what a training step costs.

    Attributes:
      lengths: mean Ts and Tt.
      grain: embedding sizes of all members are multiples of it.
    """

    architecture: Architecture
    shape: Seq2SeqShape
    lengths: tuple[float, float]
    grain: int

    def joined(self, other: "Seq2SeqSizes") -> "Seq2SeqSizes | None":
        """The least sizes that hold both: the largest of everything.

        Computed heads are so many that every member's heads are groups of them, which all members'
        embeddings must allow.
        """
        heads = math.lcm(self.shape.heads, other.shape.heads)
        grain = math.gcd(self.grain, other.grain)
        if self.architecture != other.architecture or grain % heads:
            return None
        shape = Seq2SeqShape(*map(max, zip(self.shape, other.shape, strict=True)))
        embedding = math.ceil(shape.embedding / heads) * heads
        shape = shape._replace(heads=heads, embedding=embedding)
        return dataclasses.replace(self, shape=shape, grain=grain)

    def sizes(self) -> dict[str, int]:
        """By the names of the config's keys."""
        return {name: getattr(self.shape, name) for name in Live._fields}

    def describe(self) -> str:
        """Sizes for people."""
        shape = self.shape
        layers = f"{shape.encoder_layers}+{shape.decoder_layers} layers"
        heads = f", heads {shape.heads}" if self.architecture == "transformer" else ""
        return f"embedding {shape.embedding}, hidden {shape.hidden}, {layers}{heads}"

    def operations(self, own: "Seq2SeqSizes") -> float:
        """Floating-point operations of a training step for a row of a member of its own sizes.

        Two (a multiplication and an addition) for each product of the forward pass, three times.
        Units are padded; layers that the member lacks are skipped, at least where lanes are
        mapped.
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
        """Parameters of a member: the closed forms of the reference."""
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
