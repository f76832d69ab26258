"""What is said of models over several data sets together.

Would other data sets rank the models so? Average ranks of one score per data set (Demšar 2006).
Would other runs on these data sets? Aggregates of all runs (Agarwal et al. 2021), each data set
weighing the same. Runs are resampled within their data set; of n runs n - 1 are drawn (Rao & Wu
1988), or intervals of few runs are too narrow. Strata are the runs [n] of each data set.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import effects, hypotheses, ranking
from jaxeval.stats.ranking import Against, Ranking
from jaxeval.stats.results import (
    Effect,
    HypothesisTest,
    Interval,
    Sample,
    as_many,
    no_interval,
    percentile_interval,
    sample,
)
from jaxeval.stats.rules import Rules
from jaxeval.stats.samples import Samples

Strata = Sequence[Sample]
_AT_ONCE = 5_000_000  # scores that are drawn at a time
_MOST_DRAWN, _MOST_RUNS = 10_000_000, 100_000  # of all resamples of a model; of all models
_MOST_RESAMPLES = 2000  # of aggregates, each of which sums up all runs
_SCALES = 10.0  # data sets whose typical scores differ by more are on different scales


@dataclasses.dataclass(frozen=True)
class Aggregates:
    """All models over the same data sets (Agarwal et al. 2021)."""

    interquartile_mean: Mapping[str, Effect]  # of all runs, by model
    improvement: Mapping[tuple[str, str], Effect]  # P(a run of A is better than one of B)


@dataclasses.dataclass(frozen=True)
class Across:
    """Models compared over the data sets that have scores of all of them."""

    data_sets: tuple[str, ...]
    means: Mapping[str, np.ndarray]  # model -> [N] one score per data set, of several runs a mean
    ranking: Ranking | None  # of three or more models
    control: str | None
    against: tuple[Against, ...]  # each model against the control
    control_difference: float | None  # critical, of average ranks (Bonferroni-Dunn)
    signed_rank: HypothesisTest | None  # of two models
    aggregates: Aggregates | None  # None where no data set has two runs of a model
    one_scale: bool  # whether typical scores of all data sets are within a factor of ten


def across(
    samples: Samples, rules: Rules, higher: bool, control: str | None, counted: Samples
) -> Across | None:
    """None where fewer than two data sets have all models, or there is one model.

    `counted`: the same samples with a score for each run that failed, worse than all others.
    """
    by_data_set, with_failed = _runs(samples), _runs(counted)
    models = list(dict.fromkeys(m for cell in by_data_set.values() for m in cell))
    common = tuple(d for d, cell in by_data_set.items() if len(cell) == len(models))
    if len(common) < 2 or len(models) < 2:
        return None
    runs = {m: [by_data_set[d][m] for d in common] for m in models}
    means = {m: np.array([scores.mean() for scores in runs[m]]) for m in models}
    typical = np.median(np.abs(np.column_stack(list(means.values()))), axis=1)
    one_scale = bool(typical.max() <= _SCALES * max(float(typical.min()), 1e-300))
    several = signed = ranked = critical = None
    against: tuple[Against, ...] = ()
    if any(len(scores) > 1 for strata in runs.values() for scores in strata):
        all_runs = {m: [with_failed[d][m] for d in common] for m in models}
        several = aggregates(runs, rules, counted=all_runs, higher_is_better=higher)
    if len(models) == 2:
        signed = hypotheses.wilcoxon_signed_rank(*means.values())
    else:
        ranked = ranking.nemenyi(means, rules, higher_is_better=higher)
        if control:
            against = ranking.against(means, control, higher_is_better=higher)
            critical = ranking.bonferroni_dunn(len(common), len(models), rules.alpha)
    return Across(common, means, ranked, control, against, critical, signed, several, one_scale)


def _runs(samples: Samples) -> dict[str, dict[str, np.ndarray]]:
    """Data set -> model -> its runs; where data sets are the units, one score each."""
    if samples.unit != "dataset":
        return {
            place: {model: of.scores for model, of in cell.items()}
            for place, cell in samples.by_data_set.items()
        }
    runs: dict[str, dict[str, np.ndarray]] = {}
    for model, of in ((m, of) for cell in samples.by_data_set.values() for m, of in cell.items()):
        for label, score in zip(of.labels.tolist(), of.scores.tolist(), strict=True):
            runs.setdefault(label, {})[model] = np.array([score])
    return runs


def aggregates(
    runs: Mapping[str, Strata],
    rules: Rules,
    *,
    counted: Mapping[str, Strata] | None = None,
    higher_is_better: bool = True,
) -> Aggregates:
    """Everything that is said of all runs of models (model -> strata).

    `counted`: the same with a score for each run that failed, worse than all others, for how often
    a run is better; None: none failed.
    """
    sign = 1 if higher_is_better else -1
    by_model = {m: _strata(strata, f"scores of {m}") for m, strata in runs.items()}
    as_many(by_model, "data sets")
    every = np.concatenate([values for strata in by_model.values() for values in strata])
    most = _MOST_DRAWN * len(by_model) // len(every) if len(every) <= _MOST_RUNS else 0
    how = rules.confidence, min(rules.resamples, _MOST_RESAMPLES, most), rules.seed
    better = {
        m: [sign * np.asarray(values) for values in of] for m, of in (counted or by_model).items()
    }
    return Aggregates(
        {m: bootstrap(strata, interquartile_mean, *how) for m, strata in by_model.items()},
        {
            (a, b): average_probability_of_improvement(better[a], better[b], rules.confidence)
            for a, b in itertools.combinations(runs, 2)
        },
    )


def _strata(runs: Strata, name: str) -> list[np.ndarray]:
    if not len(runs):
        raise DataError(f"{name}: expected at least one data set")
    return [sample(values, f"{name} on data set {k}") for k, values in enumerate(runs)]


def interquartile_mean(strata: list[np.ndarray]) -> np.ndarray:
    """[...] mean of the middle half of all runs on all data sets; strata: [..., n] each.

    A run weighs 1 / n of its data set. Of N runs the lowest and the highest weight of floor(N / 4)
    / N is cut: with equal counts it is scipy's trim_mean(0.25), as of Agarwal et al. (2021).
    """
    runs = np.concatenate(strata, axis=-1)
    shares = [np.full(of.shape[-1], 1 / (len(strata) * of.shape[-1])) for of in strata]
    order = np.argsort(runs, axis=-1)
    reached = np.cumsum(np.concatenate(shares)[order], axis=-1)
    cut = runs.shape[-1] // 4 / runs.shape[-1]
    inside = np.diff(np.clip(reached, cut, 1 - cut), axis=-1, prepend=cut)
    rising = np.take_along_axis(runs, order, axis=-1)
    return np.asarray((rising * inside).sum(axis=-1) / inside.sum(axis=-1))


def bootstrap(
    strata: list[np.ndarray],
    aggregate: Callable[[list[np.ndarray]], np.ndarray],
    confidence: float,
    resamples: int,
    seed: int,
) -> Effect:
    """An aggregate over data sets, strata [..., n] -> [...], with its percentile interval."""
    generator, drawn = np.random.default_rng(seed), []
    for rows in _rows(resamples, sum(map(len, strata))):
        places = [generator.integers(len(of), size=(rows, _drawn(len(of)))) for of in strata]
        drawn.append(aggregate([of[k] for of, k in zip(strata, places, strict=True)]))
    method = f"stratified percentile bootstrap, {resamples} resamples, seed {seed}"
    interval = no_interval(confidence, "more runs than are resampled")
    if drawn:
        interval = percentile_interval(np.concatenate(drawn), confidence, method)
    name = aggregate.__name__.replace("_", " ")
    return Effect(name, float(aggregate(strata)), interval, tuple(map(len, strata)))


def _rows(resamples: int, size: int) -> Iterator[int]:
    """How many resamples are drawn at a time, of `size` scores each."""
    most = max(1, _AT_ONCE // size)
    return (min(most, resamples - begin) for begin in range(0, resamples, most))


def _drawn(runs: int) -> int:
    """Runs of a resample: one fewer, so that its variance is unbiased (Rao & Wu 1988)."""
    return max(1, runs - 1)


def average_probability_of_improvement(a: Strata, b: Strata, confidence: float = 0.95) -> Effect:
    """P(a run of A beats a run of B), averaged over data sets (Agarwal et al. 2021).

    The interval has a width where A wins every pair, as bootstraps have not.
    """
    first, second = _strata(a, "scores of A"), _strata(b, "scores of B")
    as_many({"A": first, "B": second}, "data sets")
    estimate, low, high = effects.improvement(first, second, confidence)
    method = "Newcombe 2006, for unequal spreads, of the average"
    n = sum(map(len, first)), sum(map(len, second))
    interval = Interval(low, high, confidence, method)
    return Effect("average probability of improvement", estimate, interval, n)
