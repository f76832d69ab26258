"""TOML as settings have it: tables of a few levels."""

import tomllib
from pathlib import Path

from jaxeval.errors import ConfigError, parsing

MOST_LEVELS = 16


def parsed(text: str, name: str | Path) -> dict[str, object]:
    """The tables of a text.

    Args:
      name: of the file or argument that it is of.

    Raises:
      ConfigError: not TOML (with the line), or nested too deep.
    """
    with parsing("not valid TOML", name, error=ConfigError):
        tree = tomllib.loads(text)
    level: list[object] = [tree]
    for _ in range(MOST_LEVELS):
        level = [part for table in level for part in _parts(table)]
    if level:
        raise ConfigError(f"{name}: expected at most {MOST_LEVELS} levels of tables and lists")
    return tree


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []
