"""How many seeds are needed, and what could these have shown?

For two-sided tests of two models with n seeds each, or on n pairs, on normal scores. Welch's t and
t on pairs: the noncentral t distribution (exact for pairs and for equal sds, Welch's degrees of
freedom otherwise). The rank tests of the verdict: simulated below 50 scores with their own
p-values, from fixed draws, so that one question has one answer; else by their efficiency
against t. `comparisons` divides the level, as Bonferroni does.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import ranks
from jaxeval.stats.results import between, count, fraction

Test = Literal["t", "brunner_munzel", "wilcoxon_signed_rank"]
_MOST_SEEDS = 10_000_000
_FAR, _POINTS = 30.0, 2_000  # 2,000 points err by 1e-9 (scipy's inverse is slow)
_SURE = 1000.0  # sds apart: what a test does not show there it never shows
_SIMULATED = 50  # scores below which the tests themselves are simulated
_CELLS, _FEWEST_EXPERIMENTS, _MOST_EXPERIMENTS = (
    200_000,
    1_000,
    4_000,
)  # simulated scores, experiments
_SIGNED_EFFICIENCY = 3 / math.pi  # Hodges & Lehmann 1956


@dataclasses.dataclass(frozen=True)
class TestDesign:
    """What is compared how.

    Attributes:
      sd: standard deviation of the scores over seeds (ddof 1); `sd_other` of the other model, the
        same if absent. If `paired`, of the differences within pairs.
      alpha: level of the two-sided test.
      test: "t" is Welch's, or on pairs if `paired`; Wilcoxon's signed ranks need `paired`.
    """

    sd: float
    sd_other: float | None = None
    alpha: float = 0.05
    comparisons: int = 1
    test: Test = "t"
    paired: bool = False

    def __post_init__(self) -> None:
        for name, value in (("sd", self.sd), ("sd_other", self.sd_other)):
            if value is None and name == "sd_other":  # the same as sd
                continue
            if value is None or not (between(value, -math.inf, math.inf) and value >= 0):
                raise DataError(f"{name}: expected a number of at least 0, found {value}")
            object.__setattr__(self, name, float(value))
        object.__setattr__(self, "alpha", fraction(self.alpha, "alpha"))
        object.__setattr__(self, "comparisons", count(self.comparisons, "comparisons"))
        fitting = ("t", "wilcoxon_signed_rank" if self.paired else "brunner_munzel")
        if self.test not in fitting:
            of = "pairs" if self.paired else "two samples"
            raise DataError(f"test: expected {' or '.join(fitting)} of {of}, found {self.test}")

    @property
    def sds(self) -> tuple[float, float]:
        """Of both models."""
        return self.sd, self.sd if self.sd_other is None else self.sd_other

    @property
    def level(self) -> float:
        """Of each comparison."""
        return self.alpha / self.comparisons


def _power(design: TestDesign, difference: float, n: int, m: int) -> float:
    n, m = count(n, "n", 2), count(m, "n_other", 2)
    difference = _finite(difference)
    simulated = design.test != "t" and min(n, m) < _SIMULATED and max(design.sds) > 0
    if simulated and design.paired:
        return _simulated_signed_rank(abs(difference), design.sd, n, design.level)
    if simulated:
        return _simulated_brunner_munzel(abs(difference), design.sds, (n, m), design.level)
    return _by_t(design, difference, n, m)


def _finite(difference: float) -> float:
    if not between(difference, -math.inf, math.inf):
        raise DataError(f"difference: expected a finite number, found {difference}")
    return float(difference)


def _by_t(design: TestDesign, difference: float, n: int, m: int) -> float:
    """By the noncentral t distribution, rank tests by their efficiency."""
    total, freedom = _error(design, n, m)
    if total == 0:
        return float(difference != 0)
    efficiency = 1.0
    if design.test == "wilcoxon_signed_rank":
        efficiency = _SIGNED_EFFICIENCY
    elif design.test == "brunner_munzel":
        efficiency = _efficiency(design.sds, (n, m))
    return t_test_power(abs(difference) * math.sqrt(efficiency / total), freedom, design.level)


def t_test_power(shift: float, freedom: float, level: float) -> float:
    """Probability that a two-sided t test rejects; `freedom` inf: that a z test does.

    Args:
      shift: the true difference in standard errors, at least 0.
    """
    from scipy import special, stats

    if math.isinf(freedom):
        critical = -float(special.ndtri(level / 2))
        return float(special.ndtr(shift - critical) + special.ndtr(-shift - critical))
    critical = -float(special.stdtrit(freedom, level / 2))
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


def _error(design: TestDesign, n: int, m: int) -> tuple[float, float]:
    """Squared standard error of the difference, and its degrees of freedom."""
    if design.paired:
        return design.sd**2 / n, n - 1.0
    other = design.sds[1]
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
      **design: sd_other, alpha, comparisons, test and paired, as of `TestDesign`.

    Raises:
      DataError: fewer than 2 seeds, or numbers that are none.
    """
    return _power(TestDesign(sd, **design), difference, n, n if n_other is None else n_other)


def required_seeds(difference: float, sd: float, *, power: float = 0.8, **design: Any) -> int:
    """Fewest seeds per model (as many of each) that see a difference with a given probability.

    Args:
      difference, sd, **design: as of `stats.power`.

    Raises:
      DataError: a difference of 0, or one that needs over 10,000,000 seeds; numbers that are none.
    """
    n, plan = required_by_t(difference, sd, power=power, **design), TestDesign(sd, **design)
    if plan.test == "t" or n >= _SIMULATED:
        return n
    while _power(plan, difference, n, n) < power:
        n += 1
    while n > 2 and _power(plan, difference, n - 1, n - 1) >= power:
        n -= 1
    return n


def required_by_t(difference: float, sd: float, *, power: float = 0.8, **design: Any) -> int:
    """The same by the noncentral t distribution, rank tests of any size by their efficiency."""
    power = fraction(power, "power")
    plan = TestDesign(sd, **design)
    difference = _finite(difference)
    if difference == 0:
        raise DataError("difference: expected a number other than 0; no n can show that one")
    n = fewest(lambda n: _by_t(plan, difference, n, n) >= power, _guess(plan, difference, power))
    if n is None:
        raise DataError(f"difference: {difference} with sd {sd} needs over {_MOST_SEEDS} seeds")
    return n


def _guess(design: TestDesign, difference: float, power: float) -> int:
    """About how many seeds a z test would need."""
    from scipy import special

    total, _ = _error(design, 2, 2)
    reach = float(special.ndtri(1 - design.level / 2) + special.ndtri(power))
    errors = reach * math.sqrt(2 * total) / abs(difference)
    return int(min(math.sqrt(_MOST_SEEDS), errors) ** 2)


def fewest(seen: Callable[[int], bool], guess: int) -> int | None:
    """The smallest number of at least 2 that suffices, by bisection from a guess; or None."""
    low = max(1, int(0.9 * guess))  # 1 never suffices
    while low > 1 and seen(low):
        low //= 2
    high = low + max(1, low // 4)
    while not seen(high):
        low, high = high, 2 * high
        if high > _MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def detectable_difference(
    sd: float, n: int, *, n_other: int | None = None, power: float = 0.8, **design: Any
) -> float:
    """The smallest difference that n seeds per model see with the given probability.

    Args:
      sd, n, n_other, **design: as of `stats.power`.

    Raises:
      DataError: the test cannot reach the level with so few seeds, whatever the difference.
    """
    from scipy import optimize

    power = fraction(power, "power")
    plan, m = TestDesign(sd, **design), n if n_other is None else n_other
    largest = max(plan.sds)
    if largest == 0:
        return 0.0
    if _power(plan, _SURE * largest, n, m) < power:
        raise DataError(f"n: {plan.test} with {min(n, m)} seeds never reaches {plan.level:g}")
    high = largest
    while _power(plan, high, n, m) < power:
        high *= 2
    exactly = 1e-12 if plan.test == "t" else 1e-4 * high  # a simulation's power rises in steps
    return float(
        optimize.brentq(lambda gap: _power(plan, gap, n, m) - power, 0.0, high, xtol=exactly)
    )


def _simulated_brunner_munzel(
    difference: float, sds: tuple[float, float], counts: tuple[int, int], level: float
) -> float:
    """Share of simulated experiments that reject at the level.

    The models are put into one order first: which is called A changes nothing.
    """
    (few, narrow), (many, wide) = sorted(zip(counts, sds, strict=True))
    scores = standard_normal(few + many) * np.repeat([narrow, wide], [few, many])
    scores[:, :few] += difference
    labels = np.argsort(scores, axis=1) < few
    places = np.arange(few + many)
    ties = ranks.Ties(places, places + 1)
    p_values, _ = ranks.p_values(ranks.studentized_untied(labels), few, many, ties, 0)
    return float(np.mean(p_values <= level))


def _simulated_signed_rank(difference: float, sd: float, pairs: int, level: float) -> float:
    """The same of Wilcoxon's test on pairs; sd of their differences."""
    sums = ranks.signed(standard_normal(pairs) * sd + difference)
    p_values = ranks.exact_signed_p(np.minimum(*sums), 2 * np.arange(1, pairs + 1))
    return float(np.mean(p_values <= level))


def _efficiency(sds: tuple[float, float], counts: tuple[int, int]) -> float:
    """Of Brunner-Munzel's test against Welch's for large normal samples; 3 / pi for equal sds.

    P(A > B) = Phi(difference / sqrt(s1^2 + s2^2)), and the placements of A have the variance
    arcsin(s1^2 / (s1^2 + s2^2)) / (2 pi).
    """
    shares = np.array(sds) ** 2 / (sds[0] ** 2 + sds[1] ** 2)
    return float(np.sum(shares / counts) / np.sum(np.arcsin(shares) / counts))


def standard_normal(size: int) -> np.ndarray:
    """Normal draws, as many rows of a size as there are cells: the same ones row by row."""
    rows = min(_MOST_EXPERIMENTS, max(_FEWEST_EXPERIMENTS, _CELLS // size))
    return _stream(max(_CELLS, rows * size))[: rows * size].reshape(rows, size)


@functools.lru_cache(maxsize=4)
def _stream(count: int) -> np.ndarray:
    drawn = np.random.default_rng(0).standard_normal(count)
    drawn.flags.writeable = False
    return drawn
