"""The probability of being best: adaptive quadrature, points and ties, borrowed spread."""

import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

from jaxeval.bandits import posterior
from jaxeval.bandits.posterior import probability_of_best
from jaxeval.errors import DataError


@pytest.mark.parametrize("seed", range(3))
def test_documented_digits_hold(seed: int) -> None:
    """Against adaptive quadrature; dies if degrees of freedom or scale are others, or panels miss
    a narrow posterior or a Cauchy tail (three scores), or grow beyond what their nodes resolve."""
    draw = np.random.default_rng(seed)
    m, v, t = draw.normal(size=4), 10 ** draw.uniform(-5, 1, 4), draw.integers(3, 60, 4)
    t = t if seed else np.full(4, 3)
    scale, nu = np.sqrt(v / (t - 2)), t - 2

    def integrand(u: float, i: int) -> float:
        x = m[i] + scale[i] * special.stdtrit(nu[i], u)
        others = np.arange(4) != i
        return float(np.prod(special.stdtr(nu, (x - m) / scale)[others]))

    for i, probability in enumerate(probability_of_best(m, v, t)):
        reached = scale[:, None] * np.array([-9, -3, -1, 0, 1, 3, 9]) + m[:, None]
        breaks = special.stdtr(nu[i], (reached.ravel() - m[i]) / scale[i])
        inside = np.unique([0.0, *breaks[(breaks > 1e-12) & (breaks < 1 - 1e-12)], 1.0])
        parts = [
            integrate.quad(integrand, low, high, args=(i,), epsabs=1e-11, limit=200)[0]
            for low, high in itertools.pairwise(inside)
        ]
        assert probability == pytest.approx(sum(parts), abs=1e-7)


def test_constant_scores_are_points_and_ties_are_shared() -> None:
    """Dies if a variance of 0 divides by zero or the first of equal models wins."""
    three = np.full(3, 3)
    flat = np.zeros(3)
    np.testing.assert_allclose(probability_of_best(np.full(3, 0.5), flat, three), 1 / 3, atol=1e-5)
    probabilities = probability_of_best(np.array([0.5, 0.9, 0.5]), flat, three)
    np.testing.assert_allclose(probabilities, [0, 1, 0], atol=1e-5)
    mixed = probability_of_best(np.array([0.5, 0.6]), np.array([0.0, 0.01]), np.array([3, 4]))
    expected = stats.t.cdf(0.5, 2, 0.6, np.sqrt(0.01 / 2))
    assert mixed[0] == pytest.approx(expected, abs=1e-5)


def test_too_few_scores_and_bad_numbers_are_refused() -> None:
    """Dies if two scores a model give a posterior with no degree of freedom."""
    with pytest.raises(DataError, match="at least 3 scores of every model"):
        probability_of_best(np.zeros(2), np.ones(2), np.array([3, 2]))
    with pytest.raises(DataError, match="finite means"):
        probability_of_best(np.array([np.nan, 0]), np.ones(2), np.full(2, 5))


def test_a_mean_is_exact_of_equal_scores() -> None:
    """Dies if it is a sum over n; a sum of 10 copies of .7, over 10, is another than of 11."""
    copies = [np.full(n, 0.7) for n in range(1, 60)]
    assert len({float(of.mean()) for of in copies}) > 1
    assert {posterior.mean(of) for of in copies} == {0.7}


def test_equal_scores_borrow_the_spread_of_the_others() -> None:
    """Dies if noisy models on few items, whose first scores are equal by chance, are constants, or
    the borrowed spread is not the pooled one, over their own number of scores."""
    b, c, many = np.array([0.7, 0.8, 0.9, 0.7]), np.array([0.2, 0.4, 0.1]), (0.9,) * 10
    rows = [(0.9,) * 3, b, c]
    counts, means, variances = (np.array([f(row) for row in rows]) for f in (len, np.mean, np.var))
    moments = posterior.Moments(counts, means, variances)
    assert not moments.has_spread[0] and moments.judged.all()
    believed = moments.with_borrowed_spread()
    pooled = (3 * b.var(ddof=1) + 2 * c.var(ddof=1)) / 5
    nu = believed.counts[0] - 2  # FIESTA's: T - 2
    assert nu == 5 + 1 - 2 and believed.variances[0] / nu == pytest.approx(pooled / 3)
    constant = moments._replace(counts=np.array([len(many), 4, 3]))
    assert constant.has_spread.all() and constant.with_borrowed_spread() is constant
