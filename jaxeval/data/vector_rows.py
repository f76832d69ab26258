"""Which vectors of a file are kept, and the table they go into: what all formats share."""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError

MOST = 1e6  # magnitude of a number; larger ones are another format, or damage
WIDEST = 4096  # numbers of a vector
_GROWTH = 1.25
_SHOWN = 40  # characters of a word in a message


class Kept(NamedTuple):
    """What is kept of some vectors in a row."""

    rows: list[int]  # which of them, in order
    names: list[str]  # of the same
    unknown: int | None  # which of them is the vector for unknown words
    repeated: list[str]  # words dropped, since the file has named them before


class Collection:
    """The vectors kept so far. The table grows in place: no second one of its size is needed."""

    def __init__(self, words: Container[str] | None, unknown: str | None):
        self.index: dict[str, int] = {}  # word -> row
        self.unknown: np.ndarray | None = None  # [D]
        self.repeated: list[str] = []
        self._words, self._unknown_name = words, unknown
        self._table: np.ndarray | None = None  # [at least as many rows as words, D]

    def choose(self, names: Sequence[str]) -> Kept:
        """Which of these vectors to keep; changes nothing."""
        fresh: dict[str, int] = {}
        special, repeated = None, []
        for row, name in enumerate(names):
            if name == self._unknown_name:
                special = row
            if self._words is not None and name not in self._words:
                continue
            if name in self.index or name in fresh:
                repeated.append(name)
            else:
                fresh[name] = row
        return Kept([*fresh.values()], [*fresh], special, repeated)

    def add(self, kept: Kept, table: np.ndarray, unknown: np.ndarray | None) -> None:
        """Adds what `choose` gave, with its vectors [rows, D] and that of unknown words [D]."""
        if self._table is None:
            self._table = np.empty((0, table.shape[1]), np.float32)
        start, stop = len(self.index), len(self.index) + len(kept.names)
        if stop > len(self._table):
            rows = max(stop, int(len(self._table) * _GROWTH))
            self._table.resize((rows, table.shape[1]), refcheck=False)
        self._table[start:stop] = table
        self.index.update(zip(kept.names, range(start, stop), strict=True))
        self.repeated += kept.repeated
        self.unknown = self.unknown if unknown is None else unknown

    def finished(self, size: int, path: str | Path) -> np.ndarray:
        """The table [V, D] of all words kept.

        Args:
          size: D.

        Raises:
          DataError: no vector for unknown words where one was named, or all numbers are 0.
        """
        if self._unknown_name is not None and self.unknown is None:
            raise DataError(f"no vector named {shown(self._unknown_name)} for unknown words", path)
        if self._table is None:
            return np.zeros((0, size), np.float32)
        self._table.resize((len(self.index), size), refcheck=False)
        if self._words is None and not self._table.any():
            raise DataError("all its vectors are 0; expected word vectors", path)
        return self._table


def check_size(size: int, path: str | Path, line: int | None = None) -> None:
    """Raises DataError unless vectors can have so many numbers."""
    if not 1 <= size <= WIDEST:
        message = f"vectors of {size} numbers; expected 1 to {WIDEST}"
        raise DataError(message, path, line)


def is_number(field: str | bytes) -> bool:
    """Whether a field of a file reads as a number, nan and inf included."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def usable(table: np.ndarray) -> bool:
    """Whether all numbers [R, D] are finite and of a size that vectors have."""
    return not table.size or bool(table.min() >= -MOST and table.max() <= MOST)


def shown(word: str) -> str:
    """A word of a file for a message: quoted, control characters escaped, cut when long."""
    return repr(word if len(word) <= _SHOWN else word[:_SHOWN] + "...")
