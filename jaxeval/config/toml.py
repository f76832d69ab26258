"""TOML: files of one's own or shipped ones, their tables, and changes of them as `key=value`."""

import contextlib
import difflib
import functools
import os
import tomllib
from pathlib import Path

from jaxeval.errors import ConfigError, parsing

_MOST_LEVELS = 16
_MOST_BYTES = 1 << 24
_PACKAGE = Path(__file__).parents[1]


def shipped_folder() -> Path:
    """Where shipped files lie: in the package of an installed wheel, beside it in a checkout."""
    installed = _PACKAGE / "configs"
    return installed if installed.is_dir() else _PACKAGE.parent / "configs"


@functools.cache
def shipped_names() -> tuple[str, ...]:
    """All shipped configs, search spaces and variants: PAPER/NAME without ".toml", sorted."""
    folder = shipped_folder()
    files = folder.rglob("*.toml")
    return tuple(sorted(f.relative_to(folder).with_suffix("").as_posix() for f in files))


def find(name: str | Path) -> Path:
    """The file of a path or of a shipped name; a path that exists wins, whatever it is."""
    path = Path(name)
    if os.path.exists(path) or path.as_posix() not in shipped_names():
        return path
    return shipped_folder() / f"{path.as_posix()}.toml"


def read_text(name: str | Path, what: str = "config") -> str:
    """The text of a path or of a shipped name, without a byte order mark.

    Raises ConfigError: no such file, with the nearest one; or not text.

    Args:
      what: the file holds, for messages.
    """
    file = find(name)
    if not os.path.exists(file):  # nor is a name that is too long
        near = _nearest(file)
        hint = f"did you mean {near}?" if near else "`jaxeval configs` lists the shipped ones"
        raise ConfigError(f"{name}: no such {what} file; {hint}")
    if not file.is_file() or file.stat().st_size > _MOST_BYTES:
        why = f"a folder, a device, or more than {_MOST_BYTES} bytes"
        raise ConfigError(f"{name}: cannot be read as a text file ({why})")
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read as a text file ({error})") from None


def _nearest(path: Path) -> str | None:
    """The nearest file of the path's folder, else the nearest shipped name or last part of one."""
    beside: list[str] = []
    with contextlib.suppress(
        OSError, ValueError
    ):  # no such folder either, or none that may be listed
        beside = os.listdir(path.parent)
    if close := difflib.get_close_matches(path.name, beside, 1):
        return str(path.parent / close[0])
    whole = path.with_suffix("").as_posix().removeprefix("configs/")
    by_part = {name.rpartition("/")[2]: name for name in shipped_names()}
    by_part |= {name: name for name in shipped_names()}
    close = difflib.get_close_matches(whole, by_part, 1)
    return by_part[close[0]] if close else None


def parsed(text: str, name: str | Path) -> dict[str, object]:
    """The tables of a TOML text.

    Raises ConfigError: not TOML (with the line), or nested too deep.

    Args:
      name: of the file or argument that it is of.
    """
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
    """Sets one `a.b=value`; the value is TOML if it parses as such, else text.

    `a.b=` and `a.b=null` unset the key: it is absent, even where its default is not.
    """
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
    """The TOML value of a text, or the text; None of an empty one and of null.

    Raises ConfigError: a value nested too deep, or a number of too many digits.
    """
    if text in ("", "null"):
        return None
    try:
        tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        # TOML wants 0.3 and 1e-3 where people type .3
        return float(text) if text.startswith(".") and text[1:].isdigit() else text
    except (ValueError, RecursionError):
        pass  # said by what follows
    return parsed(f"value = {text}", f"{text[:40]!r}")["value"]
