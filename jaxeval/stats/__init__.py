"""Statistics of scores from any framework, with numpy and scipy only; types and checks of tests.

`study.study` analyzes a cube of scores; `Rules` say how models are compared. Single tests and
effects take plain sequences: `hypotheses`, `describe`, `multiple`, `power`. scipy.stats takes a
second to import, so functions that need it import it themselves.
"""

import dataclasses
import math
from collections import UserDict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy

from jaxeval.errors import ConfigError, DataError

Sample = Sequence[float] | np.ndarray
Two = tuple[np.ndarray, np.ndarray]  # the scores of A and of B
Factor = Literal["items", "runs"]
FACTORS: tuple[Factor, ...] = ("items", "runs")
Method = Literal["bonferroni", "holm", "benjamini_hochberg"]
_FAR = 1000.0  # a score this many times the typical size has diverged
_NONE = "none: "  # in `Interval.method`, before the reason why there is no interval


def t_quantile(df: Any, confidence: float) -> np.ndarray:
    """Number of standard errors [...] that an interval reaches to either side."""
    return -scipy.special.stdtrit(df, (1 - confidence) / 2)


class Later(UserDict[str, Any]):
    """Values by name, given as functions that are called when a value is first read."""

    def __getitem__(self, name: str) -> Any:
        found = self.data[name]  # once: another thread may replace it
        if callable(found):
            found = self.data[name] = found()
        return found

    def __reduce__(self) -> tuple[Any, ...]:  # functions within functions cannot be pickled
        return dict, ({**self},)


class Interval(NamedTuple):
    """A confidence interval and its method; the ends are NaN where there is none."""

    low: float
    high: float
    confidence: float
    method: str

    @classmethod
    def none(cls, confidence: float, reason: str) -> "Interval":
        """Returns the stand-in for an interval that these scores do not allow."""
        return cls(math.nan, math.nan, confidence, f"{_NONE}{reason}")

    @classmethod
    def t(cls, value: float, error: Any, df: Any, confidence: float, method: str) -> "Interval":
        """Returns Student's interval of a value with this standard error."""
        half = float(error * t_quantile(df, confidence))
        return cls(value - half, value + half, confidence, method)

    @property
    def absent(self) -> str:
        """Why there is no interval, or "" if there is one."""
        return self.method.removeprefix(_NONE) if self.method.startswith(_NONE) else ""

    def reflected(self, total: float = 0.0) -> "Interval":
        """Returns the interval of `total` less the value: of B - A, or 1 - P."""
        return self._replace(low=total - self.high, high=total - self.low)

    def clip(self, low: float, high: float) -> "Interval":
        """Cuts the interval to the values that are possible; its coverage stays the same."""
        if self.absent:
            return self
        first, last = (min(high, max(low, end)) for end in (self.low, self.high))
        return self._replace(low=first, high=last)


def on(data_set: str | None) -> str:
    """Returns " on DATA_SET", or "" without a name."""
    return f" on {data_set}" if data_set else ""


@dataclasses.dataclass(frozen=True)
class HypothesisTest:
    """A statistical test. The p-value is NaN for a t test of scores without any spread.

    `direction`: 1 if the statistic puts A higher (in tests of spread: wider), -1 if B, 0 if
    neither; None for a test without a direction.
    """

    statistic: float
    p_value: float
    n: tuple[int, ...]  # scores of each model, or the number of pairs
    method: str  # exact, asymptotic, or the number of resamples and their seed
    direction: int | None = None


@dataclasses.dataclass(frozen=True)
class Effect:
    """The size of a difference, with its confidence interval."""

    estimate: float
    interval: Interval
    n: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class PowerPlan:
    """Differences that a primary test at the Bonferroni level shows, of normal scores."""

    least_p: float  # the smallest corrected p-value at these n; 0 of a t test
    detectable_difference: float | None  # None: none, too few scores, or scores without spread
    planned_difference: float  # the margin, else the one seen
    required_seeds: int | None  # units of each model that show it; None for 0, or millions
    # at the ends of the interval of the difference, fewest first; None for over MOST_REQUIRED;
    # None instead of both with a margin, and without an interval
    required_range: tuple[int | None, int | None] | None
    MOST_REQUIRED: ClassVar[int] = 10_000


@dataclasses.dataclass(frozen=True)
class Rules:
    """Rules of a comparison, by runs and by items, as the verbs have checked them."""

    alpha: float = 0.05  # level of all tests, after correction
    correction: Method = "holm"  # over pairs and data sets; always Holm for items
    margin: float | None = None  # smallest difference that matters, in the unit of the scores
    power: float = 0.8  # target of detectable differences and required seeds
    confidence: float = 0.95  # of intervals
    resamples: int = 9999  # of permutation tests and bootstraps
    seed: int = 0  # of permutation tests and bootstraps
    over: tuple[Factor, ...] | None = None  # of items; None: runs too if all models have several
    complete: bool = False  # of items: show nothing if answers or data sets are missing


def parse_over(over: str | Collection[str]) -> tuple[Factor, ...]:
    """Returns the factors of a collection or of "items,runs", in order; else a ConfigError."""
    words = [word.strip() for word in over.split(",")] if isinstance(over, str) else over
    factors = tuple(f for f in FACTORS if isinstance(words, Collection) and f in words)
    if not factors or any(word not in FACTORS for word in words):
        raise ConfigError(f"over: expected items, runs or items,runs, found {over!r}")
    return factors


def floats(values: object, expected: str) -> np.ndarray:
    """Converts values to float64, masked ones to NaN; raises DataError if they are no numbers."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.ma.filled(values.astype(np.float64), np.nan)
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{expected}, found {repr(values)[:40]}") from None


def sample(values: Sample, name: str = "scores", at_least: int = 1) -> np.ndarray:
    """Returns values as a float64 array [n]; raises DataError unless all are finite numbers."""
    array = floats(values, f"{name}: expected numbers")
    if array.ndim != 1:
        shape = [*array.shape]
        raise DataError(f"{name}: expected a sequence of numbers, found shape {shape}")
    if len(wrong := np.flatnonzero(~np.isfinite(array))):
        what = "missing" if np.isnan(array[wrong[0]]) else "infinite"
        what += f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise DataError(f"{name}: value {wrong[0] + 1} is {what}; expected finite numbers")
    if len(array) < at_least:
        of = "value" if at_least == 1 else "values"
        raise DataError(f"{name}: expected at least {at_least} {of}, found {len(array)}")
    return array


def two_samples(a: Sample, b: Sample, at_least: int = 2, *, paired: bool = False) -> Two:
    """Returns the scores of two models as arrays [n] and [m]; n = m if `paired`.

    The k-th scores of a paired sample belong together: same seed, split or item.
    """
    first, second = sample(a, "scores of A", at_least), sample(b, "scores of B", at_least)
    if paired and len(first) != len(second):
        raise DataError(f"pairs: expected as many of A as of B, found {len(first)}, {len(second)}")
    return first, second


def gaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Returns first - second [n], rounded so that .3 - .2 equals .2 - .1.

    Keeps twelve digits of the typical size of the scores. A pair whose scores are far larger or
    smaller keeps twelve digits of its own size.
    """
    differences = first - second
    size = _typical_size(first, second)
    rounded = _rounded(differences, size)
    own = np.maximum(np.abs(first), np.abs(second))
    with np.errstate(over="ignore"):
        sizes = np.clip(size, own, _FAR * own)
    if (apart := (sizes != size) & (own > 0)).any():
        units = 10.0 ** (np.floor(np.log10(sizes[apart])) - 12)
        rounded[apart] = np.round(differences[apart] / units) * units
    return rounded


def varies(values: np.ndarray) -> bool:
    """True if values [n] differ by more than rounding, or one is NaN or infinite."""
    if not np.isfinite(values).all():
        return True
    return bool(np.ptp(gaps(values, np.broadcast_to(values[0], values.shape))))


def location_gap(first: np.ndarray, second: np.ndarray, *, median: bool = False) -> float:
    """Difference of the means (medians) of [n] and [m], without rounding errors."""
    if median:
        gap = float(np.median(first) - np.median(second))
    else:  # an exact sum: a diverged score of both models cancels; of halves: it is not too large
        halves = first / (2 * len(first)), -second / (2 * len(second))
        gap = 2 * math.fsum(np.concatenate(halves))
    return float(without_rounding(np.array(gap), first, second))


def without_rounding(differences: np.ndarray, *scores: np.ndarray) -> np.ndarray:
    """Rounds differences to twelve digits of the typical size of the scores."""
    return _rounded(differences, _typical_size(*scores))


def rounding_unit(*scores: np.ndarray) -> float:
    """The twelfth digit after the first of the typical size of scores; 0 if all are 0."""
    size = _typical_size(*scores)
    return _unit(size) if size else 0.0


def _unit(size: float) -> float:
    return 10.0 ** (math.floor(math.log10(size)) - 12)


def _rounded(differences: np.ndarray, size: float) -> np.ndarray:
    if not size:
        return differences
    unit = _unit(size)
    with np.errstate(over="ignore"):  # far larger differences have no such digit
        rounded = np.round(differences / unit) * unit
    return np.where(np.abs(differences) < unit * 2.0**52, rounded, differences)


def _typical_size(*values: np.ndarray) -> float:
    """Returns the largest |value| within a factor of 1000 of the median of the nonzero values.

    A single perplexity of 1e13 does not count: in its unit all other scores would be equal.
    """
    sizes = np.abs(np.concatenate(values))
    sizes = sizes[sizes > 0]
    return float(sizes[sizes <= _FAR * np.median(sizes)].max()) if len(sizes) else 0.0


def percentile_interval(draws: np.ndarray, confidence: float, method: str) -> Interval:
    """Percentile interval of resampled values [B]; there is none if all draws are equal."""
    if not varies(draws):
        return Interval.none(confidence, "all resamples have one value")
    tail = (1 - confidence) / 2
    low, high = map(float, np.quantile(draws, [tail, 1 - tail], axis=0))
    return Interval(low, high, confidence, method)


def blocks(rounds: int, width: int, most: int) -> Iterator[int]:
    """Yields how many rounds of `width` numbers to draw at a time: no more than `most` numbers."""
    size = max(1, most // max(1, width))
    return (min(size, rounds - begin) for begin in range(0, rounds, size))


def sign(value: float) -> int:
    """Returns 1, 0 or -1; 0 for NaN."""
    return (value > 0) - (value < 0)
