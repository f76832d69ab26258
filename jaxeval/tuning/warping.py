"""Scores as a Gaussian process wants them: the good half as it is, the bad half by rank.

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
    """What the process is fitted to, more is better.

    Attributes:
      values: [n], of mean 0 and standard deviation 1.
      variances: [n] known variance of each value; zeros before enough settings have several seeds.
      shares: [n] of the fitted noise: that of a mean over seeds, or of one where it is known.
      seed: known variance over seeds of a good setting's scores; 0 while it is not known.
      centre, unit: a good score is centre + unit times its value.
      scores: [n] means over seeds, in the metric's unit.
      bad: [n] which of them are known by rank.
    """

    values: np.ndarray
    variances: np.ndarray
    shares: np.ndarray
    seed: float
    centre: float
    unit: float
    scores: np.ndarray
    bad: np.ndarray


def targets(
    scores: Sequence[tuple[float, ...]],
    higher_is_better: bool,
    weights: np.ndarray | None = None,
) -> Targets:
    """Finite scores of n settings, one a seed -> what the process is fitted to.

    The variance of a mean over seeds keeps its proportion to the squared distances from the
    median, so that it shrinks where the warp does.

    Args:
      weights: [n] of settings in the median and in what is standardised by; None: equal ones.
    """
    sign = 1.0 if higher_is_better else -1.0
    signed = [sign * np.clip(values, -_LARGEST, _LARGEST) for values in scores]
    weights = np.ones(len(signed)) if weights is None else weights
    raw = np.array([values.mean() for values in signed])
    median, size, means = relative(raw, weights)
    with np.errstate(over="ignore"):
        scaled = [np.clip((values - median) / size, -_FAR, _FAR) for values in signed]
    counts = np.array([len(values) for values in scaled])
    warped = half_rank(means, weights)
    centre = float(np.average(warped, weights=weights))
    spread = float(np.sqrt(np.average((warped - centre) ** 2, weights=weights))) or 1.0
    variances, seed = seed_variances(scaled, means >= np.median(means))
    distance = np.abs(means)
    shrunk = np.abs(warped) / np.where(distance > 0, distance, 1.0)
    slopes = np.where(distance > 0, np.minimum(shrunk, 1.0), 1.0)
    return Targets(
        (warped - centre) / spread,
        variances / counts * (slopes / spread) ** 2,
        np.ones(len(means)) if seed else 1.0 / counts,
        seed / spread**2,
        sign * (median + centre * size),
        sign * spread * size,
        sign * raw,
        means < 0,
    )


def in_metric(of: Targets, values: np.ndarray) -> np.ndarray:
    """Values as scores in the metric's unit: `targets` the other way round.

    Between bad scores on straight lines; what is below the worst of them is as bad as it.
    """
    good = of.centre + of.unit * values
    places, scores = _bad(of)
    if not len(places):
        return good
    score: np.ndarray = np.where(values < places[-1], np.interp(values, places, scores), good)
    return score


def lowered(of: Targets, values: np.ndarray, margin: float) -> np.ndarray:
    """The values whose scores are worse than those of given values by a margin.

    -inf where that is the worst of all scores or worse: no value is below it.

    Args:
      margin: in the metric's unit, from 0.
    """
    straight = values - margin / abs(of.unit)
    places, scores = _bad(of)
    if not len(places):
        return straight
    sign = np.sign(of.unit)
    limit = sign * in_metric(of, values) - margin
    bent = np.interp(limit, sign * scores, places)
    bent[limit <= sign * scores[0]] = -np.inf
    # of scores far from 0 the straight line keeps digits that the metric has not
    lower: np.ndarray = np.where(straight >= places[-1], straight, bent)
    return lower


def _bad(of: Targets) -> tuple[np.ndarray, np.ndarray]:
    """The values of bad scores in ascending order, with these scores, both [k]; none: empty.

    The last is the least of the good half, where the warp begins: an end of the last line.
    """
    if not of.bad.any():
        return np.empty(0), np.empty(0)
    known = of.bad | (of.values == of.values[~of.bad].min())
    places, first = np.unique(of.values[known], return_index=True)
    return places, of.scores[known][first]


def middle(values: np.ndarray, weights: np.ndarray) -> float:
    """The median of values [n] with weights [n], the mean of two where it lies between them."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = below[-1] / 2 * (1 + np.array([-1e-9, 1e-9]))
    return float(values[order[np.searchsorted(below, half)]].mean())


def relative(means: np.ndarray, weights: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Median of means of which more is better, a size, and their distances [n] from it in sizes.

    The size is that of the good half alone: one huge bad score leaves no digits of differences
    among good ones in a size of all, nor does an offset in a size that is not a distance.
    Distances that are not more than rounding are 0.
    """
    median = middle(means, weights)
    good = np.abs(means[means >= median])
    distances = means - median
    distances[np.abs(distances) <= 4 * np.finfo(float).eps * good.max()] = 0.0
    size = float(distances.max()) or float(min(-distances[distances < 0], default=0.0))
    size = size or abs(median) or 1.0
    with np.errstate(over="ignore"):
        return median, size, np.clip(distances / size, -_FAR, _FAR)


def half_rank(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values [n] of which more is better, those below their (weighted) median by rank."""
    median = middle(values, weights)
    good, bad = values[values >= median], values < median
    if not bad.any():
        return values.astype(float)
    scale = np.sqrt(np.average((good - median) ** 2, weights=weights[~bad]))
    if scale == 0:  # the good half is all equal
        scale = median - values[bad].max()
    unique, rank = np.unique(values[bad], return_inverse=True)
    below = len(unique) + (0.5 if np.any(values == median) else 0.0)
    warped = values.astype(float)
    warped[bad] = median + scale * special.ndtri(0.5 * (rank + 0.5) / below)
    return warped


def seed_variances(scores: Sequence[np.ndarray], good: np.ndarray) -> tuple[np.ndarray, float]:
    """The variance over seeds of each setting [n], and that of a good one.

    A setting's own variance is shrunk to that of all good ones together, as if that came from 4
    more degrees of freedom (Smyth 2004 moderates variances so, with a fitted number of degrees).
    All are 0 while good settings of several seeds have fewer degrees of freedom together.

    Args:
      good: [n] whether a setting's scores are of the better half.
    """
    degrees = np.array([len(values) - 1 for values in scores])
    sums = np.array([np.sum((values - values.mean()) ** 2) for values in scores])
    if degrees[good].sum() < _DEGREES:
        return np.zeros(len(scores)), 0.0
    pooled = float(sums[good].sum() / degrees[good].sum())
    return (_DEGREES * pooled + sums) / (_DEGREES + degrees), pooled
