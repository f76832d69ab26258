"""Delimited text by Arrow, as far as Arrow reads it as Python's `csv` does."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jaxeval.data import text
from jaxeval.runs import texts


def read(path: str | Path, names: Sequence[str], delimiter: str) -> list[Sequence[str]] | None:
    """Reads the columns of delimited text with a header, by Arrow; None if only `csv` can.

    That is text with a line that is empty, has another number of fields or is not UTF-8, with
    doubled or stray quotes, or with a line end within quotes.

    Raises DataError: as `data.text.pieces`.
    """
    import pyarrow
    from pyarrow import csv

    stream, plain = _Stream(path, delimiter), pyarrow.string()
    parse = csv.ParseOptions(delimiter=delimiter)
    # Arrow's threads may abort the process as it ends (apache/arrow#34314)
    options = csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False)
    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, plain), null_values=[])
    try:
        first = csv.read_csv(pyarrow.BufferReader(stream.head()), options, parse, convert)
        coded = pyarrow.dictionary(pyarrow.int32(), plain)
        convert.column_types = {
            name: coded if 4 * len(column.unique()) <= len(column) else plain
            for name, column in zip(names, first.columns, strict=True)
        }
        table = csv.read_csv(pyarrow.PythonFile(stream, "r"), options, parse, convert)
    except pyarrow.ArrowInvalid:
        return None
    if not stream.is_regular(len(table) + 1):
        return None
    cells, columns = table.columns, list[Sequence[str]]()
    del table
    while cells:  # an encoded column is held once
        columns.append(texts.of_arrow(cells.pop(0)))
    return columns


class _Stream:
    """A file for Arrow, checked for what Arrow and `csv` read differently."""

    closed = False

    def __init__(self, path: str | Path, delimiter: str):
        self._pieces = text.pieces(path)
        self._next = next(self._pieces, b"").removeprefix(text.BOM)
        self._tail = b"\n"  # of what was read
        self._edges = np.isin(np.arange(256), [*f"{delimiter}\r\n".encode()])
        self._quotes = self._lines = self._returns = 0
        self._wrong = False

    def head(self) -> bytes:
        """Returns the first whole lines."""
        return self._next[: self._next.rfind(b"\n") + 1]

    def read(self, size: int) -> bytes:
        """Returns at most `size` bytes; b"" at the end, or if Arrow would read them wrongly."""
        if not self._next:
            return b""
        piece, self._next = self._next[:size], self._next[size:]
        self._next = self._next or next(self._pieces, b"")
        both = self._tail + piece + (b"" if self._next else b"\n")
        self._lines += piece.count(b"\n")
        self._returns += piece.count(b"\r") - (self._tail[-1:] + piece).count(b"\r\n")
        self._wrong = self._wrong or b"\x00" in piece or (b'"' in both and not self._fit(both))
        self._tail = both[-2:]
        return b"" if self._wrong else piece

    def _fit(self, both: bytes) -> bool:
        """True if quotes stand at the two ends of fields; the last byte is checked next time."""
        data = np.frombuffer(both, np.uint8)
        places = np.flatnonzero(data[1:-1] == ord('"')) + 1
        opening = (np.arange(len(places)) + self._quotes) % 2 == 0
        self._quotes += len(places)
        return bool(self._edges[data[np.where(opening, places - 1, places + 1)]].all())

    def is_regular(self, lines: int) -> bool:
        """True if the file has so many lines, and `csv` reads the same."""
        missing = self._tail[-2:-1] not in (b"\n", b"")  # the last line's end
        whole = self._lines + missing == lines
        return whole and not (self._wrong or self._returns or self._quotes % 2)
