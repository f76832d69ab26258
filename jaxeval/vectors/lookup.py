"""Words of a test looked up among the words of a vector file, in lower case or as they are."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from jaxeval.data import vectors

_SHORT = 1e-15  # of which squares in float32 have fewer digits, or none


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Unit vectors by word; of words that lower-casing makes equal the first in the file.

    A vector of zeros has no direction: its word is one without a vector.

    Attributes:
      index: word -> row.
      unit: [V, D] float32, rows of length 1.
      zeros: words whose vector was left out since all its numbers are 0.
      lower_case: whether words are looked up in lower case.
    """

    index: Mapping[str, int]
    unit: np.ndarray
    zeros: int = 0
    lower_case: bool = True

    def rows(self, words: Iterable[str]) -> np.ndarray:
        """Row of each word, -1 where it has none."""
        return np.array([self.index.get(_form(w, self.lower_case), -1) for w in words], np.int64)


class _Forms:
    """Words of any spelling that lower-casing takes to one of a set."""

    def __init__(self, words: Iterable[str], lower_case: bool):
        self._lower = lower_case
        self._words = frozenset(_form(word, lower_case) for word in words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and _form(word, self._lower) in self._words


def read(
    path: str | Path, words: Iterable[str] | None = None, *, lower_case: bool = True
) -> Lookup:
    """The vectors of a file.

    Args:
      words: only these are read; None: all.
      lower_case: whether words of the file, and `words`, are taken in lower case.

    Raises:
      DataError: the file cannot be read, or all its vectors are 0.
    """
    read = vectors.read(path, None if words is None else _Forms(words, lower_case))
    table, lengths = read.table, np.sqrt(np.einsum("vd,vd->v", read.table, read.table))
    short = np.flatnonzero(lengths < _SHORT)
    lengths[short] = np.linalg.norm(table[short].astype(np.float64), axis=1)
    directed, index = (lengths > 0).tolist(), dict[str, int]()
    for word, row in read.index.items():
        if directed[row]:
            index.setdefault(_form(word, lower_case), row)
    zeros = len(table) - sum(directed)
    if len(index) < len(table):
        chosen = np.fromiter(index.values(), np.int64, len(index))
        table, lengths = table[chosen], lengths[chosen]
        index = dict(zip(index, range(len(index)), strict=True))
    table /= lengths[:, None]  # in place: there may be no room for a second table
    return Lookup(index, table, zeros, lower_case)


def _form(word: str, lower_case: bool) -> str:
    return word.lower() if lower_case else word
