"""Hyperparameters of a sweep: their values as ranks, and where they have an effect."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.space import Parameter, Space
from jaxeval.space.distributions import Choices, Distribution

Values = Mapping[str, Sequence[object]]  # hyperparameter -> [n] values, one a run


class _Scale(NamedTuple):
    """Scale of an axis in figures; `categories` are texts without a distance."""

    categories: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False


def scale(distribution: Distribution | None) -> _Scale:
    """Returns how figures show the values of a distribution."""
    if distribution is None:
        return _Scale()
    if isinstance(distribution, Choices):
        return _Scale(tuple(text(value) for value in distribution.in_order))
    whole = getattr(distribution, "whole", False)
    return _Scale(None, distribution.low, distribution.high, distribution.log, whole)


def text(value: object) -> str:
    """Formats a value; numbers have six digits, however they were written."""
    number = _number(value)
    return f"{number:g}" if math.isfinite(number) else str(value)


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@dataclasses.dataclass(frozen=True)
class Axis:
    """One hyperparameter over all runs."""

    name: str
    values: Sequence[object]
    rank: np.ndarray  # [n] dense rank of the value, from 1; 0 if it has no effect
    active: np.ndarray  # [n] bool: whether the hyperparameter has an effect
    ordered: bool  # whether the order of ranks has a meaning
    scale: _Scale

    @property
    def used(self) -> list[object]:
        """The values of the runs in which it has an effect."""
        return [value for value, on in zip(self.values, self.active, strict=True) if on]

    def select(self, rows: np.ndarray) -> "Axis":
        """Selects runs; ranks stay those of the whole sweep."""
        return dataclasses.replace(self, rank=self.rank[rows], active=self.active[rows])


def axes(
    values: Values,
    runs: int,
    space: Space | None = None,
    beside: Values | None = None,
) -> list[Axis]:
    """Ranks the values of all hyperparameters. Words are ordered only if the space orders them.

    A hyperparameter has no effect in a run where it is empty or its condition does not hold.

    Args:
      beside: further columns that conditions may name.

    Raises:
      ConfigError, DataError: a column of another length, a value that an order lacks, a condition
        on a missing column.
    """
    parameters = {of.name: of for of in space.parameters} if space else {}
    columns, found = {**(beside or {}), **values}, []
    for name, column in values.items():
        if len(column) != runs:
            raise DataError(f"{name}: expected {runs} values, one a run, found {len(column)}")
        distribution = parameters[name].distribution if name in parameters else None
        found.append(_axis(name, column, _holds(name, parameters, columns, runs), distribution))
    return found


def _holds(
    name: str, parameters: Mapping[str, Parameter], columns: Values, runs: int
) -> np.ndarray:
    """[n] bool: whether the conditions of a hyperparameter hold, and those of what they name."""
    holds = np.ones(runs, bool)
    for other, allowed in parameters[name].when if name in parameters else ():
        if other not in columns:
            raise ConfigError(f"{name}: its condition names {other}, which is not there")
        texts = {text(value) for value in allowed}
        holds &= np.array([text(value) in texts for value in columns[other]])
        holds &= _holds(other, parameters, columns, runs)
    return holds


def _axis(name: str, column: Sequence[object], holds: np.ndarray, of: Distribution | None) -> Axis:
    numbers, texts = np.array([_number(value) for value in column]), [*map(text, column)]
    words = of if isinstance(of, Choices) and of.are_words else None
    active = holds & np.array([value is not None and value != "" for value in column])
    is_word = active & np.isnan(numbers) & np.array([said.lower() != "nan" for said in texts])
    if words is None and not is_word.any():
        active &= np.isfinite(numbers)
        keys, ordered, shown = numbers[active], bool(active.any()), scale(of)
    else:
        ordered = words is not None and words.ordered
        occurring = sorted({said for said, on in zip(texts, active, strict=True) if on})
        order = [*map(text, words.values)] if words is not None and ordered else occurring
        if lacking := [said for said in occurring if said not in order]:
            raise ConfigError(f"{name}: the order lacks {', '.join(map(repr, lacking))}")
        places = [order.index(said) for said, on in zip(texts, active, strict=True) if on]
        keys, shown = np.array(places, int), _Scale(tuple(order))
    rank = np.zeros(len(column), int)
    rank[active] = np.unique(keys, return_inverse=True)[1] + 1
    return Axis(name, column, rank, active, ordered, shown)
