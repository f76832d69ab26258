"""Symbols of sequences: characters or words of a text, and their numbers in a vocabulary."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

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


def upto_end(numbers: Sequence[int]) -> Sequence[int]:
    """Numbers of a sequence's own symbols: those before the first END, a START in front left out.

    All that follows where there is no END.
    """
    begin = int(len(numbers) > 0 and numbers[0] == START)
    end = next((k for k, number in enumerate(numbers) if number == END), len(numbers))
    return numbers[begin:end]
