"""Word vectors in text: a word and its D numbers a line, by GloVe, or by word2vec with a header.

Lines are read in batches. The numbers of a batch whose lines are all alike (a word without blanks,
D numbers, one blank between them) are read at once; any other batch is read line by line, which
gives the same numbers, or the error.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jaxeval.data import decimals, text, vector_rows
from jaxeval.data.vector_rows import Collection
from jaxeval.errors import DataError

_BATCH = 1 << 16  # bytes
_FIRST_PRINTABLE = 32
_SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons"}  # of tables, not of vectors


def read(path: str | Path, into: Collection) -> int:
    """Reads a file into a collection; returns D.

    Raises:
      DataError: as `vectors.read`.
    """
    promised, size, count = None, 0, 0
    for number, lines in _batches(path):
        if number == 1:
            header = _header(lines[0], path)
            if header is not None:
                promised, size = header
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


def _header(line: bytes, path: str | Path) -> tuple[int, int] | None:
    """How many vectors of which size word2vec's first line promises."""
    fields = _fields(line, path, 1)
    if len(fields) != 2 or not all(field.isdecimal() and len(field) < 20 for field in fields):
        return None
    count, size = map(int, fields)
    vector_rows.check_size(size, path, 1)
    return count, size


def _fields(line: bytes, path: str | Path, number: int) -> list[str]:
    return text.decode(line, path, number).rstrip(" ").split(" ")


def _at_once(lines: list[bytes], size: int, into: Collection) -> bool:
    """Adds the vectors of a batch; False, and nothing added, where a line is unlike others."""
    lines = [line.removesuffix(b"\n").removesuffix(b"\r").rstrip(b" ") for line in lines]
    whole = np.frombuffer(b"".join(lines), np.uint8)
    if (whole < _FIRST_PRINTABLE).any():
        return False
    words = [line.partition(b" ") for line in lines]
    try:
        names = b"\n".join([word for word, _, _ in words]).decode().split("\n")
    except UnicodeDecodeError:
        return False
    kept = into.choose(names)
    rows = [*kept.rows, *([] if kept.unknown is None else [kept.unknown])]
    if len(kept.rows) < len(lines) and not all(_may_be_vector(line, size) for line in lines):
        return False
    table = _numbers_at_once([words[row][2] for row in rows], size)
    if table is None:
        return False
    into.add(kept, table[: len(kept.rows)], None if kept.unknown is None else table[-1])
    return True


def _may_be_vector(line: bytes, size: int) -> bool:
    return line.count(b" ") == size and vector_rows.is_number(line[line.rindex(b" ") + 1 :])


def _numbers_at_once(lines: list[bytes], size: int) -> np.ndarray | None:
    """The numbers of lines that are alike: [lines, D]; None where one is none, or unusable."""
    if not lines:
        return np.zeros((0, size), np.float32)
    if any(line.count(b" ") != size - 1 for line in lines):
        return None
    values = decimals.parse(b"\n".join(lines) + b"\n", len(lines) * size)
    if values is None:
        return None
    with np.errstate(over="ignore"):  # too large for float32 becomes inf, which is not usable
        table = values.astype(np.float32).reshape(len(lines), size)
    return table if vector_rows.usable(table) else None


def _line_by_line(
    lines: list[bytes], number: int, size: int, into: Collection, path: str | Path
) -> None:
    """Adds the vectors of lines, of which the first has this number; raises DataError."""
    for at, line in enumerate(lines, number):
        fields = _fields(line, path, at)
        if b"\t" in line:  # numbers after a blank would be a vector, the first a part of the word
            _refuse_table(fields, path, at)
        _check_line(fields, size, path, at)
        kept = into.choose([" ".join(fields[:-size])])
        if not kept.rows and kept.unknown is None and at > 1:
            into.add(kept, np.zeros((0, size), np.float32), None)
            continue
        vector = _numbers(fields, size, path, at)
        unknown = None if kept.unknown is None else vector
        into.add(kept, vector[None][: len(kept.rows)], unknown)


def _check_line(fields: list[str], size: int, path: str | Path, number: int) -> None:
    """Raises DataError unless a word and `size` numbers stand in a line, by a quick look."""
    if (
        size < 1
        or len(fields) <= size
        or (len(fields) > size + 1 and vector_rows.is_number(fields[-size - 1]))
    ):
        _refuse_table(fields, path, number)
        message = f"expected a word and {max(size, 1)} numbers, found {len(fields) - 1}"
        raise DataError(message, path, number)
    if not vector_rows.is_number(fields[-1]):  # the others of words that are kept are all read
        _refuse_table(fields, path, number)
        last = vector_rows.shown(fields[-1])
        raise DataError(f"expected numbers after the word, found {last}", path, number)
    vector_rows.check_size(size, path, number)


def _refuse_table(fields: list[str], path: str | Path, number: int) -> None:
    """Raises DataError if a number, or the first alone, is separated by no blank."""
    for separator, name in _SEPARATORS.items():
        word, _, others = " ".join(fields).partition(separator)
        numbers = others.replace(separator, " ").split()
        if word.strip() and numbers and all(map(vector_rows.is_number, numbers)):
            message = f"expected numbers between blanks, found them between {name}; replace the"
            raise DataError(f"{message} {name} by blanks", path, number)


def _numbers(fields: list[str], size: int, path: str | Path, number: int) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # too large for float32 becomes inf, told below
            vector = np.array(fields[-size:], np.float32)
    except ValueError:
        _refuse_table(fields, path, number)
        raise DataError("expected numbers after the word", path, number) from None
    if not np.isfinite(vector).all():
        raise DataError("a vector holds nan or inf", path, number)
    if not vector_rows.usable(vector):
        message = f"a vector holds {np.abs(vector).max():g}; expected at most {vector_rows.MOST:g}"
        raise DataError(message, path, number)
    return vector
