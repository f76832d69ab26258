"""Comparisons across data sets: runs x data sets in, aggregates with intervals out.

A model's scores are a list of samples, one a data set, in the same order for every model; data
sets may have unequal numbers of runs. Runs are resampled within their data set (stratified
bootstrap, Agarwal et al. 2021): intervals speak of other runs on these data sets.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import describe, effects
from jaxeval.stats.results import Effect, HypothesisTest, Interval, Sample, fraction, sample

Runs = Sequence[Sample]
Aggregate = Callable[[list[np.ndarray]], float]


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Models by average rank over data sets (1 is best), with Nemenyi's critical difference."""

    models: tuple[str, ...]  # best first
    average_ranks: tuple[float, ...]
    critical_difference: float
    alpha: float
    groups: tuple[tuple[str, ...], ...]  # models that cannot be told apart, the widest groups
    friedman: HypothesisTest


def _strata(runs: Runs, name: str = "scores") -> list[np.ndarray]:
    if not len(runs):
        raise DataError(f"{name}: expected at least one data set")
    return [sample(values, f"{name} on data set {k}") for k, values in enumerate(runs)]


def pooled_interquartile_mean(strata: list[np.ndarray]) -> float:
    """Interquartile mean of all runs on all data sets."""
    return describe.interquartile_mean(np.concatenate(strata))


def mean_of_means(strata: list[np.ndarray]) -> float:
    """Mean over data sets of the mean over runs."""
    return float(np.mean([values.mean() for values in strata]))


def stratified_bootstrap(
    runs: Runs,
    aggregate: Aggregate = pooled_interquartile_mean,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Effect:
    """An aggregate over data sets with its percentile interval."""
    strata = _strata(runs)
    fraction(confidence, "confidence")
    generator = np.random.default_rng(seed)
    drawn = [aggregate([generator.choice(v, len(v)) for v in strata]) for _ in range(resamples)]
    return Effect(
        getattr(aggregate, "__name__", "aggregate").replace("_", " "),
        float(aggregate(strata)),
        _percentile(np.array(drawn), confidence, resamples, seed),
        tuple(map(len, strata)),
    )


def average_probability_of_improvement(
    a: Runs, b: Runs, *, confidence: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Effect:
    """P(a run of A beats a run of B), averaged over data sets (Agarwal et al. 2021)."""
    first, second = _strata(a, "scores of A"), _strata(b, "scores of B")
    if len(first) != len(second):
        raise DataError(f"data sets: expected the same for both, {len(first)} != {len(second)}")
    fraction(confidence, "confidence")
    generator = np.random.default_rng(seed)

    def average(x: list[np.ndarray], y: list[np.ndarray]) -> float:
        return float(np.mean([effects.share_won(u, v) for u, v in zip(x, y, strict=True)]))

    drawn = [
        average(
            [generator.choice(v, len(v)) for v in first],
            [generator.choice(v, len(v)) for v in second],
        )
        for _ in range(resamples)
    ]
    return Effect(
        "average probability of improvement",
        average(first, second),
        _percentile(np.array(drawn), confidence, resamples, seed),
        (sum(map(len, first)), sum(map(len, second))),
    )


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
    strata, points = _strata(runs), sample(thresholds, "thresholds")
    generator = np.random.default_rng(seed)

    def profile(values: list[np.ndarray]) -> np.ndarray:
        above = [1 - np.searchsorted(np.sort(v), points, "right") / len(v) for v in values]
        return np.mean(above, axis=0)

    drawn = [profile([generator.choice(v, len(v)) for v in strata]) for _ in range(resamples)]
    tail = (1 - fraction(confidence, "confidence")) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return profile(strata), low, high


def _percentile(drawn: np.ndarray, confidence: float, resamples: int, seed: int) -> Interval:
    tail = (1 - confidence) / 2
    low, high = (float(v) for v in np.quantile(drawn, [tail, 1 - tail]))
    return Interval(
        low,
        high,
        confidence,
        f"stratified percentile bootstrap, {resamples} resamples, seed {seed}",
    )


def friedman(table: np.ndarray) -> HypothesisTest:
    """Friedman's test, corrected for ties.

    Args:
      table: [data sets, models], one score a cell; at least 2 x 3.
    """
    from scipy import stats

    scores = _complete(table)
    if scores.shape[0] < 2 or scores.shape[1] < 3:
        raise DataError(
            f"Friedman: expected at least 2 data sets x 3 models, found {scores.shape}"
        )
    if np.ptp(scores, axis=1).max() == 0:
        statistic, p_value = 0.0, 1.0
    else:
        found = stats.friedmanchisquare(*scores.T)
        statistic, p_value = float(found.statistic), float(found.pvalue)
    return HypothesisTest(
        "Friedman",
        statistic,
        p_value,
        scores.shape,
        "all models rank alike",
        "chi-squared, corrected for ties",
    )


def nemenyi(
    scores: Mapping[str, Sample], *, alpha: float = 0.05, higher_is_better: bool = True
) -> Ranking:
    """Average ranks and Nemenyi's critical difference (Demsar 2006, section 3.2.2).

    Args:
      scores: model -> one score a data set, in the same order.
    """
    from scipy import stats

    fraction(alpha, "alpha")
    table = _complete(np.column_stack([sample(v, name) for name, v in scores.items()]))
    sets, models = table.shape
    test = friedman(table)
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1).mean(axis=0)
    spread = math.sqrt(models * (models + 1) / (6 * sets))
    quantile = float(stats.studentized_range.isf(alpha, models, math.inf))
    critical = quantile / math.sqrt(2) * spread
    order = np.argsort(ranks, kind="stable")
    names, ordered = [list(scores)[k] for k in order], ranks[order]
    return Ranking(
        tuple(names),
        tuple(map(float, ordered)),
        critical,
        alpha,
        _groups(names, ordered, critical),
        test,
    )


def _groups(names: list[str], ranks: np.ndarray, critical: float) -> tuple[tuple[str, ...], ...]:
    """Widest stretches of two or more models closer than the critical difference."""
    found: list[tuple[str, ...]] = []
    reached = 0
    for begin in range(len(names)):
        end = int(np.searchsorted(ranks, ranks[begin] + critical, "right"))
        if end > max(reached, begin + 1):
            found.append(tuple(names[begin:end]))
            reached = end
    return tuple(found)


def _complete(table: np.ndarray) -> np.ndarray:
    scores = np.asarray(table, np.float64)
    if scores.ndim != 2 or not np.isfinite(scores).all():
        raise DataError("scores: expected a complete table [data sets, models] of finite numbers")
    return scores
