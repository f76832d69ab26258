"""Do two samples of scores differ, or are they as good as equal? All tests are two-sided.

`direction` is the sign of the statistic that p was computed from, never of another summary.
"""

import math
import warnings

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import effects, ranks
from jaxeval.stats.results import (
    HypothesisTest,
    Sample,
    gaps,
    pairs,
    positive,
    sign,
    two_samples,
    typical_size,
    varies,
    without_rounding,
)

_MOST_EXACT = 10_000  # scores of a sample, of Kolmogorov and Smirnov


def kolmogorov_smirnov(a: Sample, b: Sample) -> HypothesisTest:
    """Two-sample Kolmogorov-Smirnov: the largest gap between the two distribution functions."""
    from scipy import stats

    first, second = two_samples(a, b)
    exact = max(len(first), len(second)) <= _MOST_EXACT
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        result = stats.ks_2samp(first, second, method="exact" if exact else "asymp")
    method = "exact" if exact and not caught else "asymptotic"  # rounding lifts p above 1
    null, n = "both models draw from one distribution", (len(first), len(second))
    statistic, p_value = float(result.statistic), float(result.pvalue)
    return HypothesisTest("Kolmogorov-Smirnov", statistic, p_value, n, null, method)


def brown_forsythe(*groups: Sample) -> HypothesisTest:
    """Do the spreads of two or more models differ (Levene's test around medians, 1974)?

    The F test of the absolute deviations from the median, whose means say which of two models is
    spread wider. Deviations that differ by rounding only are equal.
    """
    from scipy import stats

    values = [two_samples(group, group)[0] for group in groups]
    size = typical_size(*values)
    deviations = [without_rounding(np.abs(v - np.median(v)), size) for v in values]
    statistic, p_value = 0.0, 1.0
    if np.ptp(np.concatenate(deviations)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no spread within the groups
            result = stats.f_oneway(*deviations)
        if result.statistic > 0:  # rounding leads below 0, where scipy has no p-value
            statistic, p_value = float(result.statistic), float(result.pvalue)
    wider = sign(float(np.mean(deviations[0]) - np.mean(deviations[1])))
    null, n = "all models have the same spread", tuple(map(len, values))
    direction = wider if len(values) == 2 else None
    return HypothesisTest(
        "Brown-Forsythe", statistic, p_value, n, null, "F distribution", direction
    )


def pitman_morgan(a: Sample, b: Sample) -> HypothesisTest:
    """Do the spreads within pairs differ (Pitman 1939; Morgan 1939), by ranks (McCulloch 1987)?

    The wider one decides the sign of the differences where the sums are large: both correlate, by
    Spearman's rho. Where pairs share no spread, skewed scores reject about twice as often as they
    should.
    """
    first, second = pairs(a, b)
    few = len(first) <= ranks.EXACT_ORDERS
    rho, p_value = ranks.spearman(gaps(first, -second), gaps(first, second))
    null = "sums and differences of pairs have no rank correlation"
    method = "Spearman, all orders" if few else "Spearman, t approximation"
    return HypothesisTest("Pitman-Morgan", rho, p_value, (len(first),), null, method, sign(rho))


def mann_whitney_u(a: Sample, b: Sample) -> HypothesisTest:
    """Mann-Whitney U (statistic: pairs in which A is higher, ties 1/2).

    Small samples: exact, ties kept; else normal, but not below the share of a single labelling.
    """
    from scipy import stats

    first, second = two_samples(a, b)
    n, m = len(first), len(second)
    result = stats.mannwhitneyu(first, second, method="asymptotic")
    p_value, method = ranks.exact_rank_sum_p(first, second), "exact"
    if p_value is None:  # NaN: all scores are equal
        normal, method = float(result.pvalue), "normal, corrected for ties and continuity"
        p_value = 1.0 if np.isnan(normal) else max(normal, 1 / math.comb(n + m, n))
    statistic, null = float(result.statistic), "neither model tends to score higher"
    direction = sign(statistic - n * m / 2)
    return HypothesisTest("Mann-Whitney U", statistic, p_value, (n, m), null, method, direction)


def brunner_munzel(a: Sample, b: Sample, *, seed: int = 0) -> HypothesisTest:
    """Brunner & Munzel (2000): is P(A > B) + P(A = B) / 2 one half, whatever the spreads?

    Small samples: the permutation distribution of the studentised statistic (Neubert & Brunner
    2007), enumerated up to 10 against 10; t above 30 scores each. Where all scores of one model
    are higher, p is that of equal distributions: far too small for a small sample that is also the
    wider one.
    """
    first, second = two_samples(a, b)
    n = len(first), len(second)
    labels, ties = ranks.ordered(first, second)
    result = ranks.studentized(labels, ties)
    p_value, method = ranks.p_values(result, *n, ties, seed)
    statistic, null = float(result.statistic), "neither model tends to score higher"
    direction = sign(statistic)
    return HypothesisTest("Brunner-Munzel", statistic, float(p_value), n, null, method, direction)


def welch_t(a: Sample, b: Sample) -> HypothesisTest:
    """Welch's t test of the means, variances not assumed equal; p is NaN without any spread."""
    from scipy import stats

    first, second = two_samples(a, b)
    n, null = (len(first), len(second)), "both models have the same mean"
    if varies(first) or varies(second):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # constant scores
            result = stats.ttest_ind(first, second, equal_var=False)
        statistic, p_value = float(result.statistic), float(result.pvalue)
    else:  # a variance of rounding alone
        statistic, p_value = _without_spread(float(gaps(first[:1], second[:1])[0]))
    method = "t distribution"
    return HypothesisTest("Welch's t", statistic, p_value, n, null, method, sign(statistic))


def paired_t(a: Sample, b: Sample) -> HypothesisTest:
    """Student's t test on pairs (same seed or split); p is NaN where all differ by as much."""
    from scipy import special

    differences = gaps(*pairs(a, b))
    n, mean = len(differences), float(np.mean(differences))
    statistic, p_value = _without_spread(mean)
    if varies(differences):
        statistic = mean / float(np.std(differences, ddof=1)) * math.sqrt(n)
        p_value = 2 * float(special.stdtr(n - 1, -abs(statistic)))
    null, method = "the mean difference of pairs is 0", "t distribution"
    return HypothesisTest("t on pairs", statistic, p_value, (n,), null, method, sign(statistic))


def _without_spread(gap: float) -> tuple[float, float]:
    return (gap * math.inf, math.nan) if gap else (0.0, 1.0)


def wilcoxon_signed_rank(a: Sample, b: Sample) -> HypothesisTest:
    """Wilcoxon's signed-rank test on pairs (same seed or split), zeros by Pratt's method.

    The statistic is the smaller sum of ranks. Up to 50 pairs p is exact, also with ties and zeros.
    """
    differences = gaps(*pairs(a, b))
    positive, negative = map(float, ranks.signed(differences))
    p_value, method = ranks.signed_p(differences) if differences.any() else (1.0, "exact")
    n, null = (len(differences),), "differences are symmetric around 0"
    least, direction = min(positive, negative), sign(positive - negative)
    return HypothesisTest("Wilcoxon signed-rank", least, p_value, n, null, method, direction)


def sign_test(a: Sample, b: Sample) -> HypothesisTest:
    """Exact sign test on pairs (statistic: pairs that A wins; equal pairs are left out)."""
    differences = gaps(*pairs(a, b))
    wins, losses = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    p_value, n = _binomial(wins, losses), len(differences)
    null, method = "A and B win equally often", f"exact, {n - wins - losses} equal pairs left out"
    return HypothesisTest("sign", float(wins), p_value, (n,), null, method, sign(wins - losses))


def mcnemar(a: Sample, b: Sample) -> HypothesisTest:
    """McNemar's exact test on two vectors [N] of right (1) and wrong (0) answers."""
    first, second = pairs(a, b, at_least=1)
    if not np.isin(np.concatenate([first, second]), (0.0, 1.0)).all():
        raise DataError("McNemar: expected 1 for right and 0 for wrong answers")
    only_a, only_b = int(np.sum(first > second)), int(np.sum(first < second))
    p_value, gap, n = _binomial(only_a, only_b), only_a - only_b, (len(first),)
    null = "both runs are right equally often"
    method = f"exact binomial, {only_a} and {only_b} answers right in one run only"
    return HypothesisTest("McNemar", float(gap), p_value, n, null, method, sign(gap))


def _binomial(wins: int, losses: int) -> float:
    """P-value of so many wins, if both win equally often."""
    from scipy import stats

    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def tost(a: Sample, b: Sample, margin: float, *, paired: bool = False) -> HypothesisTest:
    """Two one-sided t tests (Schuirmann 1987): p small says |mean A - mean B| < margin.

    The statistic is that of the less convincing side; NaN, as is p, where the scores do not vary.
    """
    from scipy import stats

    margin = positive(margin, "margin")
    (gap, error, freedom), n = effects.mean_gap(a, b, paired)
    statistic = (margin - abs(gap)) / error if error else math.nan
    p_value, null = float(stats.t.sf(statistic, freedom)), f"the means differ by {margin} or more"
    method = "two one-sided t tests on pairs" if paired else "two one-sided Welch t tests"
    return HypothesisTest("equivalence (TOST)", statistic, p_value, n, null, method)
