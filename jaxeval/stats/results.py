"""What functions of this room take and give: samples of scores in, tests and effects out.

scipy.stats takes a second to import, so functions that need it import it themselves.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence, Sized
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, DataError

Sample = Sequence[float] | np.ndarray
Location = Literal["mean", "median"]
Wrong = type[DataError] | type[ConfigError]  # for an argument of a function, or of rules
_FAR = 1000.0  # times the typical size: from where a score has diverged
_NONE = "none: "  # before the reason, in place of an interval's method


class Interval(NamedTuple):
    """A confidence interval, and how it was made; its ends are NaN where `absent` says why."""

    low: float
    high: float
    confidence: float
    method: str

    @property
    def absent(self) -> str:
        """Why there is no interval; "" where there is one."""
        return self.method.removeprefix(_NONE) if self.method.startswith(_NONE) else ""


def within(interval: Interval, low: float, high: float) -> Interval:
    """An interval without what lies beyond the values that there can be; it covers as often."""
    if interval.absent:
        return interval
    return interval._replace(
        low=min(high, max(low, interval.low)), high=min(high, max(low, interval.high))
    )


def no_interval(confidence: float, why: str) -> Interval:
    """In place of one that these scores do not allow."""
    return Interval(math.nan, math.nan, confidence, f"{_NONE}{why}")


@dataclasses.dataclass(frozen=True)
class HypothesisTest:
    """A statistical test; its p-value holds for one look. NaN: of a t test without any spread.

    `direction`: 1 if the test's own statistic puts A higher (of spreads: wider), -1 if B, 0 if
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


def floats(values: object, expected: str) -> np.ndarray:
    """[...] float64, NaN where a masked array hides a number; else a DataError: `expected`."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.ma.filled(values.astype(np.float64), np.nan)
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{expected}, found {repr(values)[:40]}") from None


def sample(values: Sample, name: str = "scores", at_least: int = 1) -> np.ndarray:
    """[n] float64 of values of one kind, such as scores; a DataError if they are none."""
    array = floats(values, f"{name}: expected numbers")
    if array.ndim != 1:
        raise DataError(f"{name}: expected one axis of numbers, found {array.ndim}")
    if not np.isfinite(array).all():
        where = int(np.flatnonzero(~np.isfinite(array))[0])
        raise DataError(f"{name}: value {where} is {array[where]}; expected a finite number")
    if len(array) < at_least:
        of = "value" if at_least == 1 else "values"
        raise DataError(f"{name}: expected at least {at_least} {of}, found {len(array)}")
    return array


def two_samples(a: Sample, b: Sample, at_least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The scores of two models. One score a model says nothing about a distribution."""
    return sample(a, "scores of A", at_least), sample(b, "scores of B", at_least)


def pairs(a: Sample, b: Sample, at_least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Scores [n] of two models of which the k-th belong together (same seed, split or item)."""
    first, second = two_samples(a, b, at_least)
    as_many({"A": first, "B": second}, "pairs")
    return first, second


def as_many(of: Mapping[str, Sized], what: str) -> None:
    """Raises DataError unless there is something, and all of one length."""
    sizes = {name: len(values) for name, values in of.items()}
    if len(set(sizes.values())) != 1:
        found = ", ".join(f"{size} of {name}" for name, size in sizes.items()) or "none"
        raise DataError(f"{what}: expected as many of each, found {found}")


def gaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """First minus second; .3 - .2 and .2 - .1 are one gap, and means of equal scores none.

    To the twelfth digit of the scores' typical size; of a far larger or smaller pair of its own.
    """
    differences, size = first - second, typical_size(first, second)
    rounded = without_rounding(differences, size)
    own = np.maximum(np.abs(first), np.abs(second))
    with np.errstate(over="ignore"):
        sizes = np.clip(size, own, _FAR * own)
    if (apart := (sizes != size) & (own > 0)).any():
        units = 10.0 ** (np.floor(np.log10(sizes[apart])) - 12)
        rounded[apart] = np.round(differences[apart] / units) * units
    return rounded


def varies(values: np.ndarray) -> bool:
    """Whether [n] values differ by more than rounding; NaN and infinity differ from all."""
    if not np.isfinite(values).all():
        return True
    return bool(np.ptp(gaps(values, np.broadcast_to(values[0], values.shape))))


def percentiles(draws: np.ndarray, confidence: float) -> np.ndarray:
    """[2, ...] the quantiles of draws [B, ...] between which a share of them lies."""
    tail = (1 - confidence) / 2
    return np.quantile(draws, [tail, 1 - tail], axis=0)


def percentile_interval(draws: np.ndarray, confidence: float, method: str) -> Interval:
    """Of what resamples gave [B]; none where all gave the same, as of data that does not vary."""
    confidence = fraction(confidence, "confidence")
    if not varies(draws):
        return no_interval(confidence, "all resamples have one value")
    low, high = map(float, percentiles(draws, confidence))
    return Interval(low, high, confidence, method)


def exchanged(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether random draws begin with the second: with the same one, whichever is called A."""
    return (len(second), *second) < (len(first), *first)


def sign(value: float) -> int:
    """1, 0 or -1."""
    return (value > 0) - (value < 0)


def location_gap(first: np.ndarray, second: np.ndarray, statistic: Location) -> float:
    """Difference of means or medians [n], [m], without what is rounding."""
    size = typical_size(first, second)
    if statistic == "median":
        gap = float(np.median(first) - np.median(second))
    else:  # summed exactly: a diverged score of both leaves the others' difference
        gap = math.fsum(np.concatenate([first / len(first), -second / len(second)]))
    return float(without_rounding(np.array(gap), size))


def without_rounding(differences: np.ndarray, size: float) -> np.ndarray:
    """Differences of numbers of some size, to twelve digits of it: rounding makes no ranks."""
    unit = rounding_unit(size)
    if not unit:
        return differences
    with np.errstate(over="ignore"):  # far larger ones have no such digit
        rounded = np.round(differences / unit) * unit
    return np.where(np.abs(differences) < unit * 2.0**52, rounded, differences)


def typical_size(*values: np.ndarray) -> float:
    """The largest |value| within a thousandfold of the median of those that are not 0.

    One perplexity of 1e13 is beyond: in units of its twelfth digit all others would be equal.
    """
    sizes = np.abs(np.concatenate(values))
    sizes = sizes[sizes > 0]
    return float(sizes[sizes <= _FAR * np.median(sizes)].max()) if len(sizes) else 0.0


def rounding_unit(size: float) -> float:
    """The twelfth digit after the first of numbers of some size; 0 of zeros."""
    return 10.0 ** (math.floor(math.log10(size)) - 12) if size else 0.0


def between(value: float, low: float, high: float) -> bool:
    """Whether it is one number, and strictly between two: NaN, bools, texts, arrays are not."""
    try:
        one = np.ndim(value) == 0 and not isinstance(value, bool | np.bool_)
        return one and bool(low < value < high)
    except (TypeError, ValueError, ArithmeticError):  # the last of Decimal("nan")
        return False


def fraction(value: float, name: str, error: Wrong = DataError) -> float:
    """A probability strictly between 0 and 1; anything else raises the error."""
    if not between(value, 0.0, 1.0):
        raise error(f"{name}: expected a number between 0 and 1, found {_in_a_line(value)}")
    return float(value)


def positive(value: float, name: str, error: Wrong = DataError) -> float:
    """A finite number above 0; anything else raises the error."""
    if not between(value, 0.0, math.inf):
        raise error(f"{name}: expected a number above 0, found {_in_a_line(value)}")
    return float(value)


def count(value: int, name: str, at_least: int = 1, error: Wrong = DataError) -> int:
    """A number of resamples (at most a million), seeds or items; anything else is an error."""
    if not (between(value, at_least - 1, math.inf) and value == int(value)):
        expected = f"expected a whole number of at least {at_least}"
        raise error(f"{name}: {expected}, found {_in_a_line(value)}")
    if name == "resamples" and value > 1_000_000:
        raise error(f"{name}: expected at most 1,000,000, found {_in_a_line(value)}")
    return int(value)


def _in_a_line(value: object) -> str:
    return " ".join(str(value).split())[:60]
