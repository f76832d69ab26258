"""Draws of hyperparameters, against draws of the prior weighted by their likelihood."""

import math

import numpy as np
import pytest
from scipy.spatial import distance

from jaxeval.space import space as spaces
from jaxeval.tuning import additive, encoding, gaussian_process, hyperparameters
from jaxeval.tuning.gaussian_process import Data

LINE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}})


def _data(count: int, noise: float) -> Data:
    x = (np.arange(count) + 0.5) / count
    values = np.sin(5 * x) + noise * np.random.default_rng(0).normal(size=count)
    values = (values - values.mean()) / values.std()
    return Data(x[:, None], values, np.zeros(count), np.ones(count))


def _moments(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations [5] of log noise, log s (two), log l and log j.

    By importance sampling: 120,000 draws of the prior within its bounds, weighted by likelihood.
    """
    prior = additive.prior(1, known=False)
    theta = prior.mean + prior.sd * np.random.default_rng(7).normal(size=(120_000, 5))
    theta = theta[np.all((theta >= prior.bounds[:, 0]) & (theta <= prior.bounds[:, 1]), axis=1)]
    distances = math.sqrt(5) * distance.cdist(data.features, data.features)
    noise, scales = np.exp(theta[:, 0]), np.exp(theta[:, 1:3])
    covariance = 1.0 + noise[:, None, None] * np.eye(len(distances))
    for k in range(2):
        r = distances / np.exp(theta[:, 3 + k])[:, None, None]
        covariance += scales[:, k, None, None] * (1 + r + r**2 / 3) * np.exp(-r)
    solved = np.linalg.solve(covariance, data.targets[:, None])[..., 0]
    log = -0.5 * (solved @ data.targets + np.linalg.slogdet(covariance)[1])
    weights = np.exp(log - log.max())
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 500  # draws' worth: enough of them
    mean = weights @ theta
    return mean, np.sqrt(weights @ (theta - mean) ** 2)


@pytest.mark.parametrize("noise", [0.05, 0.8])
def test_draws_are_of_the_posterior(noise: float) -> None:
    """Dies if hyperparameters stay at the mode, or the prior or the likelihood is left out; with
    much noise, if the approximation is too narrow for the chain to reach the tails.

    Over a second: thousands of steps of the chain, fewer do not tell a wrong prior.
    """
    data = _data(9, noise)
    like = gaussian_process.fit(data, encoding.layout(LINE))
    drawn = hyperparameters.draw(like, data, 300, [1])
    theta = np.array([additive.pack(of.kernel, of.noise) for of in drawn])
    mean, sd = _moments(data)
    assert np.all(np.abs(theta.mean(axis=0) - mean) < 0.2 * sd)
    assert theta.std(axis=0) == pytest.approx(sd, rel=0.15)


def test_draws_are_conditioned_on_all_data_of_the_model() -> None:
    """Dies if what tells hyperparameters is what the objective is conditioned on."""
    data = _data(20, 0.3)
    like = gaussian_process.fit(data, encoding.layout(LINE))
    half = Data(*(array[::2] for array in data))
    (drawn,) = hyperparameters.draw(like, half, 1, [0])
    assert drawn.data is data
    squared = additive.distances(drawn.group, data.features, data.features)
    covariance = additive.covariance(drawn.kernel, squared) + 1.0
    covariance += math.exp(drawn.noise) * np.eye(20)
    np.testing.assert_allclose(drawn.factor @ drawn.factor.T, covariance, atol=1e-6)
    again, other = (hyperparameters.draw(like, half, 1, [seed])[0] for seed in (0, 1))
    assert again.noise == drawn.noise != other.noise
