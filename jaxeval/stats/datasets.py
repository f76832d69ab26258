"""Aggregates over data sets: runs x data sets in, one number with its interval out.

A model's scores are a list of samples, one a data set, in the same order for every model. Every
data set weighs the same, also where one has fewer runs, as after a crash. Runs are resampled
within their data set (stratified bootstrap, Agarwal et al. 2021): intervals speak of other runs on
these data sets. Of n runs n - 1 are drawn (Rao & Wu 1988): n would make the intervals narrower by
sqrt((n - 1) / n), and those of three runs cover 82 to 90 % instead of 95 %.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import directions
from jaxeval.stats import effects
from jaxeval.stats.results import (
    Effect,
    Interval,
    Sample,
    as_many,
    fraction,
    percentile_interval,
    percentiles,
    sample,
)

Runs = Sequence[Sample]
Aggregate = Callable[[list[np.ndarray]], np.ndarray]  # of [..., n] a data set: [...]

_AT_ONCE = 5_000_000  # scores that are drawn at a time
_THRESHOLDS = 101


@dataclasses.dataclass(frozen=True)
class Profiles:
    """Performance profiles: shares of runs above thresholds, with point-wise intervals.

    Attributes:
      thresholds: [K].
      shares: model -> share, low and high, [K] each.
    """

    thresholds: np.ndarray
    shares: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Aggregates:
    """All models over the same data sets (Agarwal et al. 2021).

    Attributes:
      interquartile_mean: model -> of all its runs on all data sets, which weigh the same.
      optimality_gap: model -> how far runs stay below gamma; empty where there is no gamma.
      improvement: (A, B) -> P(a run of A is better than one of B), averaged over data sets.
    """

    interquartile_mean: Mapping[str, Effect]
    optimality_gap: Mapping[str, Effect]
    gamma: float | None
    improvement: Mapping[tuple[str, str], Effect]
    profiles: Profiles


def aggregates(
    runs: Mapping[str, Runs],
    *,
    counted: Mapping[str, Runs] | None = None,
    gamma: float | None = None,
    higher_is_better: bool = True,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Aggregates:
    """Everything that is said of models over data sets.

    Args:
      runs: model -> one sample a data set, in the same order.
      counted: the same with a score for each run that failed, worse than all others, for how often
        a run is better; None: none failed.
      gamma: the score at which a data set counts as solved; only where higher is better.

    Raises:
      DataError: models of unequal numbers of data sets, or none.
    """
    how = _How(confidence, resamples, seed)
    sign = -1 if directions.asked_for(higher_is_better) is False else 1
    by_model = {m: _strata(strata, f"scores of {m}") for m, strata in runs.items()}
    as_many(by_model, "data sets")
    every = np.concatenate([values for strata in by_model.values() for values in strata])
    thresholds = np.linspace(every.min(), every.max(), _THRESHOLDS)
    every_run = by_model if counted is None else {m: _strata(of, m) for m, of in counted.items()}
    better = {m: [sign * values for values in strata] for m, strata in every_run.items()}
    gap = None if gamma is None else optimality_gap(gamma)
    return Aggregates(
        {m: _bootstrap(strata, pooled_interquartile_mean, how) for m, strata in by_model.items()},
        {} if gap is None else {m: _bootstrap(strata, gap, how) for m, strata in by_model.items()},
        gamma,
        {
            (a, b): average_probability_of_improvement(better[a], better[b], confidence=confidence)
            for a, b in itertools.combinations(runs, 2)
        },
        Profiles(thresholds, {m: _profile(s, thresholds, how) for m, s in by_model.items()}),
    )


@dataclasses.dataclass(frozen=True)
class _How:
    """How resamples are drawn and summed up."""

    confidence: float
    resamples: int
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", fraction(self.confidence, "confidence"))

    def interval(self, drawn: np.ndarray) -> Interval:
        """Percentile interval of [resamples] values; none where no run could have changed them."""
        method = f"stratified percentile bootstrap, {self.resamples} resamples, seed {self.seed}"
        return percentile_interval(drawn, self.confidence, method)

    def rows(self, size: int) -> Iterator[int]:
        """How many resamples are drawn at a time, of `size` scores each."""
        most = max(1, _AT_ONCE // size)
        for begin in range(0, self.resamples, most):
            yield min(most, self.resamples - begin)


def _strata(runs: Runs, name: str = "scores") -> list[np.ndarray]:
    if not len(runs):
        raise DataError(f"{name}: expected at least one data set")
    return [sample(values, f"{name} on data set {k}") for k, values in enumerate(runs)]


def pooled_interquartile_mean(strata: list[np.ndarray]) -> np.ndarray:
    """[...] mean of the middle half of all runs on all data sets; strata: [..., n] each.

    A run weighs 1 / n of its data set. Of N runs the lowest and the highest weight of
    floor(N / 4) / N is cut, in part of a run where counts differ: with as many runs of each data
    set it is scipy's trim_mean(0.25), as of Agarwal et al. (2021).
    """
    runs = np.concatenate(strata, axis=-1)
    shares = [np.full(of.shape[-1], 1 / (len(strata) * of.shape[-1])) for of in strata]
    order = np.argsort(runs, axis=-1)
    reached = np.cumsum(np.concatenate(shares)[order], axis=-1)
    cut = runs.shape[-1] // 4 / runs.shape[-1]
    inside = np.diff(np.clip(reached, cut, 1 - cut), axis=-1, prepend=cut)
    rising = np.take_along_axis(runs, order, axis=-1)
    return np.asarray((rising * inside).sum(axis=-1) / inside.sum(axis=-1))


def mean_of_means(strata: list[np.ndarray]) -> np.ndarray:
    """[...] mean over data sets of the mean over runs; strata: [..., n] each."""
    return np.mean([values.mean(axis=-1) for values in strata], axis=0)


def optimality_gap(gamma: float) -> Aggregate:
    """How far scores stay below gamma, where more counts as gamma: mean over data sets."""

    def optimality_gap(strata: list[np.ndarray]) -> np.ndarray:
        return gamma - mean_of_means([np.minimum(values, gamma) for values in strata])

    return optimality_gap


def stratified_bootstrap(
    runs: Runs,
    aggregate: Aggregate = pooled_interquartile_mean,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Effect:
    """An aggregate over data sets with its percentile interval.

    Args:
      aggregate: takes [..., n] scores a data set and gives [...] values, one a resample.

    Raises:
      DataError: the aggregate reduces another axis than the last.
    """
    return _bootstrap(runs, aggregate, _How(confidence, resamples, seed))


def _bootstrap(runs: Runs, aggregate: Aggregate, how: _How) -> Effect:
    strata = _strata(runs)
    generator = np.random.default_rng(how.seed)
    drawn = []
    for rows in how.rows(sum(map(len, strata))):
        values = np.asarray(
            aggregate([v[generator.integers(len(v), size=(rows, _drawn(len(v))))] for v in strata])
        )
        if values.shape != (rows,):
            raise DataError(
                f"aggregate: expected {rows} values of samples [{rows}, n], found the shape "
                f"{values.shape}; reduce the last axis only (axis=-1)"
            )
        drawn.append(values)
    return Effect(
        getattr(aggregate, "__name__", "aggregate").replace("_", " "),
        float(aggregate(strata)),
        how.interval(np.concatenate(drawn)),
        tuple(map(len, strata)),
    )


def _drawn(runs: int) -> int:
    """Runs of a resample: one fewer, so that its variance is unbiased (Rao & Wu 1988)."""
    return max(1, runs - 1)


def average_probability_of_improvement(a: Runs, b: Runs, *, confidence: float = 0.95) -> Effect:
    """P(a run of A beats a run of B), averaged over data sets (Agarwal et al. 2021).

    The interval is that of `probability_of_improvement`, of the average: it has a width where A
    wins every pair, as bootstraps have not (of two data sets with five runs each and a true
    probability of .99 theirs cover .30).

    Raises:
      DataError: other numbers of data sets, or a confidence that is not between 0 and 1.
    """
    confidence = fraction(confidence, "confidence")
    first, second = _strata(a, "scores of A"), _strata(b, "scores of B")
    if len(first) != len(second):
        raise DataError(f"data sets: expected the same for both, {len(first)} != {len(second)}")
    estimate, low, high = effects.improvement(first, second, confidence)
    return Effect(
        "average probability of improvement",
        estimate,
        Interval(low, high, confidence, "Newcombe 2006, for unequal spreads, of the average"),
        (sum(map(len, first)), sum(map(len, second))),
    )


def _weights(runs: int, rows: int, generator: np.random.Generator) -> np.ndarray:
    """How often each run is drawn, as a share: [rows, runs]."""
    drawn = _drawn(runs)
    return generator.multinomial(drawn, np.full(runs, 1 / runs), size=rows) / drawn


def performance_profile(
    runs: Runs,
    thresholds: Sample,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share of runs that score above each threshold, data sets weighted equally.

    Returns:
      shares, and the lower and upper ends of their point-wise percentile intervals: [K] each.
    """
    return _profile(runs, thresholds, _How(confidence, resamples, seed))


def _profile(
    runs: Runs, thresholds: Sample, how: _How
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    strata, taus = _strata(runs), sample(thresholds, "thresholds")
    generator = np.random.default_rng(how.seed)
    drawn = [
        np.mean([_above(v, taus, _weights(len(v), rows, generator)) for v in strata], axis=0)
        for rows in how.rows(max(len(taus), *map(len, strata)))
    ]
    low, high = percentiles(np.concatenate(drawn), how.confidence)
    whole = [_above(v, taus, np.full((1, len(v)), 1 / len(v)))[0] for v in strata]
    return np.mean(whole, axis=0), low, high


def _above(values: np.ndarray, thresholds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weight of the values above each threshold: [rows, K] of weights [rows, n]."""
    order = np.argsort(values)
    sums = np.zeros((len(weights), len(values) + 1))
    np.cumsum(weights[:, order], axis=1, out=sums[:, 1:])
    reached = np.searchsorted(values[order], thresholds, "right")
    above: np.ndarray = sums[:, -1:] - sums[:, reached]
    return np.clip(above, 0.0, 1.0)  # sums of shares round
