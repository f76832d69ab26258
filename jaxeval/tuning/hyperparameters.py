"""Draws of a process's hyperparameters from their posterior.

A fit at the posterior mode takes length-scales, signal and noise for known. Where what is said of
the objective depends on them, it is averaged over such draws (Snoek et al. 2012, section 3.2).

Generalised elliptical slice sampling (Nishihara et al. 2014): elliptical slice sampling (Murray et
al. 2010) of a Laplace approximation at the mode, with what the posterior differs from it by as
likelihood. It has no step size, and is exact where the approximation is not.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxeval.tuning import gaussian_process
from jaxeval.tuning.encoding import Features
from jaxeval.tuning.gaussian_process import Data, Model, Prior

_BURN_IN, _THIN = 50, 10  # steps before the first draw, and from one to the next
_WIDER = math.sqrt(3)  # than the approximation: the posterior has heavier tails
_DIFFERENCE = 1e-3  # of logarithms, for second derivatives


class Normal(NamedTuple):
    """A mean [K] and a factor [K, K] of the covariance."""

    mean: np.ndarray
    factor: np.ndarray


def draw(model: Model, data: Data, count: int, seed: list[int]) -> list[Model]:
    """So many processes, with hyperparameters from their posterior given some data.

    Their prior is normal in the logarithms around the modes that `gaussian_process.fit` knows. The
    log-normal of BoTorch that has these modes has longer length-scales: draws under it are too
    sure (docs/tuning_method.md).

    Args:
      model: at the posterior mode, where the chain begins. Draws are conditioned on its data.
      data: what hyperparameters are told by.
    """
    random, columns = np.random.default_rng(seed), model.columns
    known = bool(data.variances.any())
    prior = gaussian_process.prior(columns, bool(len(model.kernel.a)), known)
    theta = gaussian_process.pack(model.kernel, model.noise)
    normal = laplace(theta, prior, columns, data)
    inverse = np.linalg.inv(normal.factor)

    def log_ratio(theta: np.ndarray) -> float:
        """Of the posterior to the approximation, up to a constant."""
        if np.any(theta < prior.bounds[:, 0]) or np.any(theta > prior.bounds[:, 1]):
            return -math.inf
        z, u = (theta - prior.mean) / prior.sd, inverse @ (theta - normal.mean)
        return log_likelihood(theta, columns, data) - 0.5 * float(z @ z - u @ u)

    drawn, level = [], log_ratio(theta)
    for number in range(1 - _BURN_IN, 1 + _THIN * count):
        theta, level = step(theta, level, normal, log_ratio, random)
        if number > 0 and number % _THIN == 0:
            kernel, noise = gaussian_process.unpack(theta, columns)
            drawn.append(gaussian_process.condition(kernel, noise, columns, model.data))
    return drawn


def laplace(theta: np.ndarray, prior: Prior, columns: Features, data: Data) -> Normal:
    """Around the mode, somewhat wider; in no direction narrower data make it than the prior."""

    def gradient(offset: np.ndarray) -> np.ndarray:
        at = theta + _DIFFERENCE * offset
        return gaussian_process.negative_log_posterior(at, columns, data, prior)[1]

    rows = [gradient(axis) - gradient(-axis) for axis in np.eye(len(theta))]
    hessian = np.array(rows) / (2 * _DIFFERENCE) * np.outer(prior.sd, prior.sd)
    curvatures, axes = np.linalg.eigh((hessian + hessian.T) / 2)
    # the prior's own is 1
    factor = prior.sd[:, None] * axes * (_WIDER / np.sqrt(np.maximum(curvatures, 1.0)))
    return Normal(theta, factor)


def step(
    theta: np.ndarray,
    level: float,
    normal: Normal,
    log_ratio: Callable[[np.ndarray], float],
    random: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """The next state and its log ratio, on an ellipse through this one and a draw of the normal.

    (Murray et al. 2010, figure 2.)
    """
    least = level - random.exponential()
    centred, other = theta - normal.mean, normal.factor @ random.normal(size=len(theta))
    angle = random.uniform(0.0, 2 * math.pi)
    low, high = angle - 2 * math.pi, angle
    while True:
        proposed = normal.mean + centred * math.cos(angle) + other * math.sin(angle)
        ratio = log_ratio(proposed)
        if ratio > least:
            return proposed, ratio
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = random.uniform(low, high)


def log_likelihood(theta: np.ndarray, columns: Features, data: Data) -> float:
    """Of the targets, the objective integrated out (Rasmussen & Williams 2006, equation 2.30)."""
    kernel, noise = gaussian_process.unpack(theta, columns)
    try:
        model = gaussian_process.condition(kernel, noise, columns, data)
    except FloatingPointError:
        return -math.inf
    fit = 0.5 * data.targets @ model.weights + np.log(model.factor.diagonal()).sum()
    return -float(fit) - 0.5 * len(data.targets) * math.log(2 * math.pi)
