"""How many seeds are needed, and what could these have shown, of normal scores?

Welch's t and t on pairs: the noncentral t distribution. Rank tests and tests of spread: simulated
below 50 (100) scores with their own p-values, from fixed draws, so that one question has one
answer; else by their efficiency against t, or by the normal approximation.
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
_SIMULATED, _SIMULATED_PAIRS = 50, 100  # scores, of spread pairs, below which tests are simulated
_CELLS, _FEWEST_EXPERIMENTS, _MOST_EXPERIMENTS = 200_000, 1_000, 4_000  # simulated scores
_SIGNED_EFFICIENCY = 3 / math.pi  # Hodges & Lehmann 1956
_DRAWN = 400  # scores of a sample that are simulated; what more of them do is known
_LARGEST, _CLOSEST = math.log(1e4), 1 - 1e-9  # ratio, correlation: what is not seen there never is


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


@functools.lru_cache(maxsize=256)
def detectable_ratio(n: int, m: int, level: float, power: float) -> float:
    """The smallest ratio of sds that Brown & Forsythe's test of n and m scores sees, or infinite.

    Whichever of the two is the wider one.
    """
    sizes = ((n, m), (m, n))
    return max(math.exp(_least(_spread_seen(*of, level), power, _LARGEST)) for of in sizes)


def _spread_seen(n: int, m: int, level: float) -> Callable[[float], float]:
    """Log ratio -> share of simulated experiments with n and m scores that reject."""
    from scipy import stats

    drawn = min(n, _DRAWN), min(m, _DRAWN)
    scores = _standard_normal(sum(drawn))
    mean, within = _deviations(scores[:, : drawn[0]], n)
    other, beside = _deviations(scores[:, drawn[0] :], m)
    critical = float(stats.f.isf(level, 1, n + m - 2)) / (n * m / (n + m) * (n + m - 2))

    def seen(log_ratio: float) -> float:
        ratio = math.exp(log_ratio)  # the deviations grow with the sd
        gap = (mean - ratio * other) ** 2
        return float(np.mean(gap >= critical * (within + ratio**2 * beside)))

    return seen


def _deviations(scores: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Means [R] and sums of squares [R] of |deviations| from the median, of n scores.

    Of rows [R, k] of normal scores; of more than k by the same variation, smaller by the root of k
    / n.
    """
    away = np.abs(scores - np.median(scores, axis=1, keepdims=True))
    mean, variance, drawn = away.mean(axis=1), away.var(axis=1), scores.shape[1]
    if n > drawn:
        closer, expected = math.sqrt(drawn / n), (math.sqrt(2 / math.pi), 1 - 2 / math.pi)
        mean = expected[0] + (mean - expected[0]) * closer
        variance = expected[1] + (variance - expected[1]) * closer
    return mean, variance * n


def detectable_ratio_of_pairs(n: int, correlation: float, level: float, power: float) -> float:
    """The same of Pitman and Morgan's test by ranks on n pairs whose scores correlate so.

    For normal scores with a ratio s the sums and differences of pairs correlate by
    (s - 1 / s) / sqrt((s + 1 / s)^2 - 4 correlation^2), which is solved for s.
    """
    needed = _correlation(n, level, power)
    if math.isinf(needed):
        return needed
    gap = math.sqrt(4 * (1 - correlation**2) * needed**2 / (1 - needed**2))
    return (gap + math.sqrt(gap**2 + 4)) / 2


@functools.lru_cache(maxsize=256)
def _correlation(n: int, level: float, power: float) -> float:
    """The smallest correlation of normal scores that Spearman's sees in n pairs; or infinite."""
    from scipy import special, stats

    draws = None if n >= _SIMULATED_PAIRS else _standard_normal(2 * n)
    places = None if draws is None else stats.rankdata(draws[:, :n], axis=1)

    def seen(correlation: float) -> float:
        if draws is None or places is None:  # Fisher's z, with Bonett & Wright's (2000) error
            of_ranks = 6 / math.pi * math.asin(correlation / 2)
            shift = math.atanh(of_ranks) * math.sqrt(n - 3) + float(special.ndtri(level / 2))
            return float(special.ndtr(shift / math.sqrt(1 + of_ranks**2 / 2)))
        scores = correlation * draws[:, :n] + math.sqrt(1 - correlation**2) * draws[:, n:]
        rho = ranks.correlations(places, stats.rankdata(scores, axis=1))
        return float(np.mean(ranks.correlation_p(rho, places[0], places[0]) <= level))

    return _least(seen, power, _CLOSEST)


def _least(seen: Callable[[float], float], power: float, most: float) -> float:
    """The smallest of 0 to `most` that is seen with this power, by bisection; or infinite."""
    if seen(most) < power:
        return math.inf
    low, high = 0.0, most
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) >= power else (middle, high)
    return high
