"""Crossed splits and seeds: against a published analysis, likelihood, hand and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxeval.stats import crossed
from jaxeval.stats.crossed import Combination, Variance

# diameters (mm) of 24 plates x 6 samples of penicillin: Davies & Goldsmith (1972), section 6.6
PENICILLIN = """
27 23 26 23 23 21  27 23 26 23 23 21  25 21 25 24 24 20  26 23 25 23 23 20  25 22 26 22 23 20
24 22 25 23 22 19  24 20 23 21 22 19  26 22 26 24 24 21  24 21 24 22 22 20  24 21 24 23 22 19
26 23 26 24 24 21  25 22 26 24 24 20  26 24 26 24 25 22  26 23 26 23 23 20  26 23 25 24 24 22
25 22 25 23 23 20  25 21 24 23 23 20  25 22 24 23 23 19  24 21 23 21 21 19  26 23 26 24 24 21
25 21 24 22 22 18  25 22 25 22 22 20  24 21 24 22 24 19  24 21 24 22 21 18
"""


def _tables(
    count: int, shape: tuple[int, int, int], variances: tuple[float, ...], seed: int = 0
) -> np.ndarray:
    """[count, S, R, n] of known variances: split, seed, interaction, error."""
    draw, (splits, seeds, _) = np.random.default_rng(seed), shape
    shapes = ((splits, 1, 1), (1, seeds, 1), (splits, seeds, 1), shape)
    effects = (
        math.sqrt(variance) * draw.normal(size=(count, *size))
        for variance, size in zip(variances, shapes, strict=True)
    )
    total: np.ndarray = sum(effects, np.zeros((count, *shape)))
    return total


def test_a_published_analysis() -> None:
    """Dies if an estimate is not that of lme4, as printed for its `Penicillin` data.

    REML of a balanced table is the method of moments; the standard error is that of the intercept.
    """
    table = np.array(PENICILLIN.split(), float).reshape(24, 6)
    study = crossed.components(table)
    sds = [round(part.sd, 4) for part in study.components.values()]
    assert sds == [0.8467, 1.9316, 0.5499]
    assert (round(study.mean, 2), round(study.mean_se, 4)) == (22.97, 0.8086)


def test_limits_where_they_are_exact() -> None:
    """Dies if a constant of Ting et al. or Graybill & Wang is another.

    One mean square: chi-squared. A second that is 0: the same. A limit of a difference is 0 where
    the ratio is that of an F test. Many degrees of freedom of all but one: chi-squared, shifted.
    """
    a, none = Variance(np.array(3.0), 5), Variance(np.array(0.0), 7)
    chi = [5 * 3.0 / stats.chi2.ppf(p, 5) for p in (0.975, 0.025)]
    alone = Combination(((1.0, a),)).limits(0.95)
    np.testing.assert_allclose(alone, chi)
    np.testing.assert_allclose(Combination(((1.0, a),), (1.0, none)).limits(0.95), chi)
    for end, p in ((0, 0.975), (1, 0.025)):
        ratio = stats.f.ppf(p, 5, 7)
        for factor, above in ((1.0, False), (1.001, True)):
            other = (1.0, Variance(np.array(3 / (factor * ratio)), 7))
            limit = Combination(((1.0, a),), other).limits(0.95)[end]
            assert limit == pytest.approx(0, abs=0.05) and bool(limit > 1e-5) is above
    known = (0.5, Variance(np.array(2.0), 10**9))
    both = Combination(((1.0, a), known)).limits(0.95)
    np.testing.assert_allclose(both, np.add(chi, 1.0), rtol=1e-3)


@pytest.mark.parametrize("shape", [(3, 3, 1), (6, 6, 1), (10, 4, 1), (5, 5, 3), (1, 8, 4)])
@pytest.mark.parametrize(
    "variances", [(1, 1, 1, 0.5), (4, 0.5, 1, 0.3), (0.2, 0.2, 1, 0.1)], ids=str
)
def test_intervals_cover(shape: tuple[int, int, int], variances: tuple[float, ...]) -> None:
    """Dies if an interval leaves out the truth more often than it says (95 %, 4,000 tables).

    The standard error is .0035; what is approximate may miss by 2 points.
    """
    if shape[0] == 1:  # runs repeated with each seed
        variances = (0, variances[1], 0, variances[3])
    squares = crossed._MeanSquares.from_tables(_tables(4000, shape, variances))
    names = ("split", "seed", "interaction", "error")
    truth = dict(zip(names, variances, strict=True))
    if shape[2] == 1:
        truth["interaction"] += truth.pop("error")
    truth["any run"] = sum(variances)
    for name, part in squares.components.items():
        low, high = part.limits(0.95)
        covered = np.mean((low <= truth[name]) & (truth[name] <= high))
        assert 0.93 < covered < 0.985, (name, covered)


@pytest.mark.parametrize("repeats", [1, 2])
def test_equal_scores_have_no_spread(repeats: int) -> None:
    """Dies if rounding makes a component, 0 / 0 a NaN, or equal scores an interval."""
    study = crossed.components(np.full((3, 3, repeats), 0.7))
    assert study.total.sd == study.mean_se == 0 and study.mean == 0.7
    assert {part.share for part in study.components.values()} == {None}
    parts = [*study.components.values(), study.total]
    for interval in (study.mean_interval, *(part.sd_interval for part in parts)):
        assert interval.absent == "the scores do not vary" and math.isnan(interval.low)
