"""Models over several data sets: rank tests of one score per data set, aggregates of all runs.

Rank tests hold for other data sets (Demšar 2006), aggregates for other runs on these (Agarwal et
al. 2021), each data set with the same weight. Notation: N data sets, k models; R_j is the average
rank of model j, 1 the best. Strata are the runs [n] of each data set.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import scipy

from jaxeval import stats
from jaxeval.stats import (
    Effect,
    HypothesisTest,
    Interval,
    Rules,
    Sample,
    describe,
    hypotheses,
    multiple,
)
from jaxeval.stats.pairs import Pair
from jaxeval.stats.samples import Samples

_AT_ONCE = 5_000_000  # scores or ranks that are drawn at a time
_MOST_DRAWN, _MOST_RUNS = 10_000_000, 100_000  # in all resamples of a model; of all models
_MOST_RESAMPLES = 2000  # of aggregates
_SCALES = 10.0  # data sets whose typical scores differ by a larger factor are on different scales
_Strata = Sequence[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Ranking:
    """Models by average rank over data sets (1 is best), with Nemenyi's critical difference."""

    models: tuple[str, ...]  # best first
    average_ranks: tuple[float, ...]
    critical_difference: float
    alpha: float
    # of two or more that were not told apart: by Nemenyi's test, or if data sets are the units by
    # the pairs' own tests; none of these if some pairs are not compared
    groups: tuple[tuple[str, ...], ...]
    p_values: Mapping[tuple[str, str], float]  # Nemenyi's, which hold for all pairs at once
    friedman: HypothesisTest
    iman_davenport: HypothesisTest


@dataclasses.dataclass(frozen=True)
class _Aggregates:
    """All models over the same data sets (Agarwal et al. 2021)."""

    interquartile_mean: Mapping[str, Effect]  # of all runs, by model
    improvement: Mapping[tuple[str, str], Effect]  # P(a run of A is better than one of B)


@dataclasses.dataclass(frozen=True)
class Across:
    """Models compared over the data sets that have scores of all of them."""

    data_sets: tuple[str, ...]
    means: Mapping[str, np.ndarray]  # model -> [N] mean score of each data set
    ranking: Ranking | None  # of three or more models
    signed_rank: HypothesisTest | None  # of two models
    aggregates: _Aggregates | None  # None if no data set has two independent runs of a model
    one_scale: bool  # typical scores of all data sets are within a factor of ten


def across(
    samples: Samples, rules: Rules, higher: bool, pairs: Sequence[Pair] = ()
) -> Across | None:
    """Compares models over data sets; None for one model, or fewer than two common data sets.

    Args:
      pairs: whose tests decide, if data sets are the units.
    """
    by_data_set = _runs(samples)
    with_failed = _runs(samples.with_failed(higher))
    models = list(dict.fromkeys(m for by_model in by_data_set.values() for m in by_model))
    common = tuple(d for d, of in by_data_set.items() if len(of) == len(models))
    if len(common) < 2 or len(models) < 2:
        return None
    runs = {m: [by_data_set[d][m] for d in common] for m in models}
    means = {m: np.array([scores.mean() for scores in runs[m]]) for m in models}
    several = signed = ranked = None
    overlap = any(pair.scores.overlap for pair in pairs if pair.scores)
    if not overlap and any(len(scores) > 1 for strata in runs.values() for scores in strata):
        all_runs = {m: [with_failed[d][m] for d in common] for m in models}
        several = _aggregate(runs, all_runs, rules, higher)
    if len(models) == 2:
        signed = hypotheses.wilcoxon_signed_rank(*means.values())
    else:
        ranked = _rank_models(means, rules, higher_is_better=higher)
        if samples.unit == "dataset":
            every = 2 * len(pairs) == len(models) * (len(models) - 1)
            apart = [frozenset(pair.names) for pair in pairs if pair.better]
            groups = _groups(ranked.models, apart) if every else ()
            ranked = dataclasses.replace(ranked, groups=groups)
    return Across(common, means, ranked, signed, several, one_scale(means.values()))


def one_scale(means: Iterable[np.ndarray]) -> bool:
    """True if typical scores of all data sets are within a factor of ten: they have a mean.

    `means`: [N] of each model.
    """
    typical = np.median(np.abs(np.column_stack([*means])), axis=1)
    return bool(typical.max() <= _SCALES * max(float(typical.min()), 1e-300))


def _runs(samples: Samples) -> dict[str, dict[str, np.ndarray]]:
    """Data set -> model -> its runs; one score each if data sets are the units."""
    runs: dict[str, dict[str, np.ndarray]] = {}
    for data_set, by_model in samples.by_data_set.items():
        for model, of in by_model.items():
            each = {data_set: of.scores}
            if samples.unit == "dataset":
                each = {of.labels[k]: of.scores[k : k + 1] for k in range(len(of.scores))}
            for name, scores in each.items():
                runs.setdefault(name, {})[model] = scores
    return runs


def _aggregate(
    runs: Mapping[str, _Strata], with_failed: Mapping[str, _Strata], rules: Rules, higher: bool
) -> _Aggregates:
    """Aggregates the runs of each model (model -> strata), with failed ones in probabilities."""
    sign = 1 if higher else -1
    size = sum(len(s) for of in runs.values() for s in of)
    most = _MOST_DRAWN * len(runs) // size if size <= _MOST_RUNS else 0
    resamples = min(rules.resamples, _MOST_RESAMPLES, most)
    better = {m: [sign * values for values in of] for m, of in with_failed.items()}
    improvement = describe.average_probability_of_improvement
    means = {
        m: _bootstrap(strata, _interquartile_mean, rules.confidence, resamples, rules.seed)
        for m, strata in runs.items()
    }
    pairs = itertools.combinations(runs, 2)
    won = {(a, b): improvement(better[a], better[b], rules.confidence) for a, b in pairs}
    return _Aggregates(means, won)


def _interquartile_mean(strata: _Strata) -> np.ndarray:
    """Mean [...] of the middle half of all runs on all data sets, strata [..., n] each.

    A run weighs 1 / n of its data set. Of N runs the lowest and the highest weight of floor(N / 4)
    / N is cut: with equal counts this is scipy's trim_mean(0.25), as of Agarwal et al. (2021).
    """
    runs = np.concatenate(strata, axis=-1)
    shares = [np.full(of.shape[-1], 1 / (len(strata) * of.shape[-1])) for of in strata]
    order = np.argsort(runs, axis=-1)
    reached = np.cumsum(np.concatenate(shares)[order], axis=-1)
    cut = runs.shape[-1] // 4 / runs.shape[-1]
    inside = np.diff(np.clip(reached, cut, 1 - cut), axis=-1, prepend=cut)
    rising = np.take_along_axis(runs, order, axis=-1)
    return np.asarray((rising * inside).sum(axis=-1) / inside.sum(axis=-1))


def _bootstrap(
    strata: _Strata,
    statistic: Callable[[_Strata], np.ndarray],
    confidence: float,
    resamples: int,
    seed: int,
) -> Effect:
    """A statistic of strata [..., n] -> [...], with its stratified percentile interval.

    Of n runs n - 1 are drawn: the variance is unbiased (Rao & Wu 1988), and intervals of few runs
    are not too narrow.
    """
    generator = np.random.default_rng(seed)
    drawn = []
    for rows in stats.blocks(resamples, sum(map(len, strata)), _AT_ONCE):
        places = [generator.integers(len(s), size=(rows, max(1, len(s) - 1))) for s in strata]
        drawn.append(statistic([of[k] for of, k in zip(strata, places, strict=True)]))
    method = f"stratified percentile bootstrap, {resamples} resamples, seed {seed}"
    interval = Interval.none(confidence, "more runs than are resampled")
    if drawn:
        interval = stats.percentile_interval(np.concatenate(drawn), confidence, method)
    return Effect(float(statistic(strata)), interval, tuple(map(len, strata)))


def friedman(table: np.ndarray) -> HypothesisTest:
    """Friedman's test, corrected for ties, of a table [N, k] of at least 2 x 3 scores."""
    ranks = _ranks(table, True)
    statistic = _chi_squared(ranks)
    method = "chi-squared, corrected for ties"
    p_value = float(scipy.stats.chi2.sf(statistic, ranks.shape[1] - 1))
    return HypothesisTest(statistic, p_value, ranks.shape, method)


def _iman_davenport(table: np.ndarray, *, resamples: int, seed: int = 0) -> HypothesisTest:
    """F = (N - 1) X / (N (k - 1) - X) of Friedman's X, corrected for ties (Demšar 2006, 3.2.2).

    The p-value is that of permuted ranks, which holds for few data sets too.
    """
    ranks = _ranks(table, True)
    generator = np.random.default_rng(seed)
    hits = 0
    for rows in stats.blocks(resamples, ranks.size, _AT_ONCE):
        many = np.broadcast_to(ranks, (rows, *ranks.shape))
        permuted = generator.permuted(many, axis=-1).sum(axis=1)
        centred = permuted - ranks.sum(axis=0).mean()
        # ties stay as they are, so the chi-squared grows with the squares alone
        hits += int(np.sum(np.sum(centred**2, axis=-1) >= _squares(ranks) - 1e-9))
    sets, models = ranks.shape
    found = _chi_squared(ranks)
    p_value = (1 + hits) / (1 + resamples)
    rest = sets * (models - 1) - found
    statistic = (sets - 1) * found / rest if rest > 1e-9 else math.inf
    drawn = f"ranks permuted within data sets, {resamples} resamples, seed {seed}"
    return HypothesisTest(statistic, p_value, ranks.shape, f"corrected for ties; {drawn}")


def _rank_models(
    scores: Mapping[str, Sample], rules: Rules | None = None, *, higher_is_better: bool = True
) -> Ranking:
    """Ranks three models or more by their scores [N] (Demšar 2006, section 3.2.2)."""
    rules = rules or Rules()
    table = np.column_stack([*map(np.asarray, scores.values())])
    ranks = _ranks(table, higher_is_better)
    spread = scipy.stats.studentized_range
    averages = ranks.mean(axis=0)
    sets, models = ranks.shape
    error = math.sqrt(models * (models + 1) / (6 * sets)) / math.sqrt(2)
    critical = float(spread.isf(rules.alpha, models, math.inf)) * error
    order = np.argsort(averages, kind="stable")
    names = tuple(list(scores)[k] for k in order)
    ordered = tuple(averages[order].tolist())
    p_values = {
        (a, b): float(spread.sf(abs(x - y) / error, models, math.inf))
        for (a, x), (b, y) in itertools.combinations(zip(scores, averages, strict=True), 2)
    }
    omnibus = _iman_davenport(table, resamples=rules.resamples, seed=rules.seed)
    level = rules.alpha if omnibus.p_value <= rules.alpha else -math.inf
    groups = _groups(names, [frozenset(pair) for pair, p in p_values.items() if p <= level])
    return Ranking(
        names, ordered, critical, rules.alpha, groups, p_values, friedman(table), omnibus
    )


def _groups(models: Sequence[str], apart: Sequence[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(group for group in multiple.tie_groups(models, apart) if len(group) > 1)


def _ranks(table: np.ndarray, higher_is_better: bool) -> np.ndarray:
    """Ranks [N, k], 1 the best, ties with their mean rank."""
    return np.asarray(scipy.stats.rankdata(-table if higher_is_better else table, axis=1))


def _squares(ranks: np.ndarray) -> float:
    sums = ranks.sum(axis=0)
    return float(np.sum((sums - sums.mean()) ** 2))


def _chi_squared(ranks: np.ndarray) -> float:
    """Squares of rank sums over the variance of the ranks; 0 if all scores are tied."""
    variance = float(np.sum((ranks - (ranks.shape[1] + 1) / 2) ** 2)) / (ranks.shape[1] - 1)
    return _squares(ranks) / variance if variance else 0.0
