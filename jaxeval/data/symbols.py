"""Symbols of sequences (characters or words of a text), pairs of sequences, and their numbers."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from jaxeval.config import reading
from jaxeval.files import Json

Unit = Literal["characters", "words"]
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, START, END, UNKNOWN = range(len(SPECIALS))


def split(text: str, unit: Unit) -> tuple[str, ...]:
    """Code points as they are, spaces among them, or what stands between ASCII spaces."""
    return tuple(text) if unit == "characters" else tuple(w for w in text.split(" ") if w)


def join(symbols: Iterable[str], unit: Unit) -> str:
    """Symbols as text, the reverse of `split`."""
    return ("" if unit == "characters" else " ").join(symbols)


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Numbers of symbols: the specials, then the symbols of a text.

    A word of the text that is spelt like a special is a symbol like any other.
    """

    symbols: tuple[str, ...]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Every number's name, for people."""
        return (*SPECIALS, *self.symbols)

    @functools.cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols, len(SPECIALS))}

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, symbols: Iterable[str]) -> list[int]:
        """Numbers of symbols; UNKNOWN for those that it lacks."""
        return [self._numbers.get(symbol, UNKNOWN) for symbol in symbols]


class SequencePair(NamedTuple):
    """A source and what is to be generated from it, in symbols."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    features: tuple[str, ...] = ()


class Vocabularies(NamedTuple):
    """Of the given train pairs; in a source, features are numbered after all other symbols.

    Attributes:
      features: absent where there are none; with specials of its own, so that an unknown feature
        is not an unknown letter.
    """

    source: Vocabulary  # equal to `target` where they are tied
    target: Vocabulary
    features: Vocabulary | None

    def to_dict(self) -> dict[str, Json]:
        """`SavedVocabulary` as plain JSON: symbols in the order of their numbers."""
        return {
            "specials": [*SPECIALS],
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
        return [START, *self.source.encode(pair.source), END, *shifted]

    def encode_target(self, pair: SequencePair) -> list[int]:
        """Numbers of a pair's target."""
        return [START, *self.target.encode(pair.target), END]

    def target_text(self, numbers: Sequence[int], unit: Unit) -> str:
        """A target or a model's output as text: up to the first END, without a START in front."""
        begin = int(len(numbers) > 0 and numbers[0] == START)
        end = next((k for k, number in enumerate(numbers) if number == END), len(numbers))
        return join((self.target.names[number] for number in numbers[begin:end]), unit)


def collect(pairs: Sequence[SequencePair], tied: bool) -> Vocabularies:
    """The vocabularies of pairs, symbols in code-point order."""
    source, target, features = (
        {symbol for pair in pairs for symbol in getattr(pair, field)}
        for field in SequencePair._fields
    )
    if tied:
        source = target = source | target
    return Vocabularies(
        Vocabulary(tuple(sorted(source))),
        Vocabulary(tuple(sorted(target))),
        Vocabulary(tuple(sorted(features))) if features else None,
    )


@reading.settings
class SavedVocabulary:
    """As `Vocabularies.to_dict` gives it."""

    specials: tuple[str, ...]
    source: tuple[str, ...]
    target: tuple[str, ...]
    features: tuple[str, ...] | None

    @property
    def vocabularies(self) -> Vocabularies:
        """Numbers of symbols."""
        features = None if self.features is None else Vocabulary(self.features)
        return Vocabularies(Vocabulary(self.source), Vocabulary(self.target), features)
