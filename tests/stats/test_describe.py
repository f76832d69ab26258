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
