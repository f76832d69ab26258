"""Tab-separated text: an item a line, columns counted from 1, no header and no quotes."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from jaxeval.data import text
from jaxeval.errors import DataError


def read(path: str | Path, columns: Mapping[str, int]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and values of each line, exactly as they stand; empty lines are left out.

    Args:
      path: plain or gzip.
      columns: name -> column, from 1; other columns are not looked at.

    Raises:
      DataError: a line that lacks a column, or in which it is blank; what `text.iterate_lines`
        raises.
    """
    for number, line in enumerate(text.iterate_lines(path), 1):
        if line:
            yield number, values(line, columns, path, number)


def values(line: str, columns: Mapping[str, int], path: str | Path, number: int) -> dict[str, str]:
    """The values of a line.

    Raises:
      DataError: a column that is not there, or blank.
    """
    fields = line.split("\t")
    for name, column in columns.items():
        if column > len(fields):
            message = f"expected a column {column} ({name}), found {len(fields)}, split at tabs"
            raise DataError(message, path, number)
        if not fields[column - 1].strip():
            raise DataError(f"column {column} ({name}) is empty", path, number)
    return {name: fields[column - 1] for name, column in columns.items()}
