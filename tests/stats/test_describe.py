"""Summaries, effect sizes and plans, against numpy, scipy, enumeration and the textbook."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jaxeval.errors import ConfigError, DataError
from jaxeval.stats import crossed, describe, hypotheses, parse_over
from tests.stats.cubes import estimate


def test_summary_by_hand() -> None:
    """Dies if a quartile rule or the denominator of the sd changes."""
    summary = describe.summarize([1.0, 2.0, 3.0, 4.0, 10.0])
    assert (summary.n, summary.min, summary.q1, summary.median) == (5, 1.0, 2.0, 3.0)
    assert (summary.q3, summary.max, summary.mean) == (4.0, 10.0, 4.0)
    assert summary.sd == pytest.approx(12.5**0.5)


@pytest.mark.parametrize("n", [3, 8, 30])
def test_intervals_of_the_mean_and_of_one_more_score_cover_as_promised(n: int) -> None:
    """Dies if five scores get the bootstrap's interval (covers .84), or the normal's (.88), or if
    one more score is expected where the mean is."""
    drawn = np.random.default_rng(1).normal(size=(1000, n + 1))
    hits = np.zeros(2)
    for *values, another in drawn:
        of_mean, of_one = describe.summarize(values).interval, describe.prediction_interval(values)
        assert of_mean is not None
        hits += of_mean.low <= 0.0 <= of_mean.high, of_one.low <= another <= of_one.high
    assert (hits >= 929).all() and (hits <= 971).all()  # .95 +- 3 standard errors


def test_interval_of_the_sd() -> None:
    """Dies if the ends are swapped, or n is taken for its degrees of freedom."""
    scores = [1.0, 2.0, 3.0, 4.0, 10.0]
    interval = describe.sd_interval(scores, confidence=0.9)
    for end, p in ((interval.low, 0.95), (interval.high, 0.05)):
        assert stats.chi2.cdf(4 * 12.5 / end**2, 4) == pytest.approx(p)
    assert describe.sd_interval([1.0]).absent and describe.sd_interval([1.0, 1.0]).absent


values = st.lists(st.integers(-5, 5), min_size=5, max_size=8)


@given(values, values)
def test_probability_of_improvement_counts_all_pairs(a: list[int], b: list[int]) -> None:
    """Dies if a tie is not half a win; and A against B mirrors B against A."""
    wins = np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b])
    probability = describe.probability_of_improvement(a, b)
    mirrored = describe.probability_of_improvement(b, a)
    assert probability.estimate == pytest.approx(wins)
    assert probability.interval.low <= probability.estimate <= probability.interval.high
    assert mirrored.interval.low == pytest.approx(1 - probability.interval.high, abs=1e-9)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_probability_interval_covers_as_promised(shift: float) -> None:
    """Dies if the interval is not calibrated: 1,000 pairs of normal samples of 8 and 10."""
    generator = np.random.default_rng(5)
    truth = 0.5 * (1 + math.erf(shift / 2))
    hits = 0
    for _ in range(1000):
        a, b = generator.normal(shift, 1, 8), generator.normal(0, 1, 10)
        interval = describe.probability_of_improvement(a, b).interval
        hits += interval.low <= truth <= interval.high
    assert 930 <= hits <= 985


def test_difference_intervals() -> None:
    """Dies if Welch's interval excludes 0 where the test says p > .05, or the other way."""
    generator = np.random.default_rng(6)
    for _ in range(50):
        a, b = generator.normal(0.7, 1, 8), generator.normal(0, 2, 12)
        interval = describe.difference(a, b).interval
        assert (interval.low <= 0 <= interval.high) == (hypotheses.welch_t(a, b).p_value >= 0.05)


def test_equivalence_agrees_with_its_interval() -> None:
    """Dies if TOST at .05 says otherwise than the 90 % interval inside the margin."""
    generator = np.random.default_rng(10)
    seen = set()
    for _ in range(100):
        a, b = generator.normal(0.2, 1, 15), generator.normal(0, 1, 20)
        interval = describe.difference(a, b, confidence=0.9).interval
        inside = interval.low > -1.0 and interval.high < 1.0
        assert (hypotheses.tost(a, b, 1.0).p_value < 0.05) == inside
        seen.add(inside)
    assert seen == {True, False}


MASKED = np.ma.masked_array([0.1, 0.2, 999.0], mask=[0, 0, 1])


def test_mistakes_are_one_line() -> None:
    """Dies if what a mask hides gives a number, or a factor or a cluster that is not there is
    taken for one."""
    with pytest.raises(DataError, match=r"^scores: value 3 is missing; expected finite numbers$"):
        describe.summarize(MASKED)
    with pytest.raises(DataError, match=r"^clusters: expected a label of every item, found None$"):
        estimate([0.1, 0.2, 0.4], clusters=["p", None, "q"])
    with pytest.raises(ConfigError, match=r"^over: expected items, runs or items,runs, found 'it"):
        parse_over("items,seeds")


def test_masked_scores_of_items_are_missing() -> None:
    """Dies if what a mask hides is used: the mean of two scores would be 333.1."""
    masked = estimate(MASKED)
    assert masked == estimate([0.1, 0.2, np.nan])
    assert masked.value == pytest.approx(0.15)
    assert estimate(np.ma.masked_equal([1, 0, 1, 7], 7)).value == pytest.approx(2 / 3)


STUDY = crossed.components(
    np.random.default_rng(1).normal(size=(5, 1, 1))
    + np.random.default_rng(2).normal(size=(5, 4, 1))
    + np.random.default_rng(3).normal(size=(5, 4, 3))
)


def test_the_plan_of_a_study() -> None:
    """Dies if one run fewer would do, or the cautious plan is not of the upper limit."""
    plan = crossed.plan(STUDY, 0.5)
    for runs, sd in (
        (plan.runs, STUDY.total.sd),
        (plan.cautious_runs, STUDY.total.sd_interval.high),
    ):
        assert runs is not None
        fewer, enough = (stats.t.ppf(0.975, n - 1) * sd / math.sqrt(n) for n in (runs - 1, runs))
        assert enough <= 0.5 < fewer
    assert crossed.plan(STUDY, 1e-6).runs is None
