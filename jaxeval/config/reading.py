"""Reads configs: TOML files, the user's or shipped, and changes of their keys as `key=value`.

They become frozen pydantic dataclasses; all mistakes are reported at once.
"""

import difflib
import functools
import hashlib
import json
import os
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import pydantic
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from jaxeval import parameters
from jaxeval.errors import ConfigError, argument, meant, parsing
from jaxeval.files import Json

_MOST_LEVELS = 16
_PACKAGE = Path(__file__).parents[1]
_SHIPPED = ("config", "space")  # kinds of files
_T = TypeVar("_T")
# checks and writes data of a class; making one takes longer than using it
adapter: Callable[[Any], pydantic.TypeAdapter[Any]] = functools.cache(pydantic.TypeAdapter)
Source = object  # a TOML file or shipped name, plain data, settings, or None for all defaults
_EXPECTED = {  # pydantic's error -> what was expected
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dataclass_type": "a table",
}


def _shipped_folder() -> Path:
    """Returns the folder of shipped files: in an installed wheel or beside the package."""
    installed = _PACKAGE / "configs"
    return installed if installed.is_dir() else _PACKAGE.parent / "configs"


@functools.cache
def shipped_names() -> tuple[str, ...]:
    """Returns the names of all shipped configs, spaces and variants: PAPER/NAME, sorted."""
    folder = _shipped_folder()
    files = folder.rglob("*.toml")
    return tuple(sorted(f.relative_to(folder).with_suffix("").as_posix() for f in files))


def read_text(name: str | Path, what: str = "config") -> str:
    """Reads the text of a path or a shipped name, without a byte order mark.

    `what` is the kind of file, for messages. Raises ConfigError: there is no such file (names the
    nearest shipped one), or it is not text.
    """
    file = Path(name)
    if not os.path.exists(file) and file.as_posix() in shipped_names():
        file = _shipped_folder() / f"{file.as_posix()}.toml"
    if not os.path.exists(file):  # False for names that are too long, too
        sought = file.with_suffix("").as_posix().removeprefix("configs/")
        hint = meant(sought, shipped_names(), "`jaxeval configs` lists the shipped ones")
        raise ConfigError(f"{name}: no such {what} file{f'; {hint}' * (what in _SHIPPED)}")
    if not file.is_file():
        hint = f"; {argument('data')} names a corpus" if what == "config" else ""
        raise ConfigError(f"{name}: cannot be read as a text file (a folder or a device){hint}")
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read as a text file ({error})") from None


def _parse(text: str, name: str | Path) -> dict[str, object]:
    """Parses TOML; raises ConfigError (with the line) if it is invalid or nested too deep."""
    with parsing("not valid TOML", name, error=ConfigError):
        tree = tomllib.loads(text)
    if _too_deep(tree, _MOST_LEVELS - 1):
        raise ConfigError(f"{name}: expected at most {_MOST_LEVELS} levels of tables and lists")
    return tree


def _too_deep(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return (not levels and bool(parts)) or any(_too_deep(part, levels - 1) for part in parts)


def _apply(tree: dict[str, object], override: str) -> None:
    """Sets one `a.b=value` in a tree; `a.b=` and `a.b=null` make the key absent."""
    key, equals, text = override.partition("=")
    parts = key.strip().split(".")
    if len(parts) > _MOST_LEVELS:
        raise ConfigError(f"{override[:40]!r} ...: a key of {len(parts)} parts; expected a few")
    if not equals or not all(parts):
        raise ConfigError(f"{override!r}: expected key=value, such as training.batch_size=8")
    for number, part in enumerate(parts[:-1], 1):
        branch = tree.setdefault(part, {})
        if not isinstance(branch, dict):
            raise ConfigError(f"{override!r}: {'.'.join(parts[:number])} is a value, not a table")
        tree = branch
    tree[parts[-1]] = value(text.strip())


def value(text: str) -> object:
    """Returns the TOML value of a text, else the text; None if it is empty or null.

    Raises ConfigError: a value nested too deep, further keys, or a number of too many digits.
    """
    if text in ("", "null"):
        return None
    try:
        tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        # TOML requires 0.3 and 1e-3 where people type .3
        return float(text) if text.startswith(".") and text[1:].isdigit() else text
    except (ValueError, RecursionError):
        pass  # `parse` reports it
    tree = _parse(f"value = {text}", f"{text[:40]!r}")
    if len(tree) > 1:
        raise ConfigError(f"{text[:40]!r}: expected one value, found further lines")
    return tree["value"]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings(cls: type[_T]) -> type[_T]:
    """Makes a class a frozen dataclass that refuses unknown keys and wrong types."""
    rules = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return dataclass(frozen=True, kw_only=True, config=rules)(cls)  # type: ignore[return-value]


def read(cls: type[_T], source: Source, overrides: Sequence[str] = (), origin: str = "") -> _T:
    """Reads settings from a TOML file or plain data, changed by `key=value` overrides.

    The value "null" in a file makes a key absent, even if it has a default. A table that is given
    in part keeps its parent's defaults, which may differ from those of its own class.

    Raises ConfigError: names each wrong key, its value and what was expected. The message begins
    with the file, or with `origin` if there is none or only overridden keys are wrong.
    """
    checked, lines = _validate(cls, tree_of(source, overrides))
    if checked is not None:
        return checked
    given = f"{origin}: " if origin else ""
    where = f"{source}: " if isinstance(source, str | Path) else given
    wrong = [line.partition(":")[0] + "." for line in lines]
    changed = [override.partition("=")[0].strip() + "." for override in overrides]
    if all(any(a.startswith(b) or b.startswith(a) for b in changed) for a in wrong):
        where = given
    if len(lines) > 1:
        where += f"{len(lines)} errors:\n  "
    raise ConfigError(where + "\n  ".join(lines))


def tree_of(source: Source, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Returns a config as plain data."""
    if source is None:
        tree = {}
    elif isinstance(source, str | Path):
        tree = _without_nulls(read_toml(source))
    elif get_fields(type(source)):
        tree = to_dict(source)
    elif isinstance(source, Mapping):
        tree = {key: tree_of(v) if isinstance(v, Mapping) else v for key, v in source.items()}
    else:
        expected = "expected a config's file or name, a dict or settings"
        raise ConfigError(f"{expected}, got {source!r}")
    for override in overrides:
        _apply(tree, override)
    return tree


def _validate(cls: type[_T], tree: Mapping[str, object]) -> tuple[_T | None, list[str]]:
    """Returns the settings of plain data, or None and a line for each mistake."""
    # in JSON a list is a strict tuple, and NumPy's numbers are numbers
    plain: dict[str, Json] = json.loads(json.dumps(tree, default=parameters.plain))
    try:
        for name, field in get_fields(cls).items():
            if name in plain and get_fields(whole := default(field)):  # a table given in part
                plain[name] = _over(to_dict(whole), plain[name])
        return adapter(cls).validate_json(json.dumps(plain), strict=True), []
    except pydantic.ValidationError as error:
        # pydantic also reports a list as too short if all its values are wrong
        errors = [e for e in error.errors() if e["type"] != "too_short" or not e["input"]]
        return None, [_explain(cls, entry) for entry in errors]


def default(field: FieldInfo) -> object:
    """Returns the default of a field, or None."""
    if field.default_factory is not None:
        return field.get_default(call_default_factory=True)
    return None if field.is_required() else field.default  # no copy: what is frozen is shared


def _without_nulls(tree: Mapping[str, object]) -> dict[str, object]:
    """Returns the tables of a file with None for "null", since TOML has no such value."""
    return {
        key: _without_nulls(v) if isinstance(v, dict) else (None if v == "null" else v)
        for key, v in tree.items()
    }


def _over(defaults: Json, values: Json) -> Json:
    """Returns default values replaced by given ones; tables with another `name` share none."""
    if not (isinstance(defaults, dict) and isinstance(values, dict)):
        return values
    if values.get("name", defaults.get("name")) != defaults.get("name"):
        return values
    return {**defaults, **{key: _over(defaults.get(key), value) for key, value in values.items()}}


def read_toml(name: str | Path, what: str = "config") -> dict[str, object]:
    """Reads the tables of a TOML file or of a shipped name; raises ConfigError."""
    return _parse(read_text(name, what), name)


def _explain(cls: type, error: ErrorDetails) -> str:
    """Returns one line for one of pydantic's errors."""
    path = [str(part) for part in error["loc"]]
    key = ".".join(path) or "config"
    kind = error["type"]
    message = error["msg"]
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return unknown(cls, path)
    message = message.removeprefix("Value error, ")
    expected = _EXPECTED.get(kind, message.removeprefix("Input should be "))
    if error["input"] is None:
        return f"{key}: cannot be absent; expected {expected}"
    if kind in _EXPECTED:
        message = f"expected {expected}"
    if kind == "too_short":
        message = f"expected a list of at least {error['ctx']['min_length']}"
    shown = "" if isinstance(error["input"], dict) else f" (got {error['input']!r})"
    return f"{key}: {message[0].lower()}{message[1:]}{shown}"


def unknown(cls: type, path: Sequence[str]) -> str:
    """Returns a message that names the first unknown part of a key of settings, or ""."""
    root = cls
    for end, part in enumerate(path, 1):
        known = get_fields(cls)
        if part not in known:
            parents = path[: end - 1]
            likely = [*_ending(root, path[-1])]
            if path[1:] and likely[1:]:  # a word such as name: only in the given table
                likely = [key for key in likely if key.startswith(f"{path[0]}.")]
            near = difflib.get_close_matches(part, known, 1)
            likely = likely or [".".join([*parents, name]) for name in near]
            hint = f"{'.'.join(parents) or 'a config'} has {', '.join(sorted(known)) or 'no keys'}"
            hint = f"did you mean {' or '.join(likely)}?" if likely else hint
            return f"{'.'.join(path[:end])}: unknown key; {hint}"
        if typing.get_origin(known[part].annotation) in (dict, Mapping):
            break
        cls = nested(known[part].annotation) or object
    return ""


def _ending(cls: object, name: str) -> Iterator[str]:
    """Yields the keys of settings whose last part is a name, such as "learning_rate"."""
    for key, field in get_fields(cls).items():
        if key == name:
            yield key
        tables = (getattr(marker, "each", {}) for marker in field.metadata)  # of traced numbers
        inner = [*_ending(nested(field.annotation), name), *(name for t in tables if name in t)]
        yield from (f"{key}.{below}" for below in inner)


def get_fields(cls: object) -> Mapping[str, FieldInfo]:
    """Returns the fields of settings or their class by name; none for anything else."""
    fields: Mapping[str, FieldInfo] = getattr(cls, "__pydantic_fields__", {})
    return fields


def nested(annotation: object) -> type | None:
    """Returns the settings class in an annotation (X, X | None), if there is one."""
    candidates = [annotation, *typing.get_args(annotation)]
    return next((c for c in candidates if isinstance(c, type) and get_fields(c)), None)


def to_dict(instance: object) -> dict[str, Any]:
    """Returns settings as JSON types, defaults included."""
    tree: dict[str, Any] = adapter(type(instance)).dump_python(instance, mode="json")
    return tree


def canonical(tree: object) -> str:
    """Returns plain data as JSON with sorted keys: equal data give equal text."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """Returns the first 16 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
