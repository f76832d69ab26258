"""Writes settings as TOML that `reading.read` reads back."""

import dataclasses
import json
from collections.abc import Iterator, Mapping

from jaxeval.config import reading
from jaxeval.files import Json


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
