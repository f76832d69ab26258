"""Scores as a Gaussian process needs them: the good half as it is, the bad half by rank.

One diverged perplexity of 1e7 would leave nothing of the differences among good settings in
standardised scores. Values below the median become median + s z, with z a normal quantile of the
rank and s the root mean square distance of the good half from the median (OSS Vizier's half-rank
warper); then all are standardised. Settings can have weights: where most are of one branch of a
conditional space, the median of all would leave the noise of that branch as the only scale.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

_DEGREES = 4.0  # weight of the pooled variance in that of a setting, and the fewest to know it by
_LARGEST = 1e306  # of a score: sums of larger ones are infinite
_FAR = 1e100  # of a bad score's distance: it counts by rank


class Targets(NamedTuple):
    """What the process is fitted to [n], more is better."""

    values: np.ndarray  # of mean 0 and standard deviation 1
    variances: np.ndarray  # of each value; zeros before enough settings have several seeds
    shares: np.ndarray  # of the fitted noise: that of a mean over seeds, or of one if it is known
    seed: float  # variance over seeds of a good setting's scores; 0 while it is not known
    centre: float  # a good score is centre + unit times its value
    unit: float
    scores: np.ndarray  # means over seeds, in the metric's unit
    bad: np.ndarray  # which of them are known by rank

    def in_metric(self, values: np.ndarray) -> np.ndarray:
        """Values as scores in the metric's unit.

        Between bad scores on straight lines; what is below the worst of them is as bad as it.
        """
        good = self.centre + self.unit * values
        places, scores = self._bad()
        if not len(places):
            return good
        score: np.ndarray = np.where(values < places[-1], np.interp(values, places, scores), good)
        return score

    def lowered(self, values: np.ndarray, margin: float) -> np.ndarray:
        """The values whose scores are worse by a margin, from 0, in the metric's unit.

        -inf where that is the worst of all scores or worse: no value is below it.
        """
        straight: np.ndarray = values - margin / abs(self.unit)
        places, scores = self._bad()
        if not len(places):
            return straight
        sign = np.sign(self.unit)
        limit = sign * self.in_metric(values) - margin
        bent = np.interp(limit, sign * scores, places)
        bent[limit <= sign * scores[0]] = -np.inf
        # of scores far from 0 the straight line keeps digits that the metric has not
        lower: np.ndarray = np.where(straight >= places[-1], straight, bent)
        return lower

    def _bad(self) -> tuple[np.ndarray, np.ndarray]:
        """The values of bad scores in ascending order, with these scores, both [k]; none: empty.

        The last is the least of the good half, where the warp begins: an end of the last line.
        """
        if not self.bad.any():
            return np.empty(0), np.empty(0)
        known = self.bad | (self.values == self.values[~self.bad].min())
        places, first = np.unique(self.values[known], return_index=True)
        return places, self.scores[known][first]


def targets(
    scores: Sequence[tuple[float, ...]],
    higher_is_better: bool,
    weights: np.ndarray | None = None,
) -> Targets:
    """Finite scores of n settings, one a seed -> what the process is fitted to.

    The variance of a mean over seeds keeps its proportion to the squared distances from the
    median, so that it shrinks where the warp does.

    Args:
      weights: [n] of settings in all that is averaged; None: equal ones.
    """
    sign = 1.0 if higher_is_better else -1.0
    signed = [sign * np.clip(values, -_LARGEST, _LARGEST) for values in scores]
    weights = np.ones(len(signed)) if weights is None else weights
    raw = np.array([values.mean() for values in signed])
    middle = median(raw, weights)
    size, means = distances(raw, middle)
    with np.errstate(over="ignore"):
        scaled = [np.clip((values - middle) / size, -_FAR, _FAR) for values in signed]
    counts = np.array([len(values) for values in scaled])
    warped = half_rank(means, weights)
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
        sign * (middle + centre * size),
        sign * spread * size,
        sign * raw,
        means < 0,
    )


def median(values: np.ndarray, weights: np.ndarray) -> float:
    """Of values [n] with weights [n], the mean of two where it lies between them."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2 * (1 + np.array([-1e-9, 1e-9]))
    return float(values[order[np.searchsorted(below, half)]].mean())


def distances(means: np.ndarray, middle: float) -> tuple[float, np.ndarray]:
    """A size, and how far means [n] of which more is better lie from their median, in sizes.

    The size is that of the good half alone: one huge bad score would leave no digits of
    differences among good ones. Distances that are not more than rounding are 0.
    """
    good = np.abs(means[means >= middle])
    off = means - middle
    off[np.abs(off) <= 4 * np.finfo(float).eps * good.max()] = 0.0
    size = float(off.max()) or float(min(-off[off < 0], default=0.0)) or abs(middle) or 1.0
    with np.errstate(over="ignore"):
        return size, np.clip(off / size, -_FAR, _FAR)


def half_rank(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values [n] of which more is better, those below their (weighted) median by rank."""
    middle = median(values, weights)
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
    """The variance over seeds of each setting [n], and that of one of the better half.

    A setting's own variance is shrunk to that of all good ones together, as if that came from 4
    more degrees of freedom (Smyth 2004 moderates variances so, with a fitted number of degrees).
    All are 0 while good settings of several seeds have fewer degrees of freedom together.
    """
    degrees = np.array([len(values) - 1 for values in scores])
    sums = np.array([np.sum((values - values.mean()) ** 2) for values in scores])
    if degrees[good].sum() < _DEGREES:
        return np.zeros(len(scores)), 0.0
    pooled = float(sums[good].sum() / degrees[good].sum())
    return (_DEGREES * pooled + sums) / (_DEGREES + degrees), pooled
