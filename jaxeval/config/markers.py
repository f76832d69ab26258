"""What a key of a config is, said at the key: traced, ragged, immaterial, or (unmarked) static.

* A **traced** key is a number that compiled programs take as an argument: members of one program
  may differ in it.
* A **ragged** key is a size. Members of one program may differ in it where their task can pad them
  (`Kind.member_sizes`).
* An **immaterial** key changes no score, and so is no part of an experiment's id.
* All others are static: compiled in.

Markers stand in a field's annotation: `l2: Annotated[float, markers.Traced(neutral=0.0)] = 0.0`.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from jaxeval.config import reading
from jaxeval.files import Json


class Range(NamedTuple):
    """What a hyperparameter is tuned over."""

    low: float
    high: float
    log: bool = False  # whether equal ratios, rather than differences, are equal steps

    def to_unit(self, value: float) -> float:
        """Where a value lies: 0 is the low end, 1 the high."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (at - low) / (high - low)

    def from_unit(self, fraction: float) -> float:
        """The value at a fraction of the way, to six digits."""
        low, high = (math.log(v) if self.log else v for v in (self.low, self.high))
        value = low + fraction * (high - low)
        return float(f"{math.exp(value) if self.log else value:.6g}")


class Limits(NamedTuple):
    """Values that a hyperparameter can have: from `low`, or above it, to `high`, or below it."""

    low: float
    high: float
    above: bool = False
    below: bool = False

    def allow(self, value: float) -> bool:
        """Whether the value is among them."""
        over = value > self.low if self.above else value >= self.low
        return over and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        low = f"above {self.low:g}" if self.above else f"from {self.low:g}"
        if math.isinf(self.high):
            return low
        return low + (f" and below {self.high:g}" if self.below else f" to {self.high:g}")


NOT_NEGATIVE = Limits(0, math.inf)
FRACTION = Limits(0, 1, below=True)  # decay rates of moving averages, dropout rates


@dataclasses.dataclass(frozen=True)
class Traced:
    """A number that is an argument of compiled programs.

    Attributes:
      neutral: the value that changes nothing, as an absent key; None: there is none. A member
        whose value is neutral needs no such argument; all runs of a sweep get it all the same, so
        that those with and without it share a program.
      alone: not even runs of a sweep do: what it costs those for which it is neutral, or which
        random numbers they draw, would be another.
      range: in which a neighbourhood is drawn unless another is asked for; None: not varied.
    """

    neutral: float | None = None
    alone: bool = False
    name: str | None = None  # of the hyperparameter; None: the key's last part
    range: Range | None = None
    limits: Limits = NOT_NEGATIVE  # of possible values


@dataclasses.dataclass(frozen=True)
class TracedTable:
    """A table of traced numbers by name, such as an optimiser's hyperparameters.

    Attributes:
      values: from the settings that hold the table, all its names with their values.
    """

    values: Callable[[Any], Mapping[str, float]]
    each: Mapping[str, Traced]  # what each of them is, by name; others are `Traced()`


class _Marker:
    """A marker without more to say."""


IMMATERIAL = _Marker()
RAGGED = _Marker()
Marker = Traced | TracedTable | _Marker


class Hyperparameter(NamedTuple):
    """A traced number of a config."""

    name: str
    key: str  # such as "training.optimiser.l2"
    value: float
    marker: Traced

    @property
    def active(self) -> bool:
        """Whether it changes anything."""
        return self.marker.neutral is None or self.value != self.marker.neutral


def dropout(name: str, alone: bool = True) -> Traced:
    """The marker of a dropout rate."""
    return Traced(0.0, alone, name, Range(0.0, 0.9), FRACTION)


def traced(settings: object, prefix: str = "") -> dict[str, Hyperparameter]:
    """The traced numbers of settings and of all settings in them, by name.

    Settings may have a property `unused`: the names that their other keys make meaningless.
    """
    unused = getattr(settings, "unused", ())
    found: dict[str, Hyperparameter] = {}
    for key, value, marker in _marked(settings):
        if isinstance(marker, Traced):
            name, number = marker.name or key, marker.neutral if value is None else float(value)
            if number is not None:
                found[name] = Hyperparameter(name, prefix + key, number, marker)
        elif isinstance(marker, TracedTable):
            for name, number in marker.values(settings).items():
                of_name = marker.each.get(name, Traced())
                found[name] = Hyperparameter(name, f"{prefix}{key}.{name}", number, of_name)
        elif dataclasses.is_dataclass(value):
            found |= traced(value, f"{prefix}{key}.")
    return {name: number for name, number in found.items() if name not in unused}


def active(settings: object) -> dict[str, float]:
    """The traced numbers that change anything, by name."""
    return {name: number.value for name, number in traced(settings).items() if number.active}


def static(settings: object, ragged: bool = False) -> dict[str, Json]:
    """Plain data of what is compiled in: all keys that are not traced; ragged ones if asked for.

    Args:
      ragged: whether members may differ in ragged keys, which are then left out too.
    """
    tree = reading.to_dict(settings)
    for key, value, marker in _marked(settings):
        if isinstance(marker, Traced | TracedTable) or (ragged and marker is RAGGED):
            del tree[key]
        elif dataclasses.is_dataclass(value):
            inner = static(value, ragged)
            # settings that say nothing but traced values are as absent ones
            tree[key] = inner if any(part is not None for part in inner.values()) else None
    return tree


def keys(settings: object, sought: Marker, prefix: str = "") -> Iterator[str]:
    """The keys that bear a marker, such as `IMMATERIAL`."""
    for key, value, marker in _marked(settings):
        if marker is sought:
            yield prefix + key
        elif dataclasses.is_dataclass(value):
            yield from keys(value, sought, f"{prefix}{key}.")


def _marked(settings: object) -> Iterator[tuple[str, Any, Marker | None]]:
    """(key, value, marker or None) of settings."""
    for key, field in reading.fields_of(settings).items():
        markers = (m for m in field.metadata if isinstance(m, Marker))
        yield key, getattr(settings, key), next(markers, None)
