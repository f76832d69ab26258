"""Tests of two samples: against independent computations, in edge cases, and under the null."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from jaxeval.stats import describe, hypotheses
from tests.stats.labellings import labellings

GENERATOR = np.random.default_rng(3)
A, B = GENERATOR.normal(0.3, 1, 7), GENERATOR.normal(0, 2, 9)
TWO = {
    "ks": hypotheses._kolmogorov_smirnov,
    "bf": hypotheses.brown_forsythe,
    "mwu": hypotheses._mann_whitney_u,
    "bm": hypotheses.brunner_munzel,
    "welch": hypotheses.welch_t,
    "permutation": lambda a, b: hypotheses.permutation_test(a, b, resamples=199),
}
PAIRED = {
    "wilcoxon": hypotheses.wilcoxon_signed_rank,
    "sign": hypotheses.sign_test,
    "pm": hypotheses.pitman_morgan,
}


def test_rank_tests_equal_enumeration() -> None:
    """Dies if statistic or exact p of KS and Mann-Whitney differ from all 3,432 labellings."""
    a, b = A, B[:7]

    def ks(x: np.ndarray, y: np.ndarray) -> float:
        points = np.concatenate([x, y])
        return float(np.max(np.abs([np.mean(x <= t) - np.mean(y <= t) for t in points])))

    def u(x: np.ndarray, y: np.ndarray) -> float:
        return float(np.sum(x[:, None] > y[None, :]))

    for test, statistic, centre in (
        (hypotheses._kolmogorov_smirnov, ks, 0.0),
        (hypotheses._mann_whitney_u, u, len(a) * len(b) / 2),
    ):
        result, observed = test(a, b), statistic(a, b)
        assert result.statistic == pytest.approx(observed)
        extreme = [
            abs(statistic(x, y) - centre) >= abs(observed - centre) - 1e-9
            for x, y in labellings(a, b)
        ]
        assert result.p_value == pytest.approx(np.mean(extreme), abs=1e-12)
        assert result.method == "exact"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0.90, 0.91, 0.91, 0.92], [0.80, 0.80, 0.81]),  # wholly apart: 2 of 35 labellings
        ([1, 1, 2, 3, 3], [1, 2, 2, 3, 4, 4]),
        ([1, 1, 1], [1, 1, 1, 2, 1, 1, 1, 1]),
        ([5, 5], [5, 5, 5]),
    ],
)
def test_mann_whitney_is_exact_with_ties(a: list[float], b: list[float]) -> None:
    """Dies if p is normal's with ties (below any exact one: .048 instead of .057), or a side is
    doubled: against all labellings."""
    result, pooled = hypotheses._mann_whitney_u(a, b), [*a, *b]

    def gap(chosen: tuple[int, ...]) -> float:
        x = np.array([pooled[k] for k in chosen])
        y = np.array([v for k, v in enumerate(pooled) if k not in chosen])
        won = np.sum(x[:, None] > y) + np.sum(x[:, None] == y) / 2
        return abs(float(won) - len(a) * len(b) / 2)

    every = itertools.combinations(range(len(pooled)), len(a))
    observed = gap(tuple(range(len(a))))
    expected = np.mean([gap(chosen) >= observed - 1e-9 for chosen in every])
    assert result.p_value == pytest.approx(expected, abs=1e-12) and result.method == "exact"
    mirrored = hypotheses._mann_whitney_u(b, a)
    assert mirrored.p_value == result.p_value and mirrored.direction == -result.direction


@pytest.mark.parametrize("tied", [False, True])
def test_pitman_morgan_is_the_rank_correlation_of_sums_and_differences(tied: bool) -> None:
    """Dies if p is not the share of all 720 orders, ties kept, or A's wider spread is B's."""
    a, b = np.array([0.1, 0.9, 0.4, 0.2, 0.7, 0.5]), np.array([0.3, 0.6, 0.5, 0.4, 0.5, 0.4])
    if tied:
        a[1], b[1] = a[4], b[4]
    sums, gaps = (scipy_stats.rankdata(np.round(v, 9)) for v in (a + b, a - b))
    rho = np.corrcoef(sums, gaps)[0, 1]
    every = [abs(np.corrcoef(sums, order)[0, 1]) for order in itertools.permutations(gaps)]
    result, mirrored = hypotheses.pitman_morgan(a, b), hypotheses.pitman_morgan(b, a)
    assert result.statistic == pytest.approx(rho) and a.std() > b.std()
    assert result.p_value == pytest.approx(np.mean(np.array(every) >= abs(rho) - 1e-9))
    assert (result.direction, mirrored.direction) == (1, -1)
    assert mirrored.p_value == result.p_value
    moved = hypotheses.pitman_morgan(a - 5, b + 7)  # where they lie says nothing of their spread
    assert moved.p_value == result.p_value


@pytest.mark.parametrize("name", [*TWO, *PAIRED])
def test_constant_and_equal_scores_say_nothing(name: str) -> None:
    """Dies if equal constant scores give NaN, a warning or a small p."""
    result = (TWO | PAIRED)[name]([0.5] * 4, [0.5] * 4)
    assert result.p_value == 1.0
    assert math.isfinite(result.statistic)


def test_a_t_test_of_scores_without_spread_has_no_p_value() -> None:
    """Dies if six equal scores and six others, of which no error is known, have p = 0."""
    for a, b in (([0.8] * 6, [0.7] * 6), ([0.1] * 6, [0.7] * 6)):
        assert math.isnan(hypotheses.welch_t(a, b).p_value)
    assert hypotheses.welch_t([0.8] * 6, [0.7] * 5 + [0.71]).p_value < 0.05
    rounded = [0.3, 0.1 + 0.2, 0.3]  # equal but for the last bit
    assert rounded[1] != 0.3 and math.isnan(hypotheses.welch_t(rounded, [0.4] * 3).p_value)
    assert hypotheses.welch_t(rounded, [0.3] * 3).p_value == 1.0
    assert describe.difference(rounded, [0.4] * 3).interval.absent == "the scores do not vary"
    assert (
        describe.summarize(rounded).sd == 0 and describe.summarize(rounded).mean_interval is None
    )


values = st.lists(st.integers(-9, 9), min_size=2, max_size=9)


@settings(max_examples=50, deadline=None)
@given(values, values, st.sampled_from([0.5, 2.0, 4.0]), st.integers(-4, 4))
def test_order_scale_and_exchange_change_no_p(
    a: list[int], b: list[int], scale: float, shift: int
) -> None:
    """Dies if a p-value depends on order, unit, or on which model is called A."""
    moved = [[scale * v + shift for v in reversed(group)] for group in (a, b)]
    for name in [*TWO][:-1]:  # the order decides which permutations are drawn
        test = TWO[name]
        result = test(a, b)
        assert test(*moved).p_value == pytest.approx(result.p_value, abs=1e-9, nan_ok=True), name
        assert test(b, a).p_value == pytest.approx(result.p_value, abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("name", ["ks", "bf", "mwu", "bm", "welch", "permutation"])
def test_under_the_null_five_percent_are_rejected_at_most(name: str) -> None:
    """Dies if a test rejects too often: 500 pairs of samples of 8 and 12 (bound: 3 errors)."""
    generator = np.random.default_rng(8)
    rejected = sum(
        TWO[name](generator.normal(size=8), generator.normal(size=12)).p_value <= 0.05
        for _ in range(500)
    )
    assert 3 <= rejected <= 40
