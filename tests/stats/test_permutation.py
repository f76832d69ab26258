"""The permutation test: against enumeration, with ties of decimals, and seeded."""

import itertools
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jaxeval import stats
from tests.stats.labellings import labellings

GENERATOR = np.random.default_rng(3)
A, B = GENERATOR.normal(0.3, 1, 7), GENERATOR.normal(0, 2, 9)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_exact_permutation_equals_enumeration(statistic: str) -> None:
    """Dies if the exact p is not the share of all labellings at least as extreme, doubled."""
    locate = np.mean if statistic == "mean" else np.median
    a, b = A[:5], B[:6]
    observed = locate(a) - locate(b)
    gaps = np.array([locate(x) - locate(y) for x, y in labellings(a, b)])
    sides = np.mean(gaps >= observed - 1e-12), np.mean(gaps <= observed + 1e-12)
    result = stats.permutation_test(a, b, statistic=statistic)  # type: ignore[arg-type]
    assert result.p_value == pytest.approx(min(1.0, 2 * min(sides)))
    assert result.method == "exact"


def test_paired_permutation_swaps_within_pairs() -> None:
    """Dies if pairs are broken: 2^6 sign changes."""
    a, b = A[:6], B[:6]
    signs = np.array(list(itertools.product((1, -1), repeat=6)))
    gaps = (signs * (a - b)).mean(axis=1)
    sides = np.mean(gaps >= gaps[0] - 1e-12), np.mean(gaps <= gaps[0] + 1e-12)
    result = stats.permutation_test(a, b, paired=True)
    assert result.p_value == pytest.approx(min(1.0, 2 * min(sides)))
    assert result.n == (6,)


def _exact_p(gaps: list[Fraction]) -> float:
    """Twice the smaller side of the labellings' differences, the first of which was observed."""
    sides = sum(gap >= gaps[0] for gap in gaps), sum(gap <= gaps[0] for gap in gaps)
    return min(1.0, 2 * min(sides) / len(gaps))


thousandths = st.lists(st.integers(890, 899), min_size=2, max_size=6)


@settings(deadline=None)
@example([900, 906, 901, 903, 904], [900, 897, 900, 901, 898])  # of rounded sums .016, not .056
@given(thousandths, thousandths)
def test_permutations_of_decimals_keep_their_ties(a: list[int], b: list[int]) -> None:
    """Dies if labellings of one mean, or median, differ by rounding: against whole numbers."""
    x, y = np.array(a) / 1000, np.array(b) / 1000
    for statistic, locate in (("mean", _mean), ("median", statistics.median)):
        every = labellings(np.array(a), np.array(b))
        p = _exact_p([locate(_of(u)) - locate(_of(v)) for u, v in every])
        for first, second in ((x, y), (y, x)):
            result = stats.permutation_test(first, second, statistic=statistic)  # type: ignore[arg-type]
            assert (result.p_value, result.method) == (pytest.approx(p, abs=1e-12), "exact")


def _of(values: np.ndarray) -> list[Fraction]:
    return [Fraction(int(value)) for value in values]


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def test_random_permutations_are_seeded_and_never_zero() -> None:
    """Dies if p can be 0, two runs of one seed differ, or exchanged models have another p."""
    a, b = np.arange(30.0), np.arange(30.0) + 1000
    result = stats.permutation_test(a, b, resamples=999, seed=4)
    assert result == stats.permutation_test(a, b, resamples=999, seed=4)
    other = stats.permutation_test(b[::2], a, resamples=999, seed=4)
    same = stats.permutation_test(a, b[::2], resamples=999, seed=4)
    assert (same.p_value, same.statistic) == (other.p_value, -other.statistic)
    assert result.p_value >= 1 / 1000
    assert "seed 4" in result.method
