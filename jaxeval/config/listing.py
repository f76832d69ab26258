"""Settings as text: all keys of a class for help texts, all values of an instance as TOML."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pydantic

from jaxeval.config import reading
from jaxeval.files import Json


class Key(NamedTuple):
    """One key of a config, for help texts."""

    name: str
    kind: str
    default: str
    about: str


def keys(cls: type, prefix: str = "", instance: object = None) -> Iterator[Key]:
    """All keys of a settings class, depth first, as `training.batch_size`.

    Args:
      instance: one whose values are the defaults, instead of the class's.
    """
    for name, field in reading.fields_of(cls).items():
        default = "" if field.is_required() else field.get_default(call_default_factory=True)
        default = default if instance is None else getattr(instance, name)
        inner = reading.nested(field.annotation)
        if inner is not None:
            yield from keys(
                inner, f"{prefix}{name}.", default if reading.fields_of(default) else None
            )
            continue
        assert field.annotation is not None
        kind = _kind(pydantic.TypeAdapter(field.annotation).json_schema())
        yield Key(prefix + name, kind, _shown(default), field.description or "")


def _kind(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(s) for s in schema["anyOf"] if s.get("type") != "null")
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return "list of " + _kind(schema.get("items", {"type": "values"}))
    return str(schema.get("const", schema.get("type", "value")))


def _shown(default: object) -> str:
    if dataclasses.is_dataclass(default):
        return ""
    if isinstance(default, tuple):
        default = list(default)
    return "absent" if default is None else json.dumps(default)


def to_toml(instance: object) -> str:
    """All keys of settings, a table for each part.

    TOML has no word for what is absent: such a key is left out, or "null" where it has a default.
    """
    default = reading.to_dict(type(instance)())
    return "\n".join(_lines(instance, default, "")).strip() + "\n"


def _lines(instance: object, default: Json, name: str) -> Iterator[str]:
    """The table of one instance of settings, then those of its parts."""
    parts = {}
    for key, value in reading.to_dict(instance).items():
        at_first = default.get(key) if isinstance(default, Mapping) else None
        if dataclasses.is_dataclass(getattr(instance, key)):
            parts[key] = at_first
        elif value is not None:
            yield f"{key} = {_value(value)}"
        elif at_first is not None:
            yield f'{key} = "null"'
    for key, at_first in parts.items():
        table = f"{name}.{key}" if name else key
        yield from ("", f"[{table}]")
        yield from _lines(getattr(instance, key), at_first, table)


def _value(value: Json) -> str:
    """A value in TOML; floats keep all digits."""
    if isinstance(value, Mapping):
        pairs = (f"{k if k.isidentifier() else _value(k)} = {_value(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON's strings, numbers, true and false are TOML's, but for one character
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
