"""Where each run stands on each hyperparameter: values to ranks, conditions to gaps."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, SupportsFloat, SupportsIndex

import numpy as np

from jaxeval.errors import ConfigError, DataError
from jaxeval.runs.imported import listed

Values = Mapping[str, Sequence[object]]


class HyperparameterScale(NamedTuple):
    """What figures must know of a hyperparameter's range, which its values do not say.

    Attributes:
      categories: its values as texts, which are told apart rather than measured; None: numbers.
      low, high: of the range; None: it is not known.
      log: whether it was drawn evenly in the logarithm.
      whole: whether it has whole numbers only.
    """

    categories: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False


MEASURED = HyperparameterScale()  # numbers of which no more is known


@dataclasses.dataclass(frozen=True)
class Declared:
    """What the values alone do not say.

    Attributes:
      orders: ordered categories: name -> values from low to high. Categories without an order are
        told apart, but have no profile.
      conditions: name -> other hyperparameter -> its values under which this one has an effect.
      scales: name -> scale; without one numbers are measured linearly and words told apart.
    """

    orders: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, Sequence[str]]] = dataclasses.field(default_factory=dict)
    scales: Mapping[str, HyperparameterScale] = dataclasses.field(default_factory=dict)

    def over(self, other: "Declared") -> "Declared":
        """This, and what it leaves open as the other says."""
        return Declared(
            {**other.orders, **self.orders},
            {**other.conditions, **self.conditions},
            {**other.scales, **self.scales},
        )

    def only(self, names: Iterable[str]) -> "Declared":
        """What is said of some hyperparameters."""
        chosen = set(names)
        return Declared(
            {name: said for name, said in self.orders.items() if name in chosen},
            {name: said for name, said in self.conditions.items() if name in chosen},
            {name: said for name, said in self.scales.items() if name in chosen},
        )

    @property
    def names(self) -> list[str]:
        """Of all hyperparameters that it says something of."""
        return list(dict.fromkeys((*self.orders, *self.conditions, *self.scales)))


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
    scale: HyperparameterScale = MEASURED

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
    for name in declared.names:
        if name not in values:
            raise ConfigError(f"{name}: no such hyperparameter; there are {', '.join(values)}")
    return [_axis(name, column, values, declared, runs) for name, column in values.items()]


def refuse_unknown(asked: Declared, sweeps: Sequence[tuple[Values, Declared]]) -> None:
    """A condition must name a value that some sweep has, or may have by its space or order.

    Args:
      sweeps: of each its values, and what is declared of them.

    Raises:
      ConfigError: none of its values ever occurs, as a misspelt one.
    """
    for name, conditions in asked.conditions.items():
        for other, wanted in conditions.items():
            known = dict.fromkeys(value for sweep in sweeps for value in _known(other, *sweep))
            unknown = [value for value in wanted if text(value) not in known]
            # `axes` refuses a condition on a column that is not read
            if known and len(unknown) == len(wanted):
                raise ConfigError(
                    f"--when {name}:{other}={','.join(wanted)}: {other} is never {unknown[0]!r}; "
                    f"it is {listed(list(known))}"
                )


def _known(name: str, values: Values, declared: Declared) -> list[str]:
    """Values of a hyperparameter as texts: those that occur, and those that are declared."""
    occurring = [value for value in values.get(name, ()) if value not in ("", None)]
    categories = declared.scales.get(name, MEASURED).categories or ()
    return [text(value) for value in (*occurring, *declared.orders.get(name, ()), *categories)]


def _axis(
    name: str, column: Sequence[object], all_: Values, declared: Declared, runs: int
) -> Axis:
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
    used = [value for value, on in zip(column, active, strict=True) if on]
    return Axis(name, column, rank, active, ordered, _scale(name, used, declared))


def _scale(name: str, used: Sequence[object], declared: Declared) -> HyperparameterScale:
    """As declared; else numbers on a linear scale, or words as categories."""
    if name in declared.orders:
        return HyperparameterScale(tuple(text(value) for value in declared.orders[name]))
    if any(_is_text(value) for value in used):
        texts = tuple(sorted({text(value) for value in used}))
        return declared.scales.get(name, HyperparameterScale(texts))._replace(
            categories=texts, log=False
        )
    scale = declared.scales.get(name, MEASURED)
    not_above_zero = [value for value in used if not _number(value) > 0]
    if scale.log and not_above_zero:
        raise ConfigError(
            f"{name}: a logarithmic scale needs numbers above 0, found {not_above_zero[0]}"
        )
    return scale


def text(value: object) -> str:
    """A value as people read it: numbers to six digits, however they were written."""
    number = math.nan if isinstance(value, bool) else _number(value)
    return f"{number:g}" if math.isfinite(number) else str(value)


def _active(name: str, values: Values, declared: Declared, runs: int) -> np.ndarray:
    active = np.ones(runs, bool)
    for other, values_of_other in declared.conditions.get(name, {}).items():
        if other not in values:
            raise ConfigError(f"{name}: its condition names {other}, which is not there")
        allowed = {text(value) for value in values_of_other}
        active &= np.array([text(value) in allowed for value in values[other]])
    return active


def _number(value: object) -> float:
    if not isinstance(value, str | bytes | SupportsFloat | SupportsIndex):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _is_text(value: object) -> bool:
    number = value or "nan"
    if isinstance(value, bool) or not isinstance(
        number, str | bytes | SupportsFloat | SupportsIndex
    ):
        return True
    try:
        float(number)
    except (TypeError, ValueError):
        return True
    except OverflowError:
        return False
    return False


def _codes(column: Sequence[object]) -> np.ndarray:
    places = {value: k for k, value in enumerate(sorted({str(value) for value in column}))}
    return np.array([places[str(value)] for value in column], float)
