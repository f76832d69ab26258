"""Are two models as good as equal? Absence of a significant difference does not say so."""

import dataclasses
import math

from jaxeval.errors import DataError
from jaxeval.stats import effects
from jaxeval.stats.results import HypothesisTest, Sample, between, pairs, two_samples


@dataclasses.dataclass(frozen=True)
class Rope:
    """Where the difference A - B lies, against a region of practical equivalence."""

    margin: float
    lower: float  # probability that B is better by more than the margin
    equivalent: float
    higher: float  # probability that A is better by more than the margin


def tost(a: Sample, b: Sample, margin: float, *, paired: bool = False) -> HypothesisTest:
    """Two one-sided t tests (Schuirmann 1987): p small says |mean A - mean B| < margin.

    Welch's, or on pairs. The statistic is that of the less convincing side; NaN, as is p, where
    the scores do not vary.
    """
    from scipy import stats

    margin = _margin(margin)
    (gap, error, freedom), n = _difference(a, b, paired)
    statistic = (margin - abs(gap)) / error if error else math.nan
    p_value = float(stats.t.sf(statistic, freedom))
    return HypothesisTest(
        "equivalence (TOST)",
        statistic,
        p_value,
        n,
        f"the means differ by {margin} or more",
        "two one-sided t tests on pairs" if paired else "two one-sided Welch t tests",
    )


def _difference(
    a: Sample, b: Sample, paired: bool
) -> tuple[tuple[float, float, float], tuple[int, ...]]:
    """Mean difference, its standard error and degrees of freedom; and the numbers of scores."""
    if paired:
        first, second = pairs(a, b)
        return effects.paired(first, second), (len(first),)
    first, second = two_samples(a, b)
    return effects.welch(first, second), (len(first), len(second))


def rope(a: Sample, b: Sample, margin: float, *, paired: bool = False) -> Rope:
    """Probabilities that A is worse, as good as B, and better, by a margin (Kruschke 2013).

    The posterior of the difference of means is taken as t with Welch's degrees of freedom, which
    is that of flat priors up to the Behrens-Fisher approximation; on pairs it is exact. NaN where
    the scores do not vary.

    Raises:
      DataError: a margin that is not above 0; unequal numbers of scores that are paired.
    """
    from scipy import stats

    margin = _margin(margin)
    (gap, error, freedom), _ = _difference(a, b, paired)
    error = error or math.nan
    lower = float(stats.t.cdf((-margin - gap) / error, freedom))
    higher = float(stats.t.sf((margin - gap) / error, freedom))
    return Rope(margin, lower, 1.0 - lower - higher, higher)


def _margin(margin: float) -> float:
    if not between(margin, 0, math.inf):
        raise DataError(f"margin: expected a number above 0, found {margin}")
    return float(margin)
