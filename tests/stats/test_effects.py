"""Effect sizes, equivalence and stochastic order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxeval.stats import describe, hypotheses

values = st.lists(st.integers(-5, 5), min_size=5, max_size=8)


@given(values, values)
def test_probability_of_improvement_counts_all_pairs(a: list[int], b: list[int]) -> None:
    """Dies if a tie is not half a win; and A against B mirrors B against A."""
    wins = np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b])
    probability, mirrored = (
        describe.probability_of_improvement(a, b),
        describe.probability_of_improvement(b, a),
    )
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
