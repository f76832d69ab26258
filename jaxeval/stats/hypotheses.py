"""Do two distributions of scores differ? All tests are two-sided.

`direction` is the sign of the statistic that p was computed from, never of another summary.
"""

import math
import warnings

import numpy as np

from jaxeval.stats import ranks
from jaxeval.stats.results import (
    HypothesisTest,
    Sample,
    gaps,
    pairs,
    sign,
    two_samples,
    typical_size,
    varies,
    without_rounding,
)


def kolmogorov_smirnov(a: Sample, b: Sample) -> HypothesisTest:
    """Two-sample Kolmogorov-Smirnov: the largest gap between the two distribution functions."""
    from scipy import stats

    first, second = two_samples(a, b)
    exact = max(len(first), len(second)) <= 10_000
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        result = stats.ks_2samp(first, second, method="exact" if exact else "asymp")
    exact = exact and not caught  # scipy gives up where rounding lifts p above 1
    return HypothesisTest(
        "Kolmogorov-Smirnov",
        float(result.statistic),
        float(result.pvalue),
        (len(first), len(second)),
        "both models draw from one distribution",
        "exact" if exact else "asymptotic",
    )


def brown_forsythe(*groups: Sample) -> HypothesisTest:
    """Do the spreads of two or more models differ (Levene's test around medians, 1974)?

    The F test of the absolute deviations from the median, whose means say which of two models is
    spread wider: one far score can turn the order of the sds round. Deviations that differ by
    rounding only are equal; when all are, the statistic is 0 and p is 1.
    """
    from scipy import stats

    values = [two_samples(group, group)[0] for group in groups]
    size = typical_size(*values)
    deviations = [without_rounding(np.abs(v - np.median(v)), size) for v in values]
    if np.ptp(np.concatenate(deviations)) == 0:
        statistic, p_value = 0.0, 1.0
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no spread within the groups
            result = stats.f_oneway(*deviations)
        statistic, p_value = float(result.statistic), float(result.pvalue)
        if not statistic > 0:  # rounding below 0, where scipy has no p-value
            statistic, p_value = 0.0, 1.0
    return HypothesisTest(
        "Brown-Forsythe",
        statistic,
        p_value,
        tuple(map(len, values)),
        "all models have the same spread",
        "F distribution",
        sign(float(np.mean(deviations[0]) - np.mean(deviations[1]))) if len(values) == 2 else None,
    )


def pitman_morgan(a: Sample, b: Sample) -> HypothesisTest:
    """Do the spreads within pairs differ (Pitman 1939; Morgan 1939), by ranks (McCulloch 1987)?

    The wider one decides the sign of the differences where the sums are large: both correlate.
    Brown & Forsythe's test takes the samples for independent, and sees little of pairs that share
    a split. With Pearson's correlation the test holds for normal scores only. Spearman's, the
    statistic, nearly keeps its level where pairs share most of their spread; where they share
    none, sums and differences of equal spread may depend on each other all the same, and skewed
    scores or failed runs reject about twice as often as they should (docs/compare.md).
    """
    first, second = pairs(a, b)
    few = len(first) <= ranks.EXACT_ORDERS
    rho, p_value = ranks.spearman(gaps(first, -second), gaps(first, second))
    return HypothesisTest(
        "Pitman-Morgan",
        rho,
        p_value,
        (len(first),),
        "sums and differences of pairs have no rank correlation",
        "Spearman, all orders" if few else "Spearman, t approximation",
        sign(rho),
    )


def mann_whitney_u(a: Sample, b: Sample) -> HypothesisTest:
    """Mann-Whitney U (statistic: pairs in which A is higher, ties 1/2).

    Small samples: exact, ties kept; else normal, but not below the share of a single labelling.
    """
    from scipy import stats

    first, second = two_samples(a, b)
    result = stats.mannwhitneyu(first, second, method="asymptotic")
    exact = ranks.exact_rank_sum_p(first, second)
    least = 1 / math.comb(len(first) + len(second), len(first))
    normal = 1.0 if np.isnan(result.pvalue) else max(float(result.pvalue), least)  # NaN: all equal
    return HypothesisTest(
        "Mann-Whitney U",
        float(result.statistic),
        normal if exact is None else exact,
        (len(first), len(second)),
        "neither model tends to score higher",
        "normal, corrected for ties and continuity" if exact is None else "exact",
        sign(float(result.statistic) - len(first) * len(second) / 2),
    )


def brunner_munzel(a: Sample, b: Sample, *, seed: int = 0) -> HypothesisTest:
    """Brunner & Munzel (2000): is P(A > B) + P(A = B) / 2 one half, whatever the spreads?

    Mann-Whitney assumes equal distributions under the null, and rejects 15 % of the time where
    models of 10 and 40 scores differ in spread alone. Small samples: the permutation distribution
    of the studentised statistic (Neubert & Brunner 2007), enumerated up to 10 against 10; t above
    30 scores each. Where all scores of one model are higher, p is that of equal distributions: far
    too small for a small sample that is also the wider one.
    """
    first, second = two_samples(a, b)
    n, m = len(first), len(second)
    labels, ties = ranks.ordered(first, second)
    result = ranks.studentized(labels, ties)
    p_value, method = ranks.p_values(result, n, m, ties, seed)
    return HypothesisTest(
        "Brunner-Munzel",
        float(result.statistic),
        float(p_value),
        (n, m),
        "neither model tends to score higher",
        method,
        sign(float(result.statistic)),
    )


def welch_t(a: Sample, b: Sample) -> HypothesisTest:
    """Welch's t test of the means, variances not assumed equal; p is NaN without any spread."""
    from scipy import stats

    first, second = two_samples(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # constant scores
        result = stats.ttest_ind(first, second, equal_var=False)
    statistic, p_value = float(result.statistic), float(result.pvalue)
    if not (varies(first) or varies(second)):  # a variance of rounding alone
        gap = float(gaps(first[:1], second[:1])[0])
        statistic, p_value = (gap * np.inf, np.nan) if gap else (0.0, 1.0)
    return HypothesisTest(
        "Welch's t",
        statistic,
        p_value,
        (len(first), len(second)),
        "both models have the same mean",
        "t distribution",
        sign(statistic),
    )


def paired_t(a: Sample, b: Sample) -> HypothesisTest:
    """Student's t test on pairs (same seed or split); p is NaN where all differ by as much."""
    from scipy import special

    differences = gaps(*pairs(a, b))
    n, mean = len(differences), float(np.mean(differences))
    if varies(differences):
        statistic = mean / float(np.std(differences, ddof=1)) * math.sqrt(n)
        p_value = 2 * float(special.stdtr(n - 1, -abs(statistic)))
    else:
        statistic, p_value = (mean * np.inf, np.nan) if mean else (0.0, 1.0)
    return HypothesisTest(
        "t on pairs",
        statistic,
        p_value,
        (n,),
        "the mean difference of pairs is 0",
        "t distribution",
        sign(statistic),
    )


def wilcoxon_signed_rank(a: Sample, b: Sample) -> HypothesisTest:
    """Wilcoxon's signed-rank test on pairs (same seed or split), zeros by Pratt's method.

    The statistic is the smaller sum of ranks; the direction is the larger sum's. Up to 50 pairs p
    is exact, also with ties and zeros, where the normal approximation is too sure: it gives six
    equal gaps p = .014 for 2 / 64.
    """
    differences = gaps(*pairs(a, b))
    positive, negative = map(float, ranks.signed(differences))
    p_value, method = ranks.signed_p(differences) if differences.any() else (1.0, "exact")
    return HypothesisTest(
        "Wilcoxon signed-rank",
        min(positive, negative),
        p_value,
        (len(differences),),
        "differences are symmetric around 0",
        method,
        sign(positive - negative),
    )


def sign_test(a: Sample, b: Sample) -> HypothesisTest:
    """Exact sign test on pairs (statistic: pairs that A wins; equal pairs are left out)."""
    from scipy import stats

    differences = gaps(*pairs(a, b))
    wins, losses = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    p_value = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return HypothesisTest(
        "sign",
        float(wins),
        float(p_value),
        (len(differences),),
        "A and B win equally often",
        f"exact, {len(differences) - wins - losses} equal pairs left out",
        sign(wins - losses),
    )
