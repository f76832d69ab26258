"""Draws of a process's hyperparameters from their posterior.

A fit at the posterior mode takes length-scales, signal and noise for known. Where what is said of
the objective depends on them, it is averaged over such draws (Snoek et al. 2012, section 3.2).

Generalised elliptical slice sampling (Nishihara et al. 2014): elliptical slice sampling (Murray et
al. 2010) of a Laplace approximation at the mode, with what the posterior differs from it by as
likelihood. It has no step size, and is exact where the approximation is not. In turn with it,
elliptical slice sampling of their prior moves the numbers of one term of the kernel alone: of an
idle hyperparameter the posterior is nearly that, and no normal distribution around the mode.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from jaxeval.tuning import additive, gaussian_process
from jaxeval.tuning.additive import Model
from jaxeval.tuning.gaussian_process import Data, Prior

_BURN_IN, _THIN = 50, 10  # steps before the first draw, and from one to the next
_WIDER = math.sqrt(3)  # than the approximation: the posterior has heavier tails
_DIFFERENCE = 1e-3  # of logarithms, for second derivatives


class Normal(NamedTuple):
    """A mean [K] and a factor [K, K] of the covariance."""

    mean: np.ndarray
    factor: np.ndarray


def draw(like: gaussian_process.Model, data: Data, count: int, seed: list[int]) -> list[Model]:
    """So many processes, with hyperparameters from their posterior given some data.

    A chain begins at each mode and has its share of the draws.

    Args:
      like: fitted to the data: its hyperparameters are among those that the search for modes
        begins at. Draws are conditioned on its data.
      data: what hyperparameters are told by.
    """
    random, group = np.random.default_rng(seed), like.columns.group
    prior = additive.prior(like.columns.groups, bool(data.variances.any()))
    squared = additive.distances(group, data.features, data.features)
    of_all = additive.distances(group, like.data.features, like.data.features)

    def likelihood(theta: np.ndarray) -> float:
        if np.any(theta < prior.bounds[:, 0]) or np.any(theta > prior.bounds[:, 1]):
            return -math.inf
        return additive.log_likelihood(theta, data, squared)

    modes = additive.modes(data, squared, prior, additive.starts(like, prior))
    normals = [laplace(mode, prior, data, squared) for mode in modes]
    log_density = [-additive.negative_log_posterior(m, data, squared, prior)[0] for m in modes]
    drawn = []
    for normal, share in zip(normals, shares(log_density, normals, count), strict=True):
        states = chain(normal, prior, likelihood, random)
        steps = _BURN_IN + _THIN * share if share else 0
        for theta in [*itertools.islice(states, steps)][_BURN_IN + _THIN - 1 :: _THIN]:
            kernel, noise = additive.unpack(theta)
            drawn.append(additive.condition(kernel, noise, group, like.data, of_all))
    return drawn


def shares(log_density: list[float], normals: list[Normal], count: int) -> list[int]:
    """How many draws are of each mode: as its mass by Laplace's approximation, rounded."""
    log_mass = [
        density + np.linalg.slogdet(normal.factor)[1]
        for density, normal in zip(log_density, normals, strict=True)
    ]
    mass = np.exp(np.array(log_mass) - max(log_mass))
    ends = np.rint(count * np.cumsum(mass) / mass.sum()).astype(int)
    return [int(share) for share in np.diff(ends, prepend=0)]


def chain(
    normal: Normal,
    prior: Prior,
    likelihood: Callable[[np.ndarray], float],
    random: np.random.Generator,
) -> Iterator[np.ndarray]:
    """States [K] after a step of all numbers and one of those of a term, without end.

    Args:
      normal: the approximation of the posterior; the chain begins at its mean.
      likelihood: logarithmic, minus infinity outside the prior's bounds.
    """
    inverse, theta = np.linalg.inv(normal.factor), normal.mean
    terms = (len(theta) - 2) // 3 + 1

    def correction(theta: np.ndarray) -> float:
        """Of the log likelihood, with the approximation for a prior, up to a constant."""
        z, u = (theta - prior.mean) / prior.sd, inverse @ (theta - normal.mean)
        return -0.5 * float(z @ z - u @ u)

    def ratio(theta: np.ndarray) -> float:
        return likelihood(theta) + correction(theta)

    level = likelihood(theta)
    while True:
        theta, level = step(theta, level + correction(theta), normal, ratio, random)
        level -= correction(theta)
        part = _part(theta, prior, int(random.integers(terms)))
        theta, level = step(theta, level, part, likelihood, random)
        yield theta


def _part(theta: np.ndarray, prior: Prior, term: int) -> Normal:
    """The prior of one term's numbers, all others held.

    Those are of a hyperparameter its variance and both length-scales, and otherwise the variance
    of the last term and the noise.
    """
    groups = (len(theta) - 2) // 3
    last = term == groups
    moved = [0, 1 + groups] if last else [1 + term, 2 + groups + term, 2 + 2 * groups + term]
    mean, sd = theta.copy(), np.zeros(len(theta))
    mean[moved], sd[moved] = prior.mean[moved], prior.sd[moved]
    return Normal(mean, np.diag(sd))


def laplace(theta: np.ndarray, prior: Prior, data: Data, squared: np.ndarray) -> Normal:
    """Around the mode, somewhat wider; in no direction narrower data make it than the prior."""

    def gradient(offset: np.ndarray) -> np.ndarray:
        at = theta + _DIFFERENCE * offset
        return additive.negative_log_posterior(at, data, squared, prior)[1]

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
