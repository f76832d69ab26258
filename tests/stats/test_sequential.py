"""Anytime-valid comparisons against quadrature, root finding and simulated error rates."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from jaxeval import errors
from jaxeval.stats import anytime, sequential

GOLDEN = [
    (3, 3, 2.0, 1.0, 0.4335419939),
    (5, 5, 3.0, 1.0, 1.5113813153),
    (8, 8, 2.5, 0.5, 1.1784782639),
    (10, 12, -4.0, 1.0, 4.0125095915),
    (20, 20, 1.0, 1.0, -0.7390206558),
]


@pytest.mark.parametrize("n, m, t, g, log_e", GOLDEN)
def test_log_e_t_equals_published_values(n, m, t, g, log_e):
    seen = sequential.Looks(*map(np.array, (n, t, 1.0, n + m - 2, n * m / (n + m))))
    assert sequential.e_process(seen, g=g) == pytest.approx(log_e, abs=1e-9)


@pytest.mark.parametrize("n, m, t, g, log_e", GOLDEN)
@pytest.mark.parametrize("alternative, ends", [("greater", (0, 30)), ("less", (-30, 0))])
def test_one_sided_log_e_t_equals_quadrature_over_the_prior(n, m, t, g, log_e, alternative, ends):
    df, effective = n + m - 2, n * m / (n + m)

    def weighted(effect):
        ratio = stats.nct.pdf(t, df, effect * effective**0.5) / stats.t.pdf(t, df)
        return 2 * stats.norm.pdf(effect, 0, g**0.5) * ratio

    expected = np.log(integrate.quad(weighted, *ends, limit=400)[0])
    seen = sequential.Looks(*map(np.array, (n, t, 1.0, df, effective)))
    found = sequential.e_process(seen, g=g, alternative=alternative)
    assert found == pytest.approx(expected, abs=1e-9)


def test_looks_equal_scipy():
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=9) + 100, 3 * draw.normal(size=6)
    seen = sequential.looks(a, b)
    for k, t, df in zip(seen.scores, seen.estimate / seen.error, seen.df, strict=True):
        welch = stats.ttest_ind(a[:k], b[:k], equal_var=False)
        assert t == pytest.approx(welch.statistic)
        assert df == pytest.approx(welch.df)
    pairs = sequential.looks(a[:6] - b)
    assert pairs.estimate[-1] / pairs.error[-1] == pytest.approx(
        stats.ttest_rel(a[:6], b).statistic
    )


def test_confidence_sequence_holds_what_is_not_rejected():
    draw = np.random.default_rng(2)
    seen = sequential.looks(draw.normal(1, size=12), draw.normal(size=12))
    low, high = sequential.confidence_sequence(seen, alpha=0.1)
    alone = sequential.Looks(*(values[-1:] for values in seen))
    (end,) = sequential.confidence_sequence(alone, alpha=0.1)[1]
    reached = optimize.brentq(
        lambda d: (
            sequential.e_process(alone._replace(estimate=alone.estimate - d), alternative="less")[
                0
            ]
            - np.log(20)
        ),
        alone.estimate[0],
        50,
    )
    assert end == pytest.approx(reached)
    assert (np.diff(low) >= 0).all() and (np.diff(high) <= 0).all()


def test_equal_scores_decide_nothing():
    found = anytime.settle(np.full(9, 0.9), np.full(9, 0.8))
    assert found.verdict == "undecided" and found.p_value == 1
    assert found.interval == (-np.inf, np.inf)
    assert "count as one score" in found.warnings[0]
    assert "differences are equal" in anytime.settle([0.1] * 9).warnings[0]
    rounded = anytime.settle(np.array([0.3, 0.2, 0.9]) - np.array([0.2, 0.1, 0.8]))
    assert rounded.verdict == "undecided" and rounded.warnings


@pytest.mark.parametrize("most", [1e200, 1e308])
def test_a_score_that_diverged_decides_nothing(most):
    """Dies if an overflow is a warning, which is an error here, or a claim."""
    found = anytime.settle([most, -most, 1, 2], [1.0, 2, 3, 4])
    assert (found.verdict, found.p_value) == ("undecided", 1)


@pytest.mark.parametrize("a, b", [([], []), ([1.0], [2.0, 3, 4, 5]), ([1.0, 2], [2.0, 3])])
def test_nothing_is_claimed_before_both_have_three_scores(a, b):
    found = anytime.settle(a, b)
    assert (found.verdict, found.looks, found.p_value, found.warnings) == ("undecided", 0, 1, ())
    assert found.interval == (-np.inf, np.inf)
    assert np.isnan(found.difference) if not a else found.difference == np.mean(a) - np.mean(b)
    with pytest.raises(errors.DataError, match="scores of A: value 2 is missing"):
        anytime.settle([1, np.nan], [1.0])


def test_scores_of_the_base_that_were_known_enter_every_look():
    draw = np.random.default_rng(7)
    a, b = draw.normal(size=5), draw.normal(size=12)
    seen = sequential.looks(a, b, known=8)
    assert [*seen.scores] == [*range(3, 13)]
    for look, k, m in ((4, 4, 8), (11, 5, 11)):
        assert seen.df[look - 3] == pytest.approx(
            stats.ttest_ind(a[:k], b[:m], equal_var=False).df
        )
    assert [*sequential.looks(a, b, known=12).scores] == [3, 4, 5]


def test_a_wide_sample_of_many_scores_hides_no_difference():
    """Dies if the error is pooled: t is 2 then, and nothing is claimed."""
    draw = np.random.default_rng(12)
    a, b = draw.normal(0.6, 0.2, size=50), draw.normal(0, 2, size=4000)
    assert stats.ttest_ind(a, b, equal_var=False).statistic > 10
    assert [anytime.settle(*pair).verdict for pair in ((a, b), (b, a))] == ["better", "worse"]


def test_few_scores_that_agree_by_chance_show_nothing():
    """Dies if their variance is taken as it is: p of 20 zeros, where 5 % are ones, is .36."""
    base = np.arange(1000) % 20 == 0
    assert anytime.settle(np.zeros(20), 1.0 * base, known=1000).verdict == "undecided"


@pytest.mark.parametrize("known, wider", [(0, 3), (3, 1), (10, 3), (30, 3), (30, 1)])
def test_known_scores_and_unequal_spreads_leave_wrong_claims_rare(known, wider):
    """Dies if the error is pooled: .33 with 30 known scores and a candidate spread 3 times."""
    draw = np.random.default_rng(8)
    a, b = wider * draw.normal(size=(1000, 60)), draw.normal(size=(1000, 60))
    low, high = sequential.confidence_sequence(sequential.looks(a, b, known))
    wrong = ((low > 0) | (high < 0)).any(-1).mean()
    assert wrong <= 0.05


def test_skewed_differences_are_warned_of():
    draw = np.random.default_rng(10)
    a, b = draw.exponential(size=(2, 40))
    assert "skewed" in anytime.settle(a, -b).warnings[0]
    assert "skewed" in anytime.settle(a + b).warnings[0]
    assert stats.skew(a + b, bias=False) == pytest.approx(
        float(anytime.settle(a + b).warnings[0].split("(")[1].split(")")[0]), abs=0.05
    )
    assert not anytime.settle(a, 2 * draw.normal(size=40)).warnings
    assert not anytime.settle(a[:9], -b).warnings


def test_smallest_difference_is_where_settle_decides():
    a = np.random.default_rng(9).normal(size=12)
    a = (a - a.mean()) / a.std(ddof=1)
    least = sequential.smallest_difference(12, 0.5)
    e = [
        sequential.e_process(sequential.looks(0.5 * a + d, 0.5 * a), alternative="greater")[-1]
        for d in (0.999 * least, 1.001 * least)
    ]
    assert e[0] < np.log(40) < e[1]
    assert sequential.smallest_difference(3, 1) == np.inf


def test_a_and_b_mirror():
    draw = np.random.default_rng(3)
    a, b = draw.normal(3, size=15), draw.normal(size=15)
    one, other = anytime.settle(a, b, margin=0.1), anytime.settle(b, a, margin=0.1)
    assert (one.verdict, other.verdict) == ("better", "worse")
    assert one.decided == other.decided
    assert one.interval == (-other.interval[1], -other.interval[0])


@pytest.mark.parametrize(
    "shift, margin, wrong",
    [(0, 0, {"better", "worse"}), (0.5, 0.5, {"better", "worse"}), (1, 0.5, {"equal", "worse"})],
)
def test_wrong_verdicts_are_rare_however_often_one_looks(shift, margin, wrong):
    draw = np.random.default_rng(4)
    found = [
        anytime.settle(draw.normal(shift, size=40), draw.normal(size=40), margin=margin)
        for _ in range(200)
    ]
    assert sum(each.verdict in wrong for each in found) <= 0.05 * 200
    covered = [each.interval[0] <= shift <= each.interval[1] for each in found]
    assert np.mean(covered) >= 0.95


def test_settle_says_equal_and_better():
    draw = np.random.default_rng(5)
    a, b = draw.normal(size=60), draw.normal(size=60)
    assert anytime.settle(a, b, margin=1.5).verdict == "equal"
    assert anytime.settle(a + 4, b, margin=1.5).verdict == "better"
    assert anytime.settle(a, b).verdict == "undecided"


def test_levels_of_a_sequence_sum_to_alpha():
    spent = sum(sequential.level(0.05, k, 0, "spending") for k in range(1, 20_000))
    assert spent == pytest.approx(0.05, rel=1e-3)
    assert sequential.level(0.05, 3, 2, "e-lond") == 3 * sequential.level(0.05, 3, 2, "spending")


def test_merged_evidence_of_a_night_is_valid_whenever_one_stops():
    """Dies if the evidence that any candidate is better errs when one looks after each of them.

    Ten candidates as good as their base share its scores; each stops at its own decision.
    """
    draw, nights = np.random.default_rng(11), 1000
    base = draw.normal(size=(nights, 15))
    merged = np.full(nights, -np.inf)
    wrong = np.zeros(nights, bool)
    ends = np.zeros((10, nights))
    for k in range(10):
        seen = sequential.looks(draw.normal(size=(nights, 15)), base)
        log_e = sequential.e_process(seen, alternative="greater")
        hit = log_e >= np.log(40)
        stop = np.where(hit.any(-1), hit.argmax(-1), log_e.shape[-1] - 1)
        ends[k] = log_e[np.arange(nights), stop]
        merged = np.array([sequential.merge(dict(enumerate(of, 1))) for of in ends[: k + 1].T])
        wrong |= merged >= np.log(20)
    assert wrong.mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / nights)
    assert np.exp(merged).mean() <= 1 + 4 * np.exp(merged).std() / np.sqrt(nights)


def test_merged_evidence_is_a_weighted_mean():
    """Dies if a candidate that is left out, or a rising place, counts as evidence."""
    e, shares = np.array([3.0, 50.0]), 6 / (np.pi * np.array([1, 4])) ** 2
    assert np.exp(sequential.merge({1: np.log(3), 4: np.log(50)})) == pytest.approx(e @ shares)
    assert sequential.merge({1: -np.inf}) == sequential.merge({}) == -np.inf
    assert np.exp(sequential.merge(dict.fromkeys(range(1, 5000), 0.0))) < 1


def test_rare_successes_beside_thousands_of_known_scores() -> None:
    """Dies if the variance of a few scores that are nearly all 0 counts as known."""
    draw = np.random.default_rng(3)
    few, known = ((draw.random((1000, n)) < 0.03).astype(float) for n in (100, 3000))
    wrong = sequential.e_process(sequential.looks(few, known, 3000)).max(-1) >= np.log(20)
    assert wrong.mean() <= 0.05 + 2 * (0.05 * 0.95 / 1000) ** 0.5
