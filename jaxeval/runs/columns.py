"""Reads tables of any program as columns: CSV, TSV, JSON, JSON lines, Parquet, data frames."""

import contextlib
import csv
import dataclasses
import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxeval import errors
from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, counted, parsing, printable
from jaxeval.files import Json
from jaxeval.runs import texts
from jaxeval.runs.layout import AXES, leaves
from jaxeval.runs.metrics import is_metric

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")  # of tables
_MOST_ROWS = 10_000_000
_INDEX = "__index_level_0__"  # in Parquet: pandas' index without a name, "" in its CSV
_LARGE = 1 << 20  # bytes of delimited text, from where on Arrow reads it


@dataclasses.dataclass(frozen=True)
class Columns:
    """A table: column name -> values, all of one length.

    Control characters in the names are escaped. Values of text files are str, in a large one
    `texts.Coded` or `texts.Cells`; "" is missing.
    """

    source: str
    values: Mapping[str, Sequence[object]]
    rows: Sequence[int] | np.ndarray  # row numbers as an editor counts them; the header is row 1

    def __post_init__(self) -> None:
        whole = "".join([self.source, *self.values])
        if printable(whole) != whole:
            values = {printable(name): column for name, column in self.values.items()}
            object.__setattr__(self, "values", values)
            object.__setattr__(self, "source", printable(self.source))

    def __getitem__(self, name: str) -> Sequence[object]:
        """Returns the values of a column; raises DataError if there is none of this name."""
        if name not in self.values:
            raise DataError(f"no column {name!r}; {meant(name, self.values)}", self.source)
        return self.values[name]

    def __len__(self) -> int:
        return len(self.rows)

    def texts(self, name: str) -> list[str]:
        """Returns the values of a column as text."""
        return [*map(str, self[name])]

    def select(self, places: np.ndarray) -> "Columns":
        """Returns some rows of the table; the table itself for all of its rows."""
        if len(places) == len(self):
            return self
        values = {name: texts.take(column, places) for name, column in self.values.items()}
        return dataclasses.replace(self, values=values, rows=np.asarray(self.rows)[places])


def listed(names: Iterable[object], most: int = 12, longest: int | None = 60) -> str:
    """Returns names for a message, at most `most` of them; not those without letters."""
    every = [name for name in names if str(name).strip()]
    shown = ", ".join(printable(str(name)[:longest]) for name in every[:most])
    return shown + (f" and {len(every) - most} more" if len(every) > most else "")


def known_numbers(values: Sequence[object]) -> np.ndarray:
    """Returns the finite numbers in order of appearance, each of them at least once."""
    numbers = texts.to_floats(values.names if isinstance(values, texts.Coded) else values)
    return numbers[np.isfinite(numbers)]


def is_text(values: Sequence[object]) -> bool:
    """True for a column of words without a number."""
    return not len(known_numbers(values)) and any(str(value or "").strip() for value in values)


def meant(name: str, known: Iterable[str]) -> str:
    """Returns a hint for a name that is unknown: the nearest one, else all."""
    return errors.meant(name, names := [*known], f"expected one of {listed(names)}")


def read(path: str | Path, wanted: Collection[str] = ()) -> Columns:
    """Reads the columns of a file; of JSON lines only the wanted ones, if any are named.

    .json, .jsonl, .ndjson and .parquet are read as such. Any other file is JSON lines if its first
    line is a JSON object, else delimited text with a header. The delimiter is the tab, comma or
    semicolon of the header; beside semicolons 0,5 is a number.

    Raises DataError: names the file, the row, and what was expected.
    """
    suffix = Path(Path(path).name.removesuffix(".gz")).suffix.lower()
    if suffix == ".parquet":
        table = _read_parquet(path)
    else:
        header, lines, above = text.table_lines(path)
        second = next(lines, None) if suffix == ".json" else ""
        if suffix in (".jsonl", ".ndjson") or (second is not None and _is_object(header)):
            table = _read_json_lines(path, wanted)
        elif suffix == ".json":
            table = _read_json("\n".join([header, second or "", *lines]), path)
        else:
            table = _read_delimited(path, header, lines, above)
            if len(table.values) == 1:
                expected = "expected several, with tabs, commas or semicolons between them"
                raise DataError(f"one column; {expected}", path, 1)
    if not len(table):
        raise DataError("a header without rows; expected at least one row of scores", path)
    return table


def read_header(path: str | Path) -> list[str]:
    """Returns the column names of delimited text."""
    return _split(text.table_lines(path)[0], path)


def from_python(table: Any) -> Columns:
    """Returns the columns of a list of records, or of a data frame (pandas, Polars).

    Raises DataError: a frame without rows, or with two columns of one name.
    """
    if not hasattr(table, "to_dict"):
        records = [{str(key): value for key, value in record.items()} for record in table]
        return _from_records(records, "records", range(1, len(records) + 1))
    index = getattr(table, "index", None)  # pandas writes a named one as a column, too
    if any(getattr(index, "names", ())):
        table = table.reset_index()
        index = None
    labels = [label for label in getattr(index, "values", ()) if isinstance(label, str)]
    values = {str(name): [*table[name]] for name in table.columns}
    if len(values) < len(table.columns) or not len(table):
        raise DataError("table: expected a data frame with rows, and columns of different names")
    if len(labels) == len(table):  # such as those of data sets
        values = {"": labels, **values}
    return Columns("data frame", values, range(1, len(table) + 1))


def json_lines(path: str | Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yields the number and object of each line that is not blank.

    Raises DataError: a line is no JSON object; names the line.
    """
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line.strip():
            record = _parsed(line, path, number)
            if not isinstance(record, dict):
                raise DataError("expected a JSON object in each line", path, number)
            yield number, record


def _parsed(content: str, path: str | Path, line: int | None = None) -> Json:
    def unique(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
        if len(tree := dict(pairs)) < len(pairs):
            _refuse_twice([name for name, _ in pairs], "the key {} occurs twice", path, line)
        return tree

    with parsing("not valid JSON", path, line):
        return json.loads(content, object_pairs_hook=unique)


def _is_object(line: str) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        return line.lstrip().startswith("{") and isinstance(json.loads(line), dict)
    return False


def _from_records(
    records: Sequence[Mapping], path: str | Path, rows: Sequence[int], wanted: Collection[str] = ()
) -> Columns:
    """Returns the columns of records; None where a record lacks a key."""
    with parsing("not a table", path):  # nested too deeply
        flat = [_flat(*each, path, wanted) for each in zip(records, rows, strict=True)]
    names = dict.fromkeys(name for record in flat for name in record)
    return Columns(str(path), {name: [of.get(name) for of in flat] for name in names}, rows)


def _flat(
    record: Mapping[str, object], row: int, path: str | Path, whole: Collection[str]
) -> Mapping[str, object]:
    """Joins nested keys by dots, but not below a key that is whole."""
    if not any(isinstance(value, dict) for value in record.values()):
        return record
    cells = [c for k, of in record.items() for c in ([(k, of)] if k in whole else leaves(of, k))]
    _refuse_twice([key for key, _ in cells], f"row {row}: the key {{}} occurs twice", path, None)
    return dict(cells)


def _read_delimited(path: str | Path, header: str, below: Iterator[str], above: int) -> Columns:
    """Reads delimited text: the header, the lines below it; `above`: the number of those above."""
    delimiter = _delimiter(header)
    names = _split(header, path)
    large = Path(path).stat().st_size > _LARGE and not above and len({*names}) == len(names)
    points = delimiter == ";"  # as spreadsheets write where decimals have a comma
    if found := texts.read_delimited(path, names, delimiter, points) if large else []:
        _refuse_many(size := len(found[0]), path)
        numbers = np.arange(2, size + 2, dtype=np.int32)
        return Columns(str(path), dict(zip(names, found, strict=True)), numbers)
    lines = map("{}\n".format, itertools.chain([header], below))
    # strict: an open quote would swallow the rest
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    ends: list[int] = []
    body: list[list[str]] = []
    try:
        names = [name.strip() for name in next(reader)]  # of several lines, if quoted
        for row in itertools.islice(filter(None, reader), _MOST_ROWS + 1):
            if len(row) != len(names):
                expected = f"expected {counted(len(names), 'field')} as in the header"
                raise DataError(f"{expected}, found {len(row)}", path, reader.line_num + above)
            body.append([re.sub(texts.COMMA, r"\1.\2", cell) for cell in row] if points else row)
            ends.append(reader.line_num + above)
    except csv.Error as error:
        message = f"not a table of delimited text ({error})"
        raise DataError(message, path, reader.line_num + above) from None
    _refuse_many(len(body), path)
    while body and not any(body[-1]):  # spreadsheets add rows and columns without a value
        del body[-1], ends[-1]
    columns = zip(*body, strict=True) if body else ([] for _ in names)
    known = [(n, of) for n, of in zip(names, columns, strict=True) if n or any(of)]
    _refuse_twice([name for name, _ in known], "two columns are named {}", path, 1)
    return Columns(str(path), dict(known), ends)


def _split(header: str, path: str | Path) -> list[str]:
    if "\r" in header:
        raise DataError("lines end with CR alone, as on an old Mac; expected LF or CR LF", path, 1)
    return [name.strip() for name in next(csv.reader([header], delimiter=_delimiter(header)), ())]


def _delimiter(header: str) -> str:
    return "\t" if "\t" in header else max(",;", key=header.count)


def _read_json_lines(path: str | Path, wanted: Collection[str]) -> Columns:
    records: dict[int, dict[str, Json]] = {}
    tops = {*wanted, *(name.partition(".")[0] for name in wanted)}
    for number, record in json_lines(path):
        if wanted and records:  # the first record has all keys, for messages
            record = {key: value for key, value in record.items() if key in tops}
        records[number] = record
        _refuse_many(len(records), path)
    return _from_records([*records.values()], path, [*records], wanted)


def _read_json(whole: str, path: str | Path) -> Columns:
    """Reads records, columns, or {model: [scores]}; `number` counts the scores of a list."""
    tree = _parsed(whole, path)
    if isinstance(tree, list) and tree and all(isinstance(r, dict) for r in tree):
        _refuse_many(len(tree), path)
        return _from_records(tree, path, range(1, len(tree) + 1))
    if not (isinstance(tree, dict) and tree and all(isinstance(v, list) for v in tree.values())):
        expected = 'a list of records such as [{"model": "A", "score": 0.9}]'
        raise DataError(f"expected {{model: [scores]}} or {expected}", path)
    sizes = {*map(len, tree.values())}
    named = {"model", "score", *AXES} & {*map(str.lower, tree)}
    if len(sizes) == 1 and (named or len([*filter(is_metric, tree)]) > 1):
        return Columns(str(path), tree, range(1, max(sizes) + 1))  # columns, such as of Keras
    scores = [(name, k, score) for name, of in tree.items() for k, score in enumerate(of, 1)]
    records = [dict(zip(("model", "number", "score"), of, strict=True)) for of in scores]
    return _from_records(records, path, [number for _, number, _ in scores])


def _read_parquet(path: str | Path) -> Columns:
    from pyarrow import parquet

    if not Path(path).exists():
        raise text.no_file(path)
    with parsing("not a Parquet file", path, passing=(JaxevalError, MemoryError)):
        _refuse_many(parquet.read_metadata(path).num_rows, path)
        table = parquet.read_table(path)
        values = {name: texts.of_arrow(table.column(name)) for name in table.column_names}
    if _INDEX in values:
        values[""] = values.pop(_INDEX)
    return Columns(str(path), values, range(1, table.num_rows + 1))


def _refuse_twice(names: Sequence[str], message: str, path: str | Path, line: int | None) -> None:
    if len({*names}) < len(names):
        name = next(name for name, times in Counter(names).items() if times > 1)
        raise DataError(message.format(repr(name)), path, line)


def _refuse_many(rows: int, path: str | Path) -> None:
    if rows > _MOST_ROWS:
        raise DataError(f"expected at most {_MOST_ROWS:,} rows", path)
