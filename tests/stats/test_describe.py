"""Summaries of scores, against numpy, scipy and enumeration."""

import numpy as np
import pytest
from scipy import stats

from jaxeval.stats import describe


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


def test_interval_of_the_sd() -> None:
    """Dies if the ends are swapped, or n is taken for its degrees of freedom."""
    scores = [1.0, 2.0, 3.0, 4.0, 10.0]
    interval = describe.sd_interval(scores, confidence=0.9)
    for end, p in ((interval.low, 0.95), (interval.high, 0.05)):
        assert stats.chi2.cdf(4 * 12.5 / end**2, 4) == pytest.approx(p)
    assert describe.sd_interval([1.0]).absent and describe.sd_interval([1.0, 1.0]).absent
