"""Describes the scores of one model, on one data set or on each."""

import dataclasses
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jaxeval.runs import metrics
from jaxeval.runs.scores import ModelScores, Scores
from jaxeval.stats import nested
from jaxeval.stats.nested import Components
from jaxeval.stats.results import (
    Interval,
    Sample,
    count,
    fraction,
    no_interval,
    pairs,
    sample,
    varies,
    within,
)
from jaxeval.stats.rules import Rules
from jaxeval.stats.samples import Samples

_MOST_FOR_BUDGET = 2000  # the curve of the expected best has as many points as there are scores


@dataclasses.dataclass(frozen=True)
class Summary:
    """Five numbers, mean and spread of the scores of one model, in the unit of the scores."""

    n: int
    min: float
    q1: float
    median: float
    q3: float
    max: float
    mean: float
    sd: float | None  # ddof = 1; None for one score
    mean_interval: Interval | None  # None below two scores, and where all are equal
    median_interval: Interval | None


def summarize(scores: Sample, *, confidence: float = 0.95) -> Summary:
    """Summary of the scores of one model, with intervals that need no resampling."""
    values = sample(scores)
    several, five = len(values) > 1, five_numbers(values)
    return Summary(
        len(values),
        *(five[0], five[1], five[2], five[3], five[4], float(np.mean(values))),
        sd(values) if several else None,
        t_interval(values, confidence) if varies(values) else None,
        order_interval(values, confidence) if several else None,
    )


def sd(values: np.ndarray) -> float:
    """Of two or more scores, ddof 1; 0 of equal ones, whose mean may differ by rounding."""
    return float(np.std(values, ddof=1)) if varies(values) else 0.0


def five_numbers(values: Sample) -> tuple[float, ...]:
    """Minimum, lower quartile, median, upper quartile, maximum (linear interpolation, type 7)."""
    return tuple(map(float, np.quantile(values, [0, 0.25, 0.5, 0.75, 1])))


def t_interval(values: np.ndarray, confidence: float) -> Interval:
    """Of the mean of two or more scores, which are not all equal."""
    from scipy import special

    confidence = fraction(confidence, "confidence")
    mean, freedom = float(np.mean(values)), len(values) - 1
    error = sd(values) / math.sqrt(len(values))
    half = float(special.stdtrit(freedom, (1 + confidence) / 2)) * error
    return Interval(mean - half, mean + half, confidence, "t")


def order_interval(values: np.ndarray, confidence: float) -> Interval:
    """Of the median: order statistics whose ranks are binomial quantiles, for any distribution.

    Up to five scores their range covers less than 95 %; the confidence is then what it covers.
    """
    from scipy import stats

    confidence = fraction(confidence, "confidence")
    size = len(values)
    below = max(1, int(stats.binom.ppf((1 - confidence) / 2, size, 0.5)))
    coverage = 1 - 2 * float(stats.binom.cdf(below - 1, size, 0.5))
    low, high = (float(v) for v in np.sort(values)[[below - 1, size - below]])
    return Interval(low, high, min(confidence, coverage), "order statistics")


def bca_interval(
    samples: list[np.ndarray],
    statistic: Callable[..., np.ndarray],
    confidence: float,
    resamples: int,
    seed: int,
) -> Interval:
    """Bias-corrected and accelerated bootstrap interval (Efron 1987) of one or more samples.

    Where the acceleration is not defined the percentile interval stands in, and `method` says so.
    `statistic` takes the samples and `axis`, and is vectorised over the other axes.
    """
    from scipy import stats

    resamples = count(resamples, "resamples")
    if not any(map(varies, samples)):
        return no_interval(confidence, "the scores do not vary")
    low = high = math.nan
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            warnings.simplefilter("ignore", RuntimeWarning)  # 0 / 0 in the acceleration
            low, high = stats.bootstrap(
                samples,
                statistic,
                n_resamples=resamples,
                batch=max(1, 10_000_000 // max(len(values) for values in samples)),
                confidence_level=confidence,
                method=method,
                vectorized=True,
                rng=np.random.default_rng(seed),
            ).confidence_interval
        if np.isfinite(low) and np.isfinite(high):
            break
    how = f"{method} bootstrap, {resamples} resamples, seed {seed}"
    return Interval(float(low), float(high), confidence, how)


def spearman(a: Sample, b: Sample) -> tuple[float | None, str]:
    """Rank correlation of scores that belong together (dev and test), or None and the reason."""
    from scipy import stats

    first, second = pairs(a, b, at_least=0)
    if len(first) < 3:
        return None, f"needs 3 pairs, has {len(first)}"
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None, "all scores are equal"
    return float(stats.spearmanr(first, second).statistic), ""


def expected_validation_performance(
    scores: Sample, *, replacement: bool = False, higher_is_better: bool = True
) -> np.ndarray:
    """[N] expected best score of n random draws, for n = 1 .. N (Dodge et al. 2019, equation 7).

    With replacement (as published) the estimate is biased down for n near N (Tang et al. 2020);
    without, it is the mean over all subsets of size n.
    """
    from scipy import special

    values = np.sort(sample(scores))
    values = values[::-1] if metrics.check_direction(higher_is_better) is False else values
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
    """The question that a model's equal scores raise."""
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
    variance_components: Components | None  # of splits and seeds, where the runs have both
    dev_test: tuple[float | None, str] | None  # `spearman` of dev and test scores
    expected_best: tuple[np.ndarray, np.ndarray] | None  # without and with replacement


def of_models(
    scores: Scores, units: Samples, rules: Rules, bounds: tuple[float, float] | None
) -> Iterator[Described]:
    """Every model on every data set, by all its scores that are known; they lie in `bounds`."""
    by_name = {data.name: data.models for data in scores.data_sets}
    for place, cell in units.by_data_set.items():
        for model, of in cell.items():
            every = list(by_name.values()) if units.unit == "dataset" else [by_name[place]]
            runs = [each[model].chosen(each[model].finished) for each in every if model in each]
            summary = summarize(of.scores, confidence=rules.confidence)
            if bounds is not None and summary.mean_interval is not None:
                inside = within(summary.mean_interval, *bounds)
                summary = dataclasses.replace(summary, mean_interval=inside)
            how: dict[str, Any] = {"higher_is_better": scores.higher_is_better}
            best = None
            if len(of.scores) <= _MOST_FOR_BUDGET:
                best = (
                    expected_validation_performance(of.scores, **how),
                    expected_validation_performance(of.scores, replacement=True, **how),
                )
            yield Described(model, place, summary, _components(runs), _dev_test(runs), best)


def _components(runs: Sequence[ModelScores]) -> Components | None:
    """Splits and seeds within them, where some split has several scores."""
    splits = np.concatenate([of.labels.get("split", ()) for of in runs])
    counts = Counter(splits.tolist())
    if len(counts) < 2 or max(counts.values()) < 2:
        return None
    scores = np.concatenate([of.scores[0, :, 0] for of in runs])
    return nested.variance_components([scores[splits == split] for split in counts])


def _dev_test(runs: Sequence[ModelScores]) -> tuple[float | None, str] | None:
    pairs = [(of.dev, of.scores[0, :, 0]) for of in runs if of.dev is not None]
    if len(pairs) < len(runs):
        return None
    dev, test = (np.concatenate(values) for values in zip(*pairs, strict=True))
    return spearman(dev[np.isfinite(dev)], test[np.isfinite(dev)])
