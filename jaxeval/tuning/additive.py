"""A Gaussian process of a sum: a function of each hyperparameter alone, and one of all together.

    k(x, x') = sum_g s_g m(|x_g - x'_g| / l_g) + s_0 m(sqrt(sum_g |x_g - x'_g|^2 / j_g^2)),

with m the Matern correlation of smoothness 5/2 (additive kernels: Duvenaud et al. 2011). Each term
has its own variance and length-scales: with the last one alone, the kernel of `kernels`, what
changes fast with one hyperparameter is expected to interact with the others.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize
from scipy.spatial import distance

from jaxeval.tuning import gaussian_process, kernels
from jaxeval.tuning.gaussian_process import Data, Prior

_BOUNDS = {"noise": (-13.8, 0.0), "scale": (-9.0, 4.0), "length": (-4.6, 4.6)}
_SAME = 0.05  # difference of log densities up to which two modes are one
_LENGTH = math.sqrt(2.0), math.sqrt(3.0)  # of the logarithm of a length-scale of one number


class Kernel(NamedTuple):
    """Variances and length-scales, all in the logarithm.

    Attributes:
      scales: [G + 1] log s, that of the last term last.
      lengths: [G] log l.
      joint: [G] log j.
    """

    scales: np.ndarray
    lengths: np.ndarray
    joint: np.ndarray


class Model(NamedTuple):
    """A process conditioned on data.

    Attributes:
      noise: log of the fitted variance of the noise.
      group: [D] hyperparameter of each feature.
      factor: lower Cholesky factor of the covariance of the targets.
    """

    kernel: Kernel
    noise: float
    group: np.ndarray
    data: Data
    factor: np.ndarray


def prior(groups: int, known: bool) -> Prior:
    """Priors of [log noise, log s .., log l .., log j ..], normal.

    Noise as in `gaussian_process.prior`; variances: mean 0, sd 1. Length-scales: log-normal of
    median sqrt(d) exp(sqrt 2), sd sqrt 3 (Hvarfner et al. 2024), d = 1 in a term of one
    hyperparameter. This is their distribution, to draw from; a fit has its mode instead.

    Args:
      known: whether the variances of targets are.
    """
    noise = (-5.0, 1.0) if known else (-2.0, 2.0)
    joint = _LENGTH[0] + math.log(groups) / 2, _LENGTH[1]
    each = [noise, *[(0.0, 1.0)] * (groups + 1), *[_LENGTH] * groups, *[joint] * groups]
    scales, lengths = [_BOUNDS["scale"]] * (groups + 1), [_BOUNDS["length"]] * 2 * groups
    mean, sd = np.array(each).T
    return Prior(mean, sd, np.array([_BOUNDS["noise"], *scales, *lengths]))


def unpack(theta: np.ndarray) -> tuple[Kernel, float]:
    """The kernel and log noise of a vector of all numbers."""
    groups = (len(theta) - 2) // 3
    return Kernel(*np.split(theta[1:], [groups + 1, 2 * groups + 1])), float(theta[0])


def pack(kernel: Kernel, noise: float) -> np.ndarray:
    """The vector that `unpack` takes apart."""
    return np.concatenate([[noise], *kernel])


def distances(group: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Squared distances [G, n, m] of features [n, D] and [m, D], by hyperparameter."""
    of = [group == g for g in range(group.max() + 1)]
    return np.array([distance.cdist(left[:, k], right[:, k], "sqeuclidean") for k in of])


def covariance(kernel: Kernel, squared: np.ndarray) -> np.ndarray:
    """k [n, m] of squared distances [G, n, m], in their precision; without the constant mean's."""
    correlation = kernels.matern(_scaled(kernel, squared))
    return np.tensordot(np.exp(kernel.scales).astype(squared.dtype), correlation, 1)


def _scaled(kernel: Kernel, squared: np.ndarray) -> np.ndarray:
    """Squared distances [G + 1, n, m] in length-scales, those of the last term last."""
    lengths, joint = (np.exp(-2 * of).astype(squared.dtype) for of in kernel[1:])
    together = np.tensordot(joint, squared, 1)
    return np.concatenate([squared * lengths[:, None, None], together[None]])


def condition(
    kernel: Kernel, noise: float, group: np.ndarray, data: Data, squared: np.ndarray
) -> Model:
    """The process with given hyperparameters, conditioned on data.

    Args:
      squared: `distances` of the data.
    """
    known = data.variances + math.exp(noise) * data.shares
    factor = gaussian_process.factorise(covariance(kernel, squared), known)
    if factor is None:
        raise FloatingPointError("the covariance of the settings is not positive definite")
    return Model(kernel, noise, group, data, factor)


def log_likelihood(theta: np.ndarray, data: Data, squared: np.ndarray) -> float:
    """Of the targets, the objective integrated out (Rasmussen & Williams 2006, equation 2.30)."""
    kernel, noise = unpack(theta)
    known = data.variances + math.exp(noise) * data.shares
    factor = gaussian_process.factorise(covariance(kernel, squared), known)
    if factor is None:
        return -math.inf
    z = linalg.solve_triangular(factor, data.targets, lower=True, check_finite=False)
    fit = 0.5 * z @ z + np.log(factor.diagonal()).sum()
    return -float(fit) - 0.5 * len(z) * math.log(2 * math.pi)


def negative_log_posterior(
    theta: np.ndarray, data: Data, squared: np.ndarray, prior: Prior
) -> tuple[float, np.ndarray]:
    """Minus (log marginal likelihood + log prior, up to a constant), and its gradient.

    (Rasmussen & Williams 2006, equations 2.30 and 5.9.)
    """
    kernel, noise = unpack(theta)
    scales, scaled = np.exp(kernel.scales), _scaled(kernel, squared)
    correlation = kernels.matern(scaled)
    known = data.variances + math.exp(noise) * data.shares
    factor = gaussian_process.factorise(np.tensordot(scales, correlation, 1), known)
    if factor is None:
        return 1e25, np.zeros_like(theta)
    weights = linalg.cho_solve((factor, True), data.targets, check_finite=False)
    value = 0.5 * data.targets @ weights + np.log(factor.diagonal()).sum()
    value += 0.5 * len(weights) * math.log(2 * math.pi)
    inner = linalg.cho_solve((factor, True), np.eye(len(weights)), check_finite=False)
    inner -= np.outer(weights, weights)  # value = .5 tr(inner dK)
    by_scaled = 0.5 * scales[:, None, None] * inner * kernels.slope(scaled)
    gradient = [
        [0.5 * math.exp(noise) * (inner.diagonal() @ data.shares)],
        0.5 * scales * np.tensordot(correlation, inner, 2),
        -2 * np.sum(by_scaled[:-1] * scaled[:-1], axis=(1, 2)),
        -2 * np.exp(-2 * kernel.joint) * np.tensordot(squared, by_scaled[-1], 2),
    ]
    z = (theta - prior.mean) / prior.sd
    return float(value + 0.5 * z @ z), np.concatenate(gradient) + z / prior.sd


def starts(like: gaussian_process.Model, prior: Prior) -> list[np.ndarray]:
    """Where searches for modes of the posterior begin: vectors [K].

    The prior's mode; and, of the lengths of a fitted process of `kernels`: all numbers alone, all
    together, and all but one together.
    """
    groups, lengths = like.columns.groups, like.kernel.lengths
    mean, idle = unpack(prior.mean)[0], prior.bounds[1, 0] / 2
    alone = Kernel(np.append(np.zeros(groups), idle), lengths, mean.joint)
    together = Kernel(np.append(np.full(groups, idle), like.kernel.scale), mean.lengths, lengths)
    begin = [prior.mean, pack(alone, like.noise), pack(together, like.noise)]
    for g in np.eye(groups, dtype=bool):
        scales = np.where(np.append(g, False), 0.0, together.scales)
        of = Kernel(scales, np.where(g, lengths, mean.lengths), np.where(g, mean.joint, lengths))
        begin.append(pack(of, like.noise))
    return [np.clip(start, *prior.bounds.T) for start in begin]


def modes(
    data: Data, squared: np.ndarray, prior: Prior, begin: list[np.ndarray], iterations: int = 60
) -> list[np.ndarray]:
    """Different modes of the posterior [K], the highest first, by L-BFGS-B from some vectors."""
    ends = [
        optimize.minimize(
            negative_log_posterior,
            start,
            (data, squared, prior),
            method="L-BFGS-B",
            jac=True,
            bounds=prior.bounds,
            options={"maxiter": iterations},
        )
        for start in begin
    ]
    ends.sort(key=lambda end: end.fun)
    apart = np.diff([end.fun for end in ends], prepend=-math.inf) > _SAME
    return [end.x for end, other in zip(ends, apart, strict=True) if other]
