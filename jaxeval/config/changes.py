"""Changes of a config as `key=value`, on plain data."""

import tomllib

from jaxeval.config import toml
from jaxeval.errors import ConfigError


def apply(tree: dict[str, object], override: str) -> None:
    """Sets one `a.b=value`; the value is TOML if it parses as such, else text.

    `a.b=` and `a.b=null` unset the key: it is absent, even where its default is not.
    """
    key, equals, text = override.partition("=")
    parts = key.strip().split(".")
    if len(parts) > toml.MOST_LEVELS:
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

    Raises:
      ConfigError: a value nested too deep, or a number of too many digits.
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
    return toml.parsed(f"value = {text}", f"{text[:40]!r}")["value"]
