"""Describes the scores of one model."""

import dataclasses
import math
import warnings
from collections.abc import Callable

import numpy as np

from jaxeval.runs import directions
from jaxeval.stats.results import (
    Interval,
    Sample,
    count,
    fraction,
    no_interval,
    pairs,
    sample,
    varies,
)

Statistic = Callable[..., np.ndarray]
MOST_RESAMPLED = 10_000  # scores of a sample for which resampling pays


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
    """Summary of the scores of one model, with intervals that need no resampling.

    The t interval of the mean covers 95 % of normal samples of any size, where the BCa bootstrap
    covers 84 % of five scores; of skewed scores both cover less. benchmarks/interval_coverage.py
    measures it.
    """
    values = sample(scores)
    low, q1, median, q3, high = five_numbers(values)
    several = len(values) > 1
    varying = varies(values)
    return Summary(
        n=len(values),
        min=low,
        q1=q1,
        median=median,
        q3=q3,
        max=high,
        mean=float(np.mean(values)),
        sd=sd(values) if several else None,
        mean_interval=t_interval(values, confidence) if varying else None,
        median_interval=order_interval(values, confidence) if several else None,
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
    samples: list[np.ndarray], statistic: Statistic, confidence: float, resamples: int, seed: int
) -> Interval:
    """Bias-corrected and accelerated bootstrap interval (Efron 1987) of one or more samples.

    Where the acceleration is not defined (a jackknife without spread, as for the median of many
    equal scores) the percentile interval stands in, and `method` says so. Samples without any
    spread have none.

    Args:
      samples: each is resampled on its own.
      statistic: takes the samples and `axis`, and must be vectorised over the other axes.
    """
    confidence = fraction(confidence, "confidence")
    resamples = count(resamples, "resamples")
    if not any(map(varies, samples)):
        return no_interval(confidence, "the scores do not vary")
    for method in ("BCa", "percentile"):
        low, high = _bootstrap(samples, statistic, confidence, resamples, seed, method)
        if np.isfinite(low) and np.isfinite(high):
            break
    return Interval(
        low, high, confidence, f"{method} bootstrap, {resamples} resamples, seed {seed}"
    )


def _bootstrap(
    samples: list[np.ndarray],
    statistic: Statistic,
    confidence: float,
    resamples: int,
    seed: int,
    method: str,
) -> tuple[float, float]:
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # 0 / 0 in the acceleration
        interval = stats.bootstrap(
            samples,
            statistic,
            n_resamples=resamples,
            batch=max(1, 10_000_000 // max(len(values) for values in samples)),
            confidence_level=confidence,
            method=method,
            vectorized=True,
            rng=np.random.default_rng(seed),
        ).confidence_interval
    return float(interval.low), float(interval.high)


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
    """Expected best score of n random draws, for n = 1 .. N (Dodge et al. 2019, equation 7).

    With replacement (as published) the estimate is biased down for n near N (Tang et al. 2020);
    without, it is the mean over all subsets of size n.

    Returns:
      [N] float64.
    """
    from scipy import special

    values = np.sort(sample(scores))
    values = values[::-1] if directions.asked_for(higher_is_better) is False else values
    count = len(values)
    rank, draws = np.arange(count + 1)[None], np.arange(1, count + 1)[:, None]
    if replacement:
        reached = (rank / count) ** draws
    else:  # C(rank, draws) / C(N, draws), in logs
        choose = special.gammaln
        logs = (
            choose(rank + 1)
            - choose(np.maximum(rank - draws, 0) + 1)
            - choose(count + 1)
            + choose(count - draws + 1)
        )
        reached = np.where(rank >= draws, np.exp(logs), 0.0)
    return np.diff(reached, axis=1) @ values


def all_equal(model: str, count: int) -> str:
    """The question that a model's equal scores raise."""
    return (
        f"{model}: all {count} scores are equal, so their spread is not known; do they depend on "
        "seed and split?"
    )
