"""Pretrained word vectors: GloVe's text, word2vec's text or binary format; plain or gzip.

Files are read in blocks, and only the numbers of requested words are parsed, a block's at once.
Notation: V words, D numbers of a vector.
"""

import dataclasses
import io
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path

import numpy as np

from jaxeval.data import text
from jaxeval.errors import DataError

_MOST = 1e6  # magnitude of a number; larger ones are another format, or damage
_WIDEST = 4096  # numbers of a vector
_GROWTH = 1.25
_SHOWN = 40  # characters of a word in a message
_START = 1 << 16  # bytes that determine the format
_LONGEST_HEADER = 64
_LONGEST_WORD = 4096  # bytes
_BLOCK = 1 << 22  # bytes of the binary format
_TEXT = bytes([9, 10, 13, *range(32, 127)])
_Choose = Callable[[Sequence[str]], dict[str, int]]  # words -> those to be read, with their places
_Block = tuple[list[str], np.ndarray]  # chosen words and their vectors [words, D]


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Vectors by word."""

    index: dict[str, int]  # word -> row
    table: np.ndarray  # [V, D] float32
    repeated: int = 0  # number of vectors left out: their word was there before

    def select(self, words: Sequence[str]) -> "Vectors":
        """Returns the vectors of some words, in their order."""
        index = {word: row for row, word in enumerate(words)}
        return Vectors(index, self.table[[self.index[word] for word in words]], self.repeated)


def read(path: str | Path, words: Container[str] | None = None) -> Vectors:
    """Reads the vectors of some words (None: all) of a file; its content determines the format.

    Text: a word and its D numbers a line, separated by blanks. A first line of two whole numbers
    is word2vec's header (words, D), and must be true. Words may contain blanks (GloVe 840B): the
    last D fields are the numbers. word2vec binary: the same header, then words and little-endian
    float32. The first of several equal words counts. Raises DataError, which names file and line:
    another format, numbers beyond a million, vectors of more than 4,096 numbers or that are all 0,
    or no vectors.
    """
    index: dict[str, int] = {}
    repeated = 0
    table: np.ndarray | None = None  # grows in place: there may be no room for a second one

    def choose(names: Sequence[str]) -> dict[str, int]:
        nonlocal repeated
        fresh: dict[str, int] = {}
        for place, name in enumerate(names):
            if words is None or name in words:
                if name in index or name in fresh:
                    repeated += 1
                else:
                    fresh[name] = place
        return fresh

    with text.opened(path) as stream:
        start = stream.read(_START)
    for names, rows in (_read_binary if _is_binary(start) else _read_text)(path, choose):
        begin = len(index)
        end = len(index) + len(names)
        table = np.empty((0, rows.shape[1]), np.float32) if table is None else table
        if end > len(table):
            size = max(end, int(len(table) * _GROWTH)), rows.shape[1]
            table.resize(size, refcheck=False)
        table[begin:end] = rows
        index.update(zip(names, range(begin, end), strict=True))
    assert table is not None  # there are vectors
    table.resize((len(index), table.shape[1]), refcheck=False)
    if index and not table.any():
        raise DataError("all its vectors are 0; expected word vectors", path)
    return Vectors(index, table, repeated)


def _read_text(path: str | Path, choose: _Choose) -> Iterator[_Block]:
    promised, size, number = None, 0, 1
    for lines in text.blocks(path):
        if number == 1:
            lines[0] = lines[0].removeprefix(text.BOM)
            size = len(lines[0].rstrip(b" \r").split(b" ")) - 1
            if (header := _sizes(lines[0])) is not None:
                promised, size = header
                _check_size(size, path, 1)
                lines = lines[1:]
                number = 2
        try:
            block = _parse(lines, size, choose)
        except ValueError:
            _refuse(lines, number, size, path)
            raise
        yield block
        number += len(lines)
    count = number - (1 if promised is None else 2)
    if count < 1:
        raise DataError("no vectors found; expected one word and its numbers per line", path)
    if promised not in (None, count):
        message = f"its first line promises {promised} vectors, found {count}; a file cut short?"
        raise DataError(message, path)


def _parse(lines: list[bytes], size: int, choose: _Choose) -> _Block:
    """Returns the vectors of lines; raises ValueError if a line is none."""
    whole = b"".join(lines)
    if lines and not (1 <= size <= _WIDEST and b"\t" not in whole and b"\0" not in whole):
        raise ValueError
    lines = [line.rstrip(b" \r") for line in lines]
    fields = [
        line.partition(b" ")[::2] if line.count(b" ") == size else _with_blanks(line, size)
        for line in lines
    ]
    names = b"\n".join([word for word, _ in fields]).decode().split("\n") if lines else []
    chosen = choose(names)
    if len(chosen) < len(lines) and not all(is_number(n.rpartition(b" ")[2]) for _, n in fields):
        raise ValueError
    return [*chosen], _numbers([fields[place][1] for place in chosen.values()], size)


def _with_blanks(line: bytes, size: int) -> tuple[bytes, bytes]:
    """Returns the numbers of a line, and all before them as a word; raises ValueError."""
    word, *numbers = line.rsplit(b" ", size)
    if len(numbers) < size or is_number(word.rpartition(b" ")[2]):
        raise ValueError
    return word, line[len(word) + 1 :]


def _numbers(lines: list[bytes], size: int) -> np.ndarray:
    """Parses the numbers of lines [lines, D] float32; raises ValueError if some are unusable."""
    if not lines:
        return np.zeros((0, size), np.float32)
    import pyarrow
    from pyarrow import csv

    column = pyarrow.py_buffer(b"\n".join(lines).replace(b" ", b"\n"))
    values = csv.read_csv(  # its ArrowInvalid is a ValueError
        column,
        csv.ReadOptions(column_names=["numbers"], use_threads=False),  # arrow#34314
        csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types={"numbers": pyarrow.float64()}, null_values=[]),
    )["numbers"].to_numpy()
    with np.errstate(over="ignore"):  # too large for float32 becomes inf, which is unusable
        table = values.astype(np.float32).reshape(len(lines), size)
    if not _usable(table):
        raise ValueError
    return table


def _refuse(lines: list[bytes], number: int, size: int, path: str | Path) -> None:
    """Raises DataError for the first line that is no vector; the first has this number."""
    for at, raw in enumerate(lines, number):
        line = text.Line(path, at, text.decode(raw, path, at).rstrip(" \r"))
        fields = line.text.split(" ")
        if "\t" in line.text:  # a word and its first number would be read as a word
            raise line.error("expected blanks between word and numbers, found a tab")
        more = len(fields) > size + 1 and is_number(fields[-size - 1])
        if size < 1 or len(fields) <= size or more:
            expected = f"{size} numbers" if size > 0 else "its numbers behind blanks"
            raise line.error(f"expected a word and {expected}, found {len(fields) - 1}")
        _check_size(size, path, at)
        for field in fields[-size:]:
            if not is_number(field):
                raise line.error(f"expected numbers after the word, found {shown(field)}")
            if not abs(float(field)) <= _MOST:
                raise line.error(f"a vector holds {float(field):g}; expected at most {_MOST:g}")
    raise DataError("expected numbers such as -1.5 or 2e-3 after each word", path, number)


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


def _read_binary(path: str | Path, choose: _Choose) -> Iterator[_Block]:
    """Yields vectors of a header "V D", then V times a word, a blank and D float32."""
    with text.opened(path) as stream:
        count, size = _sizes(stream.readline(_LONGEST_HEADER)) or (0, 0)
        _check_size(size, path, 1)
        found = 0
        for raw, table in _binary_blocks(stream, size, path):
            try:
                names = [word.decode() for word in raw]
            except UnicodeDecodeError as error:
                raise DataError(f"a word is not UTF-8: {error.object[:40]!r}", path) from None
            if cut := next((name for name in names if "\n" in name), ""):  # bytes of a vector, too
                raise DataError(f"the word before {shown(cut)} holds a blank", path)
            if not _usable(table):
                name = shown(names[int(np.argmin((np.abs(table) <= _MOST).all(axis=1)))])
                message = f"the vector of {name} holds nan, inf or more than {_MOST:g}"
                raise DataError(message, path)
            found += len(names)
            chosen = choose(names)
            yield [*chosen], table[[*chosen.values()]]
    if found != count:
        promise = f"its first line promises {count} vectors"
        raise DataError(f"{promise}, found {found}; a file cut short?", path)


def _binary_blocks(
    stream: io.BufferedIOBase, size: int, path: str | Path
) -> Iterator[tuple[list[bytes], np.ndarray]]:
    """Yields words and their vectors [words, D], a few megabytes at a time."""
    width = 4 * size
    left = b""
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
