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
    """

    index: Mapping[str, int]  # word -> row
    unit: np.ndarray  # [V, D] float32, rows of length 1
    zeros: int = 0  # words read whose vector was left out since all its numbers are 0

    def rows(self, words: Iterable[str]) -> np.ndarray:
        """Row of each word, -1 where it has none."""
        return np.array([self.index.get(word, -1) for word in words], np.int64)


class _Forms:
    """Words of any spelling that lower-casing takes to one of a set."""

    def __init__(self, words: frozenset[str]):
        self._words = words

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word.lower() in self._words


def read(
    path: str | Path,
    words: Iterable[str] | None = None,
    *,
    lower_case: bool = True,
    most: int | None = None,
) -> Lookup:
    """The vectors of a file.

    Args:
      words: only these are kept; None keeps all.
      lower_case: whether words of the file, and `words`, are taken in lower case.
      most: only the file's first so many words count, the most frequent ones by custom.

    Raises:
      DataError: the file cannot be read, or all its vectors are 0.
    """
    forms = None if words is None else frozenset(word_of(w, lower_case) for w in words)
    read = vectors.read(path, forms if forms is None or not lower_case else _Forms(forms))
    lengths = np.sqrt(np.einsum("vd,vd->v", read.table, read.table, dtype=np.float32))
    short = np.flatnonzero(lengths < _SHORT)
    lengths[short] = np.linalg.norm(read.table[short].astype(np.float64), axis=1)
    first = lengths[:most]
    directed = (first > 0).tolist()
    index: dict[str, int] = {}
    for word, row in read.index.items():
        if row < len(directed) and directed[row]:
            index.setdefault(word_of(word, lower_case), row)
    table, zeros = read.table, int(np.count_nonzero(first == 0))
    if len(index) < len(table):
        kept = np.fromiter(index.values(), np.int64, len(index))
        table, lengths = table[kept], lengths[kept]
        index = dict(zip(index, range(len(index)), strict=True))
    table /= lengths[:, None]  # in place: there may be no room for a second table
    return Lookup(index, table, zeros)


def word_of(word: str, lower_case: bool) -> str:
    """A word as it is looked up."""
    return word.lower() if lower_case else word
