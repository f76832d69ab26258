"""Sizes of the arrays of sequence-to-sequence models, and what a training step costs.

Counts are of multiplications and additions in products, three times those of the forward pass.
Notation as in `models.seq2seq`; Ts and Tt here are mean lengths.
"""

import dataclasses
import math
from typing import Literal

from jaxeval.models.seq2seq import Seq2SeqShape

Architecture = Literal["attentive_lstm", "transformer"]


@dataclasses.dataclass(frozen=True)
class Seq2SeqSizes:
    """Arrays that hold members of several sizes.

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
        largest = map(max, zip(self.shape, other.shape, strict=True))
        shape = Seq2SeqShape(*largest)
        embedding = math.ceil(shape.embedding / heads) * heads
        return dataclasses.replace(
            self, shape=shape._replace(heads=heads, embedding=embedding), grain=grain
        )

    def sizes(self) -> dict[str, int]:
        """By the names of the config's keys."""
        sizes = self.shape._asdict()
        return {name: sizes[name] for name in sizes if name not in ("source", "target")}

    def describe(self) -> str:
        """Sizes for people."""
        shape = self.shape
        layers = f"{shape.encoder_layers}+{shape.decoder_layers} layers"
        heads = f", heads {shape.heads}" if self.architecture == "transformer" else ""
        return f"embedding {shape.embedding}, hidden {shape.hidden}, {layers}{heads}"

    def operations(self, own: "Seq2SeqSizes") -> float:
        """Of a training step for a row of a member of its own sizes.

        Its units are padded; layers that it lacks are skipped, at least where lanes are mapped.
        """
        layers = {name: getattr(own.shape, name) for name in ("encoder_layers", "decoder_layers")}
        computed = dataclasses.replace(self, shape=self.shape._replace(**layers))
        forward = (_lstm if self.architecture == "attentive_lstm" else _transformer)(computed)
        return 2.0 * 3.0 * forward

    def parameters(self) -> int:
        """Parameters of a member: the closed forms of the reference."""
        s, e, h = self.shape, self.shape.embedding, self.shape.hidden
        if self.architecture == "attentive_lstm":
            widths = [e] + [2 * h] * (s.encoder_layers - 1)
            encoder = sum(2 * (4 * h * (w + h) + 8 * h) for w in widths)
            decoder = 4 * h * (2 * h + e + h) + 8 * h
            attention = 3 * h * h + h + h + 1
            return (
                (s.source + s.target) * e
                + encoder
                + decoder
                + attention
                + 2 * h
                + h * s.target
                + s.target
            )
        encoder = s.encoder_layers * (4 * e * e + 2 * e * h + 9 * e + h)
        decoder = s.decoder_layers * (8 * e * e + 2 * e * h + 15 * e + h)
        return (s.source + s.target) * e + encoder + decoder + 4 * e + e * s.target + s.target


def _lstm(sizes: Seq2SeqSizes) -> float:
    """Multiplications of the forward pass."""
    s, (source, target) = sizes.shape, sizes.lengths
    e, h = s.embedding, s.hidden
    widths = [e] + [2 * h] * (s.encoder_layers - 1)
    encoder = sum(2 * 4 * h * (w + h) for w in widths) + 2 * h * h
    decoder = 4 * h * (e + 2 * h + h) + h * h + 3 * h * source + h * s.target
    return source * encoder + target * decoder


def _transformer(sizes: Seq2SeqSizes) -> float:
    s, (source, target) = sizes.shape, sizes.lengths
    e, h = s.embedding, s.hidden
    encoder = s.encoder_layers * (4 * e * e + 2 * e * h + 2 * source * e)
    encoder += s.decoder_layers * 2 * e * e
    decoder = s.decoder_layers * (6 * e * e + 2 * e * h + 2 * (source + target) * e)
    return source * encoder + target * (decoder + e * s.target)
