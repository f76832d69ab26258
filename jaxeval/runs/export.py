"""Writes the runs as CSV or Parquet."""

import csv
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from jaxeval import files
from jaxeval.errors import RunError


def _to_csv(rows: Sequence[tuple], columns: Sequence[str]) -> str:
    """Rows (NamedTuples) as CSV with a header; None is an empty field."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


def write(rows: Sequence[tuple], columns: Sequence[str], target: str) -> None:
    """Writes to a .csv or .parquet file, whole or not at all, or CSV to stdout for "-"."""
    if target == "-":
        sys.stdout.write(_to_csv(rows, columns))
    elif target.endswith(".csv"):
        files.write_text(Path(target), _to_csv(rows, columns))
    elif target.endswith(".parquet"):
        _write_parquet(rows, columns, Path(target))
    else:
        raise RunError(f"{target}: expected a name that ends in .csv or .parquet, or - for stdout")


def _write_parquet(rows: Sequence[tuple], columns: Sequence[str], path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise RunError(f"{path}: Parquet needs pyarrow; pip install pyarrow") from None
    table = pyarrow.table({c: [row[i] for row in rows] for i, c in enumerate(columns)})
    with files.replacing(path, "wb") as stream:
        parquet.write_table(table, stream)
