"""Where each run stands on each hyperparameter: values to ranks, conditions to gaps."""

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxeval.errors import ConfigError, DataError, argument
from jaxeval.space.distributions import Choices, Distribution, Integer, LogInteger, LogUniform
from jaxeval.space.space import Parameter, Space

Values = Mapping[str, Sequence[object]]  # hyperparameter -> [n] values, one a run


class Scale(NamedTuple):
    """What figures must know of a range; categories, as texts, are told apart, not measured."""

    categories: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False


def scale(of: Distribution | None) -> Scale:
    """How figures show values of a distribution."""
    if of is None:
        return Scale()
    if isinstance(of, Choices):
        return Scale(tuple(text(value) for value in of.in_order))
    log, whole = isinstance(of, LogUniform | LogInteger), isinstance(of, Integer | LogInteger)
    return Scale(None, of.low, of.high, log, whole)


def text(value: object) -> str:
    """A value as people read it: numbers to six digits, however they were written."""
    number = _number(value)
    return f"{number:g}" if math.isfinite(number) else str(value)


def _number(value: Any) -> float:
    """NaN for what is no number."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@dataclasses.dataclass(frozen=True)
class Axis:
    """One hyperparameter over all runs.

    Attributes:
      rank: [n] dense rank from 1 of the value, 0 where it has no effect.
      active: [n] bool, whether it has an effect.
      ordered: whether ranks mean more than same or not.
    """

    name: str
    values: Sequence[object]
    rank: np.ndarray
    active: np.ndarray
    ordered: bool
    scale: Scale

    @property
    def used(self) -> list[object]:
        """The values of the runs in which it has an effect."""
        return [value for value, on in zip(self.values, self.active, strict=True) if on]

    def of_rows(self, rows: np.ndarray) -> "Axis":
        """The same for some runs; ranks stay those of the whole sweep."""
        return dataclasses.replace(self, rank=self.rank[rows], active=self.active[rows])


def axes(
    values: Values,
    runs: int,
    space: Space | None = None,
    log_scale: Collection[str] = (),
    beside: Values | None = None,
) -> list[Axis]:
    """All hyperparameters. Numbers are ordered, words only where the space orders them.

    An empty value, or one whose condition does not hold, has no effect in a run.

    Args:
      space: orders, conditions and ranges.
      log_scale: those that figures show on a logarithmic axis, beside what the space says.
      beside: more columns, which conditions may name.

    Raises:
      ConfigError, DataError: a column of another length, a value that an order lacks, a condition
        on what is not there.
    """
    parameters = {of.name: of for of in space.parameters} if space else {}
    columns, found = {**(beside or {}), **values}, []
    for name, column in values.items():
        if len(column) != runs:
            raise DataError(f"{name}: expected {runs} values, one a run, found {len(column)}")
        of = parameters[name].distribution if name in parameters else None
        axis = _axis(name, column, _holds(name, parameters, columns, runs), of)
        if name in log_scale:
            for value in axis.used:
                if not _number(value) > 0:
                    needs = f"a logarithmic scale needs numbers above 0, found {value}"
                    raise ConfigError(f"{argument('log_scale', name)}: {needs}")
            axis = dataclasses.replace(axis, scale=axis.scale._replace(log=True))
        found.append(axis)
    return found


def _holds(
    name: str, parameters: Mapping[str, Parameter], columns: Values, runs: int
) -> np.ndarray:
    """[n] whether the conditions of a hyperparameter hold, and those of what they name."""
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
        keys, shown = np.array(places, int), Scale(tuple(order))
    rank = np.zeros(len(column), int)
    rank[active] = np.unique(keys, return_inverse=True)[1] + 1
    return Axis(name, column, rank, active, ordered, shown)
