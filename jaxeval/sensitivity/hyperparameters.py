"""Where each run stands on each hyperparameter: values to ranks, conditions to gaps."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.errors import ConfigError, DataError

Values = Mapping[str, Sequence[Any]]


@dataclasses.dataclass(frozen=True)
class Declared:
    """What the values alone do not say.

    Attributes:
      orders: ordered categories: name -> values from low to high. Categories without an order are
        told apart, but have no profile.
      conditions: name -> other hyperparameter -> its values under which this one has an effect.
    """

    orders: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, Sequence[str]]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Axis:
    """One hyperparameter over all runs.

    Attributes:
      rank: [n] dense rank from 1 of the value, 0 where it has no effect.
      active: [n] bool, whether it has an effect.
      ordered: whether ranks mean more than same or not.
    """

    name: str
    values: Sequence[Any]
    rank: np.ndarray
    active: np.ndarray
    ordered: bool

    @property
    def position(self) -> np.ndarray:
        """[n] rank from 0 to 1; 0 for a single value."""
        return (self.rank - 1) / max(1, int(self.rank.max()) - 1)

    def of_rows(self, rows: np.ndarray) -> "Axis":
        """The same for some runs; ranks stay those of the whole sweep."""
        return dataclasses.replace(self, rank=self.rank[rows], active=self.active[rows])


def axes(values: Values, declared: Declared, runs: int) -> list[Axis]:
    """All hyperparameters, checked.

    Raises:
      DataError: a column of another length.
      ConfigError: an order that lacks a value, a condition on what is not there.
    """
    for name in (*declared.orders, *declared.conditions):
        if name not in values:
            raise ConfigError(f"{name}: no such hyperparameter; there are {', '.join(values)}")
    return [_axis(name, column, values, declared, runs) for name, column in values.items()]


def _axis(name: str, column: Sequence[Any], all_: Values, declared: Declared, runs: int) -> Axis:
    if len(column) != runs:
        raise DataError(f"{name}: expected {runs} values, one a run, found {len(column)}")
    active = _active(name, all_, declared, runs)
    if name in declared.orders:
        order = [str(value) for value in declared.orders[name]]
        absent = sorted({str(v) for v in np.array(column, object)[active]} - set(order))
        if absent:
            raise ConfigError(f"{name}: the order lacks {', '.join(map(repr, absent))}")
        keys = np.array([order.index(str(v)) if str(v) in order else -1 for v in column], float)
        ordered = True
    else:
        numbers = np.array([_number(value) for value in column])
        ordered = bool(np.isfinite(numbers[active]).any()) and not any(
            _is_text(value) for value, used in zip(column, active, strict=True) if used
        )
        keys = numbers if ordered else _codes(column)
        if ordered:
            active = active & np.isfinite(numbers)  # an empty number: the run had no such setting
    rank = np.zeros(runs, int)
    rank[active] = np.unique(keys[active], return_inverse=True)[1] + 1
    return Axis(name, column, rank, active, ordered)


def _active(name: str, values: Values, declared: Declared, runs: int) -> np.ndarray:
    active = np.ones(runs, bool)
    for other, wanted in declared.conditions.get(name, {}).items():
        if other not in values:
            raise ConfigError(f"{name}: its condition names {other}, which is not there")
        allowed = {str(value) for value in wanted}
        active &= np.array([str(value) in allowed for value in values[other]])
    return active


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _is_text(value: Any) -> bool:
    if isinstance(value, bool):
        return True
    try:
        float(value or "nan")
    except (TypeError, ValueError):
        return True
    except OverflowError:
        return False
    return False


def _codes(column: Sequence[Any]) -> np.ndarray:
    places = {value: k for k, value in enumerate(sorted({str(value) for value in column}))}
    return np.array([places[str(value)] for value in column], float)
