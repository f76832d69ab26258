"""What the scores seen so far say of each model's true mean, and which model is probably best.

Scores of a model are taken as normal with unknown mean and variance. Under the prior
(sigma^2)^(-1 - alpha) the posterior of the mean is a shifted and scaled Student t (Honda &
Takemura 2014, equation 4): after T scores of mean m and sum of squared deviations S,

    mu = m + sqrt(S / (T nu)) t_nu,    nu = T + 2 alpha - 1.

alpha = -1/2 (uniform in sigma) gives nu = T - 2, as FIESTA has it (Moss et al. 2019, section 4).
"""

import math

import numpy as np

from jaxeval.errors import ConfigError, DataError

FIESTA_ALPHA = -0.5
# Panels of integration end at these multiples of each posterior's scale: every density is smooth
# on every panel, since no panel is longer than twice its distance from any posterior's centre.
_TAIL = 1e-8  # mass left out at either end
_MULTIPLES = np.array([0.0, 0.7, *(1.5 * 3.0 ** np.arange(18))])
_MULTIPLES = np.concatenate([-_MULTIPLES[:0:-1], _MULTIPLES])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_ROWS = 4  # rows integrated at a time: their arrays stay in the cache
_POINT = 1e-9  # width given to a model whose scores are all equal, relative to all scores


def fewest(alpha: float = FIESTA_ALPHA) -> int:
    """Scores a model needs for a posterior with a spread and no tail beyond Cauchy's (nu >= 1).

    Raises:
      ConfigError: no sensible exponent.
    """
    if not -5 <= alpha <= 1:
        raise ConfigError(f"alpha: expected a number from -5 to 1, got {alpha}")
    return max(2, math.ceil(2 - 2 * alpha - 1e-9))


def probability_of_best(
    means: np.ndarray,
    variances: np.ndarray,
    counts: np.ndarray,
    *,
    alpha: float = FIESTA_ALPHA,
    epsilon: float = 0.0,
) -> np.ndarray:
    """Probability that each model's true mean is the highest, by integration, without sampling.

    pi_i = integral of f_i(x - epsilon) prod_{j != i} F_j(x) dx, by Gauss-Legendre quadrature on
    panels graded around all posteriors; errors are below 5e-6, and the same on every call.
    With `epsilon` > 0 a model within epsilon of the highest counts as best too, and the
    probabilities may sum to more than 1. Models whose scores are all equal are points; equal
    points share.

    Args:
      means, variances (ddof 0), counts: [..., N] of the scores of N models.
      alpha: exponent of the prior.
      epsilon: indifference width, in the unit of the scores.

    Returns:
      [..., N] float64.

    Raises:
      DataError: a model has too few scores for this prior, or a number is not finite.
    """
    m, v, t = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (means, variances, counts)))
    if not (np.isfinite(m).all() and np.isfinite(v).all() and np.all(v >= 0)):
        raise DataError("posterior: expected finite means and variances of at least 0")
    if np.any(t < fewest(alpha)):
        raise DataError(f"posterior: expected at least {fewest(alpha)} scores of every model")
    if epsilon < 0:
        raise DataError(f"epsilon: expected a number of at least 0, found {epsilon}")
    shape = m.shape
    m, v, t = (a.reshape(-1, shape[-1]) for a in (m, v, t))
    nu = t + 2 * alpha - 1
    widest = np.maximum(np.ptp(m, axis=1), np.sqrt(v.max(axis=1)))[:, None]
    least = _POINT * np.where(widest > 0, widest, np.maximum(np.abs(m[:, :1]), 1.0))
    scale = np.maximum(np.sqrt(v / nu), least)
    found = [  # a few rows at a time stay in the cache
        _integrate(m[k : k + _ROWS], scale[k : k + _ROWS], nu[k : k + _ROWS], float(epsilon))
        for k in range(0, len(m), _ROWS)
    ]
    return np.concatenate(found).reshape(shape) if found else np.zeros(shape)


def _antiderivative() -> np.ndarray:
    """[K, K]: from values at the nodes to the integral from -1 up to each node."""
    powers = np.arange(len(_NODES))
    values = _NODES[:, None] ** powers
    upto = (_NODES[:, None] ** (powers + 1) - (-1.0) ** (powers + 1)) / (powers + 1)
    return upto @ np.linalg.inv(values)


_UPTO = _antiderivative()


def _integrate(m: np.ndarray, scale: np.ndarray, nu: np.ndarray, epsilon: float) -> np.ndarray:
    """[R, N] each -> [R, N]. The distribution functions come from integrals of the densities."""
    from scipy import special

    x, stretch = _nodes(m, scale, nu, epsilon)  # [R, 1, P, K]
    mass = _density(x, m, scale, nu) * stretch  # [R, N, P, K]
    panels = mass @ _WEIGHTS
    lowest = special.stdtr(nu, (x[:, 0, 0, :1] - m) / scale)[..., None]
    before = lowest + np.cumsum(panels, axis=2) - panels
    below = np.clip(before[..., None] + mass @ _UPTO.T, 0.0, 1.0)
    best = mass if epsilon == 0 else _density(x - epsilon, m, scale, nu) * stretch
    found = np.sum((best * _products_of_others(below)) @ _WEIGHTS, axis=2)
    return np.clip(found, 0.0, 1.0)


def _nodes(
    m: np.ndarray, scale: np.ndarray, nu: np.ndarray, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Places of the quadrature [R, 1, panels, nodes], and half the widths of its panels."""
    edges = m[..., None] + scale[..., None] * _multiples(nu)
    if epsilon:
        edges = np.concatenate([edges, edges + epsilon], axis=1)
    x = np.sort(edges.reshape(len(m), -1), axis=1)
    middle, half = (x[:, 1:] + x[:, :-1]) / 2, (x[:, 1:] - x[:, :-1]) / 2
    return (middle[..., None] + half[..., None] * _NODES)[:, None], half[:, None, :, None]


def _multiples(nu: np.ndarray) -> np.ndarray:
    """Ends of the panels around each posterior, cut where its tail holds no more than _TAIL."""
    from scipy import special

    unique, where = np.unique(nu, return_inverse=True)
    furthest = special.stdtrit(unique, 1 - _TAIL)
    used = _MULTIPLES[np.abs(_MULTIPLES) / 3 < furthest.max()]
    return np.clip(used, -furthest[:, None], furthest[:, None])[where.reshape(nu.shape)]


def _density(x: np.ndarray, m: np.ndarray, scale: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """Density of m + scale t_nu at x."""
    from scipy import special

    top = np.exp(special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2))
    peak = (top / (scale * np.sqrt(nu * math.pi)))[..., None, None]
    z = (x - m[..., None, None]) * (1 / (scale * np.sqrt(nu)))[..., None, None]
    return peak * np.exp(np.log1p(z * z) * (-(nu[..., None, None] + 1) / 2))


def _products_of_others(below: np.ndarray) -> np.ndarray:
    """prod_{j != i} F_j along axis 1, without dividing."""
    ones = np.ones_like(below[:, :1])
    before = np.cumprod(np.concatenate([ones, below[:, :-1]], axis=1), axis=1)
    after = np.cumprod(np.concatenate([ones, below[:, :0:-1]], axis=1), axis=1)[:, ::-1]
    return before * after
