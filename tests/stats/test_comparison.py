"""The comparison of models: which tests carry the verdict, their correction, the plan."""

import dataclasses

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval import stats
from jaxeval.errors import DataError
from jaxeval.stats import comparison, multiple, pairwise, planning
from jaxeval.stats.pairwise import Rules, Scores

QUICK = Rules(resamples=199)


def _scores(n: int, shift: float, seed: int, spread: float = 1.0, **how: object) -> Scores:
    draw = np.random.default_rng(seed)
    a, b = draw.normal(shift, spread, n), draw.normal(0, 1, n)
    return Scores("A", "B", "", a, b, **how)  # type: ignore[arg-type]


def test_two_families_are_corrected_over_all_pairs() -> None:
    """Dies if a p-value is corrected within its pair only, or verdict and further tests mix."""
    scores = [_scores(20, 0.8, k) for k in range(3)]
    compared = comparison.compare(scores, QUICK)
    assert (compared.verdict_tests, compared.further_tests) == (6, 12)
    verdict = [p.tests[name].p_value for p in compared.pairs for name in p.scores.verdict_tests]
    adjusted = [p.adjusted[name] for p in compared.pairs for name in p.scores.verdict_tests]
    np.testing.assert_allclose(adjusted, multiple.adjust_p_values(verdict, "holm"))
    others = [
        (p.tests[name].p_value, p.adjusted[name])
        for p in compared.pairs
        for name in p.tests
        if name not in p.scores.verdict_tests
    ]
    raw, corrected = zip(*others, strict=True)
    np.testing.assert_allclose(corrected, multiple.adjust_p_values(raw, "holm"))


def test_the_verdict_follows_the_corrected_test_and_its_direction() -> None:
    """Dies if higher and lower are swapped, for scores or for losses, or spread for location."""
    for sign, higher in ((1, True), (-1, True), (1, False)):
        rules = Rules(resamples=99, higher_is_better=higher)
        (pair,) = comparison.compare([_scores(40, sign * 1.5, 1)], rules).pairs
        assert comparison.location(pair, rules) == sign
        won = pair.effects["probability_of_improvement"].estimate
        assert (won > 0.5) == ((sign > 0) == higher)
        assert np.sign(pair.effects["difference"].estimate) == sign
    (wide,) = comparison.compare([_scores(60, 0.0, 2, spread=4.0)], QUICK).pairs
    assert (comparison.location(wide, QUICK), comparison.spread(wide, QUICK)) == (0, 1)


def test_few_scores_carry_no_verdict() -> None:
    """Dies if three scores a model, however far apart, are called different."""
    four = Scores("A", "B", "", np.array([9.0, 9.1, 9.2, 9.3]), np.array([1.0, 1.1, 1.2, 1.3]))
    rules = Rules(alpha=0.5, resamples=99)
    (pair,) = comparison.compare([four], rules).pairs
    assert pair.tests["brunner_munzel"].p_value < 0.05
    assert comparison.location(pair, rules) == 0
    two = Scores("A", "B", "", np.array([9.0, 9.1]), np.array([1.0, 5.1]))
    assert "brown_forsythe" not in pairwise.tests(two, rules)
    with pytest.raises(DataError, match="A: 1 score, which says nothing about a distribution"):
        comparison.compare([Scores("A", "B", "", np.ones(1), np.ones(5))], rules)


def test_pairs_decide_where_units_are_shared() -> None:
    """Dies if splits that move both models drown a constant difference."""
    draw = np.random.default_rng(3)
    split = draw.normal(0, 5, 20)
    a, b = split + 0.5 + draw.normal(0, 0.1, 20), split
    scores = Scores("A", "B", "", a, b, paired=(a, b), by_pairs=True)
    (pair,) = comparison.compare([scores], QUICK).pairs
    assert scores.verdict_tests == ("wilcoxon_signed_rank", "pitman_morgan")
    assert comparison.location(pair, QUICK) == 1
    assert pair.adjusted["wilcoxon_signed_rank"] < 0.001 < pair.tests["brunner_munzel"].p_value
    t = scipy_stats.ttest_rel(a, b).confidence_interval(0.95)
    interval = pair.effects["difference"].interval
    assert (interval.low, interval.high) == (pytest.approx(t.low), pytest.approx(t.high))


def test_spread_of_pairs_is_seen_beside_what_they_share() -> None:
    """Dies if splits that move both models hide that one model's scores are spread wider, or the
    data sets' own differences are called a model's spread."""
    draw = np.random.default_rng(5)
    split = draw.normal(0, 1, 20)
    a, b = 1.5 * (split + draw.normal(0, 0.2, 20)), split + draw.normal(0, 0.2, 20)
    scores = Scores("A", "B", "", a, b, paired=(a, b), by_pairs=True)
    (pair,) = comparison.compare([scores], QUICK).pairs
    assert comparison.spread(pair, QUICK) == 1 and pair.tests["brown_forsythe"].p_value > 0.05
    (turned,) = comparison.compare([Scores("A", "B", "", b, a, (b, a), True)], QUICK).pairs
    assert comparison.spread(turned, QUICK) == -1
    assert turned.adjusted["pitman_morgan"] == pair.adjusted["pitman_morgan"]
    of_data_sets = dataclasses.replace(scores, unit="data set")
    (pair,) = comparison.compare([of_data_sets], QUICK).pairs
    assert comparison.spread(pair, QUICK) == 0 and pair.plan.detectable_ratio is None
    assert not {"brown_forsythe", "pitman_morgan"} & {*pair.tests}


def test_false_verdicts_stay_under_the_level() -> None:
    """Dies if the verdict is not corrected: 300 looks at three pairs of equal models."""
    wrong = 0
    for trial in range(300):
        draw = np.random.default_rng(trial)
        x = draw.normal(size=(3, 10))
        scores = [Scores("A", "B", str(k), x[k], x[(k + 1) % 3]) for k in range(3)]
        tests = [
            {
                "brunner_munzel": stats.brunner_munzel(s.first, s.second),
                "brown_forsythe": stats.brown_forsythe(s.first, s.second),
            }
            for s in scores
        ]
        adjusted, _, _ = pairwise.corrected(tests, [s.verdict_tests for s in scores], QUICK)
        wrong += any(p <= 0.05 for p_values in adjusted for p in p_values.values())
    assert wrong / 300 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_the_plan_is_that_of_the_design() -> None:
    """Dies if the plan forgets the correction, the margin or the pairs."""
    scores = _scores(12, 0.3, 4)
    (pair,) = comparison.compare([scores], Rules(resamples=99, margin=0.7)).pairs
    level = {
        "sd": float(np.std(scores.first, ddof=1)),
        "sd_other": float(np.std(scores.second, ddof=1)),
        "comparisons": 2,
        "test": "brunner_munzel",
    }
    assert pair.plan.planned_difference == 0.7
    assert pair.plan.power == pytest.approx(stats.power(0.7, n=12, **level))
    assert pair.plan.required_seeds == stats.required_seeds(0.7, **level)
    actual = stats.power(pair.plan.detectable_difference, n=12, **level)
    assert actual == pytest.approx(0.8, abs=0.002)
    assert pair.tests["tost"] == stats.tost(scores.first, scores.second, 0.7)
    assert pair.rope == stats.rope(scores.first, scores.second, 0.7)


def test_paired_power_is_that_of_scipy_simulation() -> None:
    """Dies if the paired design uses the degrees of freedom of two samples."""
    draw = np.random.default_rng(5)
    gaps = draw.normal(0.8, 1.0, (4000, 8))
    simulated = np.mean(scipy_stats.ttest_1samp(gaps, 0, axis=1).pvalue < 0.05)
    assert stats.power(0.8, sd=1.0, n=8, paired=True) == pytest.approx(simulated, abs=0.025)


def test_constant_and_large_samples_are_compared() -> None:
    """Dies if constant scores divide by zero, or large samples are resampled for minutes."""
    flat = Scores("A", "B", "", np.full(6, 0.5), np.full(6, 0.5))
    (pair,) = comparison.compare([flat], QUICK).pairs
    assert comparison.location(pair, QUICK) == comparison.spread(pair, QUICK) == 0
    assert all(test.p_value == 1.0 for test in pair.tests.values())
    apart = Scores("A", "B", "", np.full(6, 0.5), np.full(6, 0.7))
    assert comparison.location(comparison.compare([apart], QUICK).pairs[0], QUICK) == -1
    draw = np.random.default_rng(6)
    big = Scores("A", "B", "", draw.normal(size=20_000), draw.normal(size=20_000))
    tests = comparison.compare([big], QUICK).pairs[0].tests
    assert "permutation_test" not in tests and "welch_t" in tests
    summary = stats.summarize(big.first)
    assert summary.median_interval is not None and summary.mean_interval is not None
    assert summary.median_interval.low < 0 < summary.median_interval.high
    half = (summary.mean_interval.high - summary.mean_interval.low) / 2
    assert half == pytest.approx(1.96 / np.sqrt(20_000), rel=0.02)


def test_order_of_models_mirrors_everything() -> None:
    """Dies if A and B are not treated alike."""
    ab = _scores(15, 0.7, 7)
    ba = Scores("B", "A", "", ab.second, ab.first)
    (forward,), (backward,) = (comparison.compare([s], QUICK).pairs for s in (ab, ba))
    assert forward.adjusted["brunner_munzel"] == backward.adjusted["brunner_munzel"]
    for name in ("difference", "cliffs_delta"):
        assert forward.effects[name].estimate == pytest.approx(-backward.effects[name].estimate)
    ratio = "almost_stochastic_order"
    assert forward.effects[ratio].estimate == pytest.approx(1 - backward.effects[ratio].estimate)


def test_rounding_makes_no_differences() -> None:
    """Dies if deviations or gaps that differ in the sixteenth digit count as different."""
    a, b = np.array([0.1, 0.3] * 4), np.array([0.5, 0.7] * 4)
    assert stats.brown_forsythe(a, b).p_value == 1.0
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    y = x + 0.1  # 0.1 + 0.2 is not 0.3
    test = stats.wilcoxon_signed_rank(x, y)
    assert test.p_value == pytest.approx(2 / 2**6)
    noise = np.full(8, 0.6) + np.array([0, 1, -1, 1, 0, 1, 1, 1]) * 1e-16
    assert stats.sign_test(noise, np.full(8, 0.6)).p_value == 1.0
    assert stats.wilcoxon_signed_rank(noise, np.full(8, 0.6)).p_value == 1.0


def test_the_plan_knows_what_the_test_cannot_show() -> None:
    """Dies if five against five after thirty tests is promised power."""
    draw = np.random.default_rng(8)
    scores = [
        Scores("A", "B", str(k), draw.normal(9, 0.1, 5), draw.normal(0, 0.1, 5)) for k in range(15)
    ]
    pair = comparison.compare(scores, QUICK).pairs[0]
    assert pair.plan.least_p == pytest.approx(2 / 252 * 30)
    assert pair.adjusted["brunner_munzel"] == pytest.approx(pair.plan.least_p)
    assert (pair.plan.power, pair.plan.detectable_difference) == (0.0, None)
    needed = pair.plan.required_seeds
    assert (
        needed is not None
        and scipy_stats.mannwhitneyu(
            np.arange(needed), np.arange(needed) + needed, method="exact"
        ).pvalue
        <= 0.05 / 30
    )
    smallest = scipy_stats.wilcoxon(np.arange(1, 8), method="exact").pvalue
    assert planning.least_p(True, 7, 7) == pytest.approx(smallest)


def test_equivalence_is_judged_on_the_pairs() -> None:
    """Dies if TOST and ROPE forget that splits move both models."""
    split = np.arange(10) / 10
    a, b = split, split + 0.001 + 0.0001 * np.arange(10)
    scores = Scores("A", "B", "", a, b, paired=(a, b), by_pairs=True)
    (pair,) = comparison.compare([scores], Rules(resamples=99, margin=0.01)).pairs
    low = scipy_stats.ttest_rel(a, b - 0.01, alternative="greater").pvalue
    high = scipy_stats.ttest_rel(a, b + 0.01, alternative="less").pvalue
    assert pair.tests["tost"].p_value == pytest.approx(max(low, high), rel=1e-6)
    assert pair.rope is not None and pair.rope.equivalent > 0.99


def test_power_far_out_is_that_of_sampling() -> None:
    """Dies if two pairs after many tests are promised certainty."""
    gap = stats.detectable_difference(sd=1.0, n=2, paired=True, comparisons=28)
    drawn = np.random.default_rng(9).normal(gap, 1, (200_000, 2))
    t = drawn.mean(1) / (drawn.std(1, ddof=1) / np.sqrt(2))
    simulated = np.mean(np.abs(t) > scipy_stats.t.isf(0.05 / 28 / 2, 1))
    assert simulated == pytest.approx(0.8, abs=0.005)
