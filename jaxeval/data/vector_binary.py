"""Word vectors as raw numbers: word2vec's binary format, and .npy beside a vocabulary."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jaxeval.data import text, vector_rows
from jaxeval.data.vector_rows import Collection
from jaxeval.errors import DataError, parsing

NPY = b"\x93NUMPY"
START = 1 << 16  # bytes by which a format is told
_LONGEST_HEADER = 64
_LONGEST_WORD = 4096  # bytes
_BLOCK = 1 << 22  # bytes
_ROWS = 1 << 14  # of .npy at a time
_TEXT = bytes([9, 10, 13, *range(32, 127)])


def is_word2vec(start: bytes) -> bool:
    """Whether a file that begins so is word2vec's binary format rather than its text.

    Both begin with a line of two whole numbers. Then D numbers follow a word: in text they are
    printable and all in one line.
    """
    header, end, rest = start.partition(b"\n")
    sizes = _sizes(header)
    if not end or sizes is None:
        return False
    fields = rest.partition(b"\n")[0].split()
    if len(fields) > sizes[1] and all(map(vector_rows.is_number, fields[-sizes[1] :])):
        return False
    vector = rest[rest.find(b" ") + 1 :][: 4 * sizes[1]]
    return bool(vector.translate(None, _TEXT))


def read_word2vec(path: str | Path, into: Collection) -> int:
    """Reads word2vec's binary format into a collection; returns D.

    A header "V D", then V times a word, a blank and D little-endian float32, perhaps a newline.

    Raises:
      DataError: as `vectors.read`.
    """
    with text.opened(path) as stream:
        sizes = _sizes(stream.readline(_LONGEST_HEADER).rstrip(b"\n"))
        assert sizes is not None  # is_word2vec has seen it
        count, size = sizes
        vector_rows.check_size(size, path, 1)
        _check_bytes(path, count * (4 * size + 2))
        words_read = 0
        for words, raw in _word2vec_blocks(stream, size, path):
            words_read += len(words)
            _add(_decoded(words, words_read - len(words), path), raw, into, path)
            if words_read > count:
                break
    if words_read != count:
        least = "at least " if words_read > count else ""
        message = f"its first line promises {count} vectors, found {least}{words_read}; cut short?"
        raise DataError(message, path)
    return size


def files_of(path: str | Path) -> Iterator[Path]:
    """What is read of a file of vectors that is there: itself, and of .npy its words."""
    yield Path(path)
    with contextlib.suppress(OSError), Path(path).open("rb") as stream:
        if stream.read(len(NPY)) == NPY:
            yield _vocabulary(path)


def _vocabulary(path: str | Path) -> Path:
    return Path(path).with_suffix(".vocab")


def read_npy(path: str | Path, into: Collection) -> int:
    """Reads a .npy file [V, D], whose V words stand in NAME.vocab, one a line; returns D.

    Raises:
      DataError: as `vectors.read`; a file that holds objects.
    """
    table = _mapped(path)
    vector_rows.check_size(table.shape[1], path)
    vocabulary = _vocabulary(path)
    if not vocabulary.is_file():
        raise DataError(f"expected its words in {vocabulary}, one a line; no such file", path)
    words = list(text.iterate_lines(vocabulary))
    if len(words) != len(table):
        message = f"expected {len(table)} words, as {path} has rows, found {len(words)}"
        raise DataError(message, vocabulary)
    for start in range(0, len(words), _ROWS):
        with np.errstate(over="ignore"):  # too large for float32 becomes inf, told by _add
            block = table[start : start + _ROWS].astype(np.float32)
        _add(words[start : start + _ROWS], block, into, path)
    return int(table.shape[1])


def _mapped(path: str | Path) -> np.ndarray:
    """The numbers of a .npy file, left on disk."""
    with parsing("cannot be read as .npy without objects", path):
        try:
            table = np.load(path, mmap_mode="r", allow_pickle=False)
        except OSError as error:
            raise ValueError(error.strerror or error) from None
    if table.ndim != 2 or table.dtype.kind != "f":
        message = f"expected floats [words, size], found {table.dtype} {list(table.shape)}"
        raise DataError(message, path)
    return table


def _sizes(header: bytes) -> tuple[int, int] | None:
    """V and D of word2vec's first line."""
    fields = header.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 20 for field in fields):
        return None
    count, size = map(int, fields)
    return (count, size) if size else None


def _check_bytes(path: str | Path, least: int) -> None:
    """Raises DataError unless a file can hold so many bytes, before anything is allocated."""
    most = text.most_bytes(path)
    if least > most:
        message = f"its first line promises {least} bytes or more, found at most {most}"
        raise DataError(f"{message}; a file cut short?", path, 1)


def _word2vec_blocks(
    stream: io.BufferedIOBase, size: int, path: str | Path
) -> Iterator[tuple[list[bytes], np.ndarray]]:
    """Words and their vectors [words, D], a few megabytes at a time."""
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


def _decoded(words: list[bytes], before: int, path: str | Path) -> list[str]:
    try:
        return [word.decode() for word in words]
    except UnicodeDecodeError as error:
        number = before + words.index(error.object) + 1
        raise DataError(f"word {number} is not UTF-8: {error.object[:40]!r}", path) from None


def _add(names: list[str], table: np.ndarray, into: Collection, path: str | Path) -> None:
    """Adds vectors [names, D], all of which must be usable."""
    if not vector_rows.usable(table):
        wrong = ~(np.abs(table) <= vector_rows.MOST).all(axis=1)
        name = vector_rows.shown(names[int(np.argmax(wrong))])
        message = f"the vector of {name} holds nan, inf or more than {vector_rows.MOST:g}"
        raise DataError(message, path)
    kept = into.choose(names)
    into.add(kept, table[kept.rows], None if kept.unknown is None else table[kept.unknown].copy())
