"""Summaries of scores, against numpy, scipy and enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxeval.stats import describe

scores = st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=12)


def test_summary_by_hand() -> None:
    """Dies if a quartile rule or the denominator of the sd changes."""
    summary = describe.summarize([1.0, 2.0, 3.0, 4.0, 10.0])
    assert (summary.n, summary.min, summary.q1, summary.median) == (5, 1.0, 2.0, 3.0)
    assert (summary.q3, summary.max, summary.mean) == (4.0, 10.0, 4.0)
    assert summary.sd == pytest.approx(12.5**0.5)


@pytest.mark.parametrize("n", [5, 8, 30])
def test_interval_of_the_mean_covers_as_promised(n: int) -> None:
    """Dies if five scores get the bootstrap's interval (covers .84), or the normal's (.88)."""
    drawn = np.random.default_rng(1).normal(size=(1000, n))
    hits = 0
    for values in drawn:
        interval = describe.summarize(values).mean_interval
        assert interval is not None
        hits += interval.low <= 0.0 <= interval.high
    assert 929 <= hits <= 971  # .95 +- 3 standard errors


def test_expected_maximum_golden() -> None:
    """Dies if either formula changes (values of the reference implementation and by hand)."""
    scores = (0.1, 0.3, 0.5, 0.7, 0.9)
    np.testing.assert_allclose(
        describe.expected_validation_performance(scores), [0.5, 0.7, 0.8, 0.86, 0.9]
    )
    np.testing.assert_allclose(
        describe.expected_validation_performance(scores, replacement=True),
        [0.5, 0.66, 0.74, 0.78672, 0.8168],
    )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.booleans())
def test_expected_best_equals_enumeration(values: list[int], higher: bool) -> None:
    """Dies if ties or lower-is-better are wrong: all subsets of every size."""
    best = max if higher else min
    expected = [
        np.mean([best(chosen) for chosen in itertools.combinations(values, n)])
        for n in range(1, len(values) + 1)
    ]
    expected_best = describe.expected_validation_performance(values, higher_is_better=higher)
    np.testing.assert_allclose(expected_best, expected, atol=1e-9)
