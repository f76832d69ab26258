"""Draws of hyperparameters, against their posterior integrated on a grid."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial import distance

from jaxeval.space import space as spaces
from jaxeval.tuning import encoding, gaussian_process, hyperparameters
from jaxeval.tuning.gaussian_process import Data

LINE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}})


def _data(count: int, noise: float) -> Data:
    x = (np.arange(count) + 0.5) / count
    values = np.sin(5 * x) + noise * np.random.default_rng(0).normal(size=count)
    values = (values - values.mean()) / values.std()
    return Data(x[:, None], values, np.zeros(count), np.ones(count))


def _moments_by_grid(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations [3] of log s, log noise and log l, by the rectangle rule."""
    columns = encoding.layout(LINE)
    prior = gaussian_process.prior(columns, warped=False, known=False)
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
    data = _data(9, noise)
    model = gaussian_process.fit(data, encoding.layout(LINE))
    drawn = hyperparameters.draw(model, data, 200, [1])
    theta = np.array([gaussian_process.pack(of.kernel, of.noise) for of in drawn])
    mean, sd = _moments_by_grid(data)
    assert np.all(np.abs(theta.mean(axis=0) - mean) < 0.2 * sd)
    assert theta.std(axis=0) == pytest.approx(sd, rel=0.15)
    again = hyperparameters.draw(model, data, 2, [1])
    assert again[1].kernel.lengths == drawn[1].kernel.lengths and again[1].noise == drawn[1].noise


def test_draws_are_conditioned_on_all_data_of_the_model() -> None:
    """Dies if what tells hyperparameters is what the objective is conditioned on."""
    data = _data(20, 0.3)
    model = gaussian_process.fit(data, encoding.layout(LINE))
    half = Data(*(array[::2] for array in data))
    (drawn,) = hyperparameters.draw(model, half, 1, [0])
    assert drawn.data is model.data and len(drawn.weights) == 20
    covariance = gaussian_process.covariance(drawn, data.features, data.features)
    covariance += math.exp(drawn.noise) * np.eye(20)
    np.testing.assert_allclose(covariance @ drawn.weights, data.targets, atol=1e-6)
