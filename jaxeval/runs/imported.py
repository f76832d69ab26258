"""Reads tables of any program: CSV, TSV, JSON, JSON lines (gzip too), Parquet; text as text."""

import contextlib
import csv
import dataclasses
import difflib
import gc
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval.config.arguments import MOST_ROWS
from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, argument, parsing, printable
from jaxeval.files import Json

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
    counted: Sequence[str] = ()  # columns of numbers of scores, which the file does not have

    def __post_init__(self) -> None:
        if any(printable(name) != name for name in (self.source, *self.values)):
            values = {printable(name): column for name, column in self.values.items()}
            object.__setattr__(self, "values", values)
            object.__setattr__(self, "source", printable(self.source))

    def __getitem__(self, name: str) -> Sequence[object]:
        """A column's values.

        Raises:
          DataError: there is no column of this name.
        """
        if name not in self.values:
            near = difflib.get_close_matches(name, self.values, 1)
            hint = (
                f"did you mean {near[0]}?"
                if near
                else f"expected one of {listed(list(self.values))}"
            )
            raise DataError(f"no column {name!r}; {hint}", self.source)
        return self.values[name]

    def texts(self, name: str) -> list[str]:
        """A column's values as text; errors as of `[name]`."""
        return [str(value) for value in self[name]]

    def __len__(self) -> int:
        return len(self.rows)


def listed(names: Sequence[object], most: int = 12) -> str:
    """Names for a message, cut where there are too many."""
    shown = ", ".join(str(name)[:60] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


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
def read(path: str | Path, rows: int | None = None) -> Columns:
    """The columns of a table, of its first `rows` rows where asked.

    A file whose name ends in .json, .jsonl, .ndjson or .parquet is read as such; any other as JSON
    lines where its first line is a JSON object, else as delimited text with a header line; the
    delimiter (tab, comma or semicolon) is the one in the header.

    Raises:
      DataError: naming the file, the row, and what was expected.
    """
    suffix = Path(Path(path).name.removesuffix(".gz")).suffix.lower()
    if suffix != ".parquet" and rows is None:
        _refuse_many_unpacked(path)
    if suffix == ".parquet":
        table = _read_parquet(path, rows)
    elif suffix == ".json":
        table = _read_json(path, rows)
    elif suffix in (".jsonl", ".ndjson"):
        table = _read_json_lines(text.iterate_lines(path), path, rows)
    else:
        table = _read_delimited(path, rows)
    if not len(table):
        raise DataError("a header without rows; expected at least one row of scores", path)
    return table


def head(table: Columns, rows: int | None) -> Columns:
    """The first rows of a table; all for None."""
    values = {name: column[:rows] for name, column in table.values.items()}
    return dataclasses.replace(table, values=values, rows=table.rows[:rows])


def pick(table: Columns, places: Sequence[int]) -> Columns:
    """Some rows of a table."""
    values = {name: [column[k] for k in places] for name, column in table.values.items()}
    return dataclasses.replace(table, values=values, rows=[table.rows[k] for k in places])


def _read_delimited(path: str | Path, rows: int | None) -> Columns:
    lines = text.iterate_lines(path)
    header_line = next(lines, "")
    if _is_object(header_line):
        return _read_json_lines(itertools.chain([header_line], lines), path, rows)
    delimiter = "\t" if "\t" in header_line else max(",;", key=header_line.count)
    reader = csv.reader(
        (line + "\n" for line in itertools.chain([header_line], lines)),
        delimiter=delimiter,
        strict=True,  # an open quote would swallow the rest
    )
    try:
        header = [name.strip() for name in next(reader)]  # "model , score"
        _check_header(header, path)
        numbers: list[int] = []
        body: list[list[str]] = []
        for row in itertools.islice(_filled_rows(reader), rows):
            if len(row) != len(header):
                message = f"expected {len(header)} fields as in the header, found {len(row)}"
                raise DataError(message, path, reader.line_num)
            body.append(row)
            numbers.append(reader.line_num)
            _refuse_many(len(body), path)
    except csv.Error as error:
        message = f"not a table of delimited text ({error})"
        raise DataError(message, path, reader.line_num) from None
    columns = zip(*body, strict=True) if body else ([] for _ in header)
    return Columns(str(path), dict(zip(header, columns, strict=True)), numbers)


def _refuse_many_unpacked(path: str | Path) -> None:
    """Before any is kept: a few compressed bytes can be more rows than the memory holds."""
    lines = (raw for raw in text.raw_lines(path) if raw.strip())
    if next(lines, b"") and text.most_bytes(path) > Path(path).stat().st_size:
        for number, _ in enumerate(lines, 1):
            _refuse_many(number, path)


def _refuse_many(rows: int, path: str | Path) -> None:
    if rows > MOST_ROWS:
        first = argument("rows", "N")
        raise DataError(f"expected at most {MOST_ROWS:,} rows; {first} reads the first N", path)


def _filled_rows(reader: Iterable[list[str]]) -> Iterator[list[str]]:
    return (row for row in reader if row)


def _check_header(header: Sequence[str], path: str | Path) -> None:
    twice = _twice(header)
    if twice is not None:
        raise DataError(f"two columns are named {twice!r}", path, 1)


def _twice(names: Iterable[str]) -> str | None:
    """The first name that is there a second time."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _read_json(path: str | Path, rows: int | None) -> Columns:
    lines = list(text.iterate_lines(path))
    if len(lines) > 1 and _is_object(lines[0]):
        return _read_json_lines(lines, path, rows)
    tree = _parsed("\n".join(lines), path)
    if isinstance(tree, dict) and tree and all(isinstance(v, list) for v in tree.values()):
        _refuse_nested(tree, path)
        return _of_lists(tree, path, rows)
    if isinstance(tree, list) and tree and all(isinstance(r, dict) for r in tree):
        return of_records(tree[:rows], path, range(1, len(tree) + 1))
    raise DataError(_EXPECTED_JSON, path)


def _refuse_nested(tree: Mapping[str, list], path: str | Path) -> None:
    """Raises DataError if a list holds lists or objects, which are no scores."""
    for name, values in tree.items():
        for value in values:
            if isinstance(value, dict | list):
                found = f"{name!r} holds {json.dumps(value)[:60]}"
                raise DataError(f"{found}, which is no score; {_EXPECTED_JSON}", path)


def _read_json_lines(lines: Iterable[str], path: str | Path, rows: int | None) -> Columns:
    """JSON lines: a record each; empty lines are passed over."""
    records, numbers = [], []
    filled = ((k, line) for k, line in enumerate(lines, 1) if line.strip())
    for number, line in itertools.islice(filled, rows):
        record = _parsed(line, path, number)
        if not isinstance(record, dict):
            message = 'expected a record in each line, such as {"model": "A", "score": 0.9}'
            raise DataError(message, path, number)
        records.append(record)
        numbers.append(number)
        _refuse_many(len(records), path)
    return of_records(records, path, numbers)


def _is_object(line: str) -> bool:
    """Whether a line by itself is a JSON object."""
    if not line.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(content: str, path: str | Path, line: int | None = None) -> Json:
    with parsing("not valid JSON", path, line):
        return json.loads(content, object_pairs_hook=_object)


def _object(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        raise ValueError(f"the key {_twice(name for name, _ in pairs)!r} occurs twice")
    return tree


def _of_lists(tree: Mapping[str, list], path: str | Path, rows: int | None) -> Columns:
    """{model: [scores]} as a tidy table; `number` is a score's place in its list, from 1."""
    cut = {name: scores[:rows] for name, scores in tree.items()}
    numbers = [k for scores in cut.values() for k in range(1, len(scores) + 1)]
    values: dict[str, Sequence[object]] = {
        "model": [name for name, scores in cut.items() for _ in scores],
        "number": numbers,
        "score": [score for scores in cut.values() for score in scores],
    }
    return Columns(str(path), values, numbers, ("number",))


def of_records(
    records: Sequence[Mapping[str, object]], path: str | Path, rows: Sequence[int]
) -> Columns:
    """The columns of records; those that a record lacks are None there."""
    names = list(dict.fromkeys(name for record in records for name in record))
    values = {name: [record.get(name) for record in records] for name in names}
    return Columns(str(path), values, rows[: len(records)])


def _read_parquet(path: str | Path, rows: int | None) -> Columns:
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError("Parquet needs pyarrow; pip install pyarrow", path) from None
    try:
        passing = (JaxevalError, FileNotFoundError, MemoryError)
        with parsing("not a Parquet file", path, passing=passing):
            _refuse_many(parquet.read_metadata(path).num_rows if rows is None else rows, path)
            table = parquet.read_table(path)
            table = table if rows is None else table.slice(0, rows)
            values = {name: table.column(name).to_pylist() for name in table.column_names}
            return Columns(str(path), values, range(1, table.num_rows + 1))
    except FileNotFoundError:
        raise DataError("no such file", path) from None
