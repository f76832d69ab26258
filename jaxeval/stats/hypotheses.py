"""Do two distributions of scores differ? All tests are two-sided."""

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np

from jaxeval.stats.results import (
    HypothesisTest,
    Sample,
    gaps,
    pairs,
    two_samples,
    without_rounding,
)

Location = Literal["mean", "median"]


def kolmogorov_smirnov(a: Sample, b: Sample) -> HypothesisTest:
    """Two-sample Kolmogorov-Smirnov: the largest gap between the two distribution functions."""
    from scipy import stats

    first, second = two_samples(a, b)
    exact = max(len(first), len(second)) <= 10_000
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        found = stats.ks_2samp(first, second, method="exact" if exact else "asymp")
    exact = exact and not caught  # scipy gives up where rounding lifts p above 1
    return HypothesisTest(
        "Kolmogorov-Smirnov",
        float(found.statistic),
        float(found.pvalue),
        (len(first), len(second)),
        "both models draw from one distribution",
        "exact" if exact else "asymptotic",
    )


def brown_forsythe(*groups: Sample) -> HypothesisTest:
    """Do the spreads of two or more models differ (Levene's test around medians, 1974)?

    The F test of the deviations from the median. Deviations that differ by rounding only are
    equal; when all are, the statistic is 0 and p is 1.
    """
    from scipy import stats

    values = [two_samples(group, group)[0] for group in groups]
    size = max(float(np.abs(v).max()) for v in values)
    deviations = [without_rounding(np.abs(v - np.median(v)), size) for v in values]
    if np.ptp(np.concatenate(deviations)) == 0:
        statistic, p_value = 0.0, 1.0
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no spread within the groups
            found = stats.f_oneway(*deviations)
        statistic, p_value = float(found.statistic), float(found.pvalue)
        if not statistic > 0:  # rounding below 0, where scipy has no p-value
            statistic, p_value = 0.0, 1.0
    return HypothesisTest(
        "Brown-Forsythe",
        statistic,
        p_value,
        tuple(map(len, values)),
        "all models have the same spread",
        "F distribution",
    )


def mann_whitney_u(a: Sample, b: Sample) -> HypothesisTest:
    """Mann-Whitney U (statistic: pairs in which A is higher, ties 1/2)."""
    from scipy import stats

    first, second = two_samples(a, b)
    ties = len(np.unique(np.concatenate([first, second]))) < len(first) + len(second)
    exact = not ties and min(len(first), len(second)) <= 8
    found = stats.mannwhitneyu(first, second, method="exact" if exact else "asymptotic")
    p_value = float(found.pvalue)
    return HypothesisTest(
        "Mann-Whitney U",
        float(found.statistic),
        1.0 if np.isnan(p_value) else p_value,  # all scores are equal
        (len(first), len(second)),
        "neither model tends to score higher",
        "exact" if exact else "normal, corrected for ties and continuity",
    )


def welch_t(a: Sample, b: Sample) -> HypothesisTest:
    """Welch's t test of the means, variances not assumed equal."""
    from scipy import stats

    first, second = two_samples(a, b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # constant scores
        found = stats.ttest_ind(first, second, equal_var=False)
    same = np.ptp(np.concatenate([first, second])) == 0
    return HypothesisTest(
        "Welch's t",
        0.0 if same else float(found.statistic),
        1.0 if same else float(found.pvalue),
        (len(first), len(second)),
        "both models have the same mean",
        "t distribution",
    )


def wilcoxon_signed_rank(a: Sample, b: Sample) -> HypothesisTest:
    """Wilcoxon's signed-rank test on pairs (same seed or split), zeros by Pratt's method."""
    from scipy import stats

    differences = gaps(*pairs(a, b))
    if not differences.any():
        statistic, p_value, exact = 0.0, 1.0, True
    else:
        magnitudes = np.abs(differences)
        exact = len(np.unique(magnitudes)) == len(magnitudes) <= 50 and magnitudes.all()
        found = stats.wilcoxon(
            differences, zero_method="pratt", method="exact" if exact else "asymptotic"
        )
        statistic, p_value = float(found.statistic), float(found.pvalue)
    return HypothesisTest(
        "Wilcoxon signed-rank",
        statistic,
        p_value,
        (len(differences),),
        "differences are symmetric around 0",
        "exact" if exact else "normal",
    )


def sign_test(a: Sample, b: Sample) -> HypothesisTest:
    """Exact sign test on pairs (statistic: pairs that A wins; equal pairs are left out)."""
    from scipy import stats

    found = gaps(*pairs(a, b))
    wins, losses = int(np.sum(found > 0)), int(np.sum(found < 0))
    p_value = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return HypothesisTest(
        "sign",
        float(wins),
        float(p_value),
        (len(found),),
        "A and B win equally often",
        f"exact, {len(found) - wins - losses} equal pairs left out",
    )


def permutation_test(
    a: Sample,
    b: Sample,
    *,
    statistic: Location = "mean",
    paired: bool = False,
    resamples: int = 99_999,
    seed: int = 0,
) -> HypothesisTest:
    """Permutation test on the difference of means or medians.

    All permutations where there are at most `resamples` of them (exact), else random ones, with
    p = (1 + hits) / (1 + resamples). Paired scores swap within pairs only.
    """
    from scipy import stats

    first, second = pairs(a, b) if paired else two_samples(a, b)
    locate: Callable[..., np.ndarray] = np.mean if statistic == "mean" else np.median

    def difference(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        return locate(x, axis=axis) - locate(y, axis=axis)

    found = stats.permutation_test(
        (first, second),
        difference,
        permutation_type="samples" if paired else "independent",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, 5_000_000 // (len(first) + len(second))),
        rng=np.random.default_rng(seed),
    )
    exact = len(found.null_distribution) != resamples
    return HypothesisTest(
        f"permutation of {statistic}s" + (", paired" if paired else ""),
        float(found.statistic),
        float(found.pvalue),
        (len(first),) if paired else (len(first), len(second)),
        "the labels A and B are exchangeable" + (" within pairs" if paired else ""),
        "exact" if exact else f"{resamples} random permutations, seed {seed}",
    )
