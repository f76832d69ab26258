"""Describes the scores of one model, and how large the difference of two is, with intervals."""

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np
import scipy

from jaxeval.stats import Effect, Interval, Sample, gaps, ranks, sample, two_samples, varies

_FEWEST = 5  # scores of a model from which a probability has an interval
_NEWCOMBE = "Newcombe 2006, for unequal spreads"
_Mean = tuple[float, float, float]  # difference of means, standard error, degrees of freedom


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

    @property
    def value(self) -> float:
        """The mean, as of an estimate over items."""
        return self.mean

    @property
    def interval(self) -> Interval | None:
        """The interval of the mean."""
        return self.mean_interval


def summarize(
    scores: Sample,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] | None = None,
    overlap: float = 0.0,
) -> Summary:
    """Summarizes scores; the interval of the mean needs no resampling and lies in the bounds.

    Args:
      overlap: as in `mean_gap`.
    """
    values = sample(scores)
    n = len(values)
    mean = float(np.mean(values))
    of_mean = None
    spread = sd(values) if n > 1 else None
    if spread:
        error = spread * math.sqrt(1 / n + overlap)
        of_mean = Interval.t(mean, error, n - 1, confidence, "t")
        of_mean = of_mean.clip(*bounds) if bounds else of_mean
    low, q1, median, q3, high = five_numbers(values)
    return Summary(n, low, q1, median, q3, high, mean, spread, of_mean)


def prediction_interval(scores: Sample, *, confidence: float = 0.95) -> Interval:
    """Returns the interval that holds one more score of a normal sample with this probability."""
    values = sample(scores, at_least=2)
    n = len(values)
    error = sd(values) * math.sqrt(1 + 1 / n)
    return Interval.t(float(np.mean(values)), error, n - 1, confidence, "t, of one more score")


def sd(values: np.ndarray) -> float:
    """Sample standard deviation (ddof=1) of two or more scores; exactly 0 if all are equal."""
    return float(np.std(values, ddof=1)) if varies(values) else 0.0


def sd_interval(values: Sample, *, confidence: float = 0.95) -> Interval:
    """Returns the chi-squared interval of the standard deviation of normal scores."""
    scores = sample(values)
    if not varies(scores):
        reason = "all scores are equal" if len(scores) > 1 else "one score has no spread"
        return Interval.none(confidence, reason)
    df = len(scores) - 1
    tail = (1 - confidence) / 2
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
    order = np.argsort(values)
    rising = values[order]
    new = np.flatnonzero(rising[1:] != rising[:-1]) + 1  # where a greater value begins
    begins = np.append(0, new)
    ends = np.append(new, len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((begins + 1 + ends) / 2, ends - begins)
    return ranks


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


def difference(
    a: Sample, b: Sample, *, paired: bool = False, confidence: float = 0.95, overlap: float = 0.0
) -> Effect:
    """Mean of A minus mean of B in the unit of the scores.

    Welch's interval, or the t interval of pairs (same seed, split or data set).
    """
    (estimate, error, freedom), n = mean_gap(a, b, paired, overlap)
    if error == 0:
        what = "differences" if paired else "scores"
        return Effect(estimate, Interval.none(confidence, f"the {what} do not vary"), n)
    method = "t on pairs" if paired else "Welch"
    return Effect(estimate, Interval.t(estimate, error, freedom, confidence, method), n)


def mean_gap(
    a: Sample, b: Sample, paired: bool, overlap: float = 0.0
) -> tuple[_Mean, tuple[int, ...]]:
    """Difference of means, its standard error and degrees of freedom; the numbers of scores.

    Equal scores have no error: their computed variance is rounding.

    Args:
      overlap: test by training items of splits that overlap: the variance of a mean is that of one
        score, or difference of a pair, times 1 / n + overlap (Nadeau & Bengio 2003).
    """
    first, second = two_samples(a, b, paired=paired)
    if paired:
        differences = gaps(first, second)
        n = len(first)
        error = sd(differences) * math.sqrt(1 / n + overlap)
        return (float(np.mean(differences)), error, n - 1.0), (n,)
    n, m = len(first), len(second)
    (mean, variance), (other, of_other) = (_moments(v.tobytes()) for v in (first, second))
    part, rest = variance * (1 / n + overlap), of_other * (1 / m + overlap)
    if (total := part + rest) == 0:
        return (float(gaps(np.array([mean]), np.array([other]))[0]), 0.0, math.inf), (n, m)
    freedom = 1.0 / ((part / total) ** 2 / (n - 1) + (rest / total) ** 2 / (m - 1))
    return (mean - other, math.sqrt(total), freedom), (n, m)


@functools.lru_cache(maxsize=1024)  # a model has many pairs
def _moments(scores: bytes) -> tuple[float, float]:
    """Mean and variance of scores."""
    values = np.frombuffer(scores)
    return float(np.mean(values)), float(np.var(values, ddof=1)) if varies(values) else 0.0


def probability_of_improvement(
    a: Sample, b: Sample, *, paired: bool = False, confidence: float = 0.95
) -> Effect:
    """P(A > B) + P(A = B) / 2 for one run of each: U / (n m), the A12 of Vargha & Delaney (2000).

    The interval is Newcombe's (2006, part 2, method 5): it inverts the score test with the Hanley-
    McNeil variance, so it has a width even if A wins every pair. It is widened in proportion where
    Brunner-Munzel's variance, which allows unequal spreads, is larger. None below five scores.
    Within pairs (same seed, split or item): Clopper & Pearson's (1934), a tie half a win.
    """
    first, second = two_samples(a, b, paired=paired)
    if paired:
        differences = gaps(first, second)
        n = len(differences)
        tail = (1 - confidence) / 2
        won = float(np.sum(differences > 0) + np.sum(differences == 0) / 2)
        low = float(scipy.special.betaincinv(won, n - won + 1, tail)) if won > 0 else 0.0
        high = float(scipy.special.betaincinv(won + 1, n - won, 1 - tail)) if won < n else 1.0
        return Effect(won / n, Interval(low, high, confidence, "Clopper-Pearson on pairs"), (n,))
    found = average_probability_of_improvement([first], [second], confidence, _NEWCOMBE)
    if (few := min(found.n)) < _FEWEST:
        none = Interval.none(confidence, f"{few} scores are too few (at least {_FEWEST})")
        found = dataclasses.replace(found, interval=none)
    return found


def average_probability_of_improvement(
    a: Sequence[Sample],
    b: Sequence[Sample],
    confidence: float = 0.95,
    method: str = f"{_NEWCOMBE}, of the average",
) -> Effect:
    """P(a run of A beats a run of B) averaged over data sets (Agarwal et al. 2021).

    The interval is Newcombe's; Hanley and McNeil's variances use one p for all data sets, which
    errs on the wide side. a, b: the scores of each data set, in the same order.
    """
    won, variances, sizes = [], [], []
    for x, y in zip(map(sample, a), map(sample, b), strict=True):
        sizes.append((len(x), len(y)))
        if min(len(x), len(y)) > 1:
            test, _ = ranks.brunner_munzel(x, y)
            won.append(float(test.probability))
            variances.append(float(test.error) ** 2)
        else:
            won.append(probability_of_superiority(x, y))
    average = float(np.mean(won))
    z = float(scipy.special.ndtri((1 + confidence) / 2))

    def equal_spreads(p: float) -> float:
        ways = (1 - p) / (2 - p) + p / (1 + p)  # N* = (n + m) / 2 - 1 stands for n - 1 and m - 1
        each = [(1 + ((n + m) / 2 - 1) * ways) / (n * m) for n, m in sizes]
        return p * (1 - p) * sum(each) / len(sizes) ** 2

    variance = sum(variances) / len(won) ** 2
    at_estimate = equal_spreads(average)
    widened = max(1.0, variance / at_estimate) if at_estimate > 0 else 1.0

    def excess(p: float) -> float:  # |average - p| = z sqrt(variance at p, widened): both sides
        return (average - p) ** 2 - z * z * widened * equal_spreads(p)

    solve, near = scipy.optimize.brentq, 1e-9  # 0 and 1 are roots themselves, but not those wanted
    low = 0.0 if average == 0 else float(solve(excess, 0.0, average - near))
    high = 1.0 if average == 1 else float(solve(excess, average + near, 1.0))
    n, m = map(sum, zip(*sizes, strict=True))
    return Effect(average, Interval(low, high, confidence, method), (n, m))


def probability_of_superiority(first: np.ndarray, second: np.ndarray) -> float:
    """Share of all pairs of [n] and [m] that the first wins, ties 1/2; in O(n log n)."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, "left")
    not_above = np.searchsorted(ordered, first, "right")
    return float(np.sum(below + not_above)) / (2 * len(first) * len(second))
