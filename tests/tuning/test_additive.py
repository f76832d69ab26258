"""The process of a sum of terms, against a loop, SciPy and finite differences."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from jaxeval.space import space as spaces
from jaxeval.tuning import additive, encoding, gaussian_process
from jaxeval.tuning.additive import Kernel
from jaxeval.tuning.gaussian_process import Data

GROUP = np.array([0, 1, 1, 2])  # the second hyperparameter has two features
KERNEL = Kernel(
    np.array([0.3, -1.0, 0.5, -0.4]), np.array([-1.0, 0.2, 0.6]), np.array([0.1, -0.5, 1.0])
)


def _data(count: int) -> Data:
    random = np.random.default_rng(0)
    features = random.random((count, len(GROUP)))
    values = np.sin(6 * features[:, 0]) + features[:, 1] * features[:, 3]
    known = np.where(np.arange(count) % 2, 0.1, 0.0)
    return Data(features, values - values.mean(), known, 1.0 / (1 + np.arange(count) % 3))


def _by_loop(x: np.ndarray, y: np.ndarray) -> float:
    """The covariance of two settings, term by term."""

    def matern(r: float) -> float:
        return (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r)

    total, far = 0.0, 0.0
    for g in range(3):
        apart = math.sqrt(sum((x[k] - y[k]) ** 2 for k in range(4) if GROUP[k] == g))
        total += math.exp(KERNEL.scales[g]) * matern(apart / math.exp(KERNEL.lengths[g]))
        far += (apart / math.exp(KERNEL.joint[g])) ** 2
    return total + math.exp(KERNEL.scales[3]) * matern(math.sqrt(far))


def test_covariance_is_that_of_a_loop_and_positive_definite() -> None:
    """Dies if terms, variances or features are mixed up; single precision rounds, no more."""
    points = _data(12).features
    expected = np.array([[_by_loop(x, y) for y in points] for x in points])
    squared = additive.distances(GROUP, points, points)
    np.testing.assert_allclose(additive.covariance(KERNEL, squared), expected, rtol=1e-12)
    single = additive.covariance(KERNEL, squared.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-5)
    assert np.linalg.eigvalsh(expected).min() > 0


def test_log_likelihood_is_that_of_a_normal_distribution() -> None:
    """Dies if the constant mean, known variances or shares of the noise are lost."""
    data = _data(12)
    squared = additive.distances(GROUP, data.features, data.features)
    covariance = np.array([[_by_loop(x, y) for y in data.features] for x in data.features])
    covariance += 1.0 + np.diag(data.variances + 0.2 * data.shares)
    theta = additive.pack(KERNEL, math.log(0.2))
    expected = stats.multivariate_normal(np.zeros(12), covariance).logpdf(data.targets)
    assert additive.log_likelihood(theta, data, squared) == pytest.approx(expected, abs=1e-6)
    kernel, noise = additive.unpack(theta)
    assert noise == math.log(0.2) and all(map(np.array_equal, kernel, KERNEL))
    model = additive.condition(kernel, noise, GROUP, data, squared)
    np.testing.assert_allclose(model.factor @ model.factor.T, covariance, atol=1e-8)


def test_gradient_is_that_of_finite_differences() -> None:
    """Dies if any derivative is wrong, or the posterior lacks the likelihood or the prior."""
    data = _data(15)
    squared = additive.distances(GROUP, data.features, data.features)
    prior = additive.prior(3, known=True)
    theta = additive.pack(KERNEL, -2.0)

    def value(theta: np.ndarray) -> float:
        return additive.negative_log_posterior(theta, data, squared, prior)[0]

    numeric = optimize.approx_fprime(theta, value, 1e-6)
    gradient = additive.negative_log_posterior(theta, data, squared, prior)[1]
    np.testing.assert_allclose(gradient, numeric, atol=1e-4)
    likelihood = additive.log_likelihood(theta, data, squared)
    log_prior = stats.norm(prior.mean, prior.sd).logpdf
    difference = log_prior(theta).sum() - log_prior(prior.mean).sum()
    assert value(theta) == pytest.approx(-likelihood - difference)


@pytest.mark.parametrize("interacts", [False, True])
def test_the_mode_tells_interactions_from_functions_of_one(interacts: bool) -> None:
    """Dies if one of both explanations is not begun with, or not the best of the ends is taken."""
    space = spaces.from_dict({name: {"uniform": [0.0, 1.0]} for name in "ab"})
    features = stats.qmc.Sobol(2, rng=0).random(32)
    a, b = features.T
    values = 12 * (a - 0.5) * (b - 0.5) if interacts else np.sin(9 * a) + b
    data = Data(features, (values - values.mean()) / values.std(), np.zeros(32), np.ones(32))
    like = gaussian_process.fit(data, encoding.layout(space))
    squared = additive.distances(like.columns.group, features, features)
    arguments = data, squared, additive.prior(2, known=False)
    begin = additive.starts(like, arguments[2])
    modes = additive.modes(*arguments, begin)
    heights = [-additive.negative_log_posterior(theta, *arguments)[0] for theta in modes]
    assert np.all(np.diff(heights) < 0)
    by_start = [additive.negative_log_posterior(theta, *arguments)[0] for theta in begin]
    assert -heights[0] < min(by_start)
    kernel, noise = additive.unpack(modes[0])
    alone = kernel._replace(scales=np.append(kernel.scales[:2], -50.0))
    noisy = 1.0 + additive.covariance(kernel, squared) + math.exp(noise) * np.eye(32)
    explained = additive.covariance(alone, squared) @ np.linalg.solve(noisy, data.targets)
    assert (np.var(data.targets - explained) > 0.9) == interacts
