"""The Matern kernel of smoothness 5/2 with a length-scale a hyperparameter, on warped places.

    k(x, x') = s (1 + r + r^2 / 3) exp(-r),    r = sqrt(5) |w(x) - w(x')| / l,

with w the distribution function of Kumaraswamy, 1 - (1 - x^a)^b, on numbers (Snoek et al. 2014
warp by the beta distribution; this one has derivatives), the identity where a = b = 1.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import distance

from jaxeval.tuning.encoding import Features

_EDGE = 1e-7  # places are kept so far from 0 and 1, where derivatives of the warp are infinite


class Kernel(NamedTuple):
    """A kernel's numbers, all in the logarithm.

    Attributes:
      scale: log s, of the variance.
      lengths: [G] log l.
      a, b: [W] of the warp; empty: none.
    """

    scale: float
    lengths: np.ndarray
    a: np.ndarray
    b: np.ndarray


def covariance(
    kernel: Kernel, columns: Features, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """k of features [n, D] and [m, D] -> [n, m]."""
    squared = distance.cdist(
        scaled(kernel, columns, left), scaled(kernel, columns, right), "sqeuclidean"
    )
    return np.exp(kernel.scale) * matern(squared)


def matern(squared: np.ndarray) -> np.ndarray:
    """Correlation (Matern, 5/2) at squared distances [...], in units of the length scale."""
    r = np.sqrt(5.0 * squared)
    correlation = r / 3.0  # in place from here: new arrays cost as much as the sums
    correlation += 1.0
    correlation *= r
    correlation += 1.0
    np.negative(r, out=r)
    np.exp(r, out=r)
    correlation *= r
    return correlation


def slope(squared: np.ndarray) -> np.ndarray:
    """Derivative of `matern` with regard to the squared distance; finite at 0."""
    r = np.sqrt(5.0 * squared)
    slopes = (-5.0 / 6.0) * (1.0 + r)
    slopes *= np.exp(-r)
    return slopes


def scaled(kernel: Kernel, columns: Features, features: np.ndarray) -> np.ndarray:
    """Features [n, D], warped, in length-scales."""
    return warp(kernel, columns, features) / np.exp(kernel.lengths)[columns.group]


def warp(kernel: Kernel, columns: Features, features: np.ndarray) -> np.ndarray:
    """Features [n, D] with those of numbers warped."""
    if not len(kernel.a):
        return features
    warped = features.copy()
    x = np.clip(features[:, columns.warped], _EDGE, 1.0 - _EDGE)
    warped[:, columns.warped] = -np.expm1(np.exp(kernel.b) * np.log1p(-(x ** np.exp(kernel.a))))
    return warped


def warp_slopes(
    kernel: Kernel, columns: Features, features: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives [n, W] of the warped features with regard to log a and log b."""
    x = np.clip(features[:, columns.warped], _EDGE, 1.0 - _EDGE)
    a, b = np.exp(kernel.a), np.exp(kernel.b)
    power = x**a
    rest = np.log1p(-power)
    by_b = -np.exp(b * rest) * rest * b
    by_a = b * np.exp((b - 1.0) * rest) * power * np.log(x) * a
    return by_a, by_b
