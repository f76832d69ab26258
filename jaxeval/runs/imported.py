"""Reads tables of any program as columns: CSV, TSV, JSON, JSON lines, Parquet, records, frames."""

import contextlib
import csv
import dataclasses
import difflib
import gc
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, parsing, printable
from jaxeval.files import Json

_MOST_ROWS = 10_000_000
_EXPECTED_JSON = (
    'expected {model: [scores]} or a list of records such as [{"model": "A", "score": 0.9}]'
)


@dataclasses.dataclass(frozen=True)
class Columns:
    """A table as it was read: column name -> values, all of one length.

    Control characters in names of columns and of the source are escaped.
    Values of text files are str: "None" is a value like any other, "" a missing one.
    """

    source: str
    values: Mapping[str, Sequence[object]]
    rows: Sequence[int]  # number of each row as an editor counts; the header is row 1

    def __post_init__(self) -> None:
        if any(printable(name) != name for name in (self.source, *self.values)):
            values = {printable(name): column for name, column in self.values.items()}
            object.__setattr__(self, "values", values)
            object.__setattr__(self, "source", printable(self.source))

    def __getitem__(self, name: str) -> Sequence[object]:
        """A column's values; raises DataError where there is no column of this name."""
        if name not in self.values:
            near = difflib.get_close_matches(name, self.values, 1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {listed(self.values)}"
            raise DataError(f"no column {name!r}; {hint}", self.source)
        return self.values[name]

    def texts(self, name: str) -> list[str]:
        """A column's values as text."""
        return [str(value) for value in self[name]]

    def __len__(self) -> int:
        return len(self.rows)


def listed(names: Iterable[object], most: int = 12) -> str:
    """Names for a message, cut where there are too many."""
    every = list(names)
    shown = ", ".join(printable(str(name)[:60]) for name in every[:most])
    return shown + (f" and {len(every) - most} more" if len(every) > most else "")


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Without the cycle collector, which walks millions of new rows again and again (3 times)."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@collector_paused()
def read(path: str | Path) -> Columns:
    """The columns of a table.

    A file whose name ends in .json, .jsonl, .ndjson or .parquet is read as such; any other as JSON
    lines where its first line is a JSON object, else as delimited text with a header line; the
    delimiter (tab, comma or semicolon) is the one in the header.
    Raises DataError: naming the file, the row, and what was expected.
    """
    suffix = Path(Path(path).name.removesuffix(".gz")).suffix.lower()
    if suffix == ".parquet":
        table = _parquet(path)
    else:
        _refuse_many_unpacked(path)
        lines = text.iterate_lines(path)
        first = next(lines, "")
        rest = [*lines] if suffix == ".json" else lines
        of_records = suffix in (".jsonl", ".ndjson") or (_is_object(first) and rest != [])
        reader = _json_lines if of_records else _json if suffix == ".json" else _delimited
        table = reader(itertools.chain([first], rest), path)
    if not len(table):
        raise DataError("a header without rows; expected at least one row of scores", path)
    return table


def header(path: str | Path) -> list[str]:
    """The names of the columns of delimited text."""
    line = next(text.iterate_lines(path), "")
    return [name.strip() for name in next(csv.reader([line], delimiter=_delimiter(line)), ())]


def of_python(table: Any) -> Columns:
    """The columns of a list of records, or of a data frame of pandas or another library.

    Raises DataError: a frame without rows, or with two columns of one name.
    """
    if not hasattr(table, "to_dict"):
        records = [{str(key): value for key, value in record.items()} for record in table]
        return _of_records(records, "records", range(1, len(records) + 1))
    values = {str(name): [*table[name]] for name in table.columns}
    if len(values) < len(table.columns) or not len(table):
        raise DataError("table: expected a data frame with rows, and columns of different names")
    return Columns("data frame", values, range(1, len(table) + 1))


def pick(table: Columns, places: Sequence[int]) -> Columns:
    """Some rows of a table; the table itself where these are all of its rows."""
    if len(places) == len(table):
        return table
    values = {name: [column[k] for k in places] for name, column in table.values.items()}
    return dataclasses.replace(table, values=values, rows=[table.rows[k] for k in places])


def _of_records(
    records: Sequence[Mapping[str, object]], path: str | Path, rows: Sequence[int]
) -> Columns:
    """The columns of records; those that a record lacks are None there."""
    names = list(dict.fromkeys(name for record in records for name in record))
    values = {name: [record.get(name) for record in records] for name in names}
    return Columns(str(path), values, rows)


def _delimited(lines: Iterator[str], path: str | Path) -> Columns:
    first = next(lines)
    whole = (line + "\n" for line in itertools.chain([first], lines))
    # strict: an open quote would swallow the rest
    reader = csv.reader(whole, delimiter=_delimiter(first), strict=True)
    numbers: list[int] = []
    body: list[list[str]] = []
    try:
        names = [name.strip() for name in next(reader)]  # "model , score"
        twice = _twice(names)
        if twice is not None:
            raise DataError(f"two columns are named {twice!r}", path, 1)
        width = len(names)
        for row in filter(None, reader):
            if len(row) != width:
                message = f"expected {len(names)} fields as in the header, found {len(row)}"
                raise DataError(message, path, reader.line_num)
            body.append(row)
            numbers.append(reader.line_num)
            if len(body) > _MOST_ROWS:
                _refuse_many(len(body), path)
    except csv.Error as error:
        message = f"not a table of delimited text ({error})"
        raise DataError(message, path, reader.line_num) from None
    columns = zip(*body, strict=True) if body else ([] for _ in names)
    return Columns(str(path), dict(zip(names, columns, strict=True)), numbers)


def _delimiter(header: str) -> str:
    return "\t" if "\t" in header else max(",;", key=header.count)


def _refuse_many_unpacked(path: str | Path) -> None:
    """Before any is kept: a few compressed bytes can be more rows than the memory holds."""
    lines = (raw for raw in text.raw_lines(path) if raw.strip())
    if next(lines, b"") and text.most_bytes(path) > Path(path).stat().st_size:
        for number, _ in enumerate(lines, 1):
            _refuse_many(number, path)


def _refuse_many(rows: int, path: str | Path) -> None:
    if rows > _MOST_ROWS:
        raise DataError(f"expected at most {_MOST_ROWS:,} rows", path)


def _twice(names: Iterable[str]) -> str | None:
    """The first name that is there a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _json(lines: Iterable[str], path: str | Path) -> Columns:
    """A list of records, or {model: [scores]}; `number` is a score's place in its list, from 1."""
    tree = _parsed("\n".join(lines), path)
    if isinstance(tree, list) and tree and all(isinstance(r, dict) for r in tree):
        _refuse_many(len(tree), path)
        return _of_records(tree, path, range(1, len(tree) + 1))
    if not (isinstance(tree, dict) and tree and all(isinstance(v, list) for v in tree.values())):
        raise DataError(_EXPECTED_JSON, path)
    scores = [(name, k, score) for name, of in tree.items() for k, score in enumerate(of, 1)]
    for name, _, score in scores:
        if isinstance(score, dict | list):
            found = f"{name!r} holds {json.dumps(score)[:60]}"
            raise DataError(f"{found}, which is no score; {_EXPECTED_JSON}", path)
    columns = zip(*scores, strict=True) if scores else ([], [], [])
    values = dict(zip(("model", "number", "score"), columns, strict=True))
    return Columns(str(path), values, values["number"])


def _json_lines(lines: Iterable[str], path: str | Path) -> Columns:
    """JSON lines: a record each; empty lines are passed over."""
    records, numbers = [], []
    for number, line in enumerate(lines, 1):
        if line.strip():
            record: Any = _parsed(line, path, number)
            if not isinstance(record, dict):
                message = 'expected a record in each line, such as {"model": "A", "score": 0.9}'
                raise DataError(message, path, number)
            records.append(record)
            numbers.append(number)
            _refuse_many(len(records), path)
    return _of_records(records, path, numbers)


def _is_object(line: str) -> bool:
    """Whether a line by itself is a JSON object."""
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(content: str, path: str | Path, line: int | None = None) -> Json:
    def whole(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
        tree = dict(pairs)
        if len(tree) < len(pairs):
            twice = _twice(name for name, _ in pairs)
            raise DataError(f"the key {twice!r} occurs twice", path, line)
        return tree

    with parsing("not valid JSON", path, line):
        return json.loads(content, object_pairs_hook=whole)


def _parquet(path: str | Path) -> Columns:
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError("Parquet needs pyarrow; pip install pyarrow", path) from None
    try:
        passing = (JaxevalError, FileNotFoundError, MemoryError)
        with parsing("not a Parquet file", path, passing=passing):
            _refuse_many(parquet.read_metadata(path).num_rows, path)
            table = parquet.read_table(path)
            values = {name: table.column(name).to_pylist() for name in table.column_names}
            return Columns(str(path), values, range(1, table.num_rows + 1))
    except FileNotFoundError:
        raise DataError("no such file", path) from None
