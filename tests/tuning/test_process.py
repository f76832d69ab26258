"""The process against dense formulas, finite differences, scikit-learn and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.spatial import distance

from jaxeval import space as spaces
from jaxeval.tuning import insight, process
from jaxeval.tuning.encoding import encoder
from jaxeval.tuning.process import Data, Kernel

SPACE = spaces.from_dict(
    {
        "x": {"uniform": [0.0, 1.0]},
        "n": {"integer": [1, 9]},
        "kind": {"choices": ["a", "b", "c"]},
        "y": {"uniform": [0.0, 1.0], "when": {"kind": ["a", "b"]}},
    }
)
COLUMNS = encoder(SPACE).columns
LINE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}})


def _features(count: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return encoder(SPACE).features(encoder(SPACE).from_quantiles(random.random((count, 4))))


def _data(count: int, seed: int = 0) -> Data:
    random = np.random.default_rng([seed, 1])
    shares = 1.0 / random.integers(1, 4, count)
    return Data(_features(count, seed), random.normal(size=count), random.random(count), shares)


def _kernel(seed: int, warped: bool = True, noise: float = -2.0) -> Kernel:
    random = np.random.default_rng([seed, 2])
    a, b = random.normal(scale=0.5, size=(2, len(COLUMNS.warped) * warped))
    return Kernel(0.4, noise, random.normal(scale=0.7, size=4), a, b)


def _dense(kernel: Kernel, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The kernel entry by entry, from the formula, with the constant mean's variance of 1."""
    lengths = np.exp(kernel.lengths)[[0, 1, 2, 2, 2, 3]]

    def warped(row: np.ndarray) -> np.ndarray:
        row = row.copy()
        for k, column in enumerate([0, 1, 5] if len(kernel.a) else []):
            power = row[column].clip(1e-7, 1 - 1e-7) ** math.exp(kernel.a[k])
            row[column] = 1 - (1 - power) ** math.exp(kernel.b[k])
        return row

    out = np.empty((len(left), len(right)))
    for i, p in enumerate(left):
        for j, q in enumerate(right):
            r = math.sqrt(5) * np.linalg.norm((warped(p) - warped(q)) / lengths)
            out[i, j] = math.exp(kernel.scale) * (1 + r + r**2 / 3) * math.exp(-r) + 1.0
    return out


@pytest.mark.parametrize("warped", [False, True])
def test_posterior_is_the_dense_one(warped: bool) -> None:
    """Dies if a known variance, a share of the noise or the constant mean is left out."""
    data, kernel, points = _data(12), _kernel(5, warped), _features(7, 9)
    model = process.condition(kernel, COLUMNS, data)
    noise = np.diag(data.variances + math.exp(-2.0) * data.shares)
    gain = _dense(kernel, points, data.features) @ np.linalg.inv(
        _dense(kernel, data.features, data.features) + noise
    )
    covariance = _dense(kernel, points, points) - gain @ _dense(kernel, data.features, points)
    prediction = model.predict(points)
    np.testing.assert_allclose(prediction.mean, gain @ data.targets, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(prediction.variance, np.diag(covariance), rtol=1e-6)
    factor = model.joint_factor(prediction)
    np.testing.assert_allclose(factor @ factor.T, covariance, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("warped", [False, True])
def test_marginal_likelihood_and_gradient(warped: bool) -> None:
    """Dies if a term of the likelihood, of the prior or of a derivative is wrong."""
    data, prior = _data(15), process.prior(COLUMNS, warped, known=warped)
    theta = prior.mean + 0.5 * np.random.default_rng(3).normal(size=len(prior.mean))
    kernel = Kernel.from_vector(theta, COLUMNS)
    value, gradient = process.negative_log_posterior(theta, COLUMNS, data, prior)
    covariance = _dense(kernel, data.features, data.features)
    covariance += np.diag(data.variances + math.exp(kernel.noise) * data.shares)
    likelihood = stats.multivariate_normal(np.zeros(15), covariance).logpdf(data.targets)
    normal = -0.5 * np.sum(((theta - prior.mean) / prior.sd) ** 2)
    assert value == pytest.approx(-likelihood - normal, rel=1e-6)
    numeric = optimize.approx_fprime(
        theta, lambda t: process.negative_log_posterior(t, COLUMNS, data, prior)[0], 1e-6
    )
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-3)


def _line(count: int, noise: float) -> Data:
    x = (np.arange(count) + 0.5) / count
    values = np.sin(5 * x) + noise * np.random.default_rng(0).normal(size=count)
    values = (values - values.mean()) / values.std()
    return Data(x[:, None], values, np.zeros(count), np.ones(count))


def _moments_by_grid(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations [3] of log s, log noise and log l, by the rectangle rule."""
    columns = encoder(LINE).columns
    prior = process.prior(columns, warped=False, known=False)
    low = np.maximum(prior.bounds[:, 0], prior.mean - 5 * prior.sd)
    high = np.minimum(prior.bounds[:, 1], prior.mean + 5 * prior.sd)
    axes = [a + (b - a) * (np.arange(30) + 0.5) / 30 for a, b in zip(low, high, strict=True)]
    grid = np.array([*itertools.product(*axes)])
    r = math.sqrt(5) * distance.cdist(data.features, data.features)
    r = r / np.exp(grid[:, 2])[:, None, None]
    correlation = (1 + r + r**2 / 3) * np.exp(-r)
    covariance = np.exp(grid[:, 0])[:, None, None] * correlation + 1.0
    covariance += np.exp(grid[:, 1])[:, None, None] * np.eye(len(r[0]))
    solved = np.linalg.solve(covariance, data.targets[:, None])[..., 0]
    log = -0.5 * (solved @ data.targets + np.linalg.slogdet(covariance)[1])
    log -= 0.5 * np.sum(((grid - prior.mean) / prior.sd) ** 2, axis=1)
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    mean = weights @ grid
    return mean, np.sqrt(weights @ (grid - mean) ** 2)


@pytest.mark.parametrize("noise", [0.05, 0.8])
def test_draws_are_of_the_posterior(noise: float) -> None:
    """Dies if hyperparameters stay at the mode, or the prior or the likelihood is left out; with
    much noise, if the approximation is too narrow for the chain to reach the tails.

    Over a second: 2,050 steps of the chain, fewer do not tell a wrong prior.
    """
    data = _line(9, noise)
    model = process.fit(data, encoder(LINE).columns)
    drawn = insight._draw_models(model, data, 200, [1])
    theta = np.array([np.hstack(of.kernel) for of in drawn])
    mean, sd = _moments_by_grid(data)
    assert np.all(np.abs(theta.mean(axis=0) - mean) < 0.2 * sd)
    assert theta.std(axis=0) == pytest.approx(sd, rel=0.15)
    again = insight._draw_models(model, data, 2, [1])
    np.testing.assert_array_equal(np.hstack(again[1].kernel), np.hstack(drawn[1].kernel))


def test_functions_have_the_posterior_mean_and_covariance() -> None:
    """Dies if data or noise do not move the draws, or frequencies are of another kernel."""
    data = _line(40, 0.7)
    model = process.fit(data, encoder(LINE).columns)
    # beside settings with scores the noise is what is uncertain
    new = np.concatenate([model.data.features[:4], np.random.default_rng(1).random((2, 1))])
    functions = [process.draw_functions(model, 500, [seed]) for seed in range(8)]
    drawn = np.concatenate([function(new) for function in functions], axis=1)
    prediction = model.predict(new)
    factor = model.joint_factor(prediction)
    sd = np.sqrt(np.diagonal(factor @ factor.T))
    assert np.abs(drawn.mean(axis=1) - prediction.mean).max() < 0.1 * sd.max()
    off = np.cov(drawn) - factor @ factor.T
    assert np.all(np.abs(off) < 0.15 * np.outer(sd, sd))
