"""Which ratios of sds the tests of spread see: against simulations with scipy's own tests."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from jaxeval.stats import spread_power

LEVEL = 0.025


@pytest.mark.parametrize(("n", "m"), [(10, 10), (10, 40), (60, 60), (120, 150)])
def test_brown_forsythe_sees_the_ratio_as_often_as_was_asked(n: int, m: int) -> None:
    """Dies if the ratio is seen by another test, at another level, or of one direction only."""
    ratio = spread_power.of_samples(n, m, LEVEL, 0.8)
    assert ratio == spread_power.of_samples(m, n, LEVEL, 0.8)
    draw, shares = np.random.default_rng(1), []
    for wide, other in ((ratio, 1.0), (1.0, ratio)):
        x, y = wide * draw.normal(size=(4000, n)), other * draw.normal(size=(4000, m))
        away = (np.abs(v - np.median(v, axis=1, keepdims=True)) for v in (x, y))
        shares.append(np.mean(scipy_stats.f_oneway(*away, axis=1).pvalue <= LEVEL))
    assert min(shares) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(("n", "correlation"), [(8, 0.9), (20, 0.0), (20, 0.9), (120, 0.5)])
def test_pairs_see_the_ratio_as_often_as_was_asked(n: int, correlation: float) -> None:
    """Dies if what pairs share is left out, or the ratio is not solved from the correlation."""
    ratio = spread_power.of_pairs(n, correlation, LEVEL, 0.8)
    covariance = [[ratio**2, ratio * correlation], [ratio * correlation, 1.0]]
    scores = np.random.default_rng(2).multivariate_normal([0, 0], covariance, (1000, n))
    seen = 0
    for x, y in scores.transpose(0, 2, 1):
        seen += scipy_stats.spearmanr(x + y, x - y).pvalue <= LEVEL
    assert seen / 1000 == pytest.approx(0.8, abs=0.05)


def test_few_scores_see_no_ratio() -> None:
    """Dies if five scores each, or five pairs at a level below 2 / 5!, promise to see one."""
    assert math.isinf(spread_power.of_samples(5, 5, LEVEL, 0.8))
    x, y = np.random.default_rng(3).normal(size=(2, 4000, 5)) * [[[1e4]], [[1.0]]]
    away = (np.abs(v - np.median(v, axis=1, keepdims=True)) for v in (x, y))
    assert np.mean(scipy_stats.f_oneway(*away, axis=1).pvalue <= LEVEL) < 0.6
    assert math.isinf(spread_power.of_pairs(5, 0.9, 0.016, 0.8))
    assert 1 < spread_power.of_pairs(5, 0.9, 0.017, 0.8) < 30
