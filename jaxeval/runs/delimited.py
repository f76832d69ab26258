"""Delimited text by Arrow, as far as Arrow reads it as Python's `csv` does."""

import itertools
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

    lines, head = _scan(path, delimiter)
    plain, parse = pyarrow.string(), csv.ParseOptions(delimiter=delimiter)
    # Arrow's threads may abort the process as it ends (apache/arrow#34314)
    options = csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False)
    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, plain), null_values=[])
    try:
        first = csv.read_csv(pyarrow.BufferReader(head), options, parse, convert)
        coded = pyarrow.dictionary(pyarrow.int32(), plain)
        convert.column_types = {
            name: coded if 4 * len(column.unique()) <= len(column) else plain
            for name, column in zip(names, first.columns, strict=True)
        }
        with text.opened(path) as stream:
            table = csv.read_csv(pyarrow.PythonFile(stream, "r"), options, parse, convert)
    except pyarrow.ArrowInvalid:
        return None
    if len(table) != lines - 1:
        return None
    cells, columns = table.columns, list[Sequence[str]]()
    del table
    while cells:  # an encoded column is held once
        columns.append(texts.of_arrow(cells.pop(0)))
    return columns


def _scan(path: str | Path, delimiter: str) -> tuple[int, bytes]:
    """Returns the number of lines, 0 if `csv` reads them in another way, and the first lines."""
    edges = np.isin(np.arange(256), [*f"{delimiter}\r\n".encode()])
    lines, quotes, returns, tail, head = 0, 0, 0, b"\n", b""
    for piece in itertools.chain(text.pieces(path), [b"\n"]):
        if not head:
            piece = piece.removeprefix(text.BOM)
            head = piece[: piece.rfind(b"\n") + 1]
        lines += piece.count(b"\n")
        returns += piece.count(b"\r") - (tail[-1:] + piece).count(b"\r\n")
        both = tail + piece
        if b"\0" in piece:
            return 0, b""
        if b'"' in both:  # quotes stand at the two ends of fields
            data = np.frombuffer(both, np.uint8)
            places = np.flatnonzero(data[1:-1] == ord('"')) + 1
            opening = (np.arange(len(places)) + quotes) % 2 == 0
            quotes += len(places)
            if not edges[data[np.where(opening, places - 1, places + 1)]].all():
                return 0, b""
        tail = both[-2:]
    missing = tail[:1] != b"\n"  # the last line's end
    return (0 if returns or quotes % 2 else lines - 1 + missing), head
