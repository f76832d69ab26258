"""Scores as targets of a Gaussian process: the good half as it is, the bad half by rank.

One diverged perplexity of 1e7 would hide all differences among good settings in standardised
scores. Scores below the median become median + s z, with z a normal quantile of the rank and s the
root mean square distance of the good half from the median (the half-rank warper of OSS Vizier);
then all are standardised. Settings can have weights: if most are of one branch of a conditional
space, the median of all would leave the noise of that branch as the only scale.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

_DEGREES = 4.0  # weight of the pooled variance in a setting's own, and the least to know it by
_LARGEST = 1e306  # sums of larger scores are infinite
_FAR = 1e100  # of a bad score's distance, which counts by rank


class Targets(NamedTuple):
    """Values that the process is fitted to [n]; more is better."""

    values: np.ndarray  # with mean 0 and standard deviation 1
    variances: np.ndarray  # of each value; zeros before enough settings have several seeds
    shares: np.ndarray  # of the fitted noise: that of a mean over seeds, or 1 if it is known
    seed: float  # variance over seeds of a good setting's scores; 0 if not known


def targets(
    scores: Sequence[tuple[float, ...]], higher_is_better: bool, weights: np.ndarray | None = None
) -> Targets:
    """Computes targets from the finite scores of n settings, one score a seed.

    The variance of a mean over seeds keeps its proportion to the squared distance from the median,
    so it shrinks where the warp does. `weights` [n] are those of settings in all averages.
    """
    sign = 1.0 if higher_is_better else -1.0
    signed = [sign * np.clip(values, -_LARGEST, _LARGEST) for values in scores]
    weights = np.ones(len(signed)) if weights is None else weights
    raw = np.array([values.mean() for values in signed])
    middle = _median(raw, weights)
    size, means = _distances(raw, middle)
    with np.errstate(over="ignore"):
        scaled = [np.clip((values - middle) / size, -_FAR, _FAR) for values in signed]
    counts = np.array([len(values) for values in scaled])
    warped = _half_rank(means, weights)
    centre = float(np.average(warped, weights=weights))
    spread = float(np.sqrt(np.average((warped - centre) ** 2, weights=weights))) or 1.0
    variances, seed = _seed_variances(scaled, means >= np.median(means))
    distance = np.abs(means)
    shrunk = np.abs(warped) / np.where(distance > 0, distance, 1.0)
    slopes = np.where(distance > 0, np.minimum(shrunk, 1.0), 1.0)
    return Targets(
        (warped - centre) / spread,
        variances / counts * (slopes / spread) ** 2,
        np.ones(len(means)) if seed else 1.0 / counts,
        seed / spread**2,
    )


def _median(values: np.ndarray, weights: np.ndarray) -> float:
    """Computes the weighted median of [n], the mean of two values if it lies between them."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2 * (1 + np.array([-1e-9, 1e-9]))
    return float(values[order[np.searchsorted(below, half)]].mean())


def _distances(means: np.ndarray, middle: float) -> tuple[float, np.ndarray]:
    """Returns the size of the good half, and the distances of means [n] from their median in it.

    Distances within rounding are 0.
    """
    good = np.abs(means[means >= middle])
    off = means - middle
    off[np.abs(off) <= 4 * np.finfo(float).eps * good.max()] = 0.0
    size = float(off.max()) or float(min(-off[off < 0], default=0.0)) or abs(middle) or 1.0
    with np.errstate(over="ignore"):
        return size, np.clip(off / size, -_FAR, _FAR)


def _half_rank(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Warps values [n] below their weighted median by rank; more is better."""
    middle = _median(values, weights)
    good, bad = values[values >= middle], values < middle
    if not bad.any():
        return values.astype(float)
    scale = np.sqrt(np.average((good - middle) ** 2, weights=weights[~bad]))
    if scale == 0:  # the good half is all equal
        scale = middle - values[bad].max()
    unique, rank = np.unique(values[bad], return_inverse=True)
    below = len(unique) + (0.5 if np.any(values == middle) else 0.0)
    warped = values.astype(float)
    warped[bad] = middle + scale * special.ndtri(0.5 * (rank + 0.5) / below)
    return warped


def _seed_variances(scores: Sequence[np.ndarray], good: np.ndarray) -> tuple[np.ndarray, float]:
    """Computes each setting's variance over seeds [n], and the pooled one of the better half.

    A setting's variance is shrunk to the pooled one, which counts as 4 degrees of freedom (Smyth
    2004 fits the number). All are 0 if good settings have fewer degrees of freedom together.
    """
    degrees = np.array([len(values) - 1 for values in scores])
    sums = np.array([np.sum((values - values.mean()) ** 2) for values in scores])
    if degrees[good].sum() < _DEGREES:
        return np.zeros(len(scores)), 0.0
    pooled = float(sums[good].sum() / degrees[good].sum())
    return (_DEGREES * pooled + sums) / (_DEGREES + degrees), pooled
