"""Draws from the posterior of a process: of its hyperparameters, and of functions.

Hyperparameters are drawn by generalised elliptical slice sampling (Nishihara et al. 2014):
elliptical slice sampling (Murray et al. 2010) of a Laplace approximation at the mode, with the
ratio of the posterior to it as likelihood. It has no step size.

A drawn function is one of the prior, moved by the data (Matheron's rule; Wilson et al. 2020):

    f(x) = f0(x) + k(x, X) (K + noise)^-1 (y - f0(X) - e),

where f0 is a sum of random Fourier features (Rahimi & Recht 2007). The frequencies of a Matern
kernel of smoothness 5/2 have a multivariate t distribution with 5 degrees of freedom.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import linalg

from jaxeval.tuning import process
from jaxeval.tuning.encoding import Columns
from jaxeval.tuning.process import Data, Kernel, Model, Prior

_BURN_IN, _THIN = 50, 10  # steps before the first draw, and between draws
_WIDER = math.sqrt(3)  # than the approximation: the posterior has heavier tails
_DIFFERENCE = 1e-3  # of logarithms, for second derivatives
_FREQUENCIES = 256
_DEGREES = 5  # twice the smoothness of the kernel


def models(model: Model, data: Data, count: int, seed: list[int]) -> list[Model]:
    """Draws processes with hyperparameters from their posterior given some data.

    The chain begins at `model`, the posterior mode; draws are conditioned on the model's data.
    """
    random, columns, kernel = np.random.default_rng(seed), model.columns, model.kernel
    prior = process.prior(columns, bool(len(kernel.a)), bool(data.variances.any()))
    mode = np.hstack(kernel)
    factor = _laplace(mode, prior, columns, data)
    inverse = np.linalg.inv(factor)

    def log_ratio(theta: np.ndarray) -> float:
        if np.any(theta < prior.bounds[:, 0]) or np.any(theta > prior.bounds[:, 1]):
            return -math.inf
        z, u = (theta - prior.mean) / prior.sd, inverse @ (theta - mode)
        return _log_likelihood(theta, columns, data) - 0.5 * float(z @ z - u @ u)

    drawn, theta, height = [], mode, log_ratio(mode)
    for number in range(1 - _BURN_IN, 1 + _THIN * count):
        theta, height = _slice_step(theta, height, mode, factor, log_ratio, random)
        if number > 0 and number % _THIN == 0:
            drawn.append(
                process.condition(Kernel.from_vector(theta, columns), columns, model.data)
            )
    return drawn


def _laplace(mode: np.ndarray, prior: Prior, columns: Columns, data: Data) -> np.ndarray:
    """Returns a factor [K, K] of the covariance at the mode, widened up to that of the prior."""

    def gradient(offset: np.ndarray) -> np.ndarray:
        at = mode + _DIFFERENCE * offset
        return process.negative_log_posterior(at, columns, data, prior)[1]

    rows = [gradient(axis) - gradient(-axis) for axis in np.eye(len(mode))]
    hessian = np.array(rows) / (2 * _DIFFERENCE) * np.outer(prior.sd, prior.sd)
    curvatures, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    # the prior's own curvature is 1
    factor: np.ndarray = prior.sd[:, None] * axes * (_WIDER / np.sqrt(np.maximum(curvatures, 1.0)))
    return factor


def _slice_step(
    theta: np.ndarray,
    height: float,
    mean: np.ndarray,
    factor: np.ndarray,
    log_ratio: Callable[[np.ndarray], float],
    random: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Returns the next state and its log ratio (Murray et al. 2010, figure 2)."""
    least = height - random.exponential()
    centred, other = theta - mean, factor @ random.normal(size=len(theta))
    angle = random.uniform(0.0, 2 * math.pi)
    low, high = angle - 2 * math.pi, angle
    while True:
        proposed = mean + centred * math.cos(angle) + other * math.sin(angle)
        ratio = log_ratio(proposed)
        if ratio > least:
            return proposed, ratio
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = random.uniform(low, high)


def _log_likelihood(theta: np.ndarray, columns: Columns, data: Data) -> float:
    """Computes the log marginal likelihood (Rasmussen & Williams 2006, equation 2.30)."""
    try:
        model = process.condition(Kernel.from_vector(theta, columns), columns, data)
    except FloatingPointError:
        return -math.inf
    fit = 0.5 * data.targets @ model.weights + np.log(model.factor.diagonal()).sum()
    return -float(fit) - 0.5 * len(data.targets) * math.log(2 * math.pi)


def functions(model: Model, count: int, seed: list[int]) -> Callable[[np.ndarray], np.ndarray]:
    """Draws functions of the noise-free objective: features [m, D] -> [m, count]."""
    random, data = np.random.default_rng(seed), model.data
    size = _FREQUENCIES, data.features.shape[1]
    spread = np.sqrt(random.chisquare(_DEGREES, (size[0], 1)) / _DEGREES)
    scale = math.sqrt(2.0 / _FREQUENCIES) * math.exp(model.kernel.scale / 2)
    frequencies = random.normal(size=size) / spread
    phases = random.uniform(0.0, 2 * math.pi, _FREQUENCIES)
    weights = scale * random.normal(size=(_FREQUENCIES, count))
    offsets = random.normal(size=count)

    def of_prior(features: np.ndarray) -> np.ndarray:
        scaled = model.kernel.scaled(model.columns, model.columns.complete(features))
        waves = (scaled @ frequencies.T + phases).astype(np.float32)  # doubles: 20 x slower
        return np.asarray(np.cos(waves) @ weights + offsets)

    off = data.targets[:, None] - of_prior(data.features)
    off -= np.sqrt(data.noise(model.kernel.noise))[:, None] * random.normal(size=off.shape)
    moved = linalg.cho_solve((model.factor, True), off)

    def drawn(features: np.ndarray) -> np.ndarray:
        covariance = model.prior_covariance(features, data.features)
        return np.asarray(of_prior(features) + covariance @ moved)

    return drawn
