"""Pairs of sequences in symbols, and the numbers of their symbols."""

from collections.abc import Sequence
from typing import NamedTuple

from jaxeval.data import symbols
from jaxeval.files import Json


class SequencePair(NamedTuple):
    """A source and what is to be generated from it, in symbols."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    features: tuple[str, ...] = ()


class Vocabularies(NamedTuple):
    """Of the given train pairs; in a source, features are numbered after all other symbols.

    Attributes:
      source: equal to `target` where they are tied.
      target: of what a model generates.
      features: absent where there are none; with specials of its own, so that an unknown feature
        is not an unknown letter.
    """

    source: symbols.Vocabulary
    target: symbols.Vocabulary
    features: symbols.Vocabulary | None

    def to_dict(self) -> dict[str, Json]:
        """Each one's symbols in the order of their numbers, after the specials; plain JSON."""
        return {
            "specials": [*symbols.SPECIALS],
            "source": [*self.source.symbols],
            "target": [*self.target.symbols],
            "features": None if self.features is None else [*self.features.symbols],
        }

    @property
    def source_names(self) -> tuple[str, ...]:
        """Every source number's name; that of a feature stands in brackets."""
        features = () if self.features is None else self.features.names
        return (*self.source.names, *(f"[{name}]" for name in features))

    def encode_source(self, pair: SequencePair) -> list[int]:
        """Numbers of a pair's source and features."""
        features = [] if self.features is None else self.features.encode(pair.features)
        shifted = (len(self.source) + number for number in features)
        return [symbols.START, *self.source.encode(pair.source), symbols.END, *shifted]

    def encode_target(self, pair: SequencePair) -> list[int]:
        """Numbers of a pair's target."""
        return [symbols.START, *self.target.encode(pair.target), symbols.END]

    def target_text(self, numbers: Sequence[int], unit: symbols.Unit) -> str:
        """A target or a model's output as text, up to its END."""
        return symbols.join((self.target.names[n] for n in symbols.upto_end(numbers)), unit)


def collect(pairs: Sequence[SequencePair], tied: bool) -> Vocabularies:
    """The vocabularies of pairs, symbols in code-point order."""
    source, target, features = (
        {symbol for pair in pairs for symbol in getattr(pair, field)}
        for field in SequencePair._fields
    )
    if tied:
        source = target = source | target
    return Vocabularies(
        symbols.Vocabulary(tuple(sorted(source))),
        symbols.Vocabulary(tuple(sorted(target))),
        symbols.Vocabulary(tuple(sorted(features))) if features else None,
    )
