"""Power: what could these seeds have shown, and how many are needed, for normal scores?

t tests use the noncentral t. Rank tests of fewer than 50 scores are simulated with their own
p-values, from fixed draws; of more scores they use their efficiency relative to t.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from jaxeval.stats import PowerPlan, Rules, describe, gaps, pairs, ranks
from jaxeval.stats.pairs import Pair, RunScores

_MOST_SEEDS = 10_000_000
_FAR, _POINTS = 30.0, 2_000  # 2,000 points err by 1e-9 (scipy's inverse is slow)
_SIMULATED = 50  # scores below which rank tests are simulated
_CELLS, _FEWEST_EXPERIMENTS, _MOST_EXPERIMENTS = 200_000, 1_000, 4_000  # simulated scores
_SIGNED_EFFICIENCY = 3 / math.pi  # Hodges & Lehmann 1956
_MOST = 1000  # units at which every rank test can reach every level in use
_RANKED = 10  # scores of each model, or pairs, from which one comparison is made by ranks


@dataclasses.dataclass(frozen=True)
class TestDesign:
    """A planned test. "t" is Welch's, or on pairs if `paired`; Wilcoxon's needs `paired`."""

    sd: float  # of scores over seeds (ddof 1); if `paired`, of differences within pairs, above 0
    sd_other: float | None = None  # of the other model; None: the same; one of both is above 0
    alpha: float = 0.05  # level of the two-sided test
    comparisons: int = 1  # by which the level is divided (Bonferroni)
    test: Literal["t", "brunner_munzel", "wilcoxon_signed_rank"] = "t"
    paired: bool = False
    overlap: float = 0.0  # of splits: `describe.mean_gap`

    @property
    def _sds(self) -> tuple[float, float]:
        return self.sd, self.sd if self.sd_other is None else self.sd_other

    @property
    def level(self) -> float:
        """The level of each comparison."""
        return self.alpha / self.comparisons

    def power(self, difference: float, n: int, m: int | None = None) -> float:
        """Probability of a significant result with n and m (None: n) seeds, 2 or more."""
        m = n if m is None else m
        difference = abs(difference)
        if self.test == "t" or min(n, m) >= _SIMULATED:
            return self._by_t(difference, n, m)
        if self.paired:
            *_, p_values, _ = ranks.signed_ranks(_standard_normal(n) * self.sd + difference)
        else:  # in one order: which is called A changes nothing
            (few, narrow), (many, wide) = sorted(zip((n, m), self._sds, strict=True))
            scores = _standard_normal(few + many) * np.repeat([narrow, wide], [few, many])
            scores[:, :few] += difference
            labels = np.argsort(scores, axis=1) < few
            p_values, _ = ranks.p_values(ranks.studentized(labels), few, many)
        return float(np.mean(p_values <= self.level))

    def _by_t(self, difference: float, n: int, m: int) -> float:
        total, freedom = self._error(n, m)
        efficiency = _SIGNED_EFFICIENCY if self.test == "wilcoxon_signed_rank" else 1.0
        if self.test == "brunner_munzel":
            shares = np.array(self._sds, float) ** 2
            counts = (n, m)
            shares /= self._sds[0] ** 2 + self._sds[1] ** 2
            efficiency = float(np.sum(shares / counts) / np.sum(np.arcsin(shares) / counts))
        return t_test_power(difference * math.sqrt(efficiency / total), freedom, self.level)

    def _error(self, n: int, m: int) -> tuple[float, float]:
        """Squared standard error of the difference, and its degrees of freedom."""
        error = self.sd**2 * (1 / n + self.overlap)
        if self.paired:
            return error, n - 1.0
        total = error + self._sds[1] ** 2 * (1 / m + self.overlap)
        share = error / total
        return total, 1.0 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))

    def required_seeds(
        self, difference: float, power: float = 0.8, *, simulated: bool = True
    ) -> int | None:
        """Fewest seeds per model that show a difference with this power; None for 10,000,000."""
        if difference == 0:
            return None
        special = scipy.special
        reach = float(special.ndtri(1 - self.level / 2) + special.ndtri(power))
        errors = reach * math.sqrt(2 * self._error(2, 2)[0]) / abs(difference)
        guess = int(min(math.sqrt(_MOST_SEEDS), errors) ** 2)  # of a z test
        n = fewest(lambda n: self._by_t(abs(difference), n, n) >= power, guess)
        if n is None or self.test == "t" or n >= _SIMULATED or not simulated:
            return n
        while self.power(difference, n) < power:
            n += 1
        while n > 2 and self.power(difference, n - 1) >= power:
            n -= 1
        return n

    def detectable_difference(self, n: int, m: int | None = None, power: float = 0.8) -> float:
        """Smallest difference that n and m seeds show with this power, if they ever do."""
        high = max(self._sds)
        while self.power(high, n, m) < power:
            high *= 2
        exactly = 1e-12 if self.test == "t" else 1e-4 * high  # simulated power rises in steps
        solve = scipy.optimize.brentq
        return float(solve(lambda gap: self.power(gap, n, m) - power, 0.0, high, xtol=exactly))


def t_test_power(shift: float, freedom: float, level: float) -> float:
    """Probability that a two-sided t test rejects at a shift in standard errors; inf df: z.

    Far out, where scipy's noncentral t gives NaN, the mean over the chi of the denominator.
    """
    special = scipy.special
    if math.isinf(freedom):
        critical = -float(special.ndtri(level / 2))
        return float(special.ndtr(shift - critical) + special.ndtr(-shift - critical))
    critical = -float(special.stdtrit(freedom, level / 2))
    if max(shift, critical) > _FAR:
        limit = critical * _chi(freedom)
        return float(np.mean(special.ndtr(shift - limit) + special.ndtr(-shift - limit)))
    below, lower = (float(special.nctdtr(freedom, shift, of)) for of in (critical, -critical))
    return min(1.0, 1.0 - below + (lower if math.isfinite(lower) else 0.0))


@functools.lru_cache(maxsize=64)  # a search asks for the same degrees of freedom at each step
def _chi(freedom: float) -> np.ndarray:
    """Quantiles of chi / sqrt(degrees of freedom), the denominator of t, at equal steps."""
    places = (np.arange(_POINTS) + 0.5) / _POINTS
    quantiles = np.sqrt(scipy.special.chdtri(freedom, 1 - places) / freedom)
    quantiles.flags.writeable = False
    return quantiles


def fewest(seen: Callable[[int], bool], guess: int) -> int | None:
    """Finds the smallest number, at least 2, that suffices, by bisection from a guess; or None."""
    low = max(1, int(0.9 * guess))  # 1 never suffices
    while low > 1 and seen(low):
        low //= 2
    high = low + max(1, low // 4)
    while not seen(high):
        low = high
        high = 2 * high
        if high > _MOST_SEEDS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def _standard_normal(size: int) -> np.ndarray:
    """Fixed normal draws [experiments, size]."""
    rows = min(_MOST_EXPERIMENTS, max(_FEWEST_EXPERIMENTS, _CELLS // size))
    return _stream(max(_CELLS, rows * size))[: rows * size].reshape(rows, size)


@functools.lru_cache(maxsize=4)
def _stream(count: int) -> np.ndarray:
    drawn = np.random.default_rng(0).standard_normal(count)
    drawn.flags.writeable = False
    return drawn


def by_ranks(scores: Sequence[RunScores], alpha: float, left_out: int = 0) -> bool:
    """True if location is tested by ranks: one comparison of ten scores or more, or data sets.

    Ranks see more of skewed scores and of failed runs. At the level that several comparisons leave
    they cannot reject, or do so too often if spreads differ (`benchmarks/verdict_levels.py`). So
    they are not taken for so few data sets that no signed ranks reach the level.
    """
    many = len(scores) + left_out
    if any(pair.overlap for pair in scores):
        return False
    if any(pair.unit == "data set" for pair in scores):
        fewest = min((pair.units for pair in scores if pair.units >= pair.fewest), default=0)
        return many * _least(True, fewest, fewest) <= alpha
    return many == 1 and min(map(len, scores[0].compared)) >= _RANKED


@dataclasses.dataclass(frozen=True)
class Primary:
    """The primary tests: one of location for each pair of models and data set."""

    tests: tuple[str, ...]  # such as "welch_t"; two if only some pairs share units
    correction: str  # "bergmann_hommel" is Holm's sharpened (`pairs.correction`)
    comparisons: int
    level: float  # family-wise, two-sided
    needed: int | None  # scores of each model, or pairs, that would show `PLANNED_SDS`
    PLANNED_SDS: ClassVar[float] = 3.0


def primary(scores: Sequence[RunScores], rules: Rules, left_out: int = 0) -> Primary:
    """Says what the primary tests of a design can show, from the numbers of scores alone."""
    many = len(scores) + left_out
    how = pairs.correction(scores, rules, left_out)
    tests = tuple(dict.fromkeys(pair.location_test for pair in scores))
    smallest = min(scores, key=lambda pair: sorted(map(len, pair.compared)), default=None)
    needed = None
    if smallest is not None:
        design = _design(smallest, (1.0, None), rules, many)
        needed = _required(Primary.PLANNED_SDS, smallest, rules, design)
    return Primary(tests, how, many, rules.alpha, needed)


def _design(
    scores: RunScores, sds: tuple[float, float | None], rules: Rules, comparisons: int
) -> TestDesign:
    test: Any = scores.location_test if scores.by_ranks else "t"
    many = max(1, comparisons)
    paired = scores.by_pairs
    return TestDesign(*sds, rules.alpha, many, test, paired, scores.overlap)


def plan(scores: RunScores, rules: Rules, comparisons: int) -> PowerPlan | None:
    """Says what a pair's primary test could have shown; None after several looks."""
    if scores.looks > 1:
        return None
    interval = scores.difference(rules).interval
    x, y = scores.compared
    n, m = len(x), len(y)
    sds = (describe.sd(gaps(x, y)), None) if scores.by_pairs else (describe.sd(x), describe.sd(y))
    design = _design(scores, sds, rules, comparisons)
    planned = abs(float(np.mean(x) - np.mean(y))) if rules.margin is None else rules.margin
    least = _least(scores.by_pairs, n, m) if scores.by_ranks else 0.0
    least = min(1.0, comparisons * least)
    seen = None
    if not any(sds):
        return PowerPlan(least, None, planned, None, None)
    if least <= rules.alpha and min(n, m) >= scores.fewest:
        seen = design.detectable_difference(n, m, rules.power)
    required = _required(planned, scores, rules, design)
    ends = None  # units that the ends of the interval need, without simulation
    if not interval.absent and rules.margin is None and required is not None:
        low, high, *_ = interval
        near = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        for_ends = (max(abs(low), abs(high)), near)
        few, most = (_required(end, scores, rules, design, False) for end in for_ends)
        few = min(few or required, required)
        most = None if most is None else max(most, required)
        first, last = (n if n and n <= PowerPlan.MOST_REQUIRED else None for n in (few, most))
        ends = first, last
    return PowerPlan(least, seen, planned, required, ends)


def extremes(errors: Iterable[tuple[float, float]], sign: int) -> list[tuple[float, float]]:
    """Returns the standard errors with df whose detectable difference may be the least (sign 1).

    It is not if another has less error and no fewer df. Sign -1: may be the largest.
    """
    found: list[tuple[float, float]] = []
    for error, df in sorted({*errors}, key=lambda of: (sign * of[0], -sign * of[1])):
        if not found or sign * df > sign * found[-1][1]:
            found.append((error, df))
    return found


def detectable(compared: Sequence[Pair]) -> list[float | None]:
    """Returns detectable differences of whole runs, with the least and the most; None: unknown."""
    known: dict[tuple[float, float], Pair] = {}
    unknown: list[float | None] = [None for _ in compared]
    for pair in compared:
        runs = pair.scores
        if runs and runs.looks == 1 and runs.units >= runs.fewest:
            (_, error, df), _ = describe.mean_gap(*runs.compared, runs.by_pairs, runs.overlap)
            if error:
                known[error, df] = pair
                unknown.pop()
    plans = [known[of].plan for sign in (1, -1) for of in extremes(known, sign)]
    return unknown + [plan.detectable_difference if plan else None for plan in plans]


def _least(by_pairs: bool, n: int, m: int) -> float:
    """Least two-sided p of Wilcoxon's test on n pairs, or Brunner-Munzel's on n and m."""
    return min(1.0, 2.0 ** (1 - n)) if by_pairs else ranks.separation_p(n, m)


def _required(
    difference: float, scores: RunScores, rules: Rules, design: TestDesign, simulated: bool = True
) -> int | None:
    """Units of each model that show a difference, by the test that so many units have."""
    by_t = dataclasses.replace(design, test="t").required_seeds(difference, rules.power)
    data_sets = scores.unit == "data set"
    ranked = math.inf  # units from which ranks are taken
    if not design.overlap and (design.comparisons == 1 or data_sets):  # as of `by_ranks`
        sizes = range(scores.fewest if data_sets or scores.by_ranks else _RANKED, _MOST)
        ranked = next(n for n in sizes if _least(design.paired, n, n) <= design.level)
    if by_t is None:
        return None
    if by_t < ranked and (not scores.by_ranks or data_sets):
        return max(by_t, scores.fewest)
    test: Any = "wilcoxon_signed_rank" if design.paired else "brunner_munzel"
    by_ranks = dataclasses.replace(design, test=test)
    seeds = by_ranks.required_seeds(difference, rules.power, simulated=simulated)
    return None if seeds is None else max(seeds, int(ranked))
