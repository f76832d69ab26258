"""TOML files, the user's or shipped, and changes of their tables written as `key=value`."""

import functools
import os
import tomllib
from pathlib import Path

from jaxeval.errors import ConfigError, meant, parsing

_MOST_LEVELS = 16
_PACKAGE = Path(__file__).parents[1]
_SHIPPED = ("config", "space")  # kinds of files


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
        raise ConfigError(f"{name}: cannot be read as a text file (a folder or a device)")
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read as a text file ({error})") from None


def parse(text: str, name: str | Path) -> dict[str, object]:
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


def apply(tree: dict[str, object], override: str) -> None:
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
    tree = parse(f"value = {text}", f"{text[:40]!r}")
    if len(tree) > 1:
        raise ConfigError(f"{text[:40]!r}: expected one value, found further lines")
    return tree["value"]
