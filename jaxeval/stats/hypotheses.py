"""Two-sided tests of two samples of scores.

`direction` is the sign of the statistic that the p-value was computed from.
"""

import functools
import math
import warnings
from collections.abc import Callable, Mapping

import numpy as np
import scipy

from jaxeval import stats
from jaxeval.errors import DataError
from jaxeval.stats import HypothesisTest, Sample, describe, gaps, ranks, sign, two_samples

_MOST_EXACT = 10_000  # scores of a sample for the exact Kolmogorov-Smirnov test
_MOST_COUNTED = 1000  # scores of a sample; the labellings of more have a share of 0.0
_LIMB = 2.0**44  # above 1e13, the most that a typical score has of its twelfth digit
_LARGEST = 1e300  # in units of the twelfth digit


def _kolmogorov_smirnov(a: Sample, b: Sample) -> HypothesisTest:
    """Kolmogorov-Smirnov: the largest gap between the two empirical distribution functions."""
    first, second = two_samples(a, b)
    n = len(first), len(second)
    exact = max(n) <= _MOST_EXACT
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        result = scipy.stats.ks_2samp(first, second, method="exact" if exact else "asymp")
    method = "exact" if exact and not caught else "asymptotic"  # rounding lifts p above 1
    return HypothesisTest(float(result.statistic), float(result.pvalue), n, method)


def brown_forsythe(a: Sample, b: Sample) -> HypothesisTest:
    """Brown-Forsythe (Levene's test around medians, 1974): do the spreads differ?

    F test of the absolute deviations from the median; the mean deviation says which is wider.
    """
    values = two_samples(a, b)
    deviations = [stats.without_rounding(np.abs(v - np.median(v)), *values) for v in values]
    n, m = map(len, values)
    gap = float(np.mean(deviations[0]) - np.mean(deviations[1]))
    within = sum(float(np.var(of)) * len(of) for of in deviations)
    statistic = n * m / (n + m) * gap * gap * (n + m - 2)
    if statistic:
        statistic = statistic / within if within else math.inf
    p_value = float(scipy.special.fdtrc(1, n + m - 2, statistic))
    return HypothesisTest(statistic, p_value, (n, m), "F distribution", sign(gap))


def pitman_morgan(a: Sample, b: Sample) -> HypothesisTest:
    """Pitman-Morgan test by ranks: do the spreads within pairs differ?

    Tests Spearman's correlation of the sums and differences of pairs (Pitman 1939; Morgan 1939;
    McCulloch 1987). If pairs share no spread, skewed scores reject about twice as often as they
    should.
    """
    first, second = two_samples(a, b, paired=True)
    rho, p_value, method = ranks.spearman(gaps(first, -second), gaps(first, second))
    return HypothesisTest(rho, p_value, (len(first),), f"Spearman, {method}", sign(rho))


def _mann_whitney_u(a: Sample, b: Sample) -> HypothesisTest:
    """Mann-Whitney U: the number of pairs of scores in which A is higher, ties 1/2.

    Exact for small samples, with ties; else normal, but not below the share of one labelling.
    """
    first, second = two_samples(a, b)
    n, m = len(first), len(second)
    statistic = round(2 * n * m * describe.probability_of_superiority(first, second)) / 2
    p_value = ranks.rank_sum_p(first, second)
    method = "exact"
    if p_value is None:  # NaN: all scores are equal
        normal = float(scipy.stats.mannwhitneyu(first, second, method="asymptotic").pvalue)
        method = "normal, corrected for ties and continuity"
        one = 1 / math.comb(n + m, min(n, m, _MOST_COUNTED))
        p_value = 1.0 if np.isnan(normal) else max(normal, one)
    return HypothesisTest(statistic, p_value, (n, m), method, sign(statistic - n * m / 2))


def brunner_munzel(a: Sample, b: Sample, *, seed: int = 0) -> HypothesisTest:
    """Brunner & Munzel (2000): is P(A > B) + P(A = B) / 2 one half, whatever the spreads?

    Small samples use the permutation distribution of the statistic (Neubert & Brunner 2007),
    enumerated up to 10 against 10; above 30 scores each, t. If all scores of one model are higher,
    p is that of equal distributions: far too small for a small sample that is also the wider one.
    """
    first, second = two_samples(a, b)
    n = len(first), len(second)
    result, ties = ranks.brunner_munzel(first, second)
    p_value, method = ranks.p_values(result, *n, ties, seed)
    statistic = float(result.statistic)
    return HypothesisTest(statistic, float(p_value), n, method, sign(statistic))


def t_test(a: Sample, b: Sample, *, paired: bool = False, overlap: float = 0.0) -> HypothesisTest:
    """Welch's t test, or Student's on pairs (same seed or split); p is NaN without any spread.

    Args:
      overlap: of splits; the test is the corrected resampled one (Nadeau & Bengio 2003).
    """
    (gap, error, freedom), n = describe.mean_gap(a, b, paired, overlap)
    statistic, p_value = (gap * math.inf, math.nan) if gap else (0.0, 1.0)
    if error:
        statistic = gap / error
        p_value = 2 * float(scipy.special.stdtr(freedom, -abs(statistic)))
    method = "t distribution" + (f", overlap {overlap:.3g}" if overlap else "")
    return HypothesisTest(statistic, p_value, n, method, sign(statistic))


def welch_t(a: Sample, b: Sample) -> HypothesisTest:
    """Welch's t test of the means, for unequal variances; p is NaN without any spread."""
    return t_test(a, b)


def wilcoxon_signed_rank(a: Sample, b: Sample) -> HypothesisTest:
    """Wilcoxon's signed-rank test on pairs (same seed or split), zeros by Pratt's method.

    The statistic is the smaller sum of ranks. Up to 50 pairs p is exact, with ties and zeros.
    """
    differences = gaps(*two_samples(a, b, paired=True))
    above, below, p_value, method = ranks.signed_ranks(differences)
    statistic = float(min(above, below))
    n = (len(differences),)
    return HypothesisTest(statistic, float(p_value), n, method, sign(float(above - below)))


def sign_test(a: Sample, b: Sample) -> HypothesisTest:
    """Exact sign test: the number of pairs that A wins; equal pairs are left out."""
    differences = gaps(*two_samples(a, b, paired=True))
    wins = int(np.sum(differences > 0))
    losses = int(np.sum(differences < 0))
    p_value = _binomial(wins, losses)
    n = len(differences)
    method = f"exact, {n - wins - losses} equal pairs left out"
    return HypothesisTest(float(wins), p_value, (n,), method, sign(wins - losses))


def mcnemar(a: Sample, b: Sample) -> HypothesisTest:
    """McNemar's exact test of right (1) and wrong (0) answers [N] of two runs."""
    first, second = two_samples(a, b, 1, paired=True)
    if not np.isin(np.concatenate([first, second]), (0.0, 1.0)).all():
        raise DataError("McNemar: expected 1 for right and 0 for wrong answers")
    only_a = int(np.sum(first > second))
    only_b = int(np.sum(first < second))
    p_value = _binomial(only_a, only_b)
    gap = only_a - only_b
    method = f"exact binomial, {only_a} and {only_b} answers right in one run only"
    return HypothesisTest(float(gap), p_value, (len(first),), method, sign(gap))


@functools.lru_cache(maxsize=1024)
def _binomial(wins: int, losses: int) -> float:
    return float(scipy.stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def tost(
    a: Sample, b: Sample, margin: float, *, paired: bool = False, overlap: float = 0.0
) -> HypothesisTest:
    """Equivalence by two one-sided t tests (Schuirmann 1987); the null is |difference| >= margin.

    The statistic is that of the less convincing side; NaN, as p is, if the scores do not vary.
    """
    (gap, error, freedom), n = describe.mean_gap(a, b, paired, overlap)
    statistic = (margin - abs(gap)) / error if error else math.nan
    method = "two one-sided t tests on pairs" if paired else "two one-sided Welch t tests"
    p_value = float(scipy.special.stdtr(freedom, -statistic))
    return HypothesisTest(statistic, p_value, n, method)


def permutation_test(
    a: Sample, b: Sample, *, paired: bool = False, resamples: int = 99_999, seed: int = 0
) -> HypothesisTest:
    """Permutation test of the difference of means; paired scores are exchanged within pairs.

    Exact if there are at most `resamples` permutations, else these are random. p is twice that of
    the smaller side, (1 + hits) / (1 + resamples), and the same if A and B are exchanged.
    """
    first, second = two_samples(a, b, paired=paired)
    # in one order: which is called A changes nothing
    samples = _whole(*sorted((first, second), key=lambda scores: (len(scores), *scores)))
    large, small = _limbs(samples[0])

    def total(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        """The first sample's sum less the observed one: the sum of both is fixed."""
        above, below = _limbs(x, axis)
        return (above - large) + (below - small)

    result = scipy.stats.permutation_test(
        samples,
        total,
        permutation_type="samples" if paired else "independent",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, 5_000_000 // sum(map(len, samples))),
        rng=np.random.default_rng(seed),
    )
    exact = len(result.null_distribution) != resamples
    method = "exact" if exact else f"{resamples} random permutations, seed {seed}"
    gap = float(np.mean(first) - np.mean(second))
    n = (len(first), len(second))
    direction = sign(stats.location_gap(first, second))
    return HypothesisTest(gap, float(result.pvalue), n[:1] if paired else n, method, direction)


def _whole(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both samples as whole numbers around a middle one, in units of the twelfth digit.

    Their sums are exact, so labellings that differ by rounding alone are ties.
    """
    pooled = np.concatenate([first, second])
    unit = stats.rounding_unit(pooled) or math.ulp(0.0)
    with np.errstate(over="ignore"):
        multiples = np.round(np.clip(pooled / unit, -_LARGEST, _LARGEST))
    multiples -= np.sort(multiples)[len(multiples) // 2]
    return multiples[: len(first)], multiples[len(first) :]


def _limbs(values: np.ndarray, axis: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Exact sums of whole numbers in two parts: multiples of _LIMB, and the rest."""
    below = np.fmod(values, _LIMB)
    return (values - below).sum(axis=axis), below.sum(axis=axis)


# secondary tests of two independent samples: what they are called in words, and the function
FURTHER: Mapping[str, tuple[str, Callable[[Sample, Sample], HypothesisTest]]] = {
    "mann_whitney_u": ("Mann-Whitney U", _mann_whitney_u),
    "kolmogorov_smirnov": ("Kolmogorov-Smirnov", _kolmogorov_smirnov),
}
