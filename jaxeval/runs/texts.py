"""Columns of values: the cells of a text file as Arrow keeps them, coded names, and numbers.

Ten million cells as Python strings take a gigabyte and many seconds; their distinct values do not.
"""

import contextlib
import dataclasses
import functools
import itertools
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval.data import text
from jaxeval.errors import printable

_PLAIN = r"^[+-]?\d{0,99}\.?\d{1,99}([eE][+-]?\d{1,2})?$"  # a number that is finite
COMMA = r"^(\s*[+-]?\d*),(\d+([eE][+-]?\d+)?\s*)$"  # of a number with a decimal comma


@dataclasses.dataclass(frozen=True, eq=False)
class Coded(Sequence[str]):
    """N names as codes: places in `names`, or -1 if a name is unknown.

    In a column of a table all names are known, and in order of appearance.
    """

    names: tuple[str, ...]
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, k: Any) -> Any:
        return [*map(self.name, range(len(self))[k])] if isinstance(k, slice) else self.name(k)

    def __contains__(self, value: object) -> bool:
        return value in self.names

    def name(self, k: int) -> str:
        """Returns the name of row k; "" if it is unknown."""
        code = int(self.codes[k])
        return self.names[code] if code >= 0 else ""

    def among(self, names: Iterable[str]) -> np.ndarray:
        """Returns [N] bool: the row has one of these names."""
        wanted = {*names}
        return np.array([name in wanted for name in self.names], bool)[self.codes]


class Cells(Sequence[str]):
    """The cells of a column of a text file that mostly differ: a pyarrow.ChunkedArray of str."""

    def __init__(self, cells: Any):
        self.cells = cells

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, k: Any) -> Any:
        return Cells(self.cells[k]) if isinstance(k, slice) else self.cells[int(k)].as_py()

    def __iter__(self) -> Iterator[str]:
        for chunk in self.cells.chunks:
            yield from chunk.to_pylist()

    @functools.cached_property
    def coded(self) -> Coded:
        """The cells as codes."""
        import pyarrow

        with contextlib.suppress(pyarrow.ArrowInvalid):  # seeds: a third of the time
            numbers = self.cells.cast(pyarrow.int64())
            if numbers.cast(pyarrow.string()).equals(self.cells):
                first, codes = appearance(numbers.to_numpy())
                return Coded(tuple(self.cells.take(first).to_pylist()), codes)
        whole = self.cells.cast(pyarrow.large_string()).combine_chunks().dictionary_encode()
        return Coded(tuple(whole.dictionary.to_pylist()), whole.indices.to_numpy())

    @functools.cached_property
    def floats(self) -> np.ndarray:
        """The cells as float64; NaN for anything that is not a number."""
        import pyarrow
        from pyarrow import compute

        with contextlib.suppress(pyarrow.ArrowInvalid):
            return np.asarray(self.cells.cast(pyarrow.float64()).to_numpy())
        plain = compute.match_substring_regex(self.cells, _PLAIN)
        numbers = compute.if_else(plain, self.cells, None).cast(pyarrow.float64())
        found = np.array(numbers.to_numpy())
        others = np.flatnonzero(~plain.to_numpy())
        found[others] = [*map(_to_float, self.cells.take(others).to_pylist())]
        return found


def release_memory() -> None:
    """Gives the memory of texts that are gone back to the system."""
    if pyarrow := sys.modules.get("pyarrow"):
        pyarrow.default_memory_pool().release_unused()


def read_delimited(
    path: str | Path, names: Sequence[str], delimiter: str, points: bool = False
) -> list[Any]:
    """Reads the columns of delimited text with a header, by Arrow; none if only `csv` can.

    That is text with a line that is empty (the last also of fields), has another number of fields
    or is not UTF-8, with doubled or stray quotes, or with a line end within quotes.

    Args:
      points: write numbers that have a decimal comma with a point.

    Raises DataError: as `data.text.pieces`.
    """
    import pyarrow
    from pyarrow import compute, csv

    lines, head = _scan(path, delimiter)
    plain = pyarrow.string()
    parse = csv.ParseOptions(delimiter=delimiter)
    # Arrow's threads may abort the process as it ends (apache/arrow#34314)
    options = csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False)
    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, plain), null_values=[])
    try:
        first = csv.read_csv(pyarrow.BufferReader(head), options, parse, convert)
        coded = pyarrow.dictionary(pyarrow.int32(), plain)
        convert.column_types = {
            name: coded if not points and 4 * len(column.unique()) <= len(column) else plain
            for name, column in zip(names, first.columns, strict=True)
        }
        with text.opened(path) as stream:
            table = csv.read_csv(pyarrow.PythonFile(stream, "r"), options, parse, convert)
    except pyarrow.ArrowInvalid:
        return []
    if len(table) != lines - 1 or not any(of[-1].as_py() for of in table.columns if len(of)):
        return []
    cells = table.columns
    columns: list[Sequence[str]] = []
    del table
    while cells:  # an encoded column is held once
        column = cells.pop(0)
        if points:
            column = compute.replace_substring_regex(column, COMMA, r"\1.\2")
        columns.append(of_arrow(column))
    return columns


def _scan(path: str | Path, delimiter: str) -> tuple[int, bytes]:
    """Returns the number of lines, 0 if `csv` reads them in another way, and the first lines."""
    inner = rf"[^{re.escape(delimiter)}\r\n]"  # quotes stand at the two ends of fields
    stray = re.compile(rf'"(?<={inner}"){inner}|\r[^\n]|\0'.encode())
    lines, quotes, tail, head = 0, 0, b"\n", b""
    for piece in itertools.chain(text.pieces(path), [b"\n"]):
        if not head:
            piece = piece.removeprefix(text.BOM)
            head = piece[: piece.rfind(b"\n") + 1]
        lines, quotes = lines + piece.count(b"\n"), quotes + piece.count(b'"')
        joined = tail + piece
        if any(of in joined for of in (b'"', b"\r", b"\0")) and stray.search(joined):
            return 0, b""
        tail = (tail + piece[-2:])[-2:]
    return 0 if quotes % 2 else lines - (tail[:1] == b"\n"), head


def of_arrow(cells: Any) -> Sequence[Any]:
    """Returns the values of a pyarrow.ChunkedArray, coded ones as names; None is missing."""
    import pyarrow

    if pyarrow.types.is_dictionary(cells.type) and cells.num_chunks and not cells.null_count:
        chunks = cells.unify_dictionaries().chunks
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
        return Coded(tuple(chunks[0].dictionary.to_pylist()), codes)
    of_text = pyarrow.types.is_string(cells.type) and not cells.null_count
    return Cells(cells) if of_text else cells.to_pylist()


def dense(keys: np.ndarray) -> np.ndarray:
    """Returns [N] the rank of each row's key among the distinct ones."""
    if len(keys) and (keys.min() < 0 or keys.max() > 4 * len(keys)):
        return np.asarray(np.unique(keys, return_inverse=True)[1])
    there = np.zeros(keys.max(initial=-1) + 1, np.int32)
    there[keys] = 1
    return (np.cumsum(there, out=there) - 1)[keys]


def first_of(ranks: np.ndarray) -> np.ndarray:
    """Returns the first place of each rank."""
    places = np.zeros(ranks.max(initial=-1) + 1, np.int64)
    places[ranks[::-1]] = np.arange(len(ranks))[::-1]  # the last one assigned stays
    return places


def first_place(keys: np.ndarray) -> np.ndarray:
    """Returns [N] the first place of each row's key."""
    ranks = dense(keys)
    return first_of(ranks)[ranks]


def pair_codes(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns [N] one number for each distinct pair of codes."""
    return first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second


def appearance(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first place of each distinct key, in order, and [N] the number of each key."""
    ranks = dense(keys)
    first = first_of(ranks)
    order = np.argsort(first)
    return first[order], np.argsort(order).astype(np.int32)[ranks]


def encode(values: Sequence[object]) -> Coded:
    """Codes values as text, in order of appearance; control characters are escaped."""
    values = values.coded if isinstance(values, Cells) else values
    if isinstance(values, Coded):
        names, codes = values.names, values.codes
    else:
        texts = [*map(str, values)]
        places = {name: k for k, name in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))
        names = tuple(places)
    whole = "".join(names)
    return Coded(names if printable(whole) == whole else tuple(map(printable, names)), codes)


def constant(name: str, size: int) -> Coded:
    """Codes one name for all rows."""
    return Coded((name,), np.broadcast_to(np.int32(0), size))


def take(values: Sequence[object], places: np.ndarray) -> Sequence[object]:
    """Returns the values in some places."""
    if isinstance(values, Cells):
        return Cells(values.cells.take(places))
    if not isinstance(values, Coded):
        return [values[k] for k in places.tolist()]
    codes = values.codes[places]
    first, new = appearance(codes)
    return Coded(tuple(values.names[code] for code in codes[first].tolist()), new)


def join(columns: Sequence[Coded]) -> Coded:
    """Returns the known names of several columns, one after the other."""
    places: dict[str, int] = {}
    codes: list[np.ndarray] = []
    for column in columns:
        own = [places.setdefault(name, len(places)) for name in column.names]
        codes.append(np.array(own, np.int32)[column.codes])
    return Coded(tuple(places), np.concatenate(codes))


def to_floats(values: Sequence[object]) -> np.ndarray:
    """Converts values to float64; NaN for anything that is not a number (a bool, the text 1_0)."""
    if isinstance(values, Cells):
        return values.floats
    if isinstance(values, Coded):
        return to_floats(values.names)[values.codes]
    try:
        array = np.array(values, np.float64)
        kinds = {*map(type, values)}
        plain = array.ndim == 1 and not kinds & {bool, np.bool_}
        texts = values if kinds == {str} else map(str, values) if str in kinds else ()
        if plain and "_" not in "".join(map(str, texts)):
            return array
    except (TypeError, ValueError, OverflowError):
        pass
    return np.array([_to_float(value) for value in values], np.float64)


def _to_float(value: Any) -> float:
    if isinstance(value, bool | np.bool_) or (isinstance(value, str) and "_" in value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:
        return math.inf
