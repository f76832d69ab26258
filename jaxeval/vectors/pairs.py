"""Pairs of words that people have scored: WordSim-353, SimLex-999, MEN, Rare Words ..."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxeval.data import text, vectors
from jaxeval.errors import DataError

_FEWEST = 3  # pairs that a rank correlation needs
_NO_NAMES = ("nan", "inf", "infinity", "na", "null", "none")  # of columns, but of no score


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
        fields, begins = _fields(line), not rows and not header
        if begins and len(fields) >= column and _is_name(fields[column - 1]):
            header = line
            continue
        try:
            rows.append(_row(fields, column))
        except ValueError as error:
            advice = "; begin it with # if it is a header" if begins else ""
            raise DataError(f"{error}{advice}", path, number) from None
    if len(rows) < _FEWEST:
        raise DataError(f"expected at least {_FEWEST} pairs of words, found {len(rows)}", path)
    first, second, gold = zip(*rows, strict=True)
    return Pairs(Path(path).name, first, second, np.array(gold), header)


def _fields(line: str) -> list[str]:
    for separator in ("\t", ","):
        if separator in line:
            return [field.strip() for field in line.split(separator)]
    return line.split()


def _row(fields: list[str], column: int) -> tuple[str, str, float]:
    """Two words and their score; raises ValueError."""
    if len(fields) < column or not (fields[0] and fields[1]):
        found = f"{len(fields)} columns" if len(fields) < column else "an empty word"
        raise ValueError(f"expected two words and a score in column {column}, found {found}")
    score = _number(fields[column - 1])
    if score is None:
        shown = vectors.shown(fields[column - 1])
        raise ValueError(f"expected a score in column {column}, found {shown}")
    return fields[0], fields[1], score


def _number(field: str) -> float | None:
    """A finite number; None: anything else, 1_0 of Python's too."""
    try:
        value = float(field)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in field else None


def _is_name(field: str) -> bool:
    """Whether it is what a header has in place of a score: some word, [score] or 1-10 mean, and no
    score gone wrong, as 1,5 and nan and O.5 are."""
    words = re.split(r"[\W_]+", field)
    named = (word for word in words if word[:2].isalpha() and word.lower() not in _NO_NAMES)
    return any(len(word) > 1 or word == field for word in named)
