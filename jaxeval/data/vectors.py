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

    A first line of two whole numbers is word2vec's header (words, D), and must be true. D is the
    header's, else the first line's. Words may hold blanks (GloVe 840B): the last D fields are the
    numbers. The first of several equal words counts.

    Args:
      path: of the file.
      words: only these are kept; None keeps all.
      unknown: name of the vector for unknown words, if the file holds one.

    Raises:
      DataError: a line of the wrong width or without numbers (file, line), no vector at all,
        fewer or more than the header says, the named unknown word not found.
    """
    index: dict[str, int] = {}
    rows: list[np.ndarray] = []
    special, header, size, count = None, None, None, 0
    for number, line in enumerate(text.iterate_lines(path), 1):
        fields = line.rstrip(" ").split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
            header, size = (int(field) for field in fields)
            continue
        first, count = not count, count + 1
        size = len(fields) - 1 if size is None else size
        _check_line(fields, size, path, number)
        name = " ".join(fields[:-size])
        new = (words is None or name in words) and name not in index
        if not (first or new or name == unknown):
            continue
        vector = _numbers(fields[-size:], path, number)
        if name == unknown:
            special = vector
        if new:
            index[name] = len(rows)
            rows.append(vector)
    if size is None or not count:
        raise DataError("no vectors found; expected one word and its numbers per line", path)
    if header not in (None, count):
        message = f"its first line promises {header} vectors, found {count}; a file cut short?"
        raise DataError(message, path)
    if unknown is not None and special is None:
        raise DataError(f"no vector named {unknown!r} for unknown words", path)
    table = np.stack(rows) if rows else np.zeros((0, size), np.float32)
    return Vectors(index, table, special)


def _check_line(fields: list[str], size: int, path: str | Path, number: int) -> None:
    """Raises DataError unless a word and `size` numbers stand in a line, by a quick look."""
    if (
        size < 1
        or len(fields) <= size
        or (len(fields) > size + 1 and _is_number(fields[-size - 1]))
    ):
        message = f"expected a word and {max(size, 1)} numbers, found {len(fields) - 1}"
        raise DataError(message, path, number)
    if not _is_number(fields[-1]):  # the other numbers of words that are kept are all read
        raise DataError(f"expected numbers after the word, found {fields[-1]!r}", path, number)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _numbers(fields: list[str], path: str | Path, number: int) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # too large for float32 becomes inf, told below
            vector = np.array(fields, np.float32)
    except ValueError:
        raise DataError("expected numbers after the word", path, number) from None
    if not np.isfinite(vector).all():
        raise DataError("a vector holds nan or inf", path, number)
    return vector
