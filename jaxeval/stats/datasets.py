"""Aggregates over data sets: runs x data sets in, one number with its interval out.

A model's scores are a list of samples, one a data set, in the same order for every model. Every
data set weighs the same, also where one has fewer runs, as after a crash. Runs are resampled
within their data set (stratified bootstrap, Agarwal et al. 2021): intervals speak of other runs on
these data sets. Of n runs n - 1 are drawn (Rao & Wu 1988): n would make the intervals narrower by
sqrt((n - 1) / n), and those of three runs cover 82 to 90 % instead of 95 %.
"""

import dataclasses
import functools
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
    how = fraction(confidence, "confidence"), resamples, seed
    sign = -1 if directions.asked_for(higher_is_better) is False else 1
    by_model = {m: _strata(strata, f"scores of {m}") for m, strata in runs.items()}
    as_many(by_model, "data sets")
    every = np.concatenate([values for strata in by_model.values() for values in strata])
    thresholds = np.linspace(every.min(), every.max(), _THRESHOLDS)
    every_run = by_model if counted is None else {m: _strata(of, m) for m, of in counted.items()}
    better = {m: [sign * values for values in strata] for m, strata in every_run.items()}
    gap = None if gamma is None else functools.partial(optimality_gap, gamma)
    return Aggregates(
        {m: bootstrap(strata, interquartile_mean, *how) for m, strata in by_model.items()},
        {} if gap is None else {m: bootstrap(of, gap, *how) for m, of in by_model.items()},
        gamma,
        {
            (a, b): average_probability_of_improvement(better[a], better[b], confidence=confidence)
            for a, b in itertools.combinations(runs, 2)
        },
        Profiles(thresholds, {m: profile(of, thresholds, *how) for m, of in by_model.items()}),
    )


def _strata(runs: Runs, name: str = "scores") -> list[np.ndarray]:
    if not len(runs):
        raise DataError(f"{name}: expected at least one data set")
    return [sample(values, f"{name} on data set {k}") for k, values in enumerate(runs)]


def interquartile_mean(strata: list[np.ndarray]) -> np.ndarray:
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


def optimality_gap(gamma: float, strata: list[np.ndarray]) -> np.ndarray:
    """[...] how far scores stay below gamma, where more counts as gamma: mean over data sets."""
    return gamma - np.mean([np.minimum(of, gamma).mean(axis=-1) for of in strata], axis=0)


def bootstrap(
    strata: list[np.ndarray], aggregate: Aggregate, confidence: float, resamples: int, seed: int
) -> Effect:
    """An aggregate over data sets with its percentile interval.

    Args:
      strata: [n] scores of each data set.
      aggregate: takes [..., n] scores a data set and gives [...] values, one a resample.
    """
    generator, drawn = np.random.default_rng(seed), []
    for rows in _rows(resamples, sum(map(len, strata))):
        places = [generator.integers(len(of), size=(rows, _drawn(len(of)))) for of in strata]
        drawn.append(aggregate([of[k] for of, k in zip(strata, places, strict=True)]))
    method = f"stratified percentile bootstrap, {resamples} resamples, seed {seed}"
    name = getattr(aggregate, "func", aggregate).__name__.replace("_", " ")
    interval = percentile_interval(np.concatenate(drawn), confidence, method)
    return Effect(name, float(aggregate(strata)), interval, tuple(map(len, strata)))


def _rows(resamples: int, size: int) -> Iterator[int]:
    """How many resamples are drawn at a time, of `size` scores each."""
    most = max(1, _AT_ONCE // size)
    return (min(most, resamples - begin) for begin in range(0, resamples, most))


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


def profile(
    strata: list[np.ndarray], taus: np.ndarray, confidence: float, resamples: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share of runs that score above each threshold, data sets weighted equally.

    Returns:
      shares, and the lower and upper ends of their point-wise percentile intervals: [K] each.
    """
    generator, drawn = np.random.default_rng(seed), []
    for rows in _rows(resamples, max(len(taus), *map(len, strata))):
        shares = []
        for of in strata:  # how often each run is drawn, as a share: [rows, runs]
            count, even = _drawn(len(of)), np.full(len(of), 1 / len(of))
            weights = generator.multinomial(count, even, size=rows) / count
            shares.append(_above(of, taus, weights))
        drawn.append(np.mean(shares, axis=0))
    low, high = percentiles(np.concatenate(drawn), confidence)
    whole = [_above(of, taus, np.full((1, len(of)), 1 / len(of)))[0] for of in strata]
    return np.mean(whole, axis=0), low, high


def _above(values: np.ndarray, thresholds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weight of the values above each threshold: [rows, K] of weights [rows, n]."""
    order = np.argsort(values)
    sums = np.zeros((len(weights), len(values) + 1))
    np.cumsum(weights[:, order], axis=1, out=sums[:, 1:])
    reached = np.searchsorted(values[order], thresholds, "right")
    above: np.ndarray = sums[:, -1:] - sums[:, reached]
    return np.clip(above, 0.0, 1.0)  # sums of shares round
