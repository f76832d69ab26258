"""The configs, search spaces and variants that come with jaxeval: read by name from any folder."""

import contextlib
import difflib
import functools
import os
from pathlib import Path

from jaxeval.errors import ConfigError

_MOST_BYTES = 1 << 24
_PACKAGE = Path(__file__).parents[1]


def folder() -> Path:
    """Where they lie: in the package of an installed wheel, beside it in a checkout."""
    installed = _PACKAGE / "configs"
    return installed if installed.is_dir() else _PACKAGE.parent / "configs"


@functools.cache
def names() -> tuple[str, ...]:
    """All of them, sorted: PAPER/NAME, without ".toml"."""
    files = folder().rglob("*.toml")
    return tuple(sorted(f.relative_to(folder()).with_suffix("").as_posix() for f in files))


def find(name: str | Path) -> Path:
    """The file of a path or of a shipped name; a path that exists wins, whatever it is."""
    path = Path(name)
    if os.path.exists(path) or path.as_posix() not in names():
        return path
    return folder() / f"{path.as_posix()}.toml"


def read_text(name: str | Path, what: str = "config") -> str:
    """The text of a path or of a shipped name, without a byte order mark.

    Args:
      what: the file holds, for messages.

    Raises:
      ConfigError: no such file, with the nearest one; or not text.
    """
    try:
        file = find(name)
        if not file.is_file() and file.exists():
            raise ConfigError(f"{name}: cannot be read as a text file (a folder or a device)")
        if file.exists() and file.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{name}: too large for a {what} file (over {_MOST_BYTES} bytes)")
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = _nearest(Path(name))
        hint = f"did you mean {near}?" if near else "`jaxeval configs` lists the shipped ones"
        raise ConfigError(f"{name}: no such {what} file; {hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read as a text file ({error})") from None


def _nearest(path: Path) -> str | None:
    """The nearest file of the path's folder; else the nearest shipped name, by its last part too.

    configs/PAPER/NAME.toml, the place in a checkout, is near to PAPER/NAME.
    """
    beside: list[str] = []
    with contextlib.suppress(OSError):  # no such folder either, or none that may be listed
        beside = os.listdir(path.parent)
    if close := difflib.get_close_matches(path.name, beside, 1):
        return str(path.parent / close[0])
    whole = path.with_suffix("").as_posix().removeprefix("configs/")
    by_key = {name.rpartition("/")[2]: name for name in names()} | {name: name for name in names()}
    close = difflib.get_close_matches(whole, by_key, 1)
    return by_key[close[0]] if close else None
