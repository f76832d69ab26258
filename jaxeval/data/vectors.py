"""Pretrained word vectors: GloVe's text, word2vec's text or binary format; plain or gzip.

Lines of text are read in batches. The numbers of a batch whose lines are all alike (a word without
blanks, D numbers, one blank between them) are read at once; any other batch is read line by line,
which gives the same numbers, or the error.
"""

import contextlib
import dataclasses
import itertools
from collections.abc import Container, Iterator
from pathlib import Path

import numpy as np

from jaxeval.data import text, vector_binary, vector_table
from jaxeval.data.vector_table import Collection
from jaxeval.errors import DataError

_BATCH = 1 << 18  # bytes
_FIRST_PRINTABLE = 32


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Vectors by word."""

    index: dict[str, int]  # word -> row
    table: np.ndarray  # [V, D] float32
    unknown: np.ndarray | None  # [D], the vector for unknown words


def read(
    path: str | Path, words: Container[str] | None = None, unknown: str | None = None
) -> Vectors:
    """The vectors of a file, whose format is told by its content.

    Text: a word and its D numbers a line, separated by blanks. A first line of two whole numbers
    is word2vec's header (words, D), and must be true. D is the header's, else the first line's.
    Words may hold blanks (GloVe 840B): the last D fields are the numbers. word2vec binary: the
    same header, then words and little-endian float32. The first of several equal words counts.

    Memory: the table, at most a quarter more while it grows, its words, and a few megabytes.

    Args:
      path: of the file.
      words: only these are read; None: all.
      unknown: name of the vector for unknown words, if the file holds one.

    Raises:
      DataError: a line of the wrong width or without numbers (file, line), nan, inf or numbers
        beyond a million, vectors of more than 4,096 numbers or that are all 0, no vector at all,
        fewer or more than the header says, the named unknown word not found.
    """
    into, start = Collection(words, unknown), b""
    with contextlib.suppress(DataError), text.opened(path) as stream:
        start = stream.read(vector_binary.START)  # of an unreadable file, a later error tells more
    binary = vector_binary.is_binary(start)
    size = vector_binary.read(path, into) if binary else _read_text(path, into)
    return Vectors(into.index, into.finished(size, path), into.unknown)


def _read_text(path: str | Path, into: Collection) -> int:
    """Reads a file into a collection; returns D."""
    promised, size, count = None, 0, 0
    for number, lines in _batches(path):
        if number == 1:
            header = vector_table.sizes(text.decode(lines[0], path, 1).encode())
            if header is not None:
                promised, size = header
                vector_table.check_size(size, path, 1)
                continue
            size = len(_fields(lines[0], path, 1)) - 1
        count += len(lines)
        if number == 1 or not _at_once(lines, size, into):
            _line_by_line(lines, number, size, into, path)
    if not count:
        raise DataError("no vectors found; expected one word and its numbers per line", path)
    if promised not in (None, count):
        message = f"its first line promises {promised} vectors, found {count}; a file cut short?"
        raise DataError(message, path)
    return size


def _batches(path: str | Path) -> Iterator[tuple[int, list[bytes]]]:
    """Line number and lines: the first line, then as many as make a batch."""
    lines = text.raw_lines(path)
    first = list(itertools.islice(lines, 1))
    if first:
        yield 1, first
    number, batch, total = 2, list[bytes](), 0
    for line in lines:
        batch.append(line)
        total += len(line)
        if total >= _BATCH:
            yield number, batch
            number, batch, total = number + len(batch), [], 0
    if batch:
        yield number, batch


def _fields(line: bytes, path: str | Path, number: int) -> list[str]:
    return text.decode(line, path, number).rstrip(" ").split(" ")


def _at_once(lines: list[bytes], size: int, into: Collection) -> bool:
    """Adds the vectors of a batch; False, and nothing added, where a line is unlike others."""
    lines = [line.removesuffix(b"\n").removesuffix(b"\r").rstrip(b" ") for line in lines]
    if (np.frombuffer(b"".join(lines), np.uint8) < _FIRST_PRINTABLE).any():
        return False
    words = [line.partition(b" ") for line in lines]
    try:
        names = b"\n".join([word for word, _, _ in words]).decode().split("\n")
    except UnicodeDecodeError:
        return False
    chosen = into.choose(names)
    rows = [*chosen.rows, *([] if chosen.unknown is None else [chosen.unknown])]
    if len(chosen.rows) < len(lines) and not all(_may_be_vector(line, size) for line in lines):
        return False
    table = _numbers([words[row][2] for row in rows], size)
    if table is None:
        return False
    unknown = None if chosen.unknown is None else table[-1].copy()
    into.add(chosen, table[: len(chosen.rows)], unknown)
    return True


def _may_be_vector(line: bytes, size: int) -> bool:
    return line.count(b" ") == size and vector_table.is_number(line[line.rindex(b" ") + 1 :])


def _numbers(lines: list[bytes], size: int) -> np.ndarray | None:
    """The numbers of lines [lines, D] float32; None: a line has others, or unusable ones."""
    if not lines:
        return np.zeros((0, size), np.float32)
    if any(line.count(b" ") != size - 1 for line in lines):
        return None
    import pyarrow
    from pyarrow import csv

    column = pyarrow.py_buffer(b"\n".join(lines).replace(b" ", b"\n"))
    try:
        values = csv.read_csv(
            column,
            csv.ReadOptions(column_names=["numbers"]),
            csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types={"numbers": pyarrow.float64()}, null_values=[]),
        )["numbers"].to_numpy()
    except pyarrow.ArrowInvalid:
        return None
    with np.errstate(over="ignore"):  # too large for float32 becomes inf, which is not usable
        table = values.astype(np.float32).reshape(len(lines), size)
    return table if vector_table.usable(table) else None


def _line_by_line(
    lines: list[bytes], number: int, size: int, into: Collection, path: str | Path
) -> None:
    """Adds the vectors of lines, of which the first has this number; raises DataError."""
    for at, line in enumerate(lines, number):
        if b"\t" in line:  # a word and its first number would be read as a word
            raise DataError("expected blanks between word and numbers, found a tab", path, at)
        fields = _fields(line, path, at)
        more = len(fields) > size + 1 and vector_table.is_number(fields[-size - 1])
        if size < 1 or len(fields) <= size or more:
            found = f"expected a word and {max(size, 1)} numbers, found {len(fields) - 1}"
            raise DataError(found, path, at)
        vector_table.check_size(size, path, at)
        vector = _vector(fields[-size:], path, at)
        chosen = into.choose([" ".join(fields[:-size])])
        unknown = None if chosen.unknown is None else vector
        into.add(chosen, vector[None][: len(chosen.rows)], unknown)


def _vector(fields: list[str], path: str | Path, number: int) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # too large for float32 becomes inf, told below
            vector = np.array(fields, np.float32)
    except ValueError:
        wrong = next(field for field in fields if not vector_table.is_number(field))
        found = f"expected numbers after the word, found {vector_table.shown(wrong)}"
        raise DataError(found, path, number) from None
    if not vector_table.usable(vector):
        most = np.abs(vector).max()
        found = f"holds {most:g}" if np.isfinite(most) else "holds nan or inf"
        raise DataError(f"a vector {found}; expected at most {vector_table.MOST:g}", path, number)
    return vector
