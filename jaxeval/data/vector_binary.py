"""Word vectors as raw numbers: word2vec's binary format."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jaxeval.data import text, vector_table
from jaxeval.data.vector_table import Collection
from jaxeval.errors import DataError

START = 1 << 16  # bytes by which a format is told
_LONGEST_HEADER = 64
_LONGEST_WORD = 4096  # bytes
_BLOCK = 1 << 22  # bytes
_TEXT = bytes([9, 10, 13, *range(32, 127)])


def is_binary(start: bytes) -> bool:
    """Whether a file that begins so is word2vec's binary format rather than its text.

    Both begin with a line of two whole numbers. Then D numbers follow a word: in text they are
    printable and all in one line.
    """
    header, end, rest = start.partition(b"\n")
    sizes = vector_table.sizes(header)
    if not end or sizes is None or not sizes[1]:
        return False
    fields = rest.partition(b"\n")[0].split()
    if len(fields) > sizes[1] and all(map(vector_table.is_number, fields[-sizes[1] :])):
        return False
    vector = rest[rest.find(b" ") + 1 :][: 4 * sizes[1]]
    return bool(vector.translate(None, _TEXT))


def read(path: str | Path, into: Collection) -> int:
    """Reads word2vec's binary format into a collection; returns D.

    A header "V D", then V times a word, a blank and D little-endian float32, perhaps a newline.

    Raises:
      DataError: as `vectors.read`.
    """
    with text.opened(path) as stream:
        sizes = vector_table.sizes(stream.readline(_LONGEST_HEADER))
        assert sizes is not None  # is_binary has seen it
        count, size = sizes
        vector_table.check_size(size, path, 1)
        promised, most = count * (4 * size + 2), text.most_bytes(path)
        if promised > most:  # before anything is allocated
            message = f"its first line promises {promised} bytes or more, found at most {most}"
            raise DataError(f"{message}; a file cut short?", path, 1)
        words_read = 0
        for words, raw in _blocks(stream, size, path):
            words_read += len(words)
            _add(_decoded(words, words_read - len(words), path), raw, into, path)
            if words_read > count:
                break
    if words_read != count:
        least = "at least " if words_read > count else ""
        message = f"its first line promises {count} vectors, found {least}{words_read}; cut short?"
        raise DataError(message, path)
    return size


def _blocks(
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
    if not vector_table.usable(table):
        wrong = ~(np.abs(table) <= vector_table.MOST).all(axis=1)
        name = vector_table.shown(names[int(np.argmax(wrong))])
        message = f"the vector of {name} holds nan, inf or more than {vector_table.MOST:g}"
        raise DataError(message, path)
    chosen = into.choose(names)
    unknown = None if chosen.unknown is None else table[chosen.unknown].copy()
    into.add(chosen, table[chosen.rows], unknown)
