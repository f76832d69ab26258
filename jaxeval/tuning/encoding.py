"""Settings of a space as points of the unit cube, and back.

A setting is a row of places [P], one a hyperparameter: from 0 to 1 for numbers (in the logarithm
where it is drawn so) and for ordered choices, the index of the choice where choices have no order,
NaN where the hyperparameter is inactive. A kernel sees features [D]: a number's place, with half
where it is inactive (Golovin et al. 2017 impute so), and choices without order one-hot with
all zeros where inactive, scaled so that two different choices are at distance 1.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeGuard

import numpy as np

from jaxeval.space import distributions
from jaxeval.space.distributions import (
    Choices,
    Distribution,
    Grid,
    Integer,
    LogInteger,
    LogUniform,
    Stepped,
    Value,
)
from jaxeval.space.space import Parameter, Space

ENUMERATED = 2_000  # spaces of up to so many settings are searched completely


class Features(NamedTuple):
    """The columns of a feature matrix.

    Attributes:
      group: [D] hyperparameter of each column: columns of one share a length-scale.
      warped: [W] columns of numbers, whose places a model may warp.
      groups: number of hyperparameters, and of the budget where that is a column.
      together: how many of these are active at once, at most.
    """

    group: np.ndarray
    warped: np.ndarray
    groups: int
    together: int


def places(space: Space, settings: Sequence[Mapping[str, Value]]) -> np.ndarray:
    """Settings -> places [n, P]; NaN where a hyperparameter is absent."""
    rows = [
        [
            _place(parameter.distribution, values[parameter.name])
            if parameter.name in values
            else math.nan
            for parameter in space.parameters
        ]
        for values in settings
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(space.parameters))


def settings(space: Space, rows: np.ndarray) -> list[dict[str, Value]]:
    """Places [n, P] -> plain values by name, inactive ones left out."""
    return [
        {
            parameter.name: _value(parameter.distribution, float(value))
            for parameter, value in zip(space.parameters, row, strict=True)
            if not math.isnan(value)
        }
        for row in rows
    ]


def snap(space: Space, rows: np.ndarray) -> np.ndarray:
    """The nearest places that a setting can have: grids kept, inactive hyperparameters NaN.

    Args:
      rows: [n, P] of finite numbers, those of inactive hyperparameters included.
    """
    snapped = np.empty_like(rows)
    for k, parameter in enumerate(space.parameters):
        count = choices(parameter.distribution)
        if is_categorical(parameter.distribution):
            snapped[:, k] = np.clip(np.rint(rows[:, k]), 0, count - 1)
        elif isinstance(parameter.distribution, LogInteger):
            snapped[:, k] = _in_logarithm(parameter.distribution, rows[:, k])
        elif count:
            snapped[:, k] = _grid(_nearest(rows[:, k], count), count)
        else:
            snapped[:, k] = np.clip(rows[:, k], 0.0, 1.0)
    snapped[~_active(space, snapped)] = np.nan
    return snapped


def from_quantiles(space: Space, quantiles: np.ndarray) -> np.ndarray:
    """Places [n, P] of settings drawn by uniform numbers [n, P] in [0, 1)."""
    return snap(space, unconditional(space, quantiles))


def unconditional(space: Space, quantiles: np.ndarray) -> np.ndarray:
    """Places [n, P] by uniform numbers, as if every hyperparameter were active."""
    rows = np.array(quantiles, np.float64)
    for k, parameter in enumerate(space.parameters):
        count = choices(parameter.distribution)
        index = np.floor(rows[:, k] * count).astype(int)
        if is_categorical(parameter.distribution):
            rows[:, k] = index
        elif isinstance(parameter.distribution, LogInteger):
            numbers = [parameter.distribution.at(q) for q in quantiles[:, k].tolist()]
            rows[:, k] = [_place(parameter.distribution, number) for number in numbers]
        elif count:
            rows[:, k] = _grid(index, count)
    return rows


def everything(space: Space) -> np.ndarray | None:
    """Places [n, P] of all settings of a small space; None for a large or continuous one."""
    counts = [choices(parameter.distribution) for parameter in space.parameters]
    total = math.prod(counts)
    if not 0 < total <= ENUMERATED:
        return None
    indices = np.stack(np.unravel_index(np.arange(total), counts), axis=1)
    each = [of_indices(p.distribution, indices[:, k]) for k, p in enumerate(space.parameters)]
    return distinct(snap(space, np.stack(each, axis=1)))


def of_indices(distribution: Distribution, indices: np.ndarray) -> np.ndarray:
    """Places of the values of a finite distribution, by their order."""
    if is_categorical(distribution):
        return indices.astype(np.float64)
    if isinstance(distribution, LogInteger):
        return np.array([_place(distribution, distribution.value(k)) for k in indices.tolist()])
    return _grid(indices, choices(distribution))


def _in_logarithm(of: LogInteger, places: np.ndarray) -> np.ndarray:
    """The places of the nearest whole numbers."""
    low, high = math.log(of.low), math.log(of.high)
    numbers = np.clip(np.rint(np.exp(low + np.clip(places, 0, 1) * (high - low))), of.low, of.high)
    if of.low == of.high:
        return np.full(len(places), 0.5)
    return (np.log(numbers) - low) / (high - low)


def distinct(rows: np.ndarray) -> np.ndarray:
    """Places [n, P], each row once (no two NaN are equal to numpy), in their order."""
    _, first = np.unique(np.nan_to_num(rows, nan=-1.0), axis=0, return_index=True)
    each: np.ndarray = rows[np.sort(first)]
    return each


def features(space: Space, rows: np.ndarray) -> np.ndarray:
    """What a kernel sees [n, D] of places [n, P]."""
    columns = []
    for k, parameter in enumerate(space.parameters):
        values = rows[:, k]
        if is_categorical(parameter.distribution):
            index = np.arange(choices(parameter.distribution))
            columns.append((values[:, None] == index) * math.sqrt(0.5))
        else:
            columns.append(np.where(np.isnan(values), 0.5, values)[:, None])
    return np.concatenate(columns, axis=1)


@functools.lru_cache(maxsize=32)
def layout(space: Space) -> Features:
    """The columns of `features`."""
    kinds = [parameter.distribution for parameter in space.parameters]
    widths = [choices(kind) if is_categorical(kind) else 1 for kind in kinds]
    group = np.repeat(np.arange(len(kinds)), widths)
    numeric = np.array([not is_categorical(kind) and choices(kind) != 1 for kind in kinds])
    drawn = from_quantiles(space, np.random.default_rng(0).random((1024, len(kinds))))
    together = int((~np.isnan(drawn)).sum(axis=1).max())
    return Features(group, np.flatnonzero(numeric[group]), len(kinds), together)


def with_budget(columns: Features) -> Features:
    """The same with a last column that says how much of its training a setting had."""
    group = np.append(columns.group, columns.groups)
    return Features(group, columns.warped, columns.groups + 1, columns.together + 1)


def complete(columns: Features, rows: np.ndarray, budget: float = 1.0) -> np.ndarray:
    """Features [n, D], of this budget (1: a whole training) where they are to have one."""
    missing = len(columns.group) - rows.shape[1]
    return np.pad(rows, ((0, 0), (0, missing)), constant_values=budget) if missing else rows


def is_categorical(distribution: Distribution) -> TypeGuard[Choices]:
    """Whether it draws among choices without order."""
    return isinstance(distribution, Choices) and not distribution.ordered


def choices(distribution: Distribution) -> int:
    """Number of different values; 0 for a continuous range."""
    if isinstance(distribution, Choices):
        return len(distribution.values)
    return distribution.count if isinstance(distribution, Grid) else 0


def _place(distribution: Distribution, value: Value) -> float:
    if isinstance(distribution, Choices):
        index = distribution.in_order.index(value)
        return float(index) if not distribution.ordered else _at(index, choices(distribution))
    if isinstance(distribution, Integer | Stepped):
        index = round((float(value) - distribution.low) / distribution.step)
        return _at(index, distribution.count)
    low, high, number = float(distribution.low), float(distribution.high), float(value)
    if low == high:
        return 0.5
    if isinstance(distribution, LogUniform | LogInteger):
        low, high, number = math.log(low), math.log(high), math.log(number)
    return min(1.0, max(0.0, (number - low) / (high - low)))


def _value(distribution: Distribution, place: float) -> Value:
    if isinstance(distribution, distributions.Uniform | LogUniform):
        return distribution.at(place)
    if is_categorical(distribution):
        return distribution.values[int(place)]
    if isinstance(distribution, LogInteger):
        low, high = math.log(distribution.low), math.log(distribution.high)
        number = round(math.exp(low + place * (high - low)))
        return min(distribution.high, max(distribution.low, number))
    index = int(_nearest(np.array([place]), choices(distribution))[0])
    if isinstance(distribution, Grid):
        return distribution.value(index)
    return distribution.in_order[index]


def _grid(index: np.ndarray, count: int) -> np.ndarray:
    """Places of the values of a grid: evenly from 0 to 1; a single value in the middle."""
    return index / (count - 1) if count > 1 else np.full(np.shape(index), 0.5)


def _at(index: int, count: int) -> float:
    return float(_grid(np.array(index), count))


def _nearest(place: np.ndarray, count: int) -> np.ndarray:
    return np.clip(np.rint(place * (count - 1)), 0, count - 1).astype(int)


def _active(space: Space, snapped: np.ndarray) -> np.ndarray:
    """[n, P]: whether all conditions of a hyperparameter hold, theirs included."""
    column = {parameter.name: k for k, parameter in enumerate(space.parameters)}
    active = np.ones(snapped.shape, bool)
    for name in parents_first(space):
        parameter = space.parameters[column[name]]
        for other, values in parameter.when:
            k = column[other]
            allowed = [_place(space.parameters[k].distribution, value) for value in values]
            active[:, column[name]] &= active[:, k] & np.isin(snapped[:, k], allowed)
    return active


@functools.lru_cache(maxsize=32)
def parents_first(space: Space) -> tuple[str, ...]:
    """Names, each after those that its conditions name."""
    by_name = {parameter.name: parameter for parameter in space.parameters}

    def depth(parameter: Parameter) -> int:
        return 1 + max((depth(by_name[other]) for other, _ in parameter.when), default=-1)

    return tuple(sorted(by_name, key=lambda name: depth(by_name[name])))
