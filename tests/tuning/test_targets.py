"""Scores of any size, and how well each is known."""

import numpy as np
import pytest
from scipy import stats

from jaxeval.tuning import encoding


def test_half_rank_against_the_formula() -> None:
    """Dies if ranks are off by one, or the scale is not the good half's (OSS Vizier)."""
    values = np.array([5.0, -1e7, 3.0, 1.0, 4.0, -2.0, 3.0])
    warped = encoding._half_rank(values, np.ones(7))
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
    assert encoding._median(np.array(scores)[:, 0], weights) == pytest.approx(7.0)
    assert encoding._median(np.array(scores)[:, 0], np.ones(6)) == pytest.approx(5.5)
    of = encoding.targets(scores, False, weights)
    assert np.average(of.values, weights=weights) == pytest.approx(0, abs=1e-12)
    assert np.average(of.values**2, weights=weights) == pytest.approx(1)


def _unit(of: encoding.Targets, means: np.ndarray, good: np.ndarray | list[int]) -> float:
    """The score of one target among good ones."""
    low, high = np.array(good)[[0, -1]]
    return float((means[high] - means[low]) / (of.values[high] - of.values[low]))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("higher", [True, False])
def test_good_scores_keep_their_distances(scale: float, higher: bool) -> None:
    """Dies if squares overflow, or the sign of scores where less is better is lost."""
    raw = scale * np.array([3.0, 1.0, 2.0, 7.0, -4.0])
    of = encoding.targets([(score,) for score in raw], higher)
    good = [0, 2, 3] if higher else [4, 1, 2]
    unit = _unit(of, raw, good)
    assert (unit > 0) == higher
    np.testing.assert_allclose(np.diff(of.values[good]) * unit, np.diff(raw[good]), rtol=1e-9)


def test_variances_of_means() -> None:
    """Dies if v / n is not divided by the seeds, is not in the unit of the targets, or if settings
    of the worse half, whose seeds differ by less here, count."""
    random = np.random.default_rng(0)
    means = np.linspace(0, 1, 40)
    sds = np.where(means > 0.5, 0.1, 0.02)
    scores = [
        tuple(m + sd * random.normal(size=k % 5 + 2))
        for k, (m, sd) in enumerate(zip(means, sds, strict=True))
    ]
    of = encoding.targets(scores, True)
    counts = np.array([len(s) for s in scores])
    good = of.values > np.median(of.values)
    raw = np.array([np.mean(of_one) for of_one in scores])
    unit = _unit(of, raw, np.flatnonzero(good))
    ratio = of.variances[good] * counts[good] * unit**2 / 0.1**2
    assert 0.7 < np.median(ratio) < 1.3 and ratio.max() < 4
    assert of.seed * unit**2 == pytest.approx(0.01, rel=0.4)
    assert (of.shares == 1).all()
