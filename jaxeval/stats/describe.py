"""Describes the scores of one model: summary, expected best score, dev against test."""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.runs.scores import ModelScores, Scores
from jaxeval.stats import nested
from jaxeval.stats.nested import Components
from jaxeval.stats.results import (
    Interval,
    Rules,
    Sample,
    fraction,
    sample,
    two_samples,
    varies,
)
from jaxeval.stats.samples import Samples

_MOST_FOR_BUDGET = 2000  # scores; the curve of the expected best has as many points


@dataclasses.dataclass(frozen=True)
class Summary:
    """Five-number summary, mean and spread of the scores of one model."""

    n: int
    min: float
    q1: float
    median: float
    q3: float
    max: float
    mean: float
    sd: float | None  # ddof = 1; None for one score
    mean_interval: Interval | None  # t; None below two scores and if all are equal
    median_interval: Interval | None  # order statistics; None below two scores


def summarize(scores: Sample, *, confidence: float = 0.95) -> Summary:
    """Summarizes scores, with intervals that need no resampling."""
    from scipy import special

    values, confidence = sample(scores), fraction(confidence, "confidence")
    n, mean, spread, of_mean = len(values), float(np.mean(values)), None, None
    if n > 1:
        spread = sd(values)
    if varies(values):
        half = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * (sd(values) / math.sqrt(n))
        of_mean = Interval(mean - half, mean + half, confidence, "t")
    of_median = _order_interval(values, confidence) if n > 1 else None
    low, q1, median, q3, high = five_numbers(values)
    return Summary(n, low, q1, median, q3, high, mean, spread, of_mean, of_median)


def sd(values: np.ndarray) -> float:
    """Sample standard deviation (ddof=1) of two or more scores; exactly 0 if all are equal."""
    return float(np.std(values, ddof=1)) if varies(values) else 0.0


def five_numbers(values: Sample) -> tuple[float, ...]:
    """Minimum, lower quartile, median, upper quartile, maximum (linear interpolation, type 7)."""
    return tuple(map(float, np.quantile(values, [0, 0.25, 0.5, 0.75, 1])))


def _order_interval(values: np.ndarray, confidence: float) -> Interval:
    """Interval of the median: order statistics whose ranks are binomial quantiles.

    Up to five scores their range covers less than 95 %; then `confidence` is what it covers.
    """
    from scipy import stats

    size = len(values)
    below = max(1, int(stats.binom.ppf((1 - confidence) / 2, size, 0.5)))
    coverage = 1 - 2 * float(stats.binom.cdf(below - 1, size, 0.5))
    low, high = (float(v) for v in np.sort(values)[[below - 1, size - below]])
    return Interval(low, high, min(confidence, coverage), "order statistics")


def spearman(a: Sample, b: Sample) -> tuple[float | None, str]:
    """Rank correlation of paired scores (dev and test), or None and the reason."""
    from scipy import stats

    first, second = two_samples(a, b, 0, paired=True)
    if len(first) < 3:
        return None, f"needs 3 pairs, has {len(first)}"
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None, "all scores are equal"
    return float(stats.spearmanr(first, second).statistic), ""


def expected_validation_performance(
    scores: Sample, *, replacement: bool = False, higher_is_better: bool = True
) -> np.ndarray:
    """Expected best score [N] of n random draws, n = 1 .. N (Dodge et al. 2019, equation 7).

    With replacement (as published) the estimate is biased down for n near N (Tang et al. 2020);
    without, it is the mean over all subsets of size n.
    """
    from scipy import special

    values = np.sort(sample(scores))
    values = values if higher_is_better else values[::-1]
    size, choose = len(values), special.gammaln
    rank, draws = np.arange(size + 1)[None], np.arange(1, size + 1)[:, None]
    if replacement:
        reached = (rank / size) ** draws
    else:  # C(rank, draws) / C(N, draws), in logs
        logs = (
            choose(rank + 1)
            - choose(np.maximum(rank - draws, 0) + 1)
            - choose(size + 1)
            + choose(size - draws + 1)
        )
        reached = np.where(rank >= draws, np.exp(logs), 0.0)
    return np.diff(reached, axis=1) @ values


def all_equal(model: str, count: int) -> str:
    """Warns that all scores of a model are equal."""
    return (
        f"{model}: all {count} scores are equal, so their spread is not known; do they depend on "
        "seed and split?"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Described:
    """One model on one data set."""

    model: str
    data_set: str
    summary: Summary
    variance_components: Components | None  # of splits and seeds, if the runs have both
    dev_test: tuple[float | None, str] | None  # `spearman` of dev and test scores
    expected_best: tuple[np.ndarray, np.ndarray] | None  # without and with replacement


def describe_models(
    scores: Scores, units: Samples, rules: Rules, bounds: tuple[float, float] | None
) -> Iterator[Described]:
    """Describes every model on every data set by all its scores, which lie within `bounds`."""
    by_name = {data.name: data.models for data in scores.data_sets}
    for place, cell in units.by_data_set.items():
        places = list(by_name.values()) if units.unit == "dataset" else [by_name[place]]
        for model, of in cell.items():
            runs = [each[model].chosen(each[model].finished) for each in places if model in each]
            summary = summarize(of.scores, confidence=rules.confidence)
            if bounds is not None and summary.mean_interval is not None:
                inside = summary.mean_interval.clip(*bounds)
                summary = dataclasses.replace(summary, mean_interval=inside)
            best = None
            if len(of.scores) <= _MOST_FOR_BUDGET:
                higher = scores.higher_is_better
                curve = expected_validation_performance
                best = (
                    curve(of.scores, higher_is_better=higher),
                    curve(of.scores, replacement=True, higher_is_better=higher),
                )
            yield Described(model, place, summary, _components(runs), _dev_test(runs), best)


def _components(runs: Sequence[ModelScores]) -> Components | None:
    """Components of splits and of seeds within them, if some split has several scores."""
    splits = np.concatenate([of.labels.get("split", ()) for of in runs])
    counts = Counter(splits.tolist())
    if len(counts) < 2 or max(counts.values()) < 2:
        return None
    scores = np.concatenate([of.scores[0, :, 0] for of in runs])
    return nested.variance_components([scores[splits == split] for split in counts])


def _dev_test(runs: Sequence[ModelScores]) -> tuple[float | None, str] | None:
    if any(of.dev is None for of in runs):
        return None
    dev = np.concatenate([of.dev for of in runs if of.dev is not None])
    test = np.concatenate([of.scores[0, :, 0] for of in runs])
    return spearman(dev[np.isfinite(dev)], test[np.isfinite(dev)])
