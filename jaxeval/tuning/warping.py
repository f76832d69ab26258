"""Scores as a Gaussian process wants them: the good half as it is, the bad half by rank.

One diverged perplexity of 1e7 would leave nothing of the differences among good settings in
standardised scores. Values below the median become median + s z, with z a normal quantile of the
rank and s the root mean square distance of the good half from the median (OSS Vizier's half-rank
warper); then all are standardised.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

_DEGREES = 4.0  # weight of the pooled variance in that of a setting


class Targets(NamedTuple):
    """What the process is fitted to, more is better.

    Attributes:
      values: [n], of mean 0 and standard deviation 1.
      variances: [n] known variance of each value.
      unit: a difference of 1 of good values, in the metric's unit.
    """

    values: np.ndarray
    variances: np.ndarray
    unit: float


def targets(scores: list[tuple[float, ...]], higher_is_better: bool) -> Targets:
    """Finite scores of n settings, one a seed -> what the process is fitted to.

    The variance of a mean over seeds keeps its proportion to the squared distances from the
    median, so that it shrinks where the warp does.
    """
    raw = np.array([np.mean(values) for values in scores]) * (1.0 if higher_is_better else -1.0)
    largest = max(float(np.abs(raw).max()), np.finfo(float).tiny)
    means = raw / largest  # squares of 1e300 would be infinite
    warped = half_rank(means)
    centre, spread = warped.mean(), warped.std()
    if spread <= 1e-12 * float(np.abs(means).max()):
        spread = 1.0 / largest if largest > np.finfo(float).tiny else 1.0
        return Targets(np.zeros(len(means)), np.zeros(len(means)), 1.0)
    distance = np.abs(means - np.median(means))
    shrunk = np.abs(warped - np.median(means)) / np.where(distance > 0, distance, 1.0)
    slopes = np.where(distance > 0, np.minimum(shrunk, 1.0), 1.0)
    variances = mean_variances([np.array(values) / largest for values in scores])
    return Targets(
        (warped - centre) / spread, variances * (slopes / spread) ** 2, float(spread * largest)
    )


def half_rank(values: np.ndarray) -> np.ndarray:
    """Values [n] of which more is better, those below the median by rank."""
    median = np.median(values)
    good, bad = values[values >= median], values < median
    if not bad.any():
        return values.astype(float)
    scale = np.sqrt(np.mean((good - median) ** 2))
    if scale == 0:  # the good half is all equal
        scale = median - values[bad].max()
    unique, rank = np.unique(values[bad], return_inverse=True)
    below = len(unique) + (0.5 if np.any(values == median) else 0.0)
    warped = values.astype(float)
    warped[bad] = median + scale * special.ndtri(0.5 * (rank + 0.5) / below)
    return warped


def mean_variances(scores: list[np.ndarray]) -> np.ndarray:
    """The variance of each setting's mean over seeds [n]; zeros where no setting has two seeds.

    A setting's own variance is shrunk to the median one, as if that came from 4 more degrees of
    freedom (Smyth 2004 moderates variances so, with a fitted number of degrees).
    """
    counts = np.array([len(values) for values in scores])
    sums = np.array([np.sum((values - values.mean()) ** 2) for values in scores])
    repeated = counts > 1
    if not repeated.any():
        return np.zeros(len(scores))
    pooled = np.median(sums[repeated] / (counts[repeated] - 1))
    own = (_DEGREES * pooled + sums) / (_DEGREES + counts - 1)
    return own / counts
