"""Pretrained word vectors in text format: GloVe or word2vec, plain or gzip."""

import dataclasses
from collections.abc import Container
from pathlib import Path

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Vectors by word."""

    index: dict[str, int]  # word -> row
    table: np.ndarray  # [V, D] float32
    unknown: np.ndarray | None  # [D], the vector the file gives for unknown words


def read(
    path: str | Path, words: Container[str] | None = None, unknown: str | None = None
) -> Vectors:
    """The vectors of a text file: a word and its D numbers a line, separated by blanks.

    A first line of two whole numbers is word2vec's header (words, D). D is the header's, else the
    first line's. Words may hold blanks (GloVe 840B): the last D fields are the numbers. The first
    of several equal words counts.

    Args:
      path: of the file.
      words: only these are kept; None keeps all.
      unknown: name of the vector for unknown words, if the file holds one.

    Raises:
      DataError: a line of the wrong width or without numbers (file, line), no vector at all, the
        named unknown word not found.
    """
    index: dict[str, int] = {}
    rows: list[np.ndarray] = []
    special, size, empty = None, None, True
    for number, line in enumerate(text.iterate_lines(path), 1):
        fields = line.rstrip(" ").split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
            size = int(fields[1])
            continue
        empty = False
        if size is None:
            size = len(fields) - 1
        if len(fields) <= size or size < 1:
            message = f"expected a word and {max(size, 1)} numbers, found {len(fields) - 1}"
            raise DataError(message, path, number)
        name = " ".join(fields[:-size])
        wanted = (words is None or name in words) and name not in index
        if len(fields) > size + 1 and not _is_spaced(fields[-size - 1 :]):
            message = f"expected a word and {size} numbers, found {len(fields) - 1}"
            raise DataError(message, path, number)
        if wanted or name == unknown:
            vector = _numbers(fields[-size:], path, number)
            if name == unknown:
                special = vector
            if wanted:
                index[name] = len(rows)
                rows.append(vector)
    if size is None or empty:
        raise DataError("no vectors found; expected a word and its numbers a line", path)
    if unknown is not None and special is None:
        raise DataError(f"no vector named {unknown!r} for unknown words", path)
    table = np.stack(rows) if rows else np.zeros((0, size), np.float32)
    return Vectors(index, table, special)


def _is_spaced(fields: list[str]) -> bool:
    """Whether the field before the numbers is of a word with blanks, not of a wider vector."""
    try:
        float(fields[0])
    except ValueError:
        return True
    return False


def _numbers(fields: list[str], path: str | Path, number: int) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # too large for float32 becomes inf, told below
            vector = np.array(fields, np.float32)
    except ValueError:
        raise DataError("expected numbers after the word", path, number) from None
    if not np.isfinite(vector).all():
        raise DataError("a vector holds nan or inf", path, number)
    return vector
