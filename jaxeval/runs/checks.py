"""What can be wrong with the scores of a table, told with row and column."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import SupportsFloat, SupportsIndex

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.imported import Columns, listed
from jaxeval.runs.layout import Missing

LARGEST = 1e70  # of a score: its fourth power can be held, of which degrees of freedom are made
MISSING = {"", "nan", "na", "n/a", "null", "-"}
_COMMA = re.compile(r"[+-]?\d*,\d+(\s*%)?")
_PERCENT = re.compile(r"[+-]?\d*\.?\d+\s*%")


@dataclasses.dataclass(frozen=True)
class Unusable:
    """A score that is missing, not a number or not finite."""

    row: int
    column: str
    what: str


def numbers(
    raw: Sequence[object], columns: Sequence[str], rows: Sequence[int], source: str
) -> tuple[np.ndarray, dict[int, Unusable]]:
    """Scores as float64, and what is wrong with those that are none (place -> what).

    Args:
      raw, columns, rows: value, column name and row number of each score.

    Raises:
      DataError: a list, an object, or a score with a decimal comma or a percent sign, which is no
        missing one.
    """
    score = floats(raw)
    wrong = np.flatnonzero(~np.isfinite(score)).tolist()
    for k in wrong:
        _refuse_nested(raw[k], columns[k], rows[k], source)
        refuse_notation(raw[k], columns[k], rows[k], source)
    return score, {k: Unusable(rows[k], columns[k], _what(raw[k])) for k in wrong}


def _refuse_nested(value: object, column: str, row: int, source: str) -> None:
    """Raises DataError for a value of JSON or Parquet that holds values."""
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str | bytes):
        found = f"row {row}, column {column}: {str(value)[:40]} is no number"
        raise DataError(f"{found}; expected a score in each record", source)


def refuse_notation(value: object, column: str, row: int, source: str) -> None:
    """Raises DataError for a number with a decimal comma or a percent sign."""
    text = str(value).strip()
    comma, percent = _COMMA.fullmatch(text), _PERCENT.fullmatch(text)
    if comma or percent:
        expected = "a decimal point" if comma else "the number without the percent sign"
        raise DataError(f"row {row}, column {column}: {text!r:.40}; expected {expected}", source)


def usable(
    table: Columns, name: str, missing: Missing
) -> tuple[np.ndarray, np.ndarray, tuple[Unusable, ...]]:
    """A column of scores, the places of those that are kept, and what was wrong.

    Raises:
      DataError: a score is unusable and `missing` is "error".
    """
    score, unusable = numbers(table[name], [name] * len(table), table.rows, table.source)
    refuse(unusable, None, missing, table.source)
    keep = np.ones(len(score), bool)
    bad = sorted(unusable)
    keep[bad] = missing == "zero"
    score[bad] = 0.0
    if not keep.any():
        raise DataError(f"column {name}: expected at least one usable score", table.source)
    return score, np.flatnonzero(keep), tuple(unusable[k] for k in bad)


def refuse_nameless(models: Sequence[object], rows: Sequence[int], source: str) -> None:
    """A row must say whose score it is, in text that can be written."""
    for k, name in enumerate(models):
        if name is None or name == "":
            raise DataError(f"row {rows[k]}: the model has no name", source)
    for name in {str(name) for name in models}:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DataError(f"model {name!a}: not valid Unicode", source) from None


def refuse_sizes(score: np.ndarray, rows: Sequence[int], source: str) -> None:
    """Sizes whose fourth powers floating point cannot hold."""
    size = np.abs(score)
    wrong = np.flatnonzero((size > LARGEST) | ((size > 0) & (size < 1 / LARGEST)))
    if len(wrong):
        k = int(wrong[0])
        raise DataError(
            f"row {rows[k]}: {score[k]:g}; expected 0, or an absolute value from "
            f"{1 / LARGEST:g} to {LARGEST:g}",
            source,
        )


def floats(values: Sequence[object]) -> np.ndarray:
    """Values as float64, NaN for what is no number (yes and no are none, and 1_0 is text)."""
    try:
        array = np.array(values, np.float64)
        plain = array.ndim == 1 and not any(isinstance(value, bool) for value in values)
        if plain and not any("_" in value for value in values if isinstance(value, str)):
            return array
    except (TypeError, ValueError, OverflowError):
        pass
    return np.array([_number(value) for value in values])


def _number(value: object) -> float:
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        return math.nan
    if not isinstance(value, str | bytes | SupportsFloat | SupportsIndex):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:
        return math.inf


def _what(value: object) -> str:
    if value is None or str(value).strip().lower() in MISSING:
        return "missing"
    if not math.isnan(_number(value)):
        return "infinite"
    return f"not a number: {str(value)[:40]!r}"


def refuse(
    unusable: Mapping[int, Unusable], explained: np.ndarray | None, missing: Missing, source: str
) -> None:
    """An error for scores that are unusable without a status that says why."""
    wrong = [entry for k, entry in unusable.items() if explained is None or not explained[k]]
    if missing != "error" or not wrong:
        return
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    raise DataError(
        f"row {wrong[0].row}, column {wrong[0].column}: {wrong[0].what}{more}; expected a finite "
        f"number; {argument('missing', 'drop')} leaves such scores out, "
        f"{argument('missing', 'zero')} counts them as 0",
        source,
    )


def unit_warnings(models: Sequence[str], model: np.ndarray, score: np.ndarray) -> list[str]:
    """Fractions and percent in one table."""
    tops = [score[model == k] for k in range(len(models))]
    medians = [float(np.median(np.abs(scores))) if len(scores) else math.nan for scores in tops]
    low = [m for m, v in zip(models, medians, strict=True) if v <= 1]
    high = [m for m, v in zip(models, medians, strict=True) if v > 10]
    if low and high:
        return [f"{listed(low)}: looks like fractions, {listed(high)} like percent; same unit?"]
    for name, scores in zip(models, tops, strict=True):
        inside = np.sum((scores > 0) & (scores <= 1))
        if inside and np.all(scores >= 0) and np.any(scores > 10):
            return [
                f"{name}: {inside} of {len(scores)} scores look like fractions, others percent"
            ]
    return []
