"""Reads TOML configs into frozen pydantic dataclasses; every mistake is told, and all at once."""

import difflib
import hashlib
import json
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import pydantic
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from jaxeval import parameters
from jaxeval.config import toml
from jaxeval.errors import ConfigError

T = TypeVar("T")
_LARGEST = {bool: 1.0, int: 2.0**31 - 1, float: 3.4e38}  # devices compute in 32 bits

_KINDS = {  # pydantic's errors -> what was expected
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dataclass_type": "a table",
}


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings(cls: type[T]) -> type[T]:
    """Makes a class a frozen, strictly validated dataclass: unknown keys and wrong types raise."""
    rules = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return dataclass(frozen=True, kw_only=True, config=rules)(cls)  # type: ignore[return-value]


# a TOML file or a shipped name, plain data, settings, or None: all defaults
Source = object


def peek(source: Source, overrides: Sequence[str], key: str) -> Any:
    """The value that a config and overrides give a top-level key; None without one."""
    tree = _tree(source)
    for override in overrides:
        toml.apply(tree, override)
    return tree.get(key)


def read(cls: type[T], source: Source, overrides: Sequence[str] = (), origin: str = "") -> T:
    """The settings of a TOML file or of plain data, changed by `key=value` overrides.

    The value "null" in a file says that a key is absent, even where its default is not. A table
    that is given in part keeps the defaults of its parent, which may be others than those of its
    own class. Raises ConfigError: naming every key that is wrong, its value, what is allowed, the
    nearest key.

    Args:
      origin: of the overrides. Messages begin with it, instead of with the file, where only keys
        of overrides are wrong.
    """
    tree = _tree(source)
    for override in overrides:
        toml.apply(tree, override)
    checked, lines = _checked(cls, tree)
    if checked is not None:
        return checked
    where = f"{source}: " if isinstance(source, str | Path) else ""
    changed = [override.partition("=")[0].strip() for override in overrides]
    of_changes = all(_overlap(line.partition(":")[0], changed) for line in lines)
    if of_changes and not _checked(cls, _tree(source))[1]:
        where = f"{origin}: " if origin else ""
    raise _error(where, lines)


def _overlap(wrong: str, changed: Sequence[str]) -> bool:
    """Whether a wrong key is one of those that were changed, or within one, or around one."""
    return any(
        f"{wrong}.".startswith(f"{key}.") or f"{key}.".startswith(f"{wrong}.") for key in changed
    )


def _tree(source: Source) -> dict[str, object]:
    """Plain data of a config, which may be changed."""
    if source is None:
        return {}
    if isinstance(source, str | Path):
        return _without_nulls(read_toml(source))
    if fields_of(type(source)):
        return to_dict(source)
    if isinstance(source, Mapping):
        return {key: _tree(v) if isinstance(v, Mapping) else v for key, v in source.items()}
    raise ConfigError(f"expected a config's file or name, a dict or settings, got {source!r}")


def from_dict(cls: type[T], tree: Mapping[str, object], where: str = "") -> T:
    """The settings of plain data, all or some of their keys; messages begin with `where`.

    Raises ConfigError: as `read`.
    """
    checked, lines = _checked(cls, tree)
    if checked is None:
        raise _error(where, lines)
    return checked


def _checked(cls: type[T], tree: Mapping[str, object]) -> tuple[T | None, list[str]]:
    """The settings of plain data, or None and a line for each mistake."""
    # by way of JSON, where a list is a tuple's strict form, and numpy's numbers are numbers
    tree = json.loads(json.dumps(tree, default=parameters.plain))
    try:
        whole = json.dumps(_filled(cls, tree))
        settings = pydantic.TypeAdapter(cls).validate_json(whole, strict=True)
        lines = list(_too_large(tree))
    except pydantic.ValidationError as error:
        return None, [
            _explain(cls, entry)
            for entry in error.errors()
            # of a list that is too short for its wrong items alone, these tell
            if entry["type"] != "too_short" or len(entry["input"]) < entry["ctx"]["min_length"]
        ]
    return (None, lines) if lines else (settings, [])


def _error(where: str, lines: Sequence[str]) -> ConfigError:
    if len(lines) == 1:
        return ConfigError(where + lines[0])
    return ConfigError(f"{where}{len(lines)} errors:\n  " + "\n  ".join(lines))


def _too_large(tree: object, key: str = "") -> Iterator[str]:
    """One line for each number that no array of the devices can hold, or that is none."""
    if isinstance(tree, Mapping | list):
        pairs = tree.items() if isinstance(tree, Mapping) else enumerate(tree)
        for name, value in pairs:
            yield from _too_large(value, f"{key}.{name}" if key else str(name))
    elif isinstance(tree, int | float) and not abs(tree) <= _LARGEST[type(tree)]:
        kind = "whole number" if isinstance(tree, int) else "number"
        limit = _LARGEST[type(tree)]
        yield f"{key}: expected a {kind} from -{limit:.10g} to {limit:.10g} (got {tree})"


def _filled(cls: type, tree: Mapping[str, object]) -> dict[str, object]:
    """The tree with what its tables leave out."""
    filled = dict[str, object]()
    for name, value in tree.items():
        field = fields_of(cls).get(name)
        optional = field is not None and not field.is_required()
        default = field.get_default(call_default_factory=True) if field and optional else None
        filled[name] = _over(to_dict(default) if fields_of(default) else None, value)
    return filled


def _without_nulls(tree: Mapping[str, object]) -> dict[str, object]:
    """The tables of a file with None for "null"; TOML has no such value."""
    return {
        key: _without_nulls(value)
        if isinstance(value, dict)
        else (None if value == "null" else value)
        for key, value in tree.items()
    }


def _over(default: object, values: object) -> object:
    """Given values over default ones; what has another name has nothing in common."""
    if not (isinstance(default, dict) and isinstance(values, dict)):
        return values
    if values.get("name", default.get("name")) != default.get("name"):
        return values
    return {**default, **{key: _over(default.get(key), value) for key, value in values.items()}}


def read_toml(name: str | Path, what: str = "config") -> dict[str, object]:
    """The tables of a TOML file as they stand; a shipped one is known by its name.

    Raises ConfigError: no such file, not text, or as of `toml.parsed`.

    Args:
      what: the file holds, for messages.
    """
    return toml.parsed(toml.read_text(name, what), name)


def _explain(cls: type, error: ErrorDetails) -> str:
    """One line for one of pydantic's errors."""
    path = [str(part) for part in error["loc"]]
    key = ".".join(path) or "config"
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return _unknown(cls, path)
    message = error["msg"].removeprefix("Value error, ")
    if error["input"] is None:
        expected = message.removeprefix("Input should be ")
        return f"{key}: cannot be absent; expected {_KINDS.get(error['type'], expected)}"
    if error["type"] in ("tuple_type", "list_type"):
        message = f"expected {_KINDS[error['type']]}"
    if error["type"] == "too_short":
        least = error["ctx"]["min_length"]
        message = f"expected a list of at least {least} value{'s' if least > 1 else ''}"
    if error["type"] == "literal_error":
        allowed = [
            part.strip(" '") for part in error["ctx"]["expected"].replace(" or ", ",").split(",")
        ]
        near = difflib.get_close_matches(str(error["input"]), allowed, 1)
        message += f"; did you mean {near[0]!r}?" if near else ""
    shown = "" if isinstance(error["input"], dict) else f" (got {error['input']!r})"
    return f"{key}: {message[0].lower()}{message[1:]}{shown}"


def _unknown(cls: type, path: Sequence[str]) -> str:
    """One line for a key that there is not, by its parts."""
    key, known = ".".join(path), _keys(cls, path[:-1])
    near = difflib.get_close_matches(path[-1], known, 1)
    parent = ".".join(path[:-1])
    hint = (
        f"did you mean {'.'.join([*path[:-1], near[0]])}?"
        if near
        else f"{parent or 'a config'} has {', '.join(known) or 'no keys'}"
    )
    return f"{key}: unknown key; {hint}"


def refuse_unknown(cls: type, key: str, where: str) -> None:
    """Raises ConfigError where a class of settings has no such key, whatever its values are.

    Keys of a field that is a table of any keys are not looked at.
    """
    path, parent = key.split("."), cls
    for end, part in enumerate(path, 1):
        field = fields_of(parent).get(part)
        if field is None:
            raise ConfigError(f"{where}: {_unknown(cls, path[:end])}")
        if typing.get_origin(field.annotation) in (dict, Mapping):
            return
        parent = nested(field.annotation) or object


def fields_of(cls: object) -> Mapping[str, FieldInfo]:
    """Name -> field of a class of settings, or of one of its instances; {} of anything else."""
    fields: Mapping[str, FieldInfo] = getattr(cls, "__pydantic_fields__", {})
    return fields


def nested(annotation: object) -> type | None:
    """The settings class that an annotation names, if any (X, X | None)."""
    candidates = [annotation, *typing.get_args(annotation)]
    return next((c for c in candidates if isinstance(c, type) and fields_of(c)), None)


def _keys(cls: type | None, path: Sequence[str]) -> list[str]:
    for part in path:
        field = fields_of(cls).get(part)
        cls = None if field is None else nested(field.annotation)
    return sorted(fields_of(cls))


def to_dict(instance: object) -> dict[str, Any]:
    """Plain JSON types, defaults included."""
    tree: dict[str, Any] = pydantic.TypeAdapter(type(instance)).dump_python(instance, mode="json")
    return tree


def canonical(tree: object) -> str:
    """JSON of plain data with sorted keys and no spaces: equal data give equal text."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """SHA-256 of a text, its first 16 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
