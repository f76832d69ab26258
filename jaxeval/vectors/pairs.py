"""Pairs of words that people have scored: WordSim-353, SimLex-999, MEN, Rare Words ..."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.data import text, vector_rows
from jaxeval.errors import DataError

_FEWEST = 3  # pairs that a rank correlation needs


class Pairs(NamedTuple):
    """Pairs of words with the score people gave."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: np.ndarray  # [n] float64
    header: str = ""  # the line that is none of them


def read(path: str | Path, column: int = 3) -> Pairs:
    """The pairs of a file: two words and a score a line, between tabs, else commas, else blanks.

    A first line with a name in place of the score is a header. Blank lines and lines that begin
    with # are left out.

    Args:
      column: which column holds the score, from 1 (SimLex-999 as published: 4).

    Raises:
      DataError: a line without two words and a finite number, fewer than three pairs.
    """
    rows: list[tuple[str, str, float]] = []
    header = ""
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = _fields(line)
        if len(fields) < column or not (fields[0] and fields[1]):
            found = f"{len(fields)} columns" if len(fields) < column else "an empty word"
            message = f"expected two words and a score in column {column}, found {found}"
            raise DataError(message, path, number)
        score = _number(fields[column - 1])
        if not rows and not header and _is_name(fields[column - 1]):
            header = line
        elif score is None:
            shown = vector_rows.shown(fields[column - 1])
            raise DataError(f"expected a score in column {column}, found {shown}", path, number)
        else:
            rows.append((fields[0], fields[1], score))
    if len(rows) < _FEWEST:
        raise DataError(f"expected at least {_FEWEST} pairs of words, found {len(rows)}", path)
    first, second, gold = zip(*rows, strict=True)
    return Pairs(Path(path).name, first, second, np.array(gold), header)


def _fields(line: str) -> list[str]:
    for separator in ("\t", ","):
        if separator in line:
            return [field.strip() for field in line.split(separator)]
    return line.split()


def _number(field: str) -> float | None:
    """A finite number; None: anything else, 1_0 of Python's too."""
    try:
        value = float(field)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in field else None


def _is_name(field: str) -> bool:
    """Whether it is what a header has in place of a score, and no score gone wrong (1,5, nan)."""
    try:
        float(field)
    except ValueError:
        return field.strip("\"'(")[:1].isalpha()
    return False
