"""What a Gaussian process is fitted to: settings as points of the unit cube, scores as targets.

A setting is a row of places [P], one a hyperparameter: from 0 to 1 for numbers (in the logarithm
if they are drawn so) and for ordered choices, the index of the choice for unordered ones, NaN for
an inactive hyperparameter. A kernel sees features [D]: the place of a number, 0.5 if inactive (as
Golovin et al. 2017 impute), and unordered choices one-hot, all zeros if inactive, scaled so that
two different choices have distance 1.

Of scores the good half is left as it is, the bad half goes by rank. One diverged perplexity of 1e7
would hide all differences among good settings in standardised scores. Scores below the median
become median + s z, with z a normal quantile of the rank and s the root mean square distance of
the good half from the median (the half-rank warper of OSS Vizier); then all are standardised.
Settings can have weights: if most are of one branch of a conditional space, the median of all
would leave the noise of that branch as the only scale.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from jaxeval.space import Parameter, Space
from jaxeval.space.distributions import Choices, Distribution, Grid, Range, Value

_ENUMERATED = 2_000  # spaces of up to so many settings are searched completely
_DEGREES = 4.0  # weight of the pooled variance in a setting's own, and the least to know it by
_LARGEST = 1e306  # sums of larger scores are infinite
_FAR = 1e100  # of a bad score's distance, which counts by rank


class Columns(NamedTuple):
    """The columns of a feature matrix."""

    group: np.ndarray  # [D] hyperparameter of each column: one group shares a length-scale
    warped: np.ndarray  # [W] columns of numbers, whose places a model may warp
    groups: int  # hyperparameters
    together: int  # most hyperparameters that are active at once

    def with_budget(self) -> "Columns":
        """Adds a last column for the share of its training that a setting had."""
        group = np.append(self.group, self.groups)
        return Columns(group, self.warped, self.groups + 1, self.together + 1)

    def complete(self, rows: np.ndarray, budget: float = 1.0) -> np.ndarray:
        """Adds this budget (1: a whole training) to features [n, D] that lack one."""
        lacking = len(self.group) - rows.shape[1]
        return np.pad(rows, ((0, 0), (0, lacking)), constant_values=budget) if lacking else rows


class _Axis:
    """A hyperparameter with `count` values (0: a range), in order unless it is categorical."""

    def __init__(self, distribution: Distribution):
        self.distribution, self.count = distribution, distribution.count
        self.categorical = isinstance(distribution, Choices) and not distribution.ordered

    def place(self, value: Any) -> float:
        """Returns the place of a value."""
        of = self.distribution
        if isinstance(of, Choices):
            index = of.in_order.index(value)
            return float(index) if self.categorical else float(self._even(index))
        if isinstance(of, Grid) and not of.log:
            return float(self._even(round((float(value) - of.low) / of.step)))
        if of.low == of.high:
            return 0.5
        return min(1.0, max(0.0, Range(of.low, of.high, of.log).to_unit(float(value))))

    def value(self, place: float) -> Value:
        """Returns the value at a place, the nearest one of a grid."""
        of = self.distribution
        if isinstance(of, Range):
            return of.at(place)
        if of.log:
            return int(self._log_whole(place))
        index = int(place) if self.categorical else int(self._nearest(np.array(place)))
        return of.in_order[index] if isinstance(of, Choices) else of.value(index)

    def numbered(self, indices: np.ndarray) -> np.ndarray:
        """Returns the places of values by their numbers, from 0 to `count` - 1."""
        of = self.distribution
        if self.categorical:
            return indices.astype(np.float64)
        if isinstance(of, Grid) and of.log:
            return np.array([self.place(of.value(int(k))) for k in indices])
        return np.asarray(self._even(indices))

    def drawn(self, quantiles: np.ndarray) -> np.ndarray:
        """Returns the places of the values at uniform numbers in [0, 1)."""
        of = self.distribution
        if isinstance(of, Grid) and of.log:
            return np.array([self.place(of.at(float(q))) for q in quantiles])
        if self.count:
            return self.numbered(np.floor(quantiles * self.count).astype(int))
        return np.array(quantiles, np.float64)

    def snapped(self, places: np.ndarray) -> np.ndarray:
        """Returns the nearest places that values have."""
        of = self.distribution
        if self.categorical:
            return np.clip(np.rint(places), 0, self.count - 1)
        if isinstance(of, Grid) and of.log and of.low < of.high:
            low, high = math.log(of.low), math.log(of.high)
            return (np.log(self._log_whole(places)) - low) / (high - low)
        if self.count:
            return np.asarray(self._even(self._nearest(places)))
        return np.clip(places, 0.0, 1.0)

    def _nearest(self, places: np.ndarray) -> np.ndarray:
        return np.clip(np.rint(places * (self.count - 1)), 0, self.count - 1).astype(int)

    def _even(self, index: int | np.ndarray) -> float | np.ndarray:
        return index / (self.count - 1) if self.count > 1 else 0.5 + 0.0 * index

    def _log_whole(self, places: float | np.ndarray) -> np.ndarray:
        of: Any = self.distribution
        low, high = math.log(of.low), math.log(of.high)
        numbers = np.rint(np.exp(low + np.clip(places, 0, 1) * (high - low)))
        return np.clip(numbers, of.low, of.high)


class Encoder:
    """Turns settings of a space into places, and places into features."""

    def __init__(self, space: Space):
        self.space = space
        self.axes = [_Axis(parameter.distribution) for parameter in space.parameters]
        self._names = [parameter.name for parameter in space.parameters]

    def places(self, settings: Sequence[Mapping[str, Value]]) -> np.ndarray:
        """Returns places [n, P]; NaN for absent hyperparameters."""
        named = [*zip(self.axes, self._names, strict=True)]
        rows = [[a.place(s[n]) if n in s else math.nan for a, n in named] for s in settings]
        return np.array(rows, np.float64).reshape(len(rows), len(named))

    def settings(self, rows: np.ndarray) -> list[dict[str, Value]]:
        """Returns the settings at places [n, P], without inactive hyperparameters."""
        named = (zip(self._names, self.axes, row, strict=True) for row in rows)
        return [{n: a.value(float(p)) for n, a, p in row if not math.isnan(p)} for row in named]

    def snap(self, rows: np.ndarray) -> np.ndarray:
        """Returns the nearest places that settings have, [n, P]; NaN if inactive."""
        snapped = np.stack([a.snapped(rows[:, k]) for k, a in enumerate(self.axes)], axis=1)
        active = np.ones(snapped.shape, bool)
        for parameter in self.parents_first:
            for other, values in parameter.when:
                k = self._names.index(other)
                allowed = [self.axes[k].place(value) for value in values]
                holds = active[:, k] & np.isin(snapped[:, k], allowed)
                active[:, self._names.index(parameter.name)] &= holds
        snapped[~active] = np.nan
        return snapped

    def unconditional(self, quantiles: np.ndarray) -> np.ndarray:
        """Returns places at uniform numbers [n, P], as if every hyperparameter were active."""
        return np.stack([axis.drawn(quantiles[:, k]) for k, axis in enumerate(self.axes)], axis=1)

    def from_quantiles(self, quantiles: np.ndarray) -> np.ndarray:
        """Returns the places of settings at uniform numbers [n, P] in [0, 1)."""
        return self.snap(self.unconditional(quantiles))

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Returns what a kernel sees [n, D] of places [n, P]."""
        columns = []
        for k, axis in enumerate(self.axes):
            if axis.categorical:
                columns.append((rows[:, k, None] == np.arange(axis.count)) * math.sqrt(0.5))
            else:
                columns.append(np.where(np.isnan(rows[:, k]), 0.5, rows[:, k])[:, None])
        return np.concatenate(columns, axis=1)

    @functools.cached_property
    def everything(self) -> np.ndarray | None:
        """Places [n, P] of all settings of a small space; None for a large or continuous one."""
        counts = [axis.count for axis in self.axes]
        if not 0 < (total := math.prod(counts)) <= _ENUMERATED:
            return None
        numbers = np.unravel_index(np.arange(total), counts)
        columns = [axis.numbered(of) for axis, of in zip(self.axes, numbers, strict=True)]
        rows = self.snap(np.stack(columns, axis=1))
        _, first = np.unique(np.nan_to_num(rows, nan=-1.0), axis=0, return_index=True)
        return np.asarray(rows[np.sort(first)])

    @functools.cached_property
    def columns(self) -> Columns:
        """The columns of `features`."""
        sizes = [a.count if a.categorical else 1 for a in self.axes]
        group = np.repeat(np.arange(len(self.axes)), sizes)
        numeric = np.array([not axis.categorical and axis.count != 1 for axis in self.axes])
        drawn = self.from_quantiles(np.random.default_rng(0).random((1024, len(self.axes))))
        together = int((~np.isnan(drawn)).sum(axis=1).max())
        return Columns(group, np.flatnonzero(numeric[group]), len(self.axes), together)

    @functools.cached_property
    def parents_first(self) -> list[Parameter]:
        """Hyperparameters, each after those that its conditions name."""
        by_name = {parameter.name: parameter for parameter in self.space.parameters}

        def depth(parameter: Parameter) -> int:
            return 1 + max((depth(by_name[other]) for other, _ in parameter.when), default=-1)

        return sorted(by_name.values(), key=depth)


encoder = functools.lru_cache(maxsize=32)(Encoder)  # of a space


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
    degrees = counts - 1
    good = means >= np.median(means)
    sums = np.array([np.sum((values - values.mean()) ** 2) for values in scaled])
    variances = np.zeros(len(scaled))
    seed = 0.0
    if degrees[good].sum() >= _DEGREES:  # as many degrees of freedom as Smyth (2004) fits
        seed = float(sums[good].sum() / degrees[good].sum())  # pooled over the better half
        variances = (_DEGREES * seed + sums) / (_DEGREES + degrees)
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
    good = values[values >= middle]
    bad = values < middle
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
