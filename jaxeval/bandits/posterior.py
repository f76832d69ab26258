"""The posterior of each model's true mean, and the probability that a model is the best.

Scores of a model are normal with unknown mean and variance. Under a prior uniform in sigma the
posterior of the mean is a shifted and scaled Student t (Honda & Takemura 2014, equation 4; FIESTA,
Moss et al. 2019, section 4): after T scores with mean m and sum of squared deviations S,

    mu = m + sqrt(S / (T nu)) t_nu,    nu = T - 2.
"""

import math
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError

FEWEST = 3  # scores that a model needs for a posterior
_CONSTANT = 10  # equal scores after which a model counts as always scoring the same
_TAIL = 1e-9  # mass of each posterior that may lie beyond either end of the integral
# A panel of the integral is at most _CORE scales long at the centre of a posterior, and _GROWTH
# times the distance from it elsewhere: every density is smooth on every panel
_CORE, _GROWTH = 2.0, 2.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_AT_ONCE = 12_000  # densities in an array, so that several arrays fit into the cache
_ROUNDING = 1e-12  # relative to the largest mean: means that are nearer to each other are equal
_POINT = 1e-9  # width of a model whose scores are all equal, relative to all scores


def mean(scores: np.ndarray) -> float:
    """Computes the mean of scores [n]; exactly their value if all are equal."""
    return float(scores[0] + (scores - scores[0]).mean())


def levelled(means: np.ndarray) -> np.ndarray:
    """Replaces each mean by the highest of those equal up to rounding, [..., N]; -inf is none."""
    order = np.argsort(-means, axis=-1, kind="stable")
    falling = np.take_along_axis(means, order, axis=-1)
    size = np.where(np.isfinite(means), np.abs(means), 0.0).max(axis=-1, keepdims=True)
    parted = falling[..., 1:] < falling[..., :-1] - _ROUNDING * size
    highest_first = np.pad(parted, [(0, 0)] * (means.ndim - 1) + [(1, 0)], constant_values=True)
    shared = np.minimum.accumulate(np.where(highest_first, falling, np.inf), axis=-1)
    level = np.empty(means.shape)
    np.put_along_axis(level, order, shared, axis=-1)
    return level


def highest(means: np.ndarray) -> np.ndarray:
    """Returns which means are the highest up to rounding, [..., N]; -inf stands for none."""
    level = levelled(means)
    found: np.ndarray = level == level.max(axis=-1, keepdims=True)
    return found & np.isfinite(means)


class Moments(NamedTuple):
    """Sufficient statistics of the scores so far, [..., N] each; variances with ddof 0."""

    counts: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    @property
    def has_spread(self) -> np.ndarray:
        """True [..., N] if a model's scores differ, or are so many that it is a constant."""
        return (self.variances > 0) | (self.counts >= _CONSTANT)

    @property
    def judged(self) -> np.ndarray:
        """True [..., N] if the spread of a model is known or can be borrowed."""
        return self.has_spread | np.any(self.variances > 0, axis=-1, keepdims=True)

    def with_borrowed_spread(self) -> "Moments":
        """Gives models with few scores, all equal, the pooled spread of the others.

        Their posterior has the pooled degrees of freedom, and the scale sd / sqrt(T) of their own
        T scores.
        """
        counts, _, variances = self
        varies = variances > 0
        borrows = ~self.has_spread & self.judged
        if not borrows.any():
            return self
        squares = np.sum(np.where(varies, counts * variances, 0.0), axis=-1, keepdims=True)
        freedom = np.sum(np.where(varies, counts - 1, 0.0), axis=-1, keepdims=True)
        pooled = squares / np.maximum(freedom, 1.0)  # with ddof 1
        stands_for = np.maximum(freedom + 1, FEWEST)  # scores of one model of this freedom
        borrowed = pooled * (stands_for - 2) / np.maximum(counts, 1.0)
        return self._replace(
            counts=np.where(borrows, stands_for, counts),
            variances=np.where(borrows, borrowed, variances),
        )


def probability_of_best(
    means: np.ndarray, variances: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Computes the probability [..., N] that each model's true mean is the highest.

    pi_i = integral of f_i(x) prod_{j != i} F_j(x) dx, by Gauss-Legendre quadrature on panels
    graded around all posteriors; errors are below 1e-7, and the same on every call. Models whose
    scores are all equal are points; equal points share.

    Args:
      means, variances (ddof 0), counts: [..., N] of the scores of N models.

    Raises:
      DataError: a model has fewer than 3 scores, or a number is not finite.
    """
    m, v, t = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (means, variances, counts)))
    if not (np.isfinite(m).all() and np.isfinite(v).all() and np.all(v >= 0)):
        raise DataError("posterior: expected finite means and variances of at least 0")
    if np.any(t < FEWEST):
        raise DataError(f"posterior: expected at least {FEWEST} scores of every model")
    shape = m.shape
    m, v, t = (a.reshape(-1, shape[-1]) for a in (m, v, t))
    m = levelled(m)
    nu = t - 2
    widest = np.maximum(np.ptp(m, axis=1), np.sqrt(v.max(axis=1)))[:, None]
    least = np.maximum(_POINT * widest, _ROUNDING * np.abs(m).max(axis=1)[:, None])
    least = np.where(least > 0, least, _POINT)
    scale = np.maximum(np.sqrt(v / nu), least)
    nu = np.where(scale > least, nu, nu.max(axis=1, keepdims=True))  # equal points stay equal
    centred = m - m[:, :1]  # so that a panel is never lost to rounding
    edges = _edges(centred, scale, nu)
    panels = np.sum(edges[:, 1:] > edges[:, :-1], axis=1)
    best = np.empty(m.shape)
    row = 0
    while row < len(m):
        size = m.shape[1] * panels[row] * len(_NODES)
        part = slice(row, row + max(1, _AT_ONCE // size))
        used = edges[part, : panels[part].max() + 1]
        best[part] = _integrate(used, centred[part], scale[part], nu[part])
        row = part.stop
    return best.reshape(shape)


def _edges(m: np.ndarray, scale: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """Computes the ends of the panels [R, panels + 1], ascending; the last one is repeated."""
    from scipy import special

    unique, inverse = np.unique(nu, return_inverse=True)
    reach = scale * special.stdtrit(unique, 1 - _TAIL)[inverse.reshape(nu.shape)]
    right = (m + reach).max(axis=1)
    edges = [(m - reach).min(axis=1)]
    shortest = _CORE * scale
    while np.any(edges[-1] < right):
        ahead = m - edges[-1][:, None]  # distance of each centre, negative behind
        longest = np.maximum(ahead * (_GROWTH / (1 + _GROWTH)), ahead * -_GROWTH)
        step = np.maximum(longest, shortest).min(axis=1)
        edges.append(np.minimum(edges[-1] + step, right))
    return np.stack(edges, axis=1)


def _antiderivative() -> np.ndarray:
    """Returns the matrix [K, K] from values at the nodes to integrals from -1 to each node."""
    legendre = np.polynomial.legendre
    degrees = np.eye(len(_NODES))
    upto = [legendre.legval(_NODES, legendre.legint(c, lbnd=-1)) for c in degrees]
    inverse: np.ndarray = np.linalg.inv(legendre.legvander(_NODES, len(_NODES) - 1))
    return np.stack(upto, axis=1) @ inverse


_UPTO = _antiderivative()


def _integrate(edges: np.ndarray, m: np.ndarray, scale: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """Computes the probabilities [R, N]; the distribution functions are integrated densities."""
    from scipy import special

    middle = (edges[:, 1:] + edges[:, :-1]) / 2
    half = np.diff(edges) / 2
    x = (middle[..., None] + half[..., None] * _NODES)[:, None]  # [R, 1, P, K]
    mass = _density(x, m, scale, nu, half)  # [R, N, P, K]
    panels = _over_nodes(mass, _WEIGHTS)
    lowest = special.stdtr(nu, (edges[:, :1] - m) / scale)[..., None]
    before = lowest + np.cumsum(panels, axis=2) - panels
    below = _over_nodes(mass, _UPTO.T)
    below += before[..., None]
    np.clip(below, 0.0, 1.0, out=below)
    left = np.cumprod(below, axis=1)
    right = np.cumprod(below[:, ::-1], axis=1)[:, ::-1]
    weighted = np.ones_like(below)  # prod_{j != i} F_j without division
    weighted[:, 1:] = left[:, :-1]
    weighted[:, :-1] *= right[:, 1:]
    weighted *= mass
    upto = np.cumsum(_over_nodes(weighted, _WEIGHTS), axis=2)
    return np.clip(upto[..., -1], 0.0, 1.0)  # summed in order: empty panels change no bit


def _over_nodes(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Computes values [..., K] @ weights [K] or [K, K] as one matrix product."""
    product = values.reshape(-1, len(_NODES)) @ weights
    return product.reshape(*values.shape[:-1], *weights.shape[1:])


def _density(
    x: np.ndarray, m: np.ndarray, scale: np.ndarray, nu: np.ndarray, half: np.ndarray
) -> np.ndarray:
    """Computes the density of m + scale t_nu at x [R, 1, P, K], times half the panel widths."""
    from scipy import special

    width = scale * np.sqrt(nu)
    peak = np.exp(special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2)) / math.sqrt(math.pi)
    z = x - m[..., None, None]  # in place from here: new arrays would cost as much as the sums
    z *= (1 / width)[..., None, None]
    z *= z
    np.log1p(z, out=z)
    z *= (-(nu + 1) / 2)[..., None, None]
    np.exp(z, out=z)
    z *= ((peak / width)[..., None] * half[:, None])[..., None]
    return z
