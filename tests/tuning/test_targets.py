"""Scores of any size, and how well each is known."""

import numpy as np
import pytest
from scipy import stats

from jaxeval.tuning import targets


def test_half_rank_against_the_formula() -> None:
    """Dies if ranks are off by one, or the scale is not the good half's (OSS Vizier)."""
    values = np.array([5.0, -1e7, 3.0, 1.0, 4.0, -2.0, 3.0])
    warped = targets._half_rank(values, np.ones(7))
    good = values >= 3.0
    np.testing.assert_array_equal(warped[good], values[good])
    scale = np.sqrt((2**2 + 0 + 1**2 + 0) / 4)
    quantiles = stats.norm.ppf(0.5 * (np.array([1, 2, 3]) - 0.5) / 3.5)
    np.testing.assert_allclose(warped[[1, 5, 3]], 3.0 + scale * quantiles)
    assert (np.argsort(warped, kind="stable") == np.argsort(values, kind="stable")).all()


def test_weights_move_the_middle() -> None:
    """Dies if the median, or what is standardised by, is that of equal weights."""
    scores = [(1.0,), (2.0,), (4.0,), (7.0,), (20.0,), (90.0,)]
    weights = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 3.0])
    assert targets._median(np.array(scores)[:, 0], weights) == pytest.approx(7.0)
    assert targets._median(np.array(scores)[:, 0], np.ones(6)) == pytest.approx(5.5)
    of = targets.targets(scores, False, weights)
    np.testing.assert_array_equal(of.bad, [False] * 4 + [True] * 2)
    assert np.average(of.values, weights=weights) == pytest.approx(0, abs=1e-12)
    assert np.average(of.values**2, weights=weights) == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("higher", [True, False])
def test_unit_and_centre_give_good_scores_back(scale: float, higher: bool) -> None:
    """Dies if squares overflow, or the sign of scores where less is better is lost."""
    scores = [(v * scale,) for v in (3.0, 1.0, 2.0, 7.0, -4.0)]
    of = targets.targets(scores, higher)
    back = of.centre + of.unit * of.values
    good = [0, 2, 3] if higher else [4, 1, 2]
    raw = np.array([s[0] for s in scores])
    np.testing.assert_allclose(back[good], raw[good], rtol=1e-9)


def test_variances_of_means() -> None:
    """Dies if v / n is not divided by the seeds, or is not in the unit of the targets."""
    random = np.random.default_rng(0)
    means = np.linspace(0, 1, 40)
    scores = [tuple(m + 0.1 * random.normal(size=k % 5 + 2)) for k, m in enumerate(means)]
    of = targets.targets(scores, True)
    counts = np.array([len(s) for s in scores])
    good = of.values > np.median(of.values)
    ratio = of.variances[good] * counts[good] * of.unit**2 / 0.1**2
    assert 0.7 < np.median(ratio) < 1.3 and ratio.max() < 4
    assert of.seed * of.unit**2 == pytest.approx(0.01, rel=0.4)
    assert (of.shares == 1).all()


@pytest.mark.parametrize("scale", [1.0, 1e-170, 1e160])
@pytest.mark.parametrize("higher", [True, False])
def test_values_in_the_metric_are_the_scores(higher: bool, scale: float) -> None:
    """Dies if a bad score does not come back, or the line between two of them is another one."""
    known = [(60.0,), (61.0, 62.0), (63.0,), (70.0,), (90.0,), (400.0,), (1e7,)]
    scores = [tuple(scale * score for score in setting) for setting in known]
    of = targets.targets(scores, higher)
    means = [np.mean(values) for values in scores]
    np.testing.assert_allclose(of.in_metric(of.values), means, rtol=1e-12)
    order = np.argsort(of.values)
    values, ascending = of.values[order], np.array(means)[order]
    between = of.in_metric((values[1:] + values[:-1]) / 2)
    np.testing.assert_allclose(between, (ascending[1:] + ascending[:-1]) / 2, rtol=1e-10)
    worst, best = of.in_metric(np.array([values[0] - 1, values[-1] + 1]))
    beyond = pytest.approx(ascending[-1] + of.unit, rel=1e-10, abs=0)
    assert worst == ascending[0] and best == beyond
    many = of.in_metric(np.linspace(values[0], values[-1], 500))
    assert (np.diff(many) * (1 if higher else -1) >= 0).all()


@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("margin", [0.0, 0.5, 3.0, 40.0])
def test_lowered_is_worse_by_the_margin(higher: bool, margin: float) -> None:
    """Dies if the margin is of targets and not of the metric, or its sign is lost."""
    raw = [(60.0,), (61.0, 62.0), (63.0,), (70.0,), (90.0,), (400.0,), (1e7,)]
    of = targets.targets(raw, higher)
    values = np.linspace(of.values.min() + 0.01, of.values.max() + 1, 200)
    lowered = of.lowered(values, margin)
    sign = 1.0 if higher else -1.0
    expected = sign * of.in_metric(values) - margin
    known = expected > sign * of.scores[of.values.argmin()]
    assert np.isneginf(lowered[~known]).all() and known.any()
    back = sign * of.in_metric(lowered[known])
    np.testing.assert_allclose(back, expected[known], rtol=1e-9)
