"""What can be wrong with the scores of a table, told with row and column."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs.layout import Missing, Tidy

_MISSING = {"", "nan", "na", "n/a", "null", "-"}


@dataclasses.dataclass(frozen=True)
class Unusable:
    """A score that is missing, not a number or not finite."""

    row: int
    column: str
    what: str


def numbers(found: Tidy) -> tuple[np.ndarray, dict[int, Unusable]]:
    """Scores as float64, and what is wrong with those that are none."""
    raw = found.columns["score"]
    try:
        score = np.array(raw, np.float64)
    except (TypeError, ValueError):
        score = np.array([_number(value) for value in raw])
    unusable = {
        k: Unusable(found.rows[k], found.score_columns[k], _what(raw[k]))
        for k in np.flatnonzero(~np.isfinite(score)).tolist()
    }
    return score, unusable


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _what(value: Any) -> str:
    if value is None or str(value).strip().lower() in _MISSING or value != value:
        return "missing"
    if not math.isnan(_number(value)):
        return "infinite"
    return f"not a number: {str(value)[:40]!r}"


def refuse(
    unusable: Mapping[int, Unusable], explained: np.ndarray | None, missing: Missing, source: str
) -> None:
    """An error for scores that are unusable without a status that says why."""
    wrong = [one for k, one in unusable.items() if explained is None or not explained[k]]
    if missing != "error" or not wrong:
        return
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    raise DataError(
        f"row {wrong[0].row}, column {wrong[0].column}: {wrong[0].what}{more}; expected a finite "
        "number; --missing drop leaves such scores out, --missing zero counts them as 0",
        source,
    )
