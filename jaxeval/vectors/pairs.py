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


def read(path: str | Path, column: int = 3) -> Pairs:
    """The pairs of a file: two words and a score a line, between tabs, else commas, else blanks.

    A first line whose score is no number is a header. Blank lines and lines that begin with # are
    left out.

    Args:
      column: which column holds the score, from 1 (SimLex-999 as published: 4).

    Raises:
      DataError: a line without two words and a finite number, fewer than three pairs.
    """
    rows: list[tuple[str, str, float]] = []
    headed = False
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = _fields(line)
        if len(fields) < column:
            message = f"expected two words and a score in column {column}, found {len(fields)}"
            raise DataError(f"{message} columns", path, number)
        score = _number(fields[column - 1])
        if score is None and not rows and not headed:
            headed = True
        elif score is None:
            shown = vector_rows.shown(fields[column - 1])
            raise DataError(f"expected a score in column {column}, found {shown}", path, number)
        else:
            rows.append((fields[0], fields[1], score))
    if len(rows) < _FEWEST:
        raise DataError(f"expected at least {_FEWEST} pairs of words, found {len(rows)}", path)
    first, second, gold = zip(*rows, strict=True)
    return Pairs(Path(path).name, first, second, np.array(gold))


def _fields(line: str) -> list[str]:
    for separator in ("\t", ","):
        if separator in line:
            return [field.strip() for field in line.split(separator)]
    return line.split()


def _number(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
