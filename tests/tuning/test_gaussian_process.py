"""The process against dense formulas, finite differences and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from jaxeval.space import space as spaces
from jaxeval.tuning import encoding, gaussian_process, kernels
from jaxeval.tuning.gaussian_process import Data

SPACE = spaces.from_dict(
    {
        "x": {"uniform": [0.0, 1.0]},
        "n": {"integer": [1, 9]},
        "kind": {"choices": ["a", "b", "c"]},
        "y": {"uniform": [0.0, 1.0], "when": {"kind": ["a", "b"]}},
    }
)
COLUMNS = encoding.layout(SPACE)


def _features(count: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return encoding.features(SPACE, encoding.from_quantiles(SPACE, random.random((count, 4))))


def _data(count: int, seed: int = 0) -> Data:
    random = np.random.default_rng([seed, 1])
    shares = 1.0 / random.integers(1, 4, count)
    return Data(_features(count, seed), random.normal(size=count), random.random(count), shares)


def _kernel(seed: int, warped: bool = True) -> kernels.Kernel:
    random = np.random.default_rng([seed, 2])
    a, b = random.normal(scale=0.5, size=(2, len(COLUMNS.warped) * warped))
    return kernels.Kernel(0.4, random.normal(scale=0.7, size=4), a, b)


def _dense(kernel: kernels.Kernel, left: np.ndarray, right: np.ndarray) -> np.ndarray:
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
    model = gaussian_process.condition(kernel, -2.0, COLUMNS, data)
    noise = np.diag(data.variances + math.exp(-2.0) * data.shares)
    gain = _dense(kernel, points, data.features) @ np.linalg.inv(
        _dense(kernel, data.features, data.features) + noise
    )
    covariance = _dense(kernel, points, points) - gain @ _dense(kernel, data.features, points)
    prediction = gaussian_process.predict(model, points)
    np.testing.assert_allclose(prediction.mean, gain @ data.targets, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(prediction.variance, np.diag(covariance), rtol=1e-6)
    mean, factor = gaussian_process.joint(model, points)
    np.testing.assert_allclose(mean, prediction.mean)
    np.testing.assert_allclose(factor @ factor.T, covariance, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("warped", [False, True])
def test_marginal_likelihood_and_gradient(warped: bool) -> None:
    """Dies if a term of the likelihood, of the prior or of a derivative is wrong."""
    data, prior = _data(15), gaussian_process.prior(COLUMNS, warped, known=warped)
    theta = prior.mean + 0.5 * np.random.default_rng(3).normal(size=len(prior.mean))
    kernel, noise = gaussian_process.unpack(theta, COLUMNS)
    value, gradient = gaussian_process.negative_log_posterior(theta, COLUMNS, data, prior)
    covariance = _dense(kernel, data.features, data.features)
    covariance += np.diag(data.variances + math.exp(noise) * data.shares)
    likelihood = stats.multivariate_normal(np.zeros(15), covariance).logpdf(data.targets)
    normal = -0.5 * np.sum(((theta - prior.mean) / prior.sd) ** 2)
    assert value == pytest.approx(-likelihood - normal, rel=1e-6)
    numeric = optimize.approx_fprime(
        theta,
        lambda t: gaussian_process.negative_log_posterior(t, COLUMNS, data, prior)[0],
        1e-6,
    )
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-3)


def test_posterior_and_likelihood_are_those_of_scikit_learn() -> None:
    """Dies if the kernel, the likelihood or the posterior is not the usual one."""
    regression = pytest.importorskip("sklearn.gaussian_process")
    parts = regression.kernels
    data, kernel, points = _data(15, 3), _kernel(7, warped=False), _features(6, 8)
    lengths = np.exp(kernel.lengths)[COLUMNS.group]
    matern = parts.ConstantKernel(math.exp(kernel.scale)) * parts.Matern(lengths, nu=2.5)
    theirs = regression.GaussianProcessRegressor(
        matern + parts.ConstantKernel(1.0),  # the constant mean's variance
        alpha=data.variances + math.exp(-1.5) * data.shares,
        optimizer=None,
    ).fit(data.features, data.targets)
    model = gaussian_process.condition(kernel, -1.5, COLUMNS, data)
    prediction = gaussian_process.predict(model, points)
    mean, sd = theirs.predict(points, return_std=True)
    np.testing.assert_allclose(prediction.mean, mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(prediction.variance, sd**2, rtol=1e-6)
    theta = gaussian_process.pack(kernel, -1.5)
    prior = gaussian_process.prior(COLUMNS, False, True)._replace(mean=theta)  # costs nothing
    value, _ = gaussian_process.negative_log_posterior(theta, COLUMNS, data, prior)
    assert value == pytest.approx(-theirs.log_marginal_likelihood_value_, rel=1e-8)


@given(st.integers(0, 10_000), st.integers(2, 25))
@settings(max_examples=40, deadline=None)
def test_kernel_is_positive_definite(seed: int, count: int) -> None:
    """Dies if conditions, choices or the warp break the kernel (a distance that is none)."""
    features = _features(count, seed)
    covariance = kernels.covariance(_kernel(seed), COLUMNS, features, features)
    np.testing.assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > -1e-10


def test_slope_is_the_derivative_at_zero_too() -> None:
    """Dies if the derivative by squared distance is not finite at 0, or has a wrong factor."""
    at = np.array([0.0, 0.3, 4.0])
    numeric = (kernels.matern(at + 1e-8) - kernels.matern(at)) / 1e-8
    np.testing.assert_allclose(kernels.slope(at), numeric, rtol=1e-3)


def test_known_noise_is_believed() -> None:
    """Dies if known variances are ignored: the exact one of two opposed scores wins."""
    x = np.full((2, COLUMNS.group.size), 0.5)
    for variances, sign in (([0.0, 4.0], 1.0), ([4.0, 0.0], -1.0)):
        data = Data(x, np.array([1.0, -1.0]), np.array(variances), np.ones(2))
        model = gaussian_process.condition(_kernel(0), -8.0, COLUMNS, data)
        assert sign * gaussian_process.predict(model, x).mean[0] > 0.9


def test_noise_of_single_seeds_is_found() -> None:
    """Dies if the prior forbids noise that is not known, or allows much beside what is known."""
    random, sds = np.random.default_rng(5), []
    space = spaces.from_dict({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})
    for _ in range(5):
        features = random.random((40, 2))
        scores = -4 * (features[:, 0] - 0.5) ** 2 + 0.5 * random.normal(size=40)
        targets = (scores - scores.mean()) / scores.std()
        data = Data(features, targets, np.zeros(40), np.ones(40))
        model = gaussian_process.fit(data, encoding.layout(space))
        sds.append(math.exp(model.noise / 2) * scores.std())
    assert 0.35 < np.median(sds) < 0.6
    known = gaussian_process.fit(data._replace(variances=np.full(40, 0.6)), encoding.layout(space))
    assert math.exp(known.noise) < 0.02  # the rest


def test_fit_tells_what_matters() -> None:
    """Dies if the fit ignores the gradient's sign: idle hyperparameters have longer scales."""
    features = _features(60, 4)
    targets = np.sin(6 * features[:, 0])
    targets = (targets - targets.mean()) / targets.std()
    data = Data(features, targets, np.zeros(60), np.ones(60))
    model = gaussian_process.fit(data, COLUMNS)
    assert model.kernel.lengths[0] < min(model.kernel.lengths[1:3]) - 1.0
    assert math.exp(model.noise) < 0.01
    held_out = _features(50, 5)
    true = np.sin(6 * held_out[:, 0])
    mean = gaussian_process.predict(model, held_out).mean
    assert np.corrcoef(true, mean)[0, 1] > 0.99
