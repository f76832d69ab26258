"""Arguments of functions of Python as a command line has them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from jaxeval.errors import ConfigError

MOST = 1_000_000  # members, runs ... of a command or call

Changes = Mapping[str, object]  # such as {"model.classifier": "softmax"}; None: an absent key


def words(changes: Changes | None, prefix: str = "") -> list[str]:
    """Changes as the words that a command line has; tables key by key."""
    listed = []
    for key, value in (changes or {}).items():
        if isinstance(value, Mapping):
            listed += words(value, f"{prefix}{key}.")
        else:
            shown = "null" if value is None else json.dumps(value, ensure_ascii=False, default=str)
            listed.append(f"{prefix}{key}={shown}")
    return listed


def numbered(name: str, count: int | Sequence[int]) -> list[int]:
    """1 .. `count`, or the numbers that it lists, each once.

    Raises:
      ConfigError: none, or no whole numbers that can be seeds.
    """
    counted = isinstance(count, int) and 1 <= count <= MOST
    numbers = [*range(1, count + 1)] if counted else count  # type: ignore[operator]
    try:
        distinct = list(dict.fromkeys(int(number) for number in numbers))  # type: ignore[union-attr]
        if not distinct or min(distinct) < 0 or max(distinct) >= 2**32:
            raise ValueError
    except (TypeError, ValueError):
        expected = f"a whole number from 1 to {MOST}, or several below 2^32"
        raise ConfigError(f"{name}: expected {expected}, got {count!r}") from None
    return distinct


def counts(**named: int | None) -> None:
    """Refuses what is neither None nor a whole number from 1.

    Raises:
      ConfigError: naming it.
    """
    for name, count in named.items():
        if count is not None and not (isinstance(count, int) and 1 <= count <= MOST):
            expected = f"a whole number from 1 to {MOST}"
            raise ConfigError(f"{name}: expected {expected}, got {count!r}")


def path(data: str | Path | None) -> str | None:
    """Where data is, as a text."""
    return None if data is None else str(data)
