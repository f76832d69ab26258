"""Settings of a space as points of the unit cube, and back.

A setting is a row of places [P], one a hyperparameter: from 0 to 1 for numbers (in the logarithm
where it is drawn so) and for ordered choices, the index of the choice where choices have no order,
NaN where the hyperparameter is inactive. A kernel sees features [D]: a number's place, with half
where it is inactive (Golovin et al. 2017 impute so), and choices without order one-hot with
all zeros where inactive, scaled so that two different choices are at distance 1.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.space.distributions import (
    Choices,
    Distribution,
    Grid,
    Integer,
    LogInteger,
    LogUniform,
    Stepped,
    Uniform,
    Value,
)
from jaxeval.space.space import Parameter, Space

ENUMERATED = 2_000  # spaces of up to so many settings are searched completely
SAME = 1e-6  # places closer than this in every hyperparameter are one setting


class Columns(NamedTuple):
    """The columns of a feature matrix.

    Attributes:
      group: [D] hyperparameter of each: columns of one share a length-scale.
      warped: [W] those of numbers, whose places a model may warp.
      groups, together: how many hyperparameters there are, and are active at once at most.
    """

    group: np.ndarray
    warped: np.ndarray
    groups: int
    together: int

    def with_budget(self) -> "Columns":
        """With a last column that says how much of its training a setting had."""
        group = np.append(self.group, self.groups)
        return Columns(group, self.warped, self.groups + 1, self.together + 1)

    def complete(self, rows: np.ndarray, budget: float = 1.0) -> np.ndarray:
        """Features [n, D], with this budget (1: a whole training) where they are to have one."""
        lacking = len(self.group) - rows.shape[1]
        return np.pad(rows, ((0, 0), (0, lacking)), constant_values=budget) if lacking else rows


@dataclasses.dataclass(frozen=True)
class Axis:
    """A hyperparameter of so many values (0: a range), in order unless it is categorical."""

    distribution: Distribution
    count: int
    categorical: bool

    def place(self, value: Value) -> float:
        """Where a value stands."""
        of = self.distribution
        if isinstance(of, Choices):
            index = of.in_order.index(value)
            return float(index) if self.categorical else float(_even(index, self.count))
        if isinstance(of, Integer | Stepped):
            return float(_even(round((float(value) - of.low) / of.step), self.count))
        low, high, number = float(of.low), float(of.high), float(value)
        if low == high:
            return 0.5
        if isinstance(of, LogUniform | LogInteger):
            low, high, number = math.log(low), math.log(high), math.log(number)
        return min(1.0, max(0.0, (number - low) / (high - low)))

    def value(self, place: float) -> Value:
        """The value that stands at a place."""
        of = self.distribution
        if isinstance(of, Uniform | LogUniform):
            return of.at(place)
        if isinstance(of, LogInteger):
            low, high = math.log(of.low), math.log(of.high)
            return min(of.high, max(of.low, round(math.exp(low + place * (high - low)))))
        index = int(place) if self.categorical else int(self._nearest(np.array(place)))
        return of.in_order[index] if isinstance(of, Choices) else of.value(index)

    def numbered(self, indices: np.ndarray) -> np.ndarray:
        """Places of the values with these numbers in their order."""
        if self.categorical:
            return indices.astype(np.float64)
        if isinstance(self.distribution, LogInteger):
            numbers = map(self.distribution.value, indices.tolist())
            return np.array([self.place(number) for number in numbers])
        return np.asarray(_even(indices, self.count))

    def drawn(self, quantiles: np.ndarray) -> np.ndarray:
        """Places of the values at uniform numbers in [0, 1)."""
        if isinstance(self.distribution, LogInteger):
            numbers = map(self.distribution.at, quantiles.tolist())
            return np.array([self.place(number) for number in numbers])
        if self.count:
            return self.numbered(np.floor(quantiles * self.count).astype(int))
        return np.array(quantiles, np.float64)

    def snapped(self, places: np.ndarray) -> np.ndarray:
        """The nearest places that values have."""
        of = self.distribution
        if self.categorical:
            return np.clip(np.rint(places), 0, self.count - 1)
        if isinstance(of, LogInteger):
            low, high = math.log(of.low), math.log(of.high)
            numbers = np.rint(np.exp(low + np.clip(places, 0, 1) * (high - low)))
            if of.low == of.high:
                return np.full(len(places), 0.5)
            return (np.log(np.clip(numbers, of.low, of.high)) - low) / (high - low)
        if self.count:
            return np.asarray(_even(self._nearest(places), self.count))
        return np.clip(places, 0.0, 1.0)

    def _nearest(self, places: np.ndarray) -> np.ndarray:
        return np.clip(np.rint(places * (self.count - 1)), 0, self.count - 1).astype(int)


def _even(index: int | np.ndarray, count: int) -> float | np.ndarray:
    """Places of values of a grid: evenly from 0 to 1; a single value in the middle."""
    return index / (count - 1) if count > 1 else 0.5 + 0.0 * index


@functools.lru_cache(maxsize=32)
def axes(space: Space) -> tuple[Axis, ...]:
    """An axis a hyperparameter."""

    def axis(of: Distribution) -> Axis:
        if isinstance(of, Choices):
            return Axis(of, len(of.values), not of.ordered)
        return Axis(of, of.count if isinstance(of, Grid) else 0, False)

    return tuple(axis(parameter.distribution) for parameter in space.parameters)


def places(space: Space, settings: Sequence[Mapping[str, Value]]) -> np.ndarray:
    """Settings -> places [n, P]; NaN where a hyperparameter is absent."""
    rows = [
        [
            axis.place(values[parameter.name]) if parameter.name in values else math.nan
            for parameter, axis in zip(space.parameters, axes(space), strict=True)
        ]
        for values in settings
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(space.parameters))


def settings(space: Space, rows: np.ndarray) -> list[dict[str, Value]]:
    """Places [n, P] -> plain values by name, inactive ones left out."""
    return [
        {
            parameter.name: axis.value(float(place))
            for parameter, axis, place in zip(space.parameters, axes(space), row, strict=True)
            if not math.isnan(place)
        }
        for row in rows
    ]


def snap(space: Space, rows: np.ndarray) -> np.ndarray:
    """The nearest places that a setting can have, of finite numbers [n, P]; NaN if inactive."""
    columns = [axis.snapped(rows[:, k]) for k, axis in enumerate(axes(space))]
    snapped = np.stack(columns, axis=1)
    snapped[~_active(space, snapped)] = np.nan
    return snapped


def unconditional(space: Space, quantiles: np.ndarray) -> np.ndarray:
    """Places [n, P] by uniform numbers [n, P], as if every hyperparameter were active."""
    return np.stack([axis.drawn(quantiles[:, k]) for k, axis in enumerate(axes(space))], axis=1)


def from_quantiles(space: Space, quantiles: np.ndarray) -> np.ndarray:
    """Places [n, P] of settings drawn by uniform numbers [n, P] in [0, 1)."""
    return snap(space, unconditional(space, quantiles))


@functools.lru_cache(maxsize=4)
def everything(space: Space) -> np.ndarray | None:
    """Places [n, P] of all settings of a small space; None for a large or continuous one."""
    counts = [axis.count for axis in axes(space)]
    total = math.prod(counts)
    if not 0 < total <= ENUMERATED:
        return None
    numbers = np.unravel_index(np.arange(total), counts)
    columns = [axis.numbered(of) for axis, of in zip(axes(space), numbers, strict=True)]
    return distinct(snap(space, np.stack(columns, axis=1)))


def distinct(rows: np.ndarray) -> np.ndarray:
    """Places [n, P], each row once (no two NaN are equal to numpy), in their order."""
    _, first = np.unique(np.nan_to_num(rows, nan=-1.0), axis=0, return_index=True)
    each: np.ndarray = rows[np.sort(first)]
    return each


def is_taken(rows: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """[n]: whether each row of places is one of the taken [t, P]."""
    if not len(taken):
        return np.zeros(len(rows), bool)
    mine, others = (np.nan_to_num(a, nan=-1.0) for a in (rows, taken))
    # most of all pairs differ where there are most values: the others need no look
    first = int(np.argmax([len(np.unique(column)) for column in others.T]))
    left, right = np.nonzero(np.abs(mine[:, first, None] - others[None, :, first]) <= SAME)
    same = (np.abs(mine[left] - others[right]) <= SAME).all(axis=1)
    return np.isin(np.arange(len(mine)), left[same])


def features(space: Space, rows: np.ndarray) -> np.ndarray:
    """What a kernel sees [n, D] of places [n, P]."""
    columns = []
    for k, axis in enumerate(axes(space)):
        if axis.categorical:
            columns.append((rows[:, k, None] == np.arange(axis.count)) * math.sqrt(0.5))
        else:
            columns.append(np.where(np.isnan(rows[:, k]), 0.5, rows[:, k])[:, None])
    return np.concatenate(columns, axis=1)


@functools.lru_cache(maxsize=32)
def columns(space: Space) -> Columns:
    """The columns of `features`."""
    every = axes(space)
    group = np.repeat(np.arange(len(every)), [a.count if a.categorical else 1 for a in every])
    numeric = np.array([not axis.categorical and axis.count != 1 for axis in every])
    drawn = from_quantiles(space, np.random.default_rng(0).random((1024, len(every))))
    together = int((~np.isnan(drawn)).sum(axis=1).max())
    return Columns(group, np.flatnonzero(numeric[group]), len(every), together)


def _active(space: Space, snapped: np.ndarray) -> np.ndarray:
    """[n, P]: whether all conditions of a hyperparameter hold, theirs included."""
    column = {parameter.name: k for k, parameter in enumerate(space.parameters)}
    active = np.ones(snapped.shape, bool)
    for parameter in parents_first(space):
        own = column[parameter.name]
        for other, values in parameter.when:
            k = column[other]
            allowed = [axes(space)[k].place(value) for value in values]
            active[:, own] &= active[:, k] & np.isin(snapped[:, k], allowed)
    return active


@functools.lru_cache(maxsize=32)
def parents_first(space: Space) -> tuple[Parameter, ...]:
    """Hyperparameters, each after those that its conditions name."""
    by_name = {parameter.name: parameter for parameter in space.parameters}

    def depth(parameter: Parameter) -> int:
        return 1 + max((depth(by_name[other]) for other, _ in parameter.when), default=-1)

    return tuple(sorted(space.parameters, key=depth))
