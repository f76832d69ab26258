"""All keys of a settings class, for help texts."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pydantic

from jaxeval.config import reading


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
