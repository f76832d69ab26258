"""Types of config fields, and the markers that say what changing a field does; fields as TOML.

* A **traced** field is a number that compiled programs take as an argument. Members of one program
  may differ in it.
* A **ragged** field is a size. Members of one program may differ in it if their task can pad them
  (`Kind.member_sizes`).
* An **immaterial** field changes no score, so it is no part of an experiment's id.
* All other fields are static: compiled into the program.

Markers stand in the annotation: `l2: Annotated[float, fields.Traced(neutral=0.0)] = 0.0`.
"""

import dataclasses
import enum
import functools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import pydantic
from pydantic.fields import FieldInfo

from jaxeval.config import reading
from jaxeval.files import Json
from jaxeval.parameters import Number

_MOST = 2**31 - 1  # devices count in 32 bits


_Flag = enum.Enum("_Flag", ["IMMATERIAL", "RAGGED"])
IMMATERIAL, RAGGED = _Flag.IMMATERIAL, _Flag.RAGGED

Count = Annotated[int, pydantic.Field(ge=1, le=_MOST)]
Natural = Annotated[int, pydantic.Field(ge=0, le=_MOST)]
Column = Annotated[int, pydantic.Field(ge=1, le=2**16)]  # of a file, from 1
Widths = Annotated[int, pydantic.Field(ge=1, le=128)]  # padded widths, each compiled separately
Length = Annotated[int, pydantic.Field(ge=1, le=2**14)]  # of a padded sequence
# of a vector or layer; the recurrent kernel [2H, 4H] of the largest H has 2^31 numbers, 8 GB
Size = Annotated[int, pydantic.Field(ge=1, le=2**14)]
Layers = Annotated[int, pydantic.Field(ge=1, le=128)]  # each compiled separately
Rows = Annotated[int, pydantic.Field(ge=1, le=2**20)]  # of a batch
Rate = Annotated[float, pydantic.Field(ge=0, lt=1)]  # of dropout, and other probabilities
LearningRate = Annotated[float, pydantic.Field(ge=0, le=1000)]
FilePattern = Annotated[str, pydantic.Field(description="file name pattern")]
Name = Annotated[str, IMMATERIAL, pydantic.Field(description="shown in tables")]
CorpusPath = Annotated[
    str | None,
    IMMATERIAL,
    pydantic.Field(min_length=1, description="folder of the files, or a file; absent: generated"),
]


def about(text: str) -> FieldInfo:
    """Sets the description of a field that `jaxeval configs keys` prints."""
    field: FieldInfo = pydantic.Field(description=text)
    return field


@dataclasses.dataclass(frozen=True)
class Range:
    """The uniform distribution on [low, high], or uniform in the logarithm."""

    low: float
    high: float
    log: bool = False
    count: ClassVar[int] = 0  # its values cannot be counted

    def at(self, quantile: float) -> float:
        """Returns the value of a quantile in [0, 1]."""
        if not self.log:
            return min(self.high, self.low + quantile * (self.high - self.low))
        low, high = math.log(self.low), math.log(self.high)
        return min(self.high, max(self.low, math.exp(low + quantile * (high - low))))

    def takes(self, value: object) -> bool:
        """Returns whether the value is a float in the range."""
        return isinstance(value, float) and self.low <= value <= self.high

    def to_unit(self, value: float) -> float:
        """Returns the quantile of a value."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (at - low) / (high - low)


_NOT_NEGATIVE = Number(0)
FRACTION = Number(0, 1, below=True)  # decay rates of moving averages, dropout rates


@dataclasses.dataclass(frozen=True)
class Traced:
    """Marks a number that is an argument of compiled programs."""

    # the value that has no effect, or None. A member with this value does not pass the argument;
    # all runs of a sweep do, so that they share one program
    neutral: float | None = None
    # not even runs of a sweep pass a neutral value, because that would change their cost or their
    # random numbers
    alone: bool = False
    name: str | None = None  # of the hyperparameter; None: the last part of the key
    range: Range | None = None  # default range of `jaxeval neighbourhood`; None: not varied
    limits: Number = _NOT_NEGATIVE


@dataclasses.dataclass(frozen=True)
class TracedTable:
    """Marks a table of traced numbers, such as an optimiser's hyperparameters."""

    # settings that hold the table -> all its names with their values
    values: Callable[[Any], Mapping[str, float]]
    each: Mapping[str, Traced]  # markers of the numbers by name; the default is `Traced()`


_Marker = Traced | TracedTable | _Flag


class Hyperparameter(NamedTuple):
    """A traced number of a config."""

    name: str
    key: str  # such as "training.optimiser.l2"
    value: float
    marker: Traced

    @property
    def active(self) -> bool:
        """True if the value is not neutral."""
        return self.marker.neutral is None or self.value != self.marker.neutral


def dropout(name: str, alone: bool = True) -> Traced:
    """Returns the marker of a dropout rate."""
    return Traced(0.0, alone, name, Range(0.0, 0.9), FRACTION)


def traced(settings: object, prefix: str = "") -> dict[str, Hyperparameter]:
    """Returns the traced numbers of settings and of nested settings, by name.

    A property `unused` of settings names those that other keys make meaningless.
    """
    unused = getattr(settings, "unused", ())
    found: dict[str, Hyperparameter] = {}
    for key, value, marker in _marked(settings):
        if isinstance(marker, Traced):
            name = marker.name or key
            number = marker.neutral if value is None else float(value)
            if number is not None:
                found[name] = Hyperparameter(name, prefix + key, number, marker)
        elif isinstance(marker, TracedTable):
            for name, number in marker.values(settings).items():
                each = marker.each.get(name, Traced())
                found[name] = Hyperparameter(name, f"{prefix}{key}.{name}", number, each)
        elif dataclasses.is_dataclass(value):
            found |= traced(value, f"{prefix}{key}.")
    return {name: number for name, number in found.items() if name not in unused}


def active(settings: object) -> dict[str, float]:
    """Returns the traced numbers that are not neutral, by name."""
    return {name: number.value for name, number in traced(settings).items() if number.active}


def static(settings: object, ragged: bool = False) -> dict[str, Json]:
    """Returns settings without traced fields (with `ragged`, without ragged ones too), as JSON."""
    tree = reading.to_dict(settings)
    for key, value, marker in _marked(settings):
        if isinstance(marker, Traced | TracedTable) or (ragged and marker is RAGGED):
            del tree[key]
        elif dataclasses.is_dataclass(value):
            inner = static(value, ragged)
            # settings with traced values only count as absent
            tree[key] = inner if any(part is not None for part in inner.values()) else None
    return tree


def keys(settings: object, marker: _Flag, prefix: str = "") -> Iterator[str]:
    """Yields the keys that bear a marker, such as `IMMATERIAL`."""
    for key, value, own in _marked(settings):
        if own is marker:
            yield prefix + key
        elif dataclasses.is_dataclass(value):
            yield from keys(value, marker, f"{prefix}{key}.")


def _marked(settings: object) -> Iterator[tuple[str, Any, _Marker | None]]:
    """Yields the key, value and marker of each field."""
    cls: Any = type(settings)
    for key, marker in _markers(cls):
        yield key, getattr(settings, key), marker


@functools.cache
def _markers(cls: Any) -> list[tuple[str, _Marker | None]]:
    """The marker of each field; looking for them takes longer than all else that reads fields."""
    return [
        (key, next((m for m in field.metadata if isinstance(m, _Marker)), None))
        for key, field in reading.get_fields(cls).items()
    ]


class Key(NamedTuple):
    """One key of a config, for help texts."""

    name: str  # such as "training.batch_size"
    kind: str
    default: str
    about: str


def describe(cls: type, prefix: str = "", instance: object = None) -> Iterator[Key]:
    """Yields all keys of a settings class, depth first; defaults are those of `instance`."""
    for name, field in reading.get_fields(cls).items():
        default = getattr(instance, name) if instance is not None else reading.default(field)
        if (inner := reading.nested(field.annotation)) is not None:
            own = default if reading.get_fields(default) else None
            yield from describe(inner, f"{prefix}{name}.", own)
            continue
        schema = pydantic.TypeAdapter(cast(Any, field.annotation)).json_schema()
        shown = json.dumps("" if field.is_required() else default)
        shown = "absent" if shown == "null" else shown
        yield Key(prefix + name, _kind(schema), shown, field.description or "")


def _kind(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(s) for s in schema["anyOf"] if s.get("type") != "null")
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return "list of " + _kind(schema.get("items", {"type": "values"}))
    return str(schema.get("const", schema.get("type", "value")))


def to_toml(instance: object) -> str:
    """Returns settings as TOML; an absent key is left out, or "null" if it has a default."""
    return "\n".join(_lines(instance, reading.to_dict(type(instance)()), "")).strip() + "\n"


def _lines(instance: object, defaults: Json, name: str) -> Iterator[str]:
    """Yields the table of settings, then those of nested settings."""
    tables = {}
    for key, value in reading.to_dict(instance).items():
        own = defaults.get(key) if isinstance(defaults, Mapping) else None
        if reading.get_fields(getattr(instance, key)):
            tables[key] = own
        elif value is not None or own is not None:
            yield f"{key} = {_toml_value(value)}"
    for key, own in tables.items():
        table = f"{name}.{key}" if name else key
        yield from ("", f"[{table}]")
        yield from _lines(getattr(instance, key), own, table)


def _toml_value(value: Json) -> str:
    if isinstance(value, Mapping):
        pairs = (
            f"{k if k.isidentifier() else _toml_value(k)} = {_toml_value(v)}"
            for k, v in value.items()
        )
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    # other values of JSON are TOML's, except null and one character
    text = json.dumps("null" if value is None else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
