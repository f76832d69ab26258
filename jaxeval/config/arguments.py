"""Arguments of functions of Python as a command line has them."""

import contextlib
import json
import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval.errors import ConfigError

MOST = 1_000_000  # members, runs ... of a command or call
SEEDS = 2**32
# such as {"model.classifier": "softmax"}, or its pairs; None: an absent key
Changes = Mapping[str, object] | Iterable[tuple[str, object]]


def words(changes: Changes | None) -> list[str]:
    """Changes as the words that a command line has; tables key by key.

    Raises:
      ConfigError: they are no keys with values.
    """
    try:
        return [*_words(changes or {}, "")]
    except (TypeError, ValueError):
        expected = "key -> value, such as {'training.epochs': 5}, or pairs of both"
        raise ConfigError(f"changes: expected {expected}, got {changes!r:.60}") from None


def _words(changes: Changes, prefix: str) -> Iterator[str]:
    if isinstance(changes, str):
        raise TypeError
    for key, value in changes.items() if isinstance(changes, Mapping) else changes:
        if isinstance(value, Mapping):
            yield from _words(value, f"{prefix}{key}.")
        else:
            shown = json.dumps(value, ensure_ascii=False, default=plain)  # None: null
            yield f"{prefix}{key}={shown}"


def plain(value: object) -> object:
    """What JSON has for an object that it does not know: numpy's numbers, or text."""
    to_plain = getattr(value, "tolist", None)
    return str(value) if to_plain is None else to_plain()


def numbered(name: str, count: int | Sequence[int]) -> list[int]:
    """1 .. `count`, or the numbers that it lists, each once.

    Raises:
      ConfigError: none, or no whole numbers that can be seeds.
    """
    with contextlib.suppress(TypeError):
        if 1 <= (number := _whole(count)) <= MOST:
            return [*range(1, number + 1)]
    try:
        distinct = list(dict.fromkeys(map(_whole, count)))  # type: ignore[arg-type]
        if not distinct or min(distinct) < 0 or max(distinct) >= SEEDS:
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
        if count is not None:
            whole(name, count, 1, MOST)


def whole(name: str, value: object, least: int, most: int = SEEDS - 1) -> int:
    """A whole number, numpy's too, as a plain one.

    Raises:
      ConfigError: it is none, or not between these.
    """
    with contextlib.suppress(TypeError):
        if least <= (number := _whole(value)) <= most:
            return number
    raise ConfigError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")


def above_zero(name: str, value: float | None) -> float | None:
    """A finite number above 0; None is as it is.

    Raises:
      ConfigError: it is no such number.
    """
    with contextlib.suppress(TypeError, ValueError):  # the latter of an array
        if value is None or (not isinstance(value, bool) and 0 < value < math.inf):
            return value
    raise ConfigError(f"{name}: expected a number above 0, got {value!r}")


def _whole(value: object) -> int:
    """Raises TypeError of a fraction, a text, True or False."""
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)  # type: ignore[arg-type]


def switches(**named: bool) -> None:
    """Refuses what is neither True nor False.

    Raises:
      ConfigError: naming it.
    """
    for name, value in named.items():
        if not isinstance(value, bool):
            raise ConfigError(f"{name}: expected True or False, got {value!r}")


def folder(name: str, value: str | Path) -> Path:
    """A path.

    Raises:
      ConfigError: it is none.
    """
    if not isinstance(value, str | Path):
        raise ConfigError(f"{name}: expected a folder, got {value!r}")
    return Path(value)


def path(data: str | Path | None) -> str | None:
    """Where data is, as a text."""
    return None if data is None else str(data)
