"""Regression by a Gaussian process: maximum a posteriori fit, prediction, joint draws.

Targets are of mean about 0 and standard deviation about 1, and each has a known variance of its
own beside the fitted one. The mean is a constant with a standard normal prior, integrated out: it
adds 1 to every covariance (Rasmussen & Williams 2006, section 2.7).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from jaxeval.tuning import encoding, kernels
from jaxeval.tuning.encoding import Features
from jaxeval.tuning.kernels import Kernel

_MEAN_VARIANCE = 1.0
_JITTERS = (1e-10, 1e-8, 1e-6, 1e-4)  # of the mean diagonal
_BOUNDS = {"scale": (-4.0, 4.0), "noise": (-13.8, 0.0), "length": (-4.6, 4.6), "warp": (-2.0, 2.0)}
_LEAST_WARPED = 10  # points a hyperparameter from which places are warped


class Data(NamedTuple):
    """What was observed.

    Attributes:
      features: [n, D], or with a column more: `encoding.with_budget`.
      targets: [n], more is better.
      variances: [n] known variance of each target, 0 where none is known.
      shares: [n] of the fitted noise that each target has: 1 / n of a mean of n.
    """

    features: np.ndarray
    targets: np.ndarray
    variances: np.ndarray
    shares: np.ndarray


class Model(NamedTuple):
    """A process conditioned on data.

    Attributes:
      noise: log of the fitted variance of the noise.
      factor: lower Cholesky factor of the covariance of the targets.
      weights: [n] inverse covariance times targets.
    """

    kernel: Kernel
    noise: float
    columns: Features
    data: Data
    factor: np.ndarray
    weights: np.ndarray


class Prior(NamedTuple):
    """Normal priors of the logarithms of all numbers that are fitted, with bounds [K, 2]."""

    mean: np.ndarray
    sd: np.ndarray
    bounds: np.ndarray


def prior(columns: Features, warped: bool, known: bool) -> Prior:
    """Priors of [log s, log noise, log l .., log a .., log b ..].

    Length-scales: mode sqrt(d) exp(sqrt 2 - 3), sd sqrt 3 (Hvarfner et al. 2024, as in BoTorch),
    with d hyperparameters active together: a branch of few of them may be as rugged as any other;
    noise: mode exp -5, sd 1 (BoTorch) beside known variances, else mode exp -2, sd 2, so that a
    score may be mostly luck (the former fits a tenth of a noise of sd .5 in scores of sd .6);
    warp: sd sqrt .75 (Snoek et al. 2014); variance: sd 1.

    Args:
      warped: whether places are.
      known: whether the variances of targets are, so that the fitted noise is a rest.
    """
    d, w = columns.groups, 2 * len(columns.warped) * warped
    length = math.sqrt(2.0) - 3.0 + math.log(columns.together) / 2
    noise, noise_sd = (-5.0, 1.0) if known else (-2.0, 2.0)
    mean = np.concatenate([[0.0, noise], np.full(d, length), np.zeros(w)])
    sd = np.concatenate([[1.0, noise_sd], np.full(d, math.sqrt(3.0)), np.full(w, math.sqrt(0.75))])
    bounds = [_BOUNDS["scale"], _BOUNDS["noise"], *[_BOUNDS["length"]] * d, *[_BOUNDS["warp"]] * w]
    return Prior(mean, sd, np.array(bounds))


def unpack(theta: np.ndarray, columns: Features) -> tuple[Kernel, float]:
    """The kernel and log noise of fitted numbers [2 + G + 2 W]; see `kernels.Kernel`."""
    lengths, warps = theta[2 : 2 + columns.groups], theta[2 + columns.groups :]
    a, b = np.split(warps, 2)
    return Kernel(float(theta[0]), lengths, a, b), float(theta[1])


def pack(kernel: Kernel, noise: float) -> np.ndarray:
    """The vector that `unpack` takes apart."""
    return np.concatenate([[kernel.scale, noise], kernel.lengths, kernel.a, kernel.b])


def negative_log_posterior(
    theta: np.ndarray, columns: Features, data: Data, prior: Prior
) -> tuple[float, np.ndarray]:
    """Minus (log marginal likelihood + log prior, up to a constant), and its gradient.

    (Rasmussen & Williams 2006, equations 2.30 and 5.9.) Derivatives by scaled coordinates need no
    array [n, n] each: sum_ij M_ij (u_i - u_j)(v_i - v_j) = 2 (sum_i m_i u_i v_i - u' M v).
    """
    kernel, noise = unpack(theta, columns)
    points = kernels.scaled(kernel, columns, data.features)
    squared = kernels.distance.cdist(points, points, "sqeuclidean")
    scale = math.exp(kernel.scale)
    correlation = kernels.matern(squared)
    factor = _factor(scale * correlation, data.variances + math.exp(noise) * data.shares)
    if factor is None:
        return 1e25, np.zeros_like(theta)
    weights = linalg.cho_solve((factor, True), data.targets, check_finite=False)
    value = 0.5 * data.targets @ weights + np.log(factor.diagonal()).sum()
    value += 0.5 * len(weights) * math.log(2 * math.pi)
    inner = _inverse(factor)
    inner -= np.outer(weights, weights)  # value = .5 tr(inner dK)
    by_squared = 0.5 * scale * inner * kernels.slope(squared)
    gradient = np.empty_like(theta)
    gradient[0] = 0.5 * scale * np.sum(inner * correlation)
    gradient[1] = 0.5 * math.exp(noise) * (inner.diagonal() @ data.shares)
    gradient[2:] = _by_coordinates(kernel, columns, data.features, points, by_squared)
    z = (theta - prior.mean) / prior.sd
    return float(value + 0.5 * z @ z), gradient + z / prior.sd


def _by_coordinates(
    kernel: Kernel,
    columns: Features,
    features: np.ndarray,
    points: np.ndarray,
    by_squared: np.ndarray,
) -> np.ndarray:
    """Derivatives with regard to log lengths, log a and log b, of those by squared distances."""
    rows = by_squared.sum(axis=1)

    def product(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """sum_ij M_ij (u_i - u_j)(v_i - v_j) of columns [n, K] each -> [K]."""
        summed: np.ndarray = 2.0 * (rows @ (u * v) - np.sum(u * (by_squared @ v), axis=0))
        return summed

    lengths = np.zeros(columns.groups)
    np.add.at(lengths, columns.group, -2.0 * product(points, points))
    if not len(kernel.a):
        return lengths
    by_a, by_b = kernels.warp_slopes(kernel, columns, features)
    each = 2.0 / np.exp(kernel.lengths)[columns.group[columns.warped]]
    used = points[:, columns.warped]
    return np.concatenate([lengths, product(used, by_a * each), product(used, by_b * each)])


def _inverse(factor: np.ndarray) -> np.ndarray:
    """Of the matrix of a lower Cholesky factor, in a third of the work of solving for it."""
    lower, _ = linalg.lapack.dpotri(factor, lower=1)  # above the diagonal are zeros
    whole: np.ndarray = lower + lower.T
    np.fill_diagonal(whole, lower.diagonal())
    return whole


def _factor(covariance: np.ndarray, noise: np.ndarray) -> np.ndarray | None:
    """Cholesky factor with the constant mean, the noise and as much jitter as it takes."""
    total = covariance + _MEAN_VARIANCE
    diagonal = total.diagonal() + noise
    for jitter in _JITTERS:
        np.fill_diagonal(total, diagonal + jitter * diagonal.mean())
        try:
            lower: np.ndarray = linalg.cholesky(total, lower=True, check_finite=False)
            return lower
        except linalg.LinAlgError:
            continue
    return None


def fit(data: Data, columns: Features) -> Model:
    """The process at the posterior mode of its hyperparameters, conditioned on all data.

    L-BFGS-B from the prior's mode and from the best of a few fixed draws of it.
    """
    warped = len(data.targets) >= _LEAST_WARPED * columns.groups
    priors = prior(columns, warped, bool(data.variances.any()))
    draws = np.random.default_rng(0).normal(size=(8, len(priors.mean)))
    draws[:, 2 + columns.groups :] = 0.0
    starts = np.clip(priors.mean + 0.7 * priors.sd * draws, *priors.bounds.T)
    arguments = columns, data, priors
    likeliest = min(starts, key=lambda theta: negative_log_posterior(theta, *arguments)[0])
    ends = [
        optimize.minimize(
            negative_log_posterior,
            start,
            arguments,
            method="L-BFGS-B",
            jac=True,
            bounds=priors.bounds,
            options={"maxiter": 50},
        )
        for start in (priors.mean, likeliest)
    ]
    best = min(ends, key=lambda end: end.fun).x
    return condition(*unpack(best, columns), columns, data)


def condition(kernel: Kernel, noise: float, columns: Features, data: Data) -> Model:
    """The process with given hyperparameters, conditioned on data."""
    prior_covariance = kernels.covariance(kernel, columns, data.features, data.features)
    factor = _factor(prior_covariance, data.variances + math.exp(noise) * data.shares)
    if factor is None:
        raise FloatingPointError("the covariance of the settings is not positive definite")
    weights = linalg.cho_solve((factor, True), data.targets, check_finite=False)
    return Model(kernel, noise, columns, data, factor, weights)


class Prediction(NamedTuple):
    """The posterior of the noise-free objective at m points.

    Attributes:
      mean, variance: [m].
      solved: [n, m] inverse factor times the covariance with the data, for joint posteriors.
    """

    mean: np.ndarray
    variance: np.ndarray
    solved: np.ndarray


def predict(model: Model, features: np.ndarray) -> Prediction:
    """The posterior at features [m, D], of settings that have their whole training."""
    cross = covariance(model, model.data.features, features)
    solved = linalg.solve_triangular(model.factor, cross, lower=True, check_finite=False)
    total = math.exp(model.kernel.scale) + _MEAN_VARIANCE
    variance = np.maximum(total - np.sum(solved * solved, axis=0), 1e-12 * total)
    return Prediction(model.weights @ cross, variance, solved)


def between(
    model: Model,
    left: tuple[np.ndarray, np.ndarray],
    right: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Posterior covariance [k, m] of two sets of points, each (features, solved)."""
    prior_covariance = covariance(model, left[0], right[0])
    posterior: np.ndarray = prior_covariance - left[1].T @ right[1]
    return posterior


def joint(model: Model, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean [m] and lower Cholesky factor [m, m] of the covariance at features [m, D]."""
    prediction = predict(model, features)
    points = features, prediction.solved
    inner = between(model, points, points)
    for jitter in _JITTERS:
        try:
            extra = jitter * (math.exp(model.kernel.scale) + _MEAN_VARIANCE)
            lower = linalg.cholesky(inner + extra * np.eye(len(inner)), lower=True)
            return prediction.mean, lower
        except linalg.LinAlgError:
            continue
    raise FloatingPointError("the posterior covariance of the settings is not positive definite")


def covariance(model: Model, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """[m, n] prior covariance, with that of the constant mean, of rows [m, D] and [n, D]."""
    of, columns = model.kernel, model.columns
    sides = encoding.complete(columns, left), encoding.complete(columns, right)
    return kernels.covariance(of, columns, *sides) + _MEAN_VARIANCE
