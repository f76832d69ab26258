"""Regression by a Gaussian process: maximum a posteriori fit, prediction, joint draws.

The kernel is Matern's of smoothness 5/2 with one length-scale a hyperparameter, on warped places:

    k(x, x') = s (1 + r + r^2 / 3) exp(-r),    r = sqrt(5) |w(x) - w(x')| / l.

w is the distribution function of Kumaraswamy, 1 - (1 - x^a)^b, on numbers (Snoek et al. 2014 warp
by the beta distribution; this one has derivatives), and the identity for a = b = 1.

Targets have mean about 0 and standard deviation about 1, and each has a known variance beside the
fitted one. The mean is a constant with a standard normal prior, integrated out: it adds 1 to every
covariance (Rasmussen & Williams 2006, section 2.7).

A drawn function is one of the prior, moved by the data (Matheron's rule; Wilson et al. 2020):

    f(x) = f0(x) + k(x, X) (K + noise)^-1 (y - f0(X) - e),

where f0 is a sum of random Fourier features (Rahimi & Recht 2007). The frequencies of a Matern
kernel of smoothness 5/2 have a multivariate t distribution with 5 degrees of freedom.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize
from scipy.spatial import distance

from jaxeval.tuning.encoding import Columns

_Array = np.ndarray
_MEAN_VARIANCE = 1.0
_JITTERS = (1e-10, 1e-8, 1e-6, 1e-4)  # relative to the mean diagonal
_EDGE = 1e-7  # distance of places from 0 and 1, where derivatives of the warp are infinite
_FREQUENCIES = 256  # of a drawn function
_DEGREES = 5  # twice the smoothness of the kernel
_LEAST_WARPED = 10  # points a hyperparameter from which places are warped


class Kernel(NamedTuple):
    """log s, log noise variance, log l [G], and log a and log b of the warp [W] (or empty)."""

    scale: float
    noise: float
    lengths: _Array
    a: _Array
    b: _Array

    @staticmethod
    def from_vector(theta: _Array, columns: Columns) -> "Kernel":
        """Unpacks a vector of all numbers [2 + G + 2 W]."""
        lengths = theta[2 : 2 + columns.groups]
        warps = theta[2 + columns.groups :]
        return Kernel(float(theta[0]), float(theta[1]), lengths, *np.split(warps, 2))

    def scaled(self, columns: Columns, features: _Array) -> _Array:
        """Warps features [n, D] of numbers, and divides all by their length-scales."""
        warped = features
        if len(self.a):
            warped = features.copy()
            x = np.clip(features[:, columns.warped], _EDGE, 1.0 - _EDGE)
            rest = np.log1p(-(x ** np.exp(self.a)))
            warped[:, columns.warped] = -np.expm1(np.exp(self.b) * rest)
        return warped / np.exp(self.lengths)[columns.group]

    def covariance(self, columns: Columns, left: _Array, right: _Array) -> _Array:
        """Computes the prior covariance [m, n] of features, without the constant mean."""
        sides = [self.scaled(columns, columns.complete(side)) for side in (left, right)]
        return np.exp(self.scale) * _matern(distance.cdist(*sides, "sqeuclidean"))


class Data(NamedTuple):
    """Observations: features [n, D] and a target each, of which more is better."""

    features: _Array
    targets: _Array
    variances: _Array  # known variances of the targets, or 0
    shares: _Array  # of the fitted noise in each target: 1 / k for a mean of k

    def noise(self, log_variance: float) -> _Array:
        """Returns the variance of each target's noise, [n]."""
        return self.variances + math.exp(log_variance) * self.shares


class _Prediction(NamedTuple):
    """The posterior of the noise-free objective at features [m, D]."""

    features: _Array
    mean: _Array
    variance: _Array
    solved: _Array  # [n, m] inverse factor times the covariance with the data


class Model(NamedTuple):
    """A process conditioned on data."""

    kernel: Kernel
    columns: Columns
    data: Data
    factor: _Array  # lower Cholesky factor of the covariance of the targets
    weights: _Array  # [n] its inverse times the targets

    def prior_covariance(self, left: _Array, right: _Array) -> _Array:
        """Computes the prior covariance [m, n] of features [m, D] and [n, D]."""
        return self.kernel.covariance(self.columns, left, right) + _MEAN_VARIANCE

    def predict(self, features: _Array) -> _Prediction:
        """Computes the posterior at features [m, D]; those without a budget have all of it."""
        cross = self.prior_covariance(self.data.features, features)
        solved = linalg.solve_triangular(self.factor, cross, lower=True, check_finite=False)
        total = math.exp(self.kernel.scale) + _MEAN_VARIANCE
        variance = np.maximum(total - np.sum(solved * solved, axis=0), 1e-12 * total)
        return _Prediction(features, self.weights @ cross, variance, solved)

    def covariance(self, left: _Prediction, right: _Prediction) -> _Array:
        """Computes the posterior covariance [k, m] of two sets of points."""
        inner: _Array = self.prior_covariance(left.features, right.features)
        return inner - left.solved.T @ right.solved

    def joint_factor(self, points: _Prediction) -> _Array:
        """Computes the lower Cholesky factor [m, m] of the posterior covariance of points."""
        inner = self.covariance(points, points)
        total = math.exp(self.kernel.scale) + _MEAN_VARIANCE
        return _definite(_cholesky(inner, inner.diagonal(), total))


class Prior(NamedTuple):
    """Normal priors of a kernel's vector [K], with bounds [K, 2]."""

    mean: _Array
    sd: _Array
    bounds: _Array


def prior(columns: Columns, warped: bool, known: bool) -> Prior:
    """Returns the priors of a kernel's vector; `known` if variances of targets are known.

    Length-scales: mode sqrt(d) exp(sqrt 2 - 3), sd sqrt 3 (Hvarfner et al. 2024, as in BoTorch),
    with d hyperparameters active together; noise: mode exp -5, sd 1 (BoTorch) if variances are
    known, else mode exp -2, sd 2, as a score may be mostly luck; warp: sd sqrt .75 (Snoek et al.
    2014); variance: sd 1.
    """
    d, w = columns.groups, 2 * len(columns.warped) * warped
    length = math.sqrt(2.0) - 3.0 + math.log(columns.together) / 2
    noise, noise_sd = (-5.0, 1.0) if known else (-2.0, 2.0)
    mean = np.concatenate([[0.0, noise], np.full(d, length), np.zeros(w)])
    sd = np.concatenate([[1.0, noise_sd], np.full(d, math.sqrt(3.0)), np.full(w, math.sqrt(0.75))])
    bounds = [(-4.0, 4.0), (-13.8, 0.0), *[(-4.6, 4.6)] * d, *[(-2.0, 2.0)] * w]
    return Prior(mean, sd, np.array(bounds))


def negative_log_posterior(
    theta: _Array, columns: Columns, data: Data, prior: Prior
) -> tuple[float, _Array]:
    """Computes minus (log marginal likelihood + log prior) up to a constant, and its gradient.

    (Rasmussen & Williams 2006, equations 2.30 and 5.9.) Derivatives by scaled coordinates need no
    array [n, n] each: sum_ij M_ij (u_i - u_j)(v_i - v_j) = 2 (sum_i m_i u_i v_i - u' M v).
    """
    kernel = Kernel.from_vector(theta, columns)
    points = kernel.scaled(columns, data.features)
    squared = distance.cdist(points, points, "sqeuclidean")
    scale = math.exp(kernel.scale)
    correlation = _matern(squared)
    r = np.sqrt(5.0 * squared)
    factor = _factor(scale * correlation, data.noise(kernel.noise))
    if factor is None:
        return 1e25, np.zeros_like(theta)
    weights = linalg.cho_solve((factor, True), data.targets, check_finite=False)
    value = 0.5 * data.targets @ weights + np.log(factor.diagonal()).sum()
    value += 0.5 * len(weights) * math.log(2 * math.pi)
    inner, _ = linalg.lapack.dpotri(factor, lower=1)  # the inverse; zeros above the diagonal
    diagonal = inner.diagonal().copy()
    inner = inner + inner.T
    np.fill_diagonal(inner, diagonal)
    inner -= np.outer(weights, weights)  # value = .5 tr(inner dK)
    by_squared = 0.5 * scale * inner * ((-5.0 / 6.0) * (1.0 + r) * np.exp(-r))  # of `_matern`
    gradient = np.empty_like(theta)
    gradient[0] = 0.5 * scale * np.sum(inner * correlation)
    gradient[1] = 0.5 * math.exp(kernel.noise) * (inner.diagonal() @ data.shares)
    gradient[2:] = _by_coordinates(kernel, columns, data.features, points, by_squared)
    z = (theta - prior.mean) / prior.sd
    return float(value + 0.5 * z @ z), gradient + z / prior.sd


def _by_coordinates(
    kernel: Kernel, columns: Columns, features: _Array, points: _Array, by_squared: _Array
) -> _Array:
    """Computes derivatives by log lengths, log a and log b from those by squared distances."""
    rows = by_squared.sum(axis=1)

    def product(u: _Array, v: _Array) -> _Array:
        return np.asarray(2.0 * (rows @ (u * v) - np.sum(u * (by_squared @ v), axis=0)))

    lengths = np.zeros(columns.groups)
    np.add.at(lengths, columns.group, -2.0 * product(points, points))
    if not len(kernel.a):
        return lengths
    x = np.clip(features[:, columns.warped], _EDGE, 1.0 - _EDGE)
    a, b = np.exp(kernel.a), np.exp(kernel.b)
    power = x**a
    rest = np.log1p(-power)
    by_b = -np.exp(b * rest) * rest * b  # of the warped places by log b
    by_a = b * np.exp((b - 1.0) * rest) * power * np.log(x) * a
    each = 2.0 / np.exp(kernel.lengths)[columns.group[columns.warped]]
    used = points[:, columns.warped]
    return np.concatenate([lengths, product(used, by_a * each), product(used, by_b * each)])


def _matern(squared: _Array) -> _Array:
    """Computes the correlation at squared distances [...], in units of the length-scale."""
    r = np.sqrt(5.0 * squared)
    correlation = r / 3.0  # in place from here: new arrays cost as much as the sums
    correlation += 1.0
    correlation *= r
    correlation += 1.0
    np.negative(r, out=r)
    np.exp(r, out=r)
    correlation *= r
    return correlation


def fit(data: Data, columns: Columns) -> Model:
    """Fits hyperparameters at their posterior mode: L-BFGS-B from two starts."""
    warped = len(data.targets) >= _LEAST_WARPED * columns.groups
    priors = prior(columns, warped, bool(data.variances.any()))
    draws = np.random.default_rng(0).normal(size=(8, len(priors.mean)))
    draws[:, 2 + columns.groups :] = 0.0
    starts = np.clip(priors.mean + 0.7 * priors.sd * draws, *priors.bounds.T)

    def objective(theta: _Array) -> tuple[float, _Array]:
        return negative_log_posterior(theta, columns, data, priors)

    likeliest = min(starts, key=lambda theta: objective(theta)[0])
    ends = [
        optimize.fmin_l_bfgs_b(objective, start, bounds=priors.bounds, maxiter=50)
        for start in (priors.mean, likeliest)
    ]
    best, _, _ = min(ends, key=lambda end: end[1])
    return condition(Kernel.from_vector(best, columns), columns, data)


def condition(kernel: Kernel, columns: Columns, data: Data) -> Model:
    """Conditions the process with these hyperparameters on data."""
    inner = kernel.covariance(columns, data.features, data.features)
    factor = _definite(_factor(inner, data.noise(kernel.noise)))
    weights = linalg.cho_solve((factor, True), data.targets, check_finite=False)
    return Model(kernel, columns, data, factor, weights)


def _factor(covariance: _Array, noise: _Array) -> _Array | None:
    total = covariance + _MEAN_VARIANCE
    diagonal = total.diagonal() + noise
    return _cholesky(total, diagonal, diagonal.mean())


def _cholesky(matrix: _Array, diagonal: _Array, scale: float) -> _Array | None:
    """Computes the lower factor of a matrix with this diagonal and the least possible jitter."""
    jittered = matrix.copy()
    for jitter in _JITTERS:
        np.fill_diagonal(jittered, diagonal + jitter * scale)
        try:
            return np.asarray(linalg.cholesky(jittered, lower=True, check_finite=False))
        except linalg.LinAlgError:
            continue
    return None


def _definite(factor: _Array | None) -> _Array:
    if factor is None:
        raise FloatingPointError("the covariance of the settings is not positive definite")
    return factor


def draw_functions(model: Model, count: int, seed: list[int]) -> Callable[[_Array], _Array]:
    """Draws functions of the noise-free objective: features [m, D] -> [m, count]."""
    random, data = np.random.default_rng(seed), model.data
    size = _FREQUENCIES, data.features.shape[1]
    spread = np.sqrt(random.chisquare(_DEGREES, (size[0], 1)) / _DEGREES)
    scale = math.sqrt(2.0 / _FREQUENCIES) * math.exp(model.kernel.scale / 2)
    frequencies = random.normal(size=size) / spread
    phases = random.uniform(0.0, 2 * math.pi, _FREQUENCIES)
    weights = scale * random.normal(size=(_FREQUENCIES, count))
    offsets = random.normal(size=count)

    def of_prior(features: _Array) -> _Array:
        scaled = model.kernel.scaled(model.columns, model.columns.complete(features))
        waves = (scaled @ frequencies.T + phases).astype(np.float32)  # doubles: 20 x slower
        return np.asarray(np.cos(waves) @ weights + offsets)

    off = data.targets[:, None] - of_prior(data.features)
    off -= np.sqrt(data.noise(model.kernel.noise))[:, None] * random.normal(size=off.shape)
    moved = linalg.cho_solve((model.factor, True), off)

    def drawn(features: _Array) -> _Array:
        covariance = model.prior_covariance(features, data.features)
        return np.asarray(of_prior(features) + covariance @ moved)

    return drawn
