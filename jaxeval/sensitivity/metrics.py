"""Hyperparameters of a sweep as ranks, and the metrics of Wiemerslage et al. (2024).

Metrics are in percent or percentage points. One is named by its path, such as "rel_at_k.25" or
"by_hyperparameter.batch_size.rho". Notation: n runs with one score each; rows [R, n] of run
numbers, as a bootstrap draws them.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from jaxeval.errors import ConfigError, DataError
from jaxeval.space import Parameter, Space
from jaxeval.space.distributions import Choices, Distribution
from jaxeval.stats import Interval, describe

Values = Mapping[str, Sequence[object]]  # hyperparameter -> [n] values, one a run
MARGIN = 0.01  # scores this near to each other are equivalent
KS = (25, 50, 100, 150)  # of the k-th best score
CONFIDENCE = 0.95  # of all intervals
_ALL = "all_hyperparameters"
_DECIMALS = 6  # of scores: those stored in single precision lie a hair off their decimal
_SLACK = 1e-9  # rounded decimals differ from their difference by less
_DISTANCE_DECIMALS = 12


class _Scale(NamedTuple):
    """Scale of an axis in figures; `categories` are texts without a distance."""

    categories: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False


def scale(distribution: Distribution | None) -> _Scale:
    """Returns how figures show the values of a distribution."""
    if distribution is None:
        return _Scale()
    if isinstance(distribution, Choices):
        return _Scale(tuple(text(value) for value in distribution.in_order))
    whole = getattr(distribution, "whole", False)
    return _Scale(None, distribution.low, distribution.high, distribution.log, whole)


def text(value: object) -> str:
    """Formats a value; numbers have six digits, however they were written."""
    number = _number(value)
    return f"{number:g}" if math.isfinite(number) else str(value)


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@dataclasses.dataclass(frozen=True)
class Axis:
    """One hyperparameter over all runs."""

    name: str
    values: Sequence[object]
    rank: np.ndarray  # [n] dense rank of the value, from 1; 0 if it has no effect
    active: np.ndarray  # [n] bool: whether the hyperparameter has an effect
    ordered: bool  # whether the order of ranks has a meaning
    scale: _Scale

    @property
    def used(self) -> list[object]:
        """The values of the runs in which it has an effect."""
        return [value for value, on in zip(self.values, self.active, strict=True) if on]

    def select(self, rows: np.ndarray) -> "Axis":
        """Selects runs; ranks stay those of the whole sweep."""
        return dataclasses.replace(self, rank=self.rank[rows], active=self.active[rows])


def axes(
    values: Values, runs: int, space: Space | None = None, beside: Values | None = None
) -> list[Axis]:
    """Ranks the values of all hyperparameters. Words are ordered only if the space orders them.

    A hyperparameter has no effect in a run where it is empty or its condition does not hold.

    Args:
      beside: further columns that conditions may name.

    Raises:
      ConfigError, DataError: a column of another length, a value that an order lacks, a condition
        on a missing column.
    """
    parameters = {of.name: of for of in space.parameters} if space else {}
    columns = {**(beside or {}), **values}
    found = []
    for name, column in values.items():
        if len(column) != runs:
            raise DataError(f"{name}: expected {runs} values, one per run, found {len(column)}")
        distribution = parameters[name].distribution if name in parameters else None
        found.append(_axis(name, column, _holds(name, parameters, columns, runs), distribution))
    return found


def _holds(
    name: str, parameters: Mapping[str, Parameter], columns: Values, runs: int
) -> np.ndarray:
    """[n] bool: whether the conditions of a hyperparameter hold, and those of what they name."""
    holds = np.ones(runs, bool)
    for other, allowed in parameters[name].when if name in parameters else ():
        if other not in columns:
            raise ConfigError(f"{name}: its condition names {other}, which is not there")
        texts = {text(value) for value in allowed}
        holds &= np.array([text(value) in texts for value in columns[other]])
        holds &= _holds(other, parameters, columns, runs)
    return holds


def _axis(
    name: str, column: Sequence[object], holds: np.ndarray, distribution: Distribution | None
) -> Axis:
    numbers = np.array([_number(value) for value in column])
    texts = [*map(text, column)]
    words = distribution if isinstance(distribution, Choices) and distribution.are_words else None
    active = holds & np.array([value is not None and value != "" for value in column])
    is_word = active & np.isnan(numbers) & np.array([said.lower() != "nan" for said in texts])
    if words is None and not is_word.any():
        active &= np.isfinite(numbers)
        keys = numbers[active]
        ordered = bool(active.any())
        shown = scale(distribution)
    else:
        ordered = words is not None and words.ordered
        occurring = sorted({said for said, on in zip(texts, active, strict=True) if on})
        order = [*map(text, words.values)] if words is not None and ordered else occurring
        if lacking := [said for said in occurring if said not in order]:
            raise ConfigError(f"{name}: the order lacks {', '.join(map(repr, lacking))}")
        places = [order.index(said) for said, on in zip(texts, active, strict=True) if on]
        keys = np.array(places, int)
        shown = _Scale(tuple(order))
    rank = np.zeros(len(column), int)
    rank[active] = np.unique(keys, return_inverse=True)[1] + 1
    return Axis(name, column, rank, active, ordered, shown)


def score_metrics(
    scores: np.ndarray, rows: np.ndarray, ks: Sequence[int] = KS
) -> dict[str, np.ndarray]:
    """Computes the metrics of drawn runs that need scores alone: path -> [R].

    `rel_at_k` is the k-th best score in percent of the best, `mean_at_k` the mean of the k best.
    `best_equivalent` is the share of other runs within `MARGIN` of the best, `expected_equivalent`
    that of a run drawn at random.
    """
    drawn = scores[rows]
    falling = -np.sort(-drawn, axis=1)
    best, n = falling[:, 0], drawn.shape[1]
    counts = np.stack([np.bincount(row, minlength=len(scores)) for row in rows])
    equal = np.sum(_near(best[:, None], drawn, MARGIN), axis=1)

    def relative(part: np.ndarray) -> np.ndarray:
        return np.where(best > 0, 100 * part / np.where(best > 0, best, 1.0), 0.0)

    return {
        "mean": 100 * drawn.mean(axis=1),
        "best_equivalent": 100 * (equal - 1) / (n - 1),
        "expected_equivalent": _expected_equivalent(scores, counts.astype(float)),
        **{f"rel_at_k.{k}": relative(falling[:, k - 1]) for k in ks if k <= n},
        **{f"mean_at_k.{k}": relative(falling[:, :k].mean(axis=1)) for k in ks if k <= n},
    }


def _near(a: np.ndarray, b: np.ndarray, margin: float) -> np.ndarray:
    gap = np.abs(np.round(a, _DECIMALS) - np.round(b, _DECIMALS))
    return np.asarray(gap <= margin + _SLACK)


def near_best(scores: np.ndarray, margin: float, higher_is_better: bool) -> np.ndarray:
    """[n] bool: whether a score is within a margin of the best, itself included."""
    best = scores.max(initial=-np.inf) if higher_is_better else scores.min(initial=np.inf)
    return _near(best, scores, margin)


def _expected_equivalent(scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Shares [R] of pairs of drawn runs within the margin; a run is no pair of its own copies."""
    order = np.argsort(scores, kind="stable")
    ordered = np.round(scores, _DECIMALS)[order]
    drawn = counts[:, order]
    upto = np.concatenate([np.zeros((len(drawn), 1)), np.cumsum(drawn, axis=1)], axis=1)
    # differences are compared, as in `_near`: score + margin would round differently
    high = np.array([np.searchsorted(ordered - s, MARGIN + _SLACK, "right") for s in ordered])
    low = np.searchsorted(high, np.arange(len(ordered)), "right")
    near_each = upto[:, high] - upto[:, low] - drawn
    pairs = drawn.sum(axis=1) ** 2 - np.sum(drawn**2, axis=1)
    share = np.full(len(pairs), np.nan)  # a draw of one run alone has no pair
    np.divide(np.sum(drawn * near_each, axis=1), pairs, out=share, where=pairs > 0)
    return 100 * share


def _paths(
    scores: np.ndarray, axes: Sequence[Axis]
) -> Iterator[tuple[str, np.ndarray, Sequence[Axis]]]:
    """Path, scores and axes: all hyperparameters together, and each in the runs where it acts."""
    if axes:
        yield _ALL, scores, axes
    for axis in axes:
        if axis.active.any():
            own = [axis.select(axis.active)]
            yield f"by_hyperparameter.{axis.name}", scores[axis.active], own


def rhos(scores: np.ndarray, axes: Sequence[Axis]) -> dict[str, float]:
    """Computes Spearman's correlation of the distance from the best run with the loss against it.

    Distances are Gower's. Of several best runs it is the mean. Paths without variation are absent.
    """
    found = {}
    for path, own, of in _paths(scores, axes):
        best, times = _best_settings(own, of)
        distance = _gower(of, best)
        varies = np.ptp(distance, axis=1) > 0
        if varies.any() and np.ptp(own) > 0:
            y = describe.average_ranks(-own)
            x = np.stack([describe.average_ranks(row) for row in distance[varies]])
            x = x - x.mean(axis=1, keepdims=True)
            y = y - y.mean()
            each = x @ y / np.sqrt(np.sum(x**2, axis=1) * np.sum(y**2))
            found[path] = float(np.average(each, weights=times[varies]))
    return found


def _best_settings(scores: np.ndarray, axes: Sequence[Axis]) -> tuple[np.ndarray, np.ndarray]:
    """One best run [T] of each setting, and the number of best runs with this setting."""
    best = np.flatnonzero(scores == scores.max())
    settings = np.stack([axis.rank[best] for axis in axes])
    if (settings == settings[:, :1]).all():  # as in most of a thousand resamples
        return best[:1], np.array([len(best)])
    _, first, times = np.unique(settings, axis=1, return_index=True, return_counts=True)
    return best[first], times


def _gower(axes: Sequence[Axis], best: np.ndarray) -> np.ndarray:
    """Computes Gower's (1971) distances [T, n] of all runs from T of them.

    A distance is the mean over the hyperparameters that have an effect in both runs: of ranks from
    0 to 1 if they are ordered, else 0 or 1. It is rounded, so that their order does not matter.
    """
    total, counted = np.zeros((2, len(best), len(axes[0].rank)))
    for axis in axes:
        position = (axis.rank - 1) / max(1, int(axis.rank.max()) - 1)
        both = axis.active & axis.active[best, None]
        gap = np.abs(position - position[best, None])
        total += np.where(both, gap if axis.ordered else gap > 0, 0.0)
        counted += both
    return np.asarray(np.round(total / np.maximum(counted, 1), _DISTANCE_DECIMALS))


def profiles(scores: np.ndarray, axes: Sequence[Axis]) -> dict[str, tuple[float, float, float]]:
    """Computes maxima, mean absolute change in points, and points of ordered profiles, by path.

    Runs of equal value are one point with their mean. Along all hyperparameters the order is the
    distance from the best run. If several runs are best, it is the mean over their profiles.
    """
    found: dict[str, tuple[float, float, float]] = {}
    for path, own, of in _paths(scores, axes):
        if path == _ALL:
            best, times = _best_settings(own, of)
            parts = [_profile(own, distance) for distance in _gower(of, best)]
            found[path] = tuple(np.average(parts, axis=0, weights=times).tolist())
        elif of[0].ordered:
            found[path] = _profile(own, of[0].rank)
    return found


def _profile(scores: np.ndarray, positions: np.ndarray) -> tuple[int, float, int]:
    _, where = np.unique(positions, return_inverse=True)
    return _ups_and_downs(np.bincount(where, scores) / np.bincount(where))


def _ups_and_downs(line: np.ndarray) -> tuple[int, float, int]:
    inner = line[1:-1]
    maxima = int(np.sum((line[:-2] < inner) & (inner > line[2:])))
    change = 100 * np.sum(np.abs(np.diff(line))) / max(1, len(line) - 1)
    return maxima, float(change), len(line)


def wilson(successes: int, n: int) -> Interval:
    """Computes Wilson's score interval of a proportion (1927), in percent."""
    z2 = float(special.ndtri((1 - CONFIDENCE) / 2)) ** 2
    share = successes / n
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2)))
    middle = share + z2 / (2 * n)
    low = (middle - half) / (1 + z2 / n)
    high = (middle + half) / (1 + z2 / n)
    return Interval(100 * max(low, 0.0), 100 * min(high, 1.0), CONFIDENCE, "Wilson")
