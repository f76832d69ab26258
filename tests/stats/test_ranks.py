"""Brunner-Munzel and signed ranks: against scipy, enumeration, and the level they promise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jaxeval.stats import hypotheses, ranks

DRAW = np.random.default_rng(5)


def _slow(a: np.ndarray, b: np.ndarray) -> float:
    """The statistic by its definition: placements, one score at a time."""

    def placements(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([np.mean(y < v) + np.mean(y == v) / 2 for v in x])

    of_a, of_b = placements(a, b), placements(b, a)
    gap = of_a.mean() - 0.5
    variance = of_a.var(ddof=1) / len(a) + of_b.var(ddof=1) / len(b)
    return float(np.sign(gap) * math.inf if gap and not variance else gap / (variance**0.5 or 1))


small = st.lists(st.integers(0, 6), min_size=2, max_size=4)


@settings(max_examples=40, deadline=None)
@given(small, small)
def test_brunner_munzel_equals_enumeration(a: list[int], b: list[int]) -> None:
    """Dies if ties, separation or the two sides are wrong: all labellings, one at a time."""
    result = hypotheses.brunner_munzel(a, b)
    observed = _slow(np.array(a), np.array(b))
    assert result.statistic == pytest.approx(observed)
    pooled = np.array(a + b)
    chosen = itertools.combinations(range(len(pooled)), len(a))
    extreme = [abs(_slow(pooled[list(c)], np.delete(pooled, c))) for c in chosen]
    expected = np.mean([value >= abs(observed) - 1e-9 for value in extreme])
    assert result.p_value == pytest.approx(expected)
    assert result.direction == np.sign(round(observed, 12))  # else -2e-16 of rounding has a sign


@pytest.mark.parametrize(("n", "m"), [(30, 35), (60, 31), (200, 300)])
def test_large_samples_are_scipys(n: int, m: int) -> None:
    """Dies if the variance or the degrees of freedom of the t approximation are wrong."""
    a, b = np.round(DRAW.normal(0.2, 2, n), 1), np.round(DRAW.normal(0, 1, m), 1)  # with ties
    result, reference = hypotheses.brunner_munzel(a, b), scipy_stats.brunnermunzel(b, a)
    assert result.statistic == pytest.approx(reference.statistic)
    assert result.p_value == pytest.approx(reference.pvalue)
    assert result.method == "t approximation"


@pytest.mark.parametrize(("n", "m"), [(5, 5), (7, 40), (40, 60)])
def test_complete_separation_has_its_exact_p(n: int, m: int) -> None:
    """Dies if a variance of 0 gives NaN, p = 0 or p = 1."""
    low, high = np.arange(n), np.arange(m) + 100
    for result, direction in (
        (hypotheses.brunner_munzel(low, high), -1),
        (hypotheses.brunner_munzel(high, low), 1),
    ):
        assert result.p_value == pytest.approx(2 / math.comb(n + m, n))
        assert (result.direction, result.statistic) == (direction, direction * math.inf)
    assert ranks.separation_p(n, m) == pytest.approx(2 / math.comb(n + m, n))


@pytest.mark.parametrize(("n", "m", "sd"), [(5, 5, 1), (8, 8, 4), (10, 40, 4), (40, 10, 4)])
def test_level_holds_at_unequal_spread(n: int, m: int, sd: float) -> None:
    """Dies if Mann-Whitney (.15 at 10 and 40), or t at small n (.08 at 5 and 5), decides."""
    draw = np.random.default_rng(6)
    scores = np.concatenate([draw.normal(0, sd, (4000, n)), draw.normal(0, 1, (4000, m))], axis=1)
    labels = np.argsort(scores, axis=1) < n
    p_values, _ = ranks.p_values(ranks.studentized(labels), n, m)
    assert np.mean(p_values <= 0.05) < 0.072
    p_value = hypotheses.brunner_munzel(scores[0, :n], scores[0, n:]).p_value
    assert p_value == pytest.approx(p_values[0], abs=1e-4)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 8), (8, 3), (20, 31)])
def test_scores_without_ties_have_a_shorter_way(n: int, m: int) -> None:
    """Dies if the places of one sample are counted as the other's, or a bit is lost."""
    labels = np.argsort(np.random.default_rng(7).normal(size=(500, n + m)), axis=1) < n
    places = np.arange(n + m)
    general = ranks.studentized(labels, ranks._Ties(places, places + 1))
    for short, long in zip(ranks.studentized(labels), general, strict=True):
        np.testing.assert_array_equal(short, long)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9))
def test_signed_ranks_with_ties_and_zeros_equal_enumeration(gaps: list[int]) -> None:
    """Dies if ties or zeros fall back on the normal curve: all signs of Pratt's ranks."""
    result = hypotheses.wilcoxon_signed_rank(gaps, [0] * len(gaps))
    placed = scipy_stats.rankdata(np.abs(gaps))[np.array(gaps) != 0]
    total = placed.sum()
    signs = itertools.product((0, 1), repeat=len(placed))
    sums = np.array([np.sum(placed * np.array(s)) for s in signs])
    positive = float(np.sum(placed[np.array([g for g in gaps if g]) > 0])) if len(placed) else 0.0
    least = min(positive, total - positive)
    assert result.statistic == pytest.approx(least)
    assert result.p_value == pytest.approx(min(1.0, 2 * np.mean(sums <= least + 1e-9)))
    assert result.direction == np.sign(positive - (total - positive))
