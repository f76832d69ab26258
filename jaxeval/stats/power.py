"""How many seeds are needed, and what could these have shown?

All for Welch's two-sided t test of two models with n seeds each, or the t test on n pairs, by the
noncentral t distribution (exact for pairs and for equal sds, Welch's degrees of freedom
otherwise). `comparisons` divides the level, as Bonferroni does.
"""

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import fraction

Test = Literal["welch_t", "mann_whitney_u"]
# Pitman efficiency of Mann-Whitney against t for normal scores (Hodges & Lehmann 1956)
_EFFICIENCY = {"welch_t": 1.0, "mann_whitney_u": 3 / math.pi}
_MOST = 10_000_000
_FAR, _POINTS = 30.0, 20_000


@dataclasses.dataclass(frozen=True)
class Design:
    """What is compared how.

    Attributes:
      sd: standard deviation of the scores over seeds (ddof 1); `sd_other` of the other model, the
        same if absent. If `paired`, of the differences within pairs.
      alpha: level of the two-sided test.
      test: the rank test (also Wilcoxon's on pairs) by its efficiency for normal scores.
    """

    sd: float
    sd_other: float | None = None
    alpha: float = 0.05
    comparisons: int = 1
    test: Test = "welch_t"
    paired: bool = False

    def __post_init__(self) -> None:
        for name, value in (("sd", self.sd), ("sd_other", self.sd_other or 0.0)):
            if not (value >= 0 and math.isfinite(value)):
                raise DataError(f"{name}: expected a number of at least 0, found {value}")
        fraction(self.alpha, "alpha")
        if self.comparisons < 1:
            raise DataError(f"comparisons: expected at least 1, found {self.comparisons}")
        if self.test not in _EFFICIENCY:
            raise DataError(f"test: expected {' or '.join(_EFFICIENCY)}, found {self.test}")


def _power(design: Design, difference: float, n: int, m: int) -> float:
    from scipy import stats

    if min(n, m) < 2:
        raise DataError(f"n: expected at least 2 seeds a model, found {min(n, m)}")
    if not math.isfinite(difference):
        raise DataError(f"difference: expected a finite number, found {difference}")
    total, freedom = _error(design, n, m)
    if total == 0:
        return float(difference != 0)
    shift = abs(difference) * math.sqrt(_EFFICIENCY[design.test] / total)
    critical = float(stats.t.isf(design.alpha / design.comparisons / 2, freedom))
    if max(shift, critical) > _FAR:
        return _far(critical, freedom, shift)
    upper, lower = stats.nct.sf(critical, freedom, shift), stats.nct.cdf(-critical, freedom, shift)
    return min(1.0, float(upper) + (float(lower) if math.isfinite(lower) else 0.0))


def _far(critical: float, freedom: float, shift: float) -> float:
    """P(|T| > critical), T noncentral t, as the mean over the chi of its denominator.

    For places far out, where scipy's noncentral t ends in NaN.
    """
    from scipy import special

    places = (np.arange(_POINTS) + 0.5) / _POINTS
    scale = np.sqrt(special.chdtri(freedom, 1 - places) / freedom)
    upper = special.ndtr(shift - critical * scale)
    return float(np.mean(upper + special.ndtr(-shift - critical * scale)))


def _error(design: Design, n: int, m: int) -> tuple[float, float]:
    """Squared standard error of the difference, and its degrees of freedom."""
    if design.paired:
        return design.sd**2 / n, n - 1.0
    other = design.sd if design.sd_other is None else design.sd_other
    total = design.sd**2 / n + other**2 / m
    if total == 0:
        return 0.0, n + m - 2.0
    share = design.sd**2 / n / total
    return total, 1.0 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))


def power(
    difference: float, sd: float, n: int, *, n_other: int | None = None, **design: Any
) -> float:
    """Probability of a significant result when the means really differ by `difference`.

    Args:
      difference: of the means, in the unit of the scores; its sign does not matter.
      sd: standard deviation of the scores over seeds.
      n: seeds of a model, at least 2; `n_other` of the other, the same if absent.
      **design: other fields of `Design`.
    """
    return _power(Design(sd, **design), difference, n, n if n_other is None else n_other)


def required_seeds(difference: float, sd: float, *, power: float = 0.8, **design: Any) -> int:
    """Fewest seeds a model (as many of each) that see a difference with the given probability."""
    fraction(power, "power")
    made = Design(sd, **design)
    if difference == 0:
        raise DataError("difference: expected a number other than 0; no n can show that one")
    high = 2
    while _power(made, difference, high, high) < power:
        high *= 2
        if high > _MOST:
            raise DataError(f"difference: {difference} with sd {sd} needs over {_MOST} seeds")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if _power(made, difference, middle, middle) >= power:
            high = middle
        else:
            low = middle
    return high


def detectable_difference(
    sd: float, n: int, *, n_other: int | None = None, power: float = 0.8, **design: Any
) -> float:
    """The smallest difference that n seeds a model see with the given probability."""
    from scipy import optimize

    fraction(power, "power")
    made, m = Design(sd, **design), n if n_other is None else n_other
    high = max(made.sd, made.sd_other or 0.0)
    if high == 0:
        return 0.0
    while _power(made, high, n, m) < power:
        high *= 2
    return float(
        optimize.brentq(lambda gap: _power(made, gap, n, m) - power, 0.0, high, xtol=1e-12)
    )
