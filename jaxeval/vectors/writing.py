"""Writes word vectors as word2vec's text: a header, then a word and its numbers a line."""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from jaxeval import files


def write(path: Path, words: Sequence[str], table: np.ndarray) -> None:
    """Writes a file whole or not at all, gzip where its name ends with .gz.

    Nine digits a number give every float32 back to the last bit.

    Args:
      table: [V, D] float32.

    Raises:
      RunError: it cannot be written.
    """
    with files.replacing(path, "wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
                stream.writelines(_lines(words, table))
        else:
            raw.writelines(_lines(words, table))


def _lines(words: Sequence[str], table: np.ndarray) -> Iterator[bytes]:
    yield f"{len(words)} {table.shape[1]}\n".encode()
    form = " ".join(["%.9g"] * table.shape[1])
    for word, row in zip(words, table.tolist(), strict=True):
        yield f"{word} {form % tuple(row)}\n".encode()
