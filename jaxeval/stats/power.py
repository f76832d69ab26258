"""How many seeds are needed, and what could these have shown, of normal scores?

Welch's t and t on pairs: the noncentral t distribution. Rank tests: simulated below 50 scores with
their own p-values, from fixed draws, so that one question has one answer; else by their efficiency
against t.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import ranks
from jaxeval.stats.results import between, count, fraction

_MOST_SEEDS = 10_000_000
_FAR, _POINTS = 30.0, 2_000  # 2,000 points err by 1e-9 (scipy's inverse is slow)
_SURE = 1000.0  # sds apart: what a test does not show there it never shows
_SIMULATED = 50  # scores below which tests are simulated
_CELLS, _FEWEST_EXPERIMENTS, _MOST_EXPERIMENTS = 200_000, 1_000, 4_000  # simulated scores
_SIGNED_EFFICIENCY = 3 / math.pi  # Hodges & Lehmann 1956


@dataclasses.dataclass(frozen=True)
class TestDesign:
    """What is compared how.

    `test` "t" is Welch's, or on pairs if `paired`; Wilcoxon's signed ranks need `paired`.
    """

    sd: float  # of the scores over seeds (ddof 1); if `paired`, of the differences within pairs
    sd_other: float | None = None  # of the other model; None: the same
    alpha: float = 0.05  # level of the two-sided test
    comparisons: int = 1  # by which the level is divided (Bonferroni)
    test: Literal["t", "brunner_munzel", "wilcoxon_signed_rank"] = "t"
    paired: bool = False

    def __post_init__(self) -> None:
        for name, value in (("sd", self.sd), ("sd_other", self.sd_other)):
            if value is None and name == "sd_other":
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
    def _sds(self) -> tuple[float, float]:
        return self.sd, self.sd if self.sd_other is None else self.sd_other

    @property
    def level(self) -> float:
        """Of each comparison."""
        return self.alpha / self.comparisons

    def power(self, difference: float, n: int, m: int | None = None) -> float:
        """Probability of a significant result with n and m (None: n) seeds, 2 or more."""
        n, m = count(n, "n", 2), count(n if m is None else m, "n_other", 2)
        difference = abs(_finite(difference))
        if self.test == "t" or min(n, m) >= _SIMULATED or not max(self._sds):
            return self._by_t(difference, n, m)
        if self.paired:
            sums = ranks.signed(_standard_normal(n) * self.sd + difference)
            p_values = ranks.exact_signed_p(np.minimum(*sums), 2 * np.arange(1, n + 1))
        else:  # in one order: which is called A changes nothing
            (few, narrow), (many, wide) = sorted(zip((n, m), self._sds, strict=True))
            scores = _standard_normal(few + many) * np.repeat([narrow, wide], [few, many])
            scores[:, :few] += difference
            labels, places = np.argsort(scores, axis=1) < few, np.arange(few + many)
            ties = ranks.Ties(places, places + 1)
            p_values, _ = ranks.p_values(ranks.studentized_untied(labels), few, many, ties, 0)
        return float(np.mean(p_values <= self.level))

    def _by_t(self, difference: float, n: int, m: int) -> float:
        """By the noncentral t distribution, rank tests by their efficiency."""
        total, freedom = self._error(n, m)
        if total == 0:
            return float(difference != 0)
        efficiency = 1.0
        if self.test == "wilcoxon_signed_rank":
            efficiency = _SIGNED_EFFICIENCY
        elif self.test == "brunner_munzel":
            shares, counts = np.array(self._sds) ** 2, (n, m)
            shares /= self._sds[0] ** 2 + self._sds[1] ** 2
            efficiency = float(np.sum(shares / counts) / np.sum(np.arcsin(shares) / counts))
        return t_test_power(difference * math.sqrt(efficiency / total), freedom, self.level)

    def _error(self, n: int, m: int) -> tuple[float, float]:
        """Squared standard error of the difference, and its degrees of freedom."""
        if self.paired:
            return self.sd**2 / n, n - 1.0
        total = self.sd**2 / n + self._sds[1] ** 2 / m
        if total == 0:
            return 0.0, n + m - 2.0
        share = self.sd**2 / n / total
        return total, 1.0 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))

    def required_seeds(
        self, difference: float, power: float = 0.8, *, simulated: bool = True
    ) -> int:
        """Fewest seeds per model that see a difference with a probability; 10,000,000 at most.

        Rank tests of few scores are simulated, else by their efficiency.
        """
        from scipy import special

        power, difference = fraction(power, "power"), _finite(difference)
        if difference == 0:
            raise DataError("difference: expected a number other than 0; no n can show that one")
        reach = float(special.ndtri(1 - self.level / 2) + special.ndtri(power))
        errors = reach * math.sqrt(2 * self._error(2, 2)[0]) / abs(difference)
        guess = int(min(math.sqrt(_MOST_SEEDS), errors) ** 2)  # of a z test
        n = fewest(lambda n: self._by_t(abs(difference), n, n) >= power, guess)
        if n is None:
            raise DataError(
                f"difference: {difference} with sd {self.sd} needs over {_MOST_SEEDS} seeds"
            )
        if self.test == "t" or n >= _SIMULATED or not simulated:
            return n
        while self.power(difference, n) < power:
            n += 1
        while n > 2 and self.power(difference, n - 1) >= power:
            n -= 1
        return n

    def detectable_difference(self, n: int, m: int | None = None, power: float = 0.8) -> float:
        """The smallest difference that n and m seeds see with the given probability."""
        from scipy import optimize

        power, high = fraction(power, "power"), max(self._sds)
        if high == 0:
            return 0.0
        if self.power(_SURE * high, n, m) < power:
            raise DataError(f"n: {self.test} with {n} seeds never reaches {self.level:g}")
        while self.power(high, n, m) < power:
            high *= 2
        exactly = 1e-12 if self.test == "t" else 1e-4 * high  # a simulation's power rises in steps
        return float(
            optimize.brentq(lambda gap: self.power(gap, n, m) - power, 0.0, high, xtol=exactly)
        )


def _finite(difference: float) -> float:
    if not between(difference, -math.inf, math.inf):
        raise DataError(f"difference: expected a finite number, found {difference}")
    return float(difference)


def t_test_power(shift: float, freedom: float, level: float) -> float:
    """Probability that a two-sided t test rejects at a shift in standard errors; inf df: z.

    Far out, where scipy's noncentral t ends in NaN, as the mean over the chi of its denominator.
    """
    from scipy import special, stats

    if math.isinf(freedom):
        critical = -float(special.ndtri(level / 2))
        return float(special.ndtr(shift - critical) + special.ndtr(-shift - critical))
    critical = -float(special.stdtrit(freedom, level / 2))
    if max(shift, critical) > _FAR:
        places = (np.arange(_POINTS) + 0.5) / _POINTS
        limit = critical * np.sqrt(special.chdtri(freedom, 1 - places) / freedom)
        return float(np.mean(special.ndtr(shift - limit) + special.ndtr(-shift - limit)))
    upper, lower = stats.nct.sf(critical, freedom, shift), stats.nct.cdf(-critical, freedom, shift)
    return min(1.0, float(upper) + (float(lower) if math.isfinite(lower) else 0.0))


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


def _standard_normal(size: int) -> np.ndarray:
    """Normal draws, as many rows of a size as there are cells: the same ones row by row."""
    rows = min(_MOST_EXPERIMENTS, max(_FEWEST_EXPERIMENTS, _CELLS // size))
    return _stream(max(_CELLS, rows * size))[: rows * size].reshape(rows, size)


@functools.lru_cache(maxsize=4)
def _stream(count: int) -> np.ndarray:
    drawn = np.random.default_rng(0).standard_normal(count)
    drawn.flags.writeable = False
    return drawn
