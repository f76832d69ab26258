"""Describes the scores of one model."""

import dataclasses
import math

import numpy as np
import scipy

from jaxeval.stats.results import Effect, Interval, Sample, fraction, sample, two_samples, varies


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


def summarize(scores: Sample, *, confidence: float = 0.95) -> Summary:
    """Summarizes scores, with intervals that need no resampling."""
    values, confidence = sample(scores), fraction(confidence, "confidence")
    n, mean, of_mean = len(values), float(np.mean(values)), None
    spread = sd(values) if n > 1 else None
    if spread:
        t = float(scipy.special.stdtrit(n - 1, (1 + confidence) / 2))
        half = t * (spread / math.sqrt(n))
        of_mean = Interval(mean - half, mean + half, confidence, "t")
    low, q1, median, q3, high = five_numbers(values)
    return Summary(n, low, q1, median, q3, high, mean, spread, of_mean)


def sd(values: np.ndarray) -> float:
    """Sample standard deviation (ddof=1) of two or more scores; exactly 0 if all are equal."""
    return float(np.std(values, ddof=1)) if varies(values) else 0.0


def sd_interval(values: Sample, *, confidence: float = 0.95) -> Interval:
    """Returns the chi-squared interval of the standard deviation of normal scores."""
    scores, confidence = sample(values), fraction(confidence, "confidence")
    if not varies(scores):
        reason = "all scores are equal" if len(scores) > 1 else "one score has no spread"
        return Interval.none(confidence, reason)
    df, tail = len(scores) - 1, (1 - confidence) / 2
    quantiles = (scipy.special.chdtri(df, p) for p in (tail, 1 - tail))
    low, high = (sd(scores) * math.sqrt(df / quantile) for quantile in quantiles)
    return Interval(low, high, confidence, "chi-squared")


def five_numbers(values: Sample) -> tuple[float, ...]:
    """Minimum, lower quartile, median, upper quartile, maximum (linear interpolation, type 7)."""
    return tuple(map(float, np.quantile(values, [0, 0.25, 0.5, 0.75, 1])))


def spearman(a: Sample, b: Sample) -> tuple[float | None, str]:
    """Rank correlation of paired scores (dev and test), or None and the reason."""
    first, second = two_samples(a, b, 0, paired=True)
    if len(first) < 3:
        return None, f"needs 3 pairs, has {len(first)}"
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None, "all scores are equal"
    ranks = np.stack([average_ranks(first), average_ranks(second)])
    return float(np.corrcoef(ranks)[1, 0]), ""


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Returns [n] ranks from 1, the mean one of equals; scipy.stats takes a second to import."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    return np.asarray((ends - (count - 1) / 2)[place])


def correlation(a: Sample, b: Sample, *, confidence: float = 0.95) -> Effect | None:
    """Pearson's correlation of paired scores with Fisher's (1921) interval.

    None below four pairs, and if one of both does not vary.
    """
    first, second = two_samples(a, b, 0, paired=True)
    if len(first) < 4 or not (varies(first) and varies(second)):
        return None
    r = float(np.clip(np.corrcoef(first, second)[0, 1], -1, 1))
    half = float(scipy.special.ndtri((1 + confidence) / 2)) / math.sqrt(len(first) - 3)
    with np.errstate(divide="ignore"):  # of 1 and -1
        low, high = (float(np.tanh(np.arctanh(r) + side)) for side in (-half, half))
    return Effect(r, Interval(low, high, confidence, "Fisher's z"), (len(first),))


def all_equal(model: str, count: int) -> str:
    """Warns that all scores of a model are equal."""
    return (
        f"{model}: all {count} scores are equal, so their spread is not known; do they depend on "
        "seed and split?"
    )
