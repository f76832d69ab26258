"""How large is the difference between two models, and what do these scores leave open?"""

import math
from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import describe, ranks
from jaxeval.stats.results import (
    Effect,
    Interval,
    Location,
    Sample,
    count,
    exchanged,
    fraction,
    gaps,
    no_interval,
    pairs,
    two_samples,
    varies,
)

_FEWEST = 5  # scores of a model from which a probability has an interval
_Mean = tuple[float, float, float]  # a difference of means, its standard error, its freedom


def difference(
    a: Sample,
    b: Sample,
    *,
    statistic: Location = "mean",
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Effect:
    """A minus B, in the unit of the scores: Welch's interval for means, BCa for medians."""
    if statistic not in ("mean", "median"):
        raise DataError(f"statistic: expected mean or median, found {statistic!r}")
    first, second = two_samples(a, b)
    confidence = fraction(confidence, "confidence")
    if statistic == "mean":
        estimate = (mean := _welch(first, second))[0]
        interval = _of_mean(mean, confidence, "Welch", "scores")
    else:
        estimate = float(np.median(first) - np.median(second))
        interval = _of_medians(first, second, confidence, resamples, seed)
    return Effect(f"difference of {statistic}s", estimate, interval, (len(first), len(second)))


def paired_difference(a: Sample, b: Sample, *, confidence: float = 0.95) -> Effect:
    """Mean of A minus B over pairs (same seed, split or data set), with the t interval."""
    mean, n = mean_gap(a, b, paired=True)
    confidence = fraction(confidence, "confidence")
    interval = _of_mean(mean, confidence, "t on pairs", "differences")
    return Effect("mean difference of pairs", mean[0], interval, n)


def _of_mean(of: _Mean, confidence: float, method: str, samples: str) -> Interval:
    from scipy import stats

    estimate, error, freedom = of
    if error == 0:
        return no_interval(confidence, f"the {samples} do not vary")
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    return Interval(estimate - half, estimate + half, confidence, method)


def _of_medians(
    first: np.ndarray, second: np.ndarray, confidence: float, resamples: int, seed: int
) -> Interval:
    """Of the difference of medians; that of B and A is its mirror image to the last bit."""

    def gap(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.median(x, axis=axis) - np.median(y, axis=axis)

    if not exchanged(first, second):
        return describe.bca_interval([first, second], gap, confidence, resamples, seed)
    mirrored = describe.bca_interval([second, first], gap, confidence, resamples, seed)
    return mirrored._replace(low=0.0 - mirrored.high, high=0.0 - mirrored.low)


def mean_gap(a: Sample, b: Sample, paired: bool) -> tuple[_Mean, tuple[int, ...]]:
    """Difference of means, its standard error and degrees of freedom; the numbers of scores."""
    if not paired:
        first, second = two_samples(a, b)
        return _welch(first, second), (len(first), len(second))
    differences = gaps(*pairs(a, b))
    n = len(differences)
    return (float(np.mean(differences)), describe.sd(differences) / math.sqrt(n), n - 1.0), (n,)


def _welch(first: np.ndarray, second: np.ndarray) -> _Mean:
    """Equal scores have no error: what their variance is computed to be is rounding."""
    parts = np.array([np.var(v, ddof=1) / len(v) if varies(v) else 0.0 for v in (first, second)])
    total = float(parts.sum())
    if total == 0:
        return float(gaps(*(np.mean(v, keepdims=True) for v in (first, second)))[0]), 0.0, math.inf
    gap = float(np.mean(first) - np.mean(second))
    share = parts / total
    freedom = 1.0 / float(share[0] ** 2 / (len(first) - 1) + share[1] ** 2 / (len(second) - 1))
    return gap, math.sqrt(total), freedom


def probability_of_improvement(a: Sample, b: Sample, *, confidence: float = 0.95) -> Effect:
    """P(A > B) + P(A = B) / 2 for one run of each: U / (n m), the A12 of Vargha & Delaney (2000).

    The interval is Newcombe's (2006, part 2, method 5), which inverts the score with the Hanley-
    McNeil variance, and so has a width where A wins every pair. Where Brunner-Munzel's variance,
    which does not take the spreads for equal, is larger, it is enlarged in proportion. None below
    five scores.
    """
    first, second = two_samples(a, b)
    confidence = fraction(confidence, "confidence")
    probability, low, high = improvement([first], [second], confidence)
    interval = Interval(low, high, confidence, "Newcombe 2006, for unequal spreads")
    sizes = len(first), len(second)
    if min(sizes) < _FEWEST:
        interval = no_interval(confidence, f"{min(sizes)} scores are too few (at least {_FEWEST})")
    return Effect("probability of improvement", probability, interval, sizes)


def improvement(
    first: Sequence[np.ndarray], second: Sequence[np.ndarray], confidence: float
) -> tuple[float, float, float]:
    """Average of `probability_of_improvement` over data sets, of one score each or more; its ends.

    Hanley and McNeil's variances at one p for all data sets, which errs on the wide side.
    """
    won, variances = [], []
    for x, y in zip(first, second, strict=True):
        if min(len(x), len(y)) > 1:
            test = ranks.studentized(*ranks.ordered(x, y))
            won.append(float(test.probability))
            variances.append(float(test.error) ** 2)
        else:
            won.append(probability_of_superiority(x, y))
    sizes = [(len(x), len(y)) for x, y in zip(first, second, strict=True)]
    average = float(np.mean(won))
    return average, *_newcombe(average, sum(variances) / len(won) ** 2, sizes, confidence)


def _newcombe(
    estimate: float, variance: float, sizes: Sequence[tuple[int, int]], confidence: float
) -> tuple[float, float]:
    """Solves |estimate - p| = z sqrt(Hanley-McNeil variance at p, enlarged) on both sides.

    `sizes`: n and m of each data set; N* = (n + m) / 2 - 1 stands for n - 1 and m - 1.
    """
    from scipy import optimize, stats

    z = float(stats.norm.ppf((1 + confidence) / 2))

    def equal_spreads(p: float) -> float:
        each = [
            (1 + ((n + m) / 2 - 1) * ((1 - p) / (2 - p) + p / (1 + p))) / (n * m) for n, m in sizes
        ]
        return p * (1 - p) * sum(each) / len(sizes) ** 2

    at_estimate = equal_spreads(estimate)
    enlarged = max(1.0, variance / at_estimate) if at_estimate > 0 else 1.0

    def excess(p: float) -> float:
        return (estimate - p) ** 2 - z * z * enlarged * equal_spreads(p)

    near = 1e-9  # at an estimate of 0 or 1 the estimate itself is a root, not the one meant
    low = 0.0 if estimate == 0 else float(optimize.brentq(excess, 0.0, estimate - near))
    high = 1.0 if estimate == 1 else float(optimize.brentq(excess, estimate + near, 1.0))
    return low, high


def paired_probability_of_improvement(a: Sample, b: Sample, *, confidence: float = 0.95) -> Effect:
    """P(A > B) + P(A = B) / 2 within a pair (same seed, split or item).

    Clopper & Pearson's (1934) exact binomial interval, a tie half a win.
    """
    from scipy import special

    differences = gaps(*pairs(a, b))
    confidence = fraction(confidence, "confidence")
    n, tail = len(differences), (1 - confidence) / 2
    won = float(np.sum(differences > 0) + np.sum(differences == 0) / 2)
    low = float(special.betaincinv(won, n - won + 1, tail)) if won > 0 else 0.0
    high = float(special.betaincinv(won + 1, n - won, 1 - tail)) if won < n else 1.0
    interval = Interval(low, high, confidence, "Clopper-Pearson on pairs")
    return Effect("probability of improvement within pairs", won / n, interval, (n,))


def probability_of_superiority(first: np.ndarray, second: np.ndarray) -> float:
    """Share of all pairs of [n] and [m] that the first wins, ties 1/2; by sorting, in n log n."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, "left")
    not_above = np.searchsorted(ordered, first, "right")
    return float(np.sum(below + not_above)) / (2 * len(first) * len(second))


def cliffs_delta(improvement: Effect) -> Effect:
    """P(A > B) - P(A < B), from -1 to 1 (Cliff 1993), of a probability of improvement."""
    low, high, confidence, method = improvement.interval
    interval = Interval(2 * low - 1, 2 * high - 1, confidence, method)
    return Effect("Cliff's delta", 2 * improvement.estimate - 1, interval, improvement.n)


def almost_stochastic_order(
    a: Sample,
    b: Sample,
    *,
    confidence: float = 0.95,
    comparisons: int = 1,
    resamples: int = 1000,
    seed: int = 0,
) -> Effect:
    """How far A is from being stochastically larger than B (del Barrio et al. 2018; Dror 2019).

    `estimate` is the violation ratio: of the squared distance between the two quantile functions,
    the share where A's lies below B's. `interval.high` is the bound eps_min = min(1, ratio + z sd
    of the bootstrapped ratio); A is called almost larger if it lies below .5. That is no test at
    the level, which is divided by the number of `comparisons` (Bonferroni).
    """
    from scipy import stats

    first, second = two_samples(a, b)
    confidence = fraction(confidence, "confidence")
    comparisons, resamples = count(comparisons, "comparisons"), count(resamples, "resamples")
    ratio = float(_violation(np.sort(first), np.sort(second)))
    generator = np.random.default_rng(seed)
    drawn = _violation(  # those of B and A are 1 - those of A and B, whose spread is the same
        *(
            np.sort(generator.choice(values, size=(resamples, len(values))), axis=-1)
            for values in ((second, first) if exchanged(first, second) else (first, second))
        )
    )
    spread = float(np.std(drawn)) if varies(drawn) else 0.0
    z = float(stats.norm.ppf(1 - (1 - confidence) / comparisons))
    method = f"one-sided, {resamples} resamples, seed {seed}, {comparisons} pairs"
    interval = Interval(0.0, min(1.0, ratio + z * spread), confidence, method)
    if spread == 0:
        interval = no_interval(confidence, "all resamples have one value")
    return Effect("violation of stochastic order", ratio, interval, (len(first), len(second)))


def _violation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Violation ratio of sorted samples [..., n] and [..., m]; .5 where both are equal.

    Quantile functions are steps between the multiples of 1/n: in units of 1/(n m) whole numbers.
    """
    n, m = first.shape[-1], second.shape[-1]
    edges = np.union1d(np.arange(n + 1) * m, np.arange(m + 1) * n)
    begin, width = edges[:-1], np.diff(edges) / (n * m)
    gap = second[..., begin // n] - first[..., begin // m]
    total = np.sum(gap**2 * width, axis=-1)
    below = np.sum(np.where(gap > 0, gap, 0.0) ** 2 * width, axis=-1)
    return np.where(total > 0, below / np.where(total > 0, total, 1.0), 0.5)
