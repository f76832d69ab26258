"""Paired permutation and bootstrap over items: enumeration, scipy, limits."""

import itertools

import numpy as np
import pytest
from scipy import stats

from jaxeval.stats import items
from jaxeval.stats.items import comparing

GENERATOR = np.random.default_rng(0)


def test_few_differences_are_enumerated() -> None:
    """Dies if a sign pattern is left out or counted twice, or ties of equal sums are lost."""
    values = np.array([0.3, -0.1, 0.2, 0.0, 0.7, -0.4, 0.1])
    sums = [np.dot(signs, values) for signs in itertools.product((1, -1), repeat=7)]
    expected = np.mean(np.abs(sums) >= abs(values.sum()) - 1e-12)
    test = items.sign_flips(values)
    assert test.p_value == pytest.approx(expected)
    assert test.method == "exact, all 64 exchanges" and test.direction == 1


def test_drawn_permutations_agree_with_enumeration() -> None:
    """Dies if drawn signs are biased, or the last, shorter table of signs is: 21 differences."""
    values = GENERATOR.normal(size=21) + 0.4
    exact = items.sign_flips(values, permutations=2**21)
    drawn = items.sign_flips(values, permutations=100_000, seed=1)
    assert exact.method.startswith("exact") and not drawn.method.startswith("exact")
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * np.sqrt(0.25 / 100_000))


def test_permutation_agrees_with_scipy() -> None:
    """Dies if the test is not two-sided over the mean of 60 differences."""
    a, b = GENERATOR.normal(size=(2, 60))
    a += 0.25
    scipys = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis), permutation_type="samples", rng=2
    )
    test = items.paired_tests(a, b, permutations=50_000)["sign_flips"]
    assert test.p_value == pytest.approx(scipys.pvalue, abs=0.03)
    assert test.statistic == pytest.approx(scipys.statistic)


def test_block_by_block_is_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the permutations of later blocks are not counted."""
    values = GENERATOR.normal(size=40) + 0.3
    whole = items.sign_flips(values, permutations=40_000)
    monkeypatch.setattr(comparing, "_BLOCK", 7_000)
    parts = items.sign_flips(values, permutations=40_000)
    assert parts.p_value == pytest.approx(whole.p_value, rel=0.1)


def test_clusters_are_exchanged_whole() -> None:
    """Dies if items of a cluster are exchanged one by one: four clusters have 16 exchanges."""
    a = np.repeat(GENERATOR.normal(size=4), 25) + 3
    tests = items.paired_tests(a, np.zeros(100), clusters=np.repeat(np.arange(4), 25))
    assert tests["sign_flips"].p_value == 2 / 16
    assert "mcnemar" not in tests


def test_mcnemar_is_of_single_runs_of_right_and_wrong_answers() -> None:
    """Dies if it is left out there or made of means: 2 against 9 (scipy's exact binomial)."""
    a = np.array([1] * 2 + [0] * 9 + [1] * 30, float)
    b = np.array([0] * 2 + [1] * 9 + [1] * 30, float)
    tests = items.paired_tests(a, b)
    assert tests["mcnemar"].p_value == pytest.approx(stats.binomtest(2, 11).pvalue)
    assert tests["sign_flips"].p_value == pytest.approx(tests["mcnemar"].p_value)
    two = np.stack([a, a], axis=1)
    assert "mcnemar" not in items.paired_tests(two, two)


def test_bootstrap_of_many_items_is_the_normal_interval() -> None:
    """Dies if clusters are not drawn whole: the interval of 2,000 differences, and of clusters."""
    gaps = GENERATOR.normal(size=2_000)
    interval = items.bootstrap(gaps, np.zeros(2_000), resamples=4_000).interval
    half = 1.96 * gaps.std() / np.sqrt(2_000)
    assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=0.05)
    clusters = np.repeat(np.arange(200), 10)
    alike = np.repeat(gaps[:200], 10)
    of_clusters = items.bootstrap(alike, np.zeros(2_000), clusters=clusters, resamples=4_000)
    half = 1.96 * gaps[:200].std() / np.sqrt(200)
    low, high, *_ = of_clusters.interval
    assert (high - low) / 2 == pytest.approx(half, rel=0.05)


def test_no_drawn_p_value_is_zero() -> None:
    """Dies if the observed exchange is not counted as one: 40 differences of one sign."""
    assert items.sign_flips(np.ones(40), permutations=999).p_value == 1 / 1_000
