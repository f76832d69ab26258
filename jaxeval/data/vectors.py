"""Pretrained word vectors: GloVe, word2vec (text or binary), .npy; plain, gzip or zstd.

No format is read that could hold objects or code.
"""

import contextlib
import dataclasses
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.data import text, vector_binary, vector_rows, vector_text
from jaxeval.data.vector_rows import shown
from jaxeval.errors import DataError

__all__ = ["Coverage", "Vectors", "coverage", "equal_in_lower_case", "read", "shown"]


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Vectors by word."""

    index: dict[str, int]  # word -> row
    table: np.ndarray  # [V, D] float32
    unknown: np.ndarray | None  # [D], the vector for unknown words
    repeated: tuple[str, ...] = ()  # words that the file names again; their first vector counts


class Coverage(NamedTuple):
    """How much of a vocabulary has a vector."""

    found: int
    total: int

    @property
    def fraction(self) -> float:
        return self.found / self.total if self.total else 0.0


def read(
    path: str | Path, words: Container[str] | None = None, unknown: str | None = None
) -> Vectors:
    """The vectors of a file, whose format is told by its content.

    Text: a word and its D numbers a line, separated by blanks. A first line of two whole numbers
    is word2vec's header (words, D), and must be true. D is the header's, else the first line's.
    Words may hold blanks (GloVe 840B): the last D fields are the numbers. word2vec binary: the
    same header, then words and little-endian float32. .npy: floats [V, D], not compressed, with
    the V words in NAME.vocab, one a line. The first of several equal words counts.

    Memory: the table that is kept, at most a quarter more while it grows, its words, and a few
    megabytes of the file.

    Args:
      path: of the file.
      words: only these are kept; None keeps all.
      unknown: name of the vector for unknown words, if the file holds one.

    Raises:
      DataError: a line of the wrong width or without numbers (file, line), nan, inf or numbers
        beyond a million, vectors of more than 4,096 numbers or that are all 0, no vector at all,
        fewer or more than the header says, the named unknown word not found.
    """
    into = vector_rows.Collection(words, unknown)
    start = _start(path)
    if start.startswith(vector_binary.NPY):
        size = vector_binary.read_npy(path, into)
    elif vector_binary.is_word2vec(start):
        size = vector_binary.read_word2vec(path, into)
    else:
        size = vector_text.read(path, into)
    table = into.finished(size, path)
    if words is not None and len(table) and not table.any():
        read(path)  # what is kept is 0: raises where all the file is
    return Vectors(into.index, table, into.unknown, tuple(into.repeated))


def _start(path: str | Path) -> bytes:
    """The first bytes of a file; none of one that the reader of lines can tell more of."""
    with contextlib.suppress(DataError), text.opened(path) as stream:
        return stream.read(vector_binary.START)
    return b""


def coverage(vocabulary: Iterable[str], index: Mapping[str, int]) -> Coverage:
    """How many of the words have a vector."""
    known = [word in index for word in vocabulary]
    return Coverage(sum(known), len(known))


def equal_in_lower_case(index: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Words that lower-casing makes equal, in the order of their rows."""
    groups = defaultdict(list)
    for word in index:
        groups[word.lower()].append(word)
    return [tuple(group) for group in groups.values() if len(group) > 1]
