"""Which ratio of two models' standard deviations the verdict's tests of spread see, normal scores.

By simulation from fixed draws, so that one question has one answer. From 100 pairs by the normal
approximation of the statistic.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from jaxeval.stats import ranks
from jaxeval.stats.power import standard_normal

_SIMULATED = 100  # pairs below which the test itself is simulated
_DRAWN = 400  # scores of a sample that are simulated; what more of them do is known
_LARGEST = 1e4  # ratio: what is not seen there is never seen
_CLOSEST = 1 - 1e-9  # correlation, likewise
_STEPS = 30  # halvings of what is left


@functools.lru_cache(maxsize=256)
def of_samples(n: int, m: int, level: float, power: float) -> float:
    """The smallest ratio that Brown & Forsythe's test of n and m scores sees with this power.

    Whichever of the two is the wider one. Infinite where there is none: the means of the
    deviations differ by no more than the wider sample's own, which vary as they do.
    """
    return max(
        math.exp(_least(_simulated(*sizes, level), power, math.log(_LARGEST)))
        for sizes in ((n, m), (m, n))
    )


def of_pairs(n: int, correlation: float, level: float, power: float) -> float:
    """The same of Pitman and Morgan's test by ranks on n pairs whose scores correlate so.

    For normal scores with a ratio s the sums and differences of pairs correlate by
    (s - 1 / s) / sqrt((s + 1 / s)^2 - 4 correlation^2), which is solved for s.
    """
    needed = _correlation(n, level, power)
    if math.isinf(needed):
        return needed
    gap = math.sqrt(4 * (1 - correlation**2) * needed**2 / (1 - needed**2))
    return (gap + math.sqrt(gap**2 + 4)) / 2


def _least(seen: Callable[[float], float], power: float, most: float) -> float:
    """The smallest of 0 to `most` that is seen with this power, by bisection; or infinite."""
    if seen(most) < power:
        return math.inf
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) >= power else (middle, high)
    return high


def _simulated(n: int, m: int, level: float) -> Callable[[float], float]:
    """Log ratio -> share of simulated experiments with n and m scores that reject.

    The deviations grow with the sd, and so do their means and sums of squares.
    """
    from scipy import stats

    drawn = min(n, _DRAWN), min(m, _DRAWN)
    scores = standard_normal(sum(drawn))
    mean, within = _deviations(scores[:, : drawn[0]], n)
    other, beside = _deviations(scores[:, drawn[0] :], m)
    critical = float(stats.f.isf(level, 1, n + m - 2)) / (n * m / (n + m) * (n + m - 2))

    def seen(log_ratio: float) -> float:
        ratio = math.exp(log_ratio)
        rejected = (mean - ratio * other) ** 2 >= critical * (within + ratio**2 * beside)
        return float(np.mean(rejected))

    return seen


def _deviations(scores: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Means [R] and sums of squares [R] of |deviations| from the median, of n scores.

    Of rows [R, k] of normal scores; where n is more, by what they tell of n: both vary about their
    expectations, sqrt(2 / pi) and 1 - 2 / pi, by the root of k / n as much.
    """
    away = np.abs(scores - np.median(scores, axis=1, keepdims=True))
    mean, variance, drawn = away.mean(axis=1), away.var(axis=1), scores.shape[1]
    if n > drawn:
        closer, expected = math.sqrt(drawn / n), (math.sqrt(2 / math.pi), 1 - 2 / math.pi)
        mean = expected[0] + (mean - expected[0]) * closer
        variance = expected[1] + (variance - expected[1]) * closer
    return mean, variance * n


@functools.lru_cache(maxsize=256)
def _correlation(n: int, level: float, power: float) -> float:
    """The smallest correlation of normal scores that Spearman's sees in n pairs; or infinite."""
    from scipy import special, stats

    if n >= _SIMULATED:  # Fisher's z of ranks, with Bonett & Wright's (2000) error

        def seen(correlation: float) -> float:
            of_ranks = 6 / math.pi * math.asin(correlation / 2)
            shift = math.atanh(of_ranks) * math.sqrt(n - 3) + float(special.ndtri(level / 2))
            return float(special.ndtr(shift / math.sqrt(1 + of_ranks**2 / 2)))

    else:
        draws = standard_normal(2 * n)
        places, own = stats.rankdata(draws[:, :n], axis=1), draws[:, n:]

        def seen(correlation: float) -> float:
            scores = correlation * draws[:, :n] + math.sqrt(1 - correlation**2) * own
            rho = ranks.correlations(places, stats.rankdata(scores, axis=1))
            p_values = ranks.correlation_p(rho, places[0], places[0])
            return float(np.mean(p_values <= level))

    return _least(seen, power, _CLOSEST)
