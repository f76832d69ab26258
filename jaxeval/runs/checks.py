"""What can be wrong with scores, told with row and column; the words for how runs end."""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import SupportsFloat, SupportsIndex

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.imported import Columns
from jaxeval.runs.layout import Missing

LARGEST = 1e70  # of a score: its fourth power can be held, of which degrees of freedom are made
MISSING = {"", "nan", "na", "n/a", "null", "-"}
# how runs ended, in the words of this program, of Weights & Biases and of MLflow
# explains a missing score
FAILED = ("diverged", "failed", "crashed", "killed", "error", "canceled", "cancelled", "timeout")
UNFINISHED = ("running", "preempted", "preempting")  # a score may not be the last
ENDED = {
    *(*FAILED, *UNFINISHED, "finished", "early_stopped", "completed", "success"),
    *("pending", "scheduled"),
}
_COMMA = re.compile(r"[+-]?\d*,\d+(\s*%)?")
_PERCENT = re.compile(r"[+-]?\d*\.?\d+\s*%")


@dataclasses.dataclass(frozen=True)
class Unusable:
    """A score that is missing, not a number or not finite."""

    row: int
    column: str
    what: str


def word(value: object) -> str:
    """A value as a word: "" for None, else without case."""
    return "" if value is None else str(value).strip().lower()


def is_failed(status: object) -> bool:
    """Whether a status explains a missing score."""
    return word(status) in FAILED


def numbers(
    raw: Sequence[object], columns: Sequence[object], rows: Sequence[int], source: str
) -> tuple[np.ndarray, dict[int, Unusable]]:
    """Scores as float64, and what is wrong with those that are none (place -> what).

    Raises DataError: a list, an object, or a score with a decimal comma or a percent sign, which
    is no missing one.

    Args:
      raw, columns, rows: value, column name and row number of each score.
    """
    score = floats(raw)
    wrong: dict[int, Unusable] = {}
    for k in np.flatnonzero(~np.isfinite(score)).tolist():
        value, column = raw[k], str(columns[k])
        if isinstance(value, Mapping | list | tuple | np.ndarray):
            found = f"row {rows[k]}, column {column}: {str(value)[:40]} is no number"
            raise DataError(f"{found}; expected a score in each record", source)
        refuse_notation(value, column, rows[k], source)
        what = "infinite" if not math.isnan(score[k]) else f"not a number: {str(value)[:40]!r}"
        wrong[k] = Unusable(rows[k], column, "missing" if word(value) in MISSING else what)
    return score, wrong


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
    """A column of scores, the places of those that are read, and what was wrong.

    Raises DataError: a score is unusable and `missing` is "error".
    """
    score, unusable = numbers(table[name], [name] * len(table), table.rows, table.source)
    refuse([*unusable.values()], missing, table.source)
    bad, read = [*unusable], np.ones(len(score), bool)
    read[bad], score[bad] = missing == "zero", 0.0
    if not read.any():
        raise DataError(f"column {name}: expected at least one usable score", table.source)
    return score, np.flatnonzero(read), tuple(unusable.values())


def refuse(unusable: Sequence[Unusable], missing: Missing, source: str) -> None:
    """Raises DataError for scores that are unusable without a status that says why."""
    if missing == "error" and unusable:
        first, *others = unusable
        more = f" (and {len(others)} more)" if others else ""
        found = f"row {first.row}, column {first.column}: {first.what}{more}"
        drop, zero = argument("missing", "drop"), argument("missing", "zero")
        advice = f"{drop} leaves such scores out, {zero} counts them as 0"
        raise DataError(f"{found}; expected a finite number; {advice}", source)


def refuse_sizes(score: np.ndarray, rows: Sequence[int], source: str) -> None:
    """Raises DataError for sizes whose fourth powers floating point cannot hold."""
    size = np.abs(score)
    wrong = np.flatnonzero((size > LARGEST) | ((size > 0) & (size < 1 / LARGEST)))
    if len(wrong):
        k = int(wrong[0])
        expected = f"expected 0, or an absolute value from {1 / LARGEST:g} to {LARGEST:g}"
        raise DataError(f"row {rows[k]}: {score[k]:g}; {expected}", source)


def floats(values: Sequence[object]) -> np.ndarray:
    """Values as float64; NaN for what is no number (a bool is none, 1_0 is text)."""
    try:
        array = np.array(values, np.float64)
        kinds = {*map(type, values)}
        plain = array.ndim == 1 and not kinds & {bool, np.bool_}
        texts = values if kinds == {str} else map(str, values) if str in kinds else ()
        if plain and "_" not in "".join(map(str, texts)):
            return array
    except (TypeError, ValueError, OverflowError):
        pass
    return np.array([_number(value) for value in values], np.float64)


def _number(value: object) -> float:
    """A value as a number; NaN for what is none, and infinite where it is too large."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, str) and "_" in value):
        return math.nan
    if not isinstance(value, str | bytes | SupportsFloat | SupportsIndex):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:
        return math.inf
