"""Are two models as good as equal? Absence of a significant difference does not say so."""

import dataclasses
import math

from jaxeval.errors import DataError
from jaxeval.stats import effects
from jaxeval.stats.results import HypothesisTest, Sample, two_samples


@dataclasses.dataclass(frozen=True)
class Rope:
    """Where the difference A - B lies, against a region of practical equivalence."""

    margin: float
    lower: float  # probability that B is better by more than the margin
    equivalent: float
    higher: float  # probability that A is better by more than the margin


def tost(a: Sample, b: Sample, margin: float) -> HypothesisTest:
    """Two one-sided Welch tests (Schuirmann 1987): p small says |mean A - mean B| < margin.

    The statistic is that of the less convincing side.
    """
    from scipy import stats

    first, second = two_samples(a, b)
    _margin(margin)
    gap, error, freedom = effects.welch(first, second)
    if error == 0:
        statistic, p_value = math.inf, float(abs(gap) >= margin)
    else:
        statistic = (margin - abs(gap)) / error
        p_value = float(stats.t.sf(statistic, freedom))
    return HypothesisTest(
        "equivalence (TOST)",
        statistic,
        p_value,
        (len(first), len(second)),
        f"the means differ by {margin} or more",
        "two one-sided Welch t tests",
    )


def rope(a: Sample, b: Sample, margin: float) -> Rope:
    """Probabilities that A is worse, as good as B, and better, by a margin (Kruschke 2013).

    The posterior of the difference of means is taken as t with Welch's degrees of freedom, which
    is that of flat priors up to the Behrens-Fisher approximation.
    """
    from scipy import stats

    first, second = two_samples(a, b)
    _margin(margin)
    gap, error, freedom = effects.welch(first, second)
    if error == 0:
        lower, higher = float(gap < -margin), float(gap > margin)
    else:
        lower = float(stats.t.cdf((-margin - gap) / error, freedom))
        higher = float(stats.t.sf((margin - gap) / error, freedom))
    return Rope(margin, lower, 1.0 - lower - higher, higher)


def _margin(margin: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise DataError(f"margin: expected a number above 0, found {margin}")
