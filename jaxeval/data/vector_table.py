"""The table that vectors of a file go into, and what a vector may be: what all formats share."""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError

MOST = 1e6  # magnitude of a number; larger ones are another format, or damage
_WIDEST = 4096  # numbers of a vector
_GROWTH = 1.25
_SHOWN = 40  # characters of a word in a message


class Chosen(NamedTuple):
    """Which vectors of some in a row are read, their words, and which is of unknown words."""

    rows: list[int]
    names: list[str]
    unknown: int | None


class Collection:
    """The vectors read so far. The table grows in place: no second one of its size is needed."""

    def __init__(self, words: Container[str] | None, unknown: str | None):
        self.index: dict[str, int] = {}  # word -> row
        self.unknown: np.ndarray | None = None  # [D]
        self._words, self._unknown_name = words, unknown
        self._table: np.ndarray | None = None  # [at least as many rows as words, D]

    def choose(self, names: Sequence[str]) -> Chosen:
        """Which of these vectors to read: the first of each word that is asked for."""
        fresh: dict[str, int] = {}
        unknown = None
        for row, name in enumerate(names):
            if name == self._unknown_name:
                unknown = row
            if name not in self.index and (self._words is None or name in self._words):
                fresh.setdefault(name, row)
        return Chosen([*fresh.values()], [*fresh], unknown)

    def add(self, chosen: Chosen, table: np.ndarray, unknown: np.ndarray | None) -> None:
        """Adds the vectors [rows, D] of what `choose` gave, and that of unknown words [D]."""
        if self._table is None:
            self._table = np.empty((0, table.shape[1]), np.float32)
        start, stop = len(self.index), len(self.index) + len(chosen.names)
        if stop > len(self._table):
            rows = max(stop, int(len(self._table) * _GROWTH))
            self._table.resize((rows, table.shape[1]), refcheck=False)
        self._table[start:stop] = table
        self.index.update(zip(chosen.names, range(start, stop), strict=True))
        self.unknown = self.unknown if unknown is None else unknown

    def finished(self, size: int, path: str | Path) -> np.ndarray:
        """The table [V, D] of all words.

        Args:
          size: D.

        Raises:
          DataError: no vector for unknown words where one was named, or all numbers are 0.
        """
        if self._unknown_name is not None and self.unknown is None:
            raise DataError(f"no vector named {shown(self._unknown_name)} for unknown words", path)
        if self._table is None or not self.index:
            return np.zeros((0, size), np.float32)
        self._table.resize((len(self.index), size), refcheck=False)
        if not self._table.any():
            asked = "" if self._words is None else " of words that are asked for"
            raise DataError(f"all its vectors{asked} are 0; expected word vectors", path)
        return self._table


def sizes(line: bytes) -> tuple[int, int] | None:
    """V and D of word2vec's first line."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 20 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def check_size(size: int, path: str | Path, line: int) -> None:
    """Raises DataError unless vectors can have so many numbers."""
    if not 1 <= size <= _WIDEST:
        message = f"vectors of {size} numbers; expected 1 to {_WIDEST}"
        raise DataError(message, path, line)


def is_number(field: str | bytes) -> bool:
    """Whether a field of a file reads as a number, nan and inf included."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def usable(table: np.ndarray) -> bool:
    """Whether all numbers are finite and of a size that vectors have."""
    return not table.size or bool(table.min() >= -MOST and table.max() <= MOST)


def shown(word: str) -> str:
    """A word of a file for a message: quoted, control characters escaped, cut when long."""
    return repr(word if len(word) <= _SHOWN else word[:_SHOWN] + "...")
