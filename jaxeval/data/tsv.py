"""Tab-separated text: an item a line, columns counted from 1, no header and no quotes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval.data import text
from jaxeval.errors import DataError

_TAB = "\t"
_SHOWN = 60  # characters of a line in a warning


def read(path: str | Path, columns: Mapping[str, int]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and values of each line, exactly as they stand; empty lines are left out.

    Args:
      path: plain or gzip.
      columns: name -> column, from 1; other columns are not looked at.

    Raises:
      DataError: a line that lacks a column, or in which it is blank; what `text.iterate_lines`
        raises.
    """
    return parse(text.iterate_lines(path), columns, path)


def parse(
    lines: Iterable[str], columns: Mapping[str, int], path: str | Path
) -> Iterator[tuple[int, dict[str, str]]]:
    """As `read`, of the lines of a file from its first."""
    for number, line in enumerate(lines, 1):
        if line:
            yield number, _values(line.split(_TAB), columns, path, number)


def headers(
    first: Mapping[str, Sequence[str]], labels: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """Warnings about first lines that were read as data, though they look like a header.

    They do where all of two or more parts begin with the same line, or where no other line of any
    part has its label, while two labels or more are left without it.

    Args:
      first: part -> the columns of its first line.
      labels: part -> the labels of its lines, in their order; None: the format has none.
    """
    all_alike = len(first) > 1 and len({*map(tuple, first.values())}) == 1
    others = {label for of_part in (labels or {}).values() for label in of_part[1:]}
    parts_of: dict[tuple[str, ...], list[str]] = {}
    for part, columns in first.items():
        lonely = labels is not None and len(others) > 1 and labels[part][0] not in others
        if all_alike or lonely:
            parts_of.setdefault(tuple(columns), []).append(part)
    why = "all parts begin with it" if all_alike else "no other line has its label"
    return [
        f"{', '.join(parts)}: the first line, {_TAB.join(columns)[:_SHOWN]!r}, is read as data "
        f"but looks like a header: {why}; if it is one, delete it"
        for columns, parts in parts_of.items()
    ]


def _values(
    fields: list[str], columns: Mapping[str, int], path: str | Path, number: int
) -> dict[str, str]:
    for name, column in columns.items():
        if column > len(fields):
            message = f"expected a column {column} ({name}), found {len(fields)}, split at tabs"
            raise DataError(message, path, number)
        if not fields[column - 1].strip():
            raise DataError(f"column {column} ({name}) is empty", path, number)
    return {name: fields[column - 1] for name, column in columns.items()}
