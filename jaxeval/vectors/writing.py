"""Writes word vectors as word2vec's text: a header, then a word and its numbers a line."""

import gzip
import io
from collections.abc import Sequence
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
    form = " ".join(["%.9g"] * table.shape[1])
    with files.replacing(path, "wb") as raw:
        stream = gzip.GzipFile("", "wb", 6, raw, mtime=0) if path.suffix == ".gz" else raw
        text = io.TextIOWrapper(stream, "utf-8", newline="\n")
        text.write(f"{len(words)} {table.shape[1]}\n")
        for word, row in zip(words, table.tolist(), strict=True):
            text.write(f"{word} {form % tuple(row)}\n")
        text.flush()
        if stream is not raw:
            stream.close()
        text.detach()
