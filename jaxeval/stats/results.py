"""What the functions of this room take and give: samples of scores in, tests and effects out.

scipy.stats takes a second to import, so the functions that need it import it themselves.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError

Sample = Sequence[float] | np.ndarray


class Interval(NamedTuple):
    """A confidence interval, with how sure and how made."""

    low: float
    high: float
    confidence: float
    method: str


@dataclasses.dataclass(frozen=True)
class HypothesisTest:
    """A statistical test. Its p-value holds for one look: see `adjust_p_values` for several.

    Attributes:
      direction: 1 if the test's own statistic puts A higher (of spreads: wider), -1 if B, 0 if
        neither; None where the test has no direction.
    """

    name: str
    statistic: float
    p_value: float
    n: tuple[int, ...]  # scores of each model, or the number of pairs
    null: str  # what is assumed and may be rejected
    method: str  # exact, asymptotic, or the number of resamples and their seed
    direction: int | None = None


@dataclasses.dataclass(frozen=True)
class Effect:
    """The size of a difference, with the interval that these scores leave open."""

    name: str
    estimate: float
    interval: Interval
    n: tuple[int, ...]


def sample(values: Sample, name: str = "scores", at_least: int = 1) -> np.ndarray:
    """Scores as [n] float64.

    Raises:
      DataError: fewer than `at_least` scores, more than one axis, or one that is not finite.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name}: expected numbers, found {_short(values)}") from None
    if array.ndim != 1:
        raise DataError(f"{name}: expected one axis of scores, found {array.ndim}")
    if not np.isfinite(array).all():
        where = int(np.flatnonzero(~np.isfinite(array))[0])
        raise DataError(f"{name}: score {where} is {array[where]}; expected a finite number")
    if len(array) < at_least:
        raise DataError(f"{name}: expected at least {at_least} scores, found {len(array)}")
    return array


def two_samples(a: Sample, b: Sample, at_least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The scores of two models. One score a model says nothing about a distribution."""
    return sample(a, "scores of A", at_least), sample(b, "scores of B", at_least)


def pairs(a: Sample, b: Sample, at_least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Scores [n] of two models of which the k-th belong together (same seed, split or example).

    Raises:
      DataError: as of `sample`; not as many of both.
    """
    first, second = two_samples(a, b, at_least)
    if len(first) != len(second):
        raise DataError(
            f"pairs: expected as many scores of A as of B, {len(first)} != {len(second)}"
        )
    return first, second


def gaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """First minus second; .3 - .2 and .2 - .1 are one gap, and means of equal scores none."""
    size = max(float(np.abs(first).max()), float(np.abs(second).max()))
    return without_rounding(first - second, size)


def exchanged(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether random draws begin with the second: with the same one, whichever is called A."""
    return (len(second), *second) < (len(first), *first)


def sign(value: float) -> int:
    """1, 0 or -1."""
    return (value > 0) - (value < 0)


def without_rounding(differences: np.ndarray, size: float) -> np.ndarray:
    """Differences of numbers of some size, to twelve digits of it: rounding makes no ranks."""
    if size == 0:
        return differences
    unit = 10.0 ** (math.floor(math.log10(size)) - 12)
    return np.round(differences / unit) * unit


def fraction(value: float, name: str) -> float:
    """A probability strictly between 0 and 1; anything else raises DataError."""
    if not 0.0 < value < 1.0:
        raise DataError(f"{name}: expected a number between 0 and 1, found {value}")
    return float(value)


def count(value: int, name: str) -> int:
    """A number of resamples, shuffles or permutations from 1; anything else raises DataError."""
    if value != int(value) or value < 1:
        raise DataError(f"{name}: expected a whole number of at least 1, found {value}")
    return int(value)


def _short(values: object) -> str:
    text = repr(values)
    return text if len(text) <= 40 else text[:37] + "..."
