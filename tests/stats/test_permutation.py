"""Tests that exchange labels: against enumeration, with ties of decimals, and seeded."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxeval.errors import DataError
from jaxeval.runs import metrics
from jaxeval.stats import HypothesisTest, hypotheses, single_models
from tests.stats.labellings import labellings

GENERATOR = np.random.default_rng(3)
A, B = GENERATOR.normal(0.3, 1, 7), GENERATOR.normal(0, 2, 9)


def test_paired_permutation_swaps_within_pairs() -> None:
    """Dies if pairs are broken: 2^6 sign changes."""
    a, b = A[:6], B[:6]
    signs = np.array(list(itertools.product((1, -1), repeat=6)))
    gaps = (signs * (a - b)).mean(axis=1)
    sides = np.mean(gaps >= gaps[0] - 1e-12), np.mean(gaps <= gaps[0] + 1e-12)
    result = hypotheses.permutation_test(a, b, paired=True)
    assert result.p_value == pytest.approx(min(1.0, 2 * min(sides)))
    assert result.n == (6,)


def _exact_p(gaps: list[Fraction]) -> float:
    """Twice the smaller side of the labellings' differences, the first of which was observed."""
    sides = sum(gap >= gaps[0] for gap in gaps), sum(gap <= gaps[0] for gap in gaps)
    return min(1.0, 2 * min(sides) / len(gaps))


thousandths = st.lists(st.integers(890, 899), min_size=2, max_size=6)


@settings(max_examples=40, deadline=None)
@example([900, 906, 901, 903, 904], [900, 897, 900, 901, 898])  # of rounded sums .016, not .056
@given(thousandths, thousandths)
def test_permutations_of_decimals_keep_their_ties(a: list[int], b: list[int]) -> None:
    """Dies if labellings of one mean differ by rounding: against whole numbers."""
    x, y = np.array(a) / 1000, np.array(b) / 1000
    every = labellings(np.array(a), np.array(b))
    p = _exact_p([_mean(u) - _mean(v) for u, v in every])
    for first, second in ((x, y), (y, x)):
        result = hypotheses.permutation_test(first, second)
        assert (result.p_value, result.method) == (pytest.approx(p, abs=1e-12), "exact")


def _mean(values: np.ndarray) -> Fraction:
    return Fraction(int(values.sum()), len(values))


def test_random_permutations_are_seeded_and_never_zero() -> None:
    """Dies if p can be 0, two runs of one seed differ, or exchanged models have another p."""
    a, b = np.arange(30.0), np.arange(30.0) + 1000
    result = hypotheses.permutation_test(a, b, resamples=999, seed=4)
    assert result == hypotheses.permutation_test(a, b, resamples=999, seed=4)
    other = hypotheses.permutation_test(b[::2], a, resamples=999, seed=4)
    same = hypotheses.permutation_test(a, b[::2], resamples=999, seed=4)
    assert (same.p_value, same.statistic) == (other.p_value, -other.statistic)
    assert result.p_value >= 1 / 1000
    assert "seed 4" in result.method


def _counts(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    gold = generator.poisson(1.5, n)
    runs = []
    for _ in range(2):
        predicted = generator.poisson(1.5, n)
        hits = generator.binomial(np.minimum(gold, predicted), 0.7)
        runs.append(np.stack([hits, predicted, gold], axis=1))
    return runs[0], runs[1]


def test_mcnemar_by_hand() -> None:
    """Dies if answers both get right count: 1 against 4 gives 2 * (1 + 5) / 32."""
    a = [1, 1, 1, 0, 1, 1, 1, 0]
    b = [1, 1, 0, 1, 0, 0, 0, 0]
    test = hypotheses.mcnemar(a, b)
    assert (test.statistic, test.p_value) == (3.0, pytest.approx(12 / 32))
    assert hypotheses.mcnemar([1, 0], [1, 0]).p_value == 1.0
    sign = hypotheses.sign_test([1.0, 2.5, 3.0, 4.0, 5.0, 9.0], [1.5, 2.2, 1.0, 4.0, 3.5, 5.0])
    assert (sign.statistic, sign.p_value) == (4.0, pytest.approx(2 * 6 / 32))  # one tie
    with pytest.raises(DataError, match="1 for right"):
        hypotheses.mcnemar([0.5, 1], [0, 1])


PERPLEXITIES = np.array([20.3, 21.2, 19.8, 20.6, 20.9, 19.6, 20.1, 20.5, 21.1, 20.2])
ABOVE = np.array([0.1, 0.2, 0.3, 0.15, 0.1, 0.25, 0.3, 0.2, 0.1, 0.4])
FAR = [1e12, 1e15, 1e304]


def _scores(far: float, both: bool) -> tuple[np.ndarray, np.ndarray]:
    """B is higher in every pair; one of its scores diverged, or one of each model."""
    a, b = PERPLEXITIES.copy(), PERPLEXITIES + ABOVE
    b[3] = far
    if both:
        a[3] = far
    return a, b


def _tests(a: np.ndarray, b: np.ndarray) -> dict[str, HypothesisTest]:
    tests = {
        "wilcoxon": hypotheses.wilcoxon_signed_rank(a, b),
        "sign": hypotheses.sign_test(a, b),
        "pitman_morgan": hypotheses.pitman_morgan(a, b),
    }
    for paired in (True, False):
        tests[f"mean, {paired}"] = hypotheses.permutation_test(a, b, paired=paired, resamples=1999)
    return tests


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("sense", [1, -1])
def test_how_far_a_diverged_score_lies_changes_nothing(far: float, both: bool, sense: int) -> None:
    """Dies if digits are counted from the largest score: p was 1, and no direction known."""
    near, a_b = _scores(1e5, both), _scores(far, both)
    least = 2 / 2 ** (9 if both else 10)
    for order in (1, -1):
        here = _tests(*(sense * v for v in near[::order]))
        there = _tests(*(sense * v for v in a_b[::order]))
        for name in ("wilcoxon", "sign", "mean, True"):
            assert there[name].p_value == pytest.approx(least)
        for name, test in there.items():
            assert test.p_value == pytest.approx(here[name].p_value, rel=0.02), name
            assert test.direction == here[name].direction, name
            if name != "pitman_morgan":
                assert test.direction == -sense * order, name


def test_kinds_and_bits_draw_from_one_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if grouping equal examples changes the distribution."""
    a, b = _counts(2, 400)
    grouped = single_models._approximate_randomization(a, b, metrics.f1, 50_000)
    monkeypatch.setattr(single_models, "_AS_BITS", 10**9)
    single = single_models._approximate_randomization(a, b, metrics.f1, 50_000)
    assert grouped.p_value == pytest.approx(single.p_value, abs=0.015)
    assert grouped.p_value != single.p_value  # other random numbers were drawn
