"""Pretrained word vectors: GloVe's text, word2vec's text or binary format; plain or gzip.

Lines of text are read in blocks. The numbers of a block of regular lines (a word without blanks, D
numbers, single blanks) are parsed at once; any other block is read line by line, with the same
result, or an error. Notation: V words, D numbers of a vector.
"""

import dataclasses
import io
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError

_MOST = 1e6  # magnitude of a number; larger ones are another format, or damage
_WIDEST = 4096  # numbers of a vector
_GROWTH = 1.25
_SHOWN = 40  # characters of a word in a message
_FIRST_PRINTABLE = 32
_START = 1 << 16  # bytes that determine the format
_LONGEST_HEADER = 64
_LONGEST_WORD = 4096  # bytes
_BLOCK = 1 << 22  # bytes of the binary format
_TEXT = bytes([9, 10, 13, *range(32, 127)])


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Vectors by word."""

    index: dict[str, int]  # word -> row
    table: np.ndarray  # [V, D] float32
    unknown: np.ndarray | None  # [D], the vector for unknown words


def read(
    path: str | Path, words: Container[str] | None = None, unknown: str | None = None
) -> Vectors:
    """Reads the vectors of a file, whose format is determined by its content.

    Text: a word and its D numbers a line, separated by blanks. A first line of two whole numbers
    is word2vec's header (words, D), and must be true. Words may contain blanks (GloVe 840B): the
    last D fields are the numbers. word2vec binary: the same header, then words and little-endian
    float32. The first of several equal words counts.

    Args:
      words: only these are read; None: all.
      unknown: name of the vector for unknown words, if the file has one.

    Raises:
      DataError: names file and line; another format, numbers beyond a million, vectors of more
        than 4,096 numbers or that are all 0, or no vectors.
    """
    into = _Collection(path, words, unknown)
    with text.opened(path) as stream:
        start = stream.read(_START)
    return into.finish((_read_binary if _is_binary(start) else _read_text)(into))


class _Collection:
    """The vectors read so far. The table grows in place: no second one of its size is needed."""

    def __init__(self, path: str | Path, words: Container[str] | None, unknown: str | None):
        self.path = path
        self._index: dict[str, int] = {}  # word -> row
        self._words, self._unknown = words, unknown
        self._table: np.ndarray | None = None  # [at least as many rows as words, D]

    def choose(self, names: Sequence[str]) -> dict[str, int]:
        """Returns which of these vectors to read: the first of each requested word -> its row."""
        fresh: dict[str, int] = {}
        for row, name in enumerate(names):
            requested = self._words is None or name in self._words or name == self._unknown
            if requested and name not in self._index:
                fresh.setdefault(name, row)
        return fresh

    def add(self, names: Sequence[str], table: np.ndarray) -> None:
        """Adds the vectors [rows, D] of chosen words."""
        if self._table is None:
            self._table = np.empty((0, table.shape[1]), np.float32)
        start, stop = len(self._index), len(self._index) + len(names)
        if stop > len(self._table):
            rows = max(stop, int(len(self._table) * _GROWTH))
            self._table.resize((rows, table.shape[1]), refcheck=False)
        self._table[start:stop] = table
        self._index.update(zip(names, range(start, stop), strict=True))

    def finish(self, size: int) -> Vectors:
        """Returns all vectors; raises DataError if all are 0, or the unknown word has none."""
        if self._unknown is not None and self._unknown not in self._index:
            message = f"no vector named {shown(self._unknown)} for unknown words"
            raise DataError(message, self.path)
        if self._table is None:
            return Vectors({}, np.zeros((0, size), np.float32), None)
        self._table.resize((len(self._index), size), refcheck=False)
        if self._index and not self._table.any():
            raise DataError("all its vectors are 0; expected word vectors", self.path)
        if self._unknown is None:
            return Vectors(self._index, self._table, None)
        row = self._index[self._unknown]
        unknown, table, names = self._table[row].copy(), self._table, [*self._index]
        if self._words is not None and self._unknown not in self._words:
            names, table = [*names[:row], *names[row + 1 :]], np.delete(table, row, axis=0)
        return Vectors({name: k for k, name in enumerate(names)}, table, unknown)


def _read_text(into: _Collection) -> int:
    """Reads a text file; returns D."""
    promised, size, number = None, 0, 1
    for lines in text.blocks(into.path):
        if number == 1:
            lines[0] = text.decode(lines[0], into.path, 1).encode()
            header = _sizes(lines[0])
            if header is None:
                size = len(lines[0].rstrip(b" ").split(b" ")) - 1
            else:
                promised, size = header
                _check_size(size, into.path, 1)
                lines, number = lines[1:], 2
        if lines and not (1 <= size <= _WIDEST and _at_once(lines, size, into)):
            _line_by_line(lines, number, size, into)
        number += len(lines)
    count = number - (1 if promised is None else 2)
    if count < 1:
        message = "no vectors found; expected one word and its numbers per line"
        raise DataError(message, into.path)
    if promised not in (None, count):
        message = f"its first line promises {promised} vectors, found {count}; a file cut short?"
        raise DataError(message, into.path)
    return size


def _at_once(lines: list[bytes], size: int, into: _Collection) -> bool:
    """Adds the vectors of regular lines; returns False, and adds none, if a line is irregular."""
    lines = [line.rstrip(b" \r") for line in lines]
    control = np.frombuffer(b"".join(lines), np.uint8) < _FIRST_PRINTABLE
    if control.any() or any(line.count(b" ") != size for line in lines):
        return False
    fields = [line.partition(b" ") for line in lines]
    try:
        names = b"\n".join([word for word, _, _ in fields]).decode().split("\n")
    except UnicodeDecodeError:
        return False
    chosen = into.choose(names)
    if len(chosen) < len(lines) and not all(is_number(n.rpartition(b" ")[2]) for *_, n in fields):
        return False
    table = _numbers([fields[row][2] for row in chosen.values()], size)
    if table is not None:
        into.add([*chosen], table)
    return table is not None


def _numbers(lines: list[bytes], size: int) -> np.ndarray | None:
    """Parses the numbers of lines [lines, D] float32; None if some are unusable."""
    if not lines:
        return np.zeros((0, size), np.float32)
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
    with np.errstate(over="ignore"):  # too large for float32 becomes inf, which is unusable
        table = values.astype(np.float32).reshape(len(lines), size)
    return table if _usable(table) else None


def _line_by_line(lines: list[bytes], number: int, size: int, into: _Collection) -> None:
    """Adds the vectors of lines, the first with this number; raises DataError."""
    for at, line in enumerate(lines, number):
        if b"\t" in line:  # a word and its first number would be read as a word
            message = "expected blanks between word and numbers, found a tab"
            raise DataError(message, into.path, at)
        fields = text.decode(line, into.path, at).rstrip(" ").split(" ")
        more = len(fields) > size + 1 and is_number(fields[-size - 1])
        if size < 1 or len(fields) <= size or more:
            found = f"expected a word and {max(size, 1)} numbers, found {len(fields) - 1}"
            raise DataError(found, into.path, at)
        _check_size(size, into.path, at)
        if wrong := [field for field in fields[-size:] if not is_number(field)]:
            found = f"expected numbers after the word, found {shown(wrong[0])}"
            raise DataError(found, into.path, at)
        with np.errstate(over="ignore"):
            vector = np.array([fields[-size:]], np.float32)
        if not _usable(vector):
            found = f"a vector holds {np.abs(vector).max():g}; expected at most {_MOST:g}"
            raise DataError(found, into.path, at)
        if chosen := into.choose([" ".join(fields[:-size])]):
            into.add([*chosen], vector)


def _is_binary(start: bytes) -> bool:
    """Returns whether the start of a file is of word2vec's binary format rather than its text."""
    header, end, rest = start.partition(b"\n")
    sizes = _sizes(header)
    if not end or sizes is None or not sizes[1]:
        return False
    fields = rest.partition(b"\n")[0].split()
    if len(fields) > sizes[1] and all(map(is_number, fields[-sizes[1] :])):
        return False
    vector = rest[rest.find(b" ") + 1 :][: 4 * sizes[1]]
    return bool(vector.translate(None, _TEXT))


def _read_binary(into: _Collection) -> int:
    """Reads a header "V D", then V times a word, a blank and D float32; returns D."""
    path = into.path
    with text.opened(path) as stream:
        sizes = _sizes(stream.readline(_LONGEST_HEADER))
        assert sizes is not None  # checked by _is_binary
        count, size = sizes
        _check_size(size, path, 1)
        found = 0
        for raw, table in _binary_blocks(stream, size, path):
            try:
                names = [word.decode() for word in raw]
            except UnicodeDecodeError as error:
                raise DataError(f"a word is not UTF-8: {error.object[:40]!r}", path) from None
            if not _usable(table):
                name = shown(names[int(np.argmin((np.abs(table) <= _MOST).all(axis=1)))])
                message = f"the vector of {name} holds nan, inf or more than {_MOST:g}"
                raise DataError(message, path)
            found += len(names)
            chosen = into.choose(names)
            into.add([*chosen], table[[*chosen.values()]])
            if found > count:
                break
    if found != count:
        least = "at least " if found > count else ""
        message = f"its first line promises {count} vectors, found {least}{found}; cut short?"
        raise DataError(message, path)
    return size


def _binary_blocks(
    stream: io.BufferedIOBase, size: int, path: str | Path
) -> Iterator[tuple[list[bytes], np.ndarray]]:
    """Yields words and their vectors [words, D], a few megabytes at a time."""
    width, left = 4 * size, b""
    while block := stream.read(_BLOCK):
        left += block
        words, vectors, at = [], [], 0
        while 0 <= (blank := left.find(b" ", at, at + _LONGEST_WORD)) < len(left) - width:
            words.append(left[at:blank].lstrip(b"\n"))
            vectors.append(left[blank + 1 : blank + 1 + width])
            at = blank + 1 + width
        left = left[at:]
        if len(left) > _LONGEST_WORD + width:
            raise DataError(f"expected a word of at most {_LONGEST_WORD} bytes and a blank", path)
        if words:
            yield words, np.frombuffer(b"".join(vectors), "<f4").reshape(len(words), size)
    if left.strip():
        raise DataError("its last vector has no end; a file cut short?", path)


def _sizes(line: bytes) -> tuple[int, int] | None:
    """Returns V and D of word2vec's first line, or None."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 20 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _check_size(size: int, path: str | Path, line: int) -> None:
    if not 1 <= size <= _WIDEST:
        raise DataError(f"vectors of {size} numbers; expected 1 to {_WIDEST}", path, line)


def is_number(field: str | bytes) -> bool:
    """Returns whether a field of a file reads as a number, nan and inf included."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _usable(table: np.ndarray) -> bool:
    """True if all numbers are finite and within the allowed magnitude."""
    return not table.size or bool(table.min() >= -_MOST and table.max() <= _MOST)


def shown(word: str) -> str:
    """Returns a word for messages: quoted, control characters escaped, shortened."""
    return repr(word if len(word) <= _SHOWN else word[:_SHOWN] + "...")
