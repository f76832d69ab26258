"""Fields of plain data, each of one type; whatever else is there is named in a DataError.

All take what messages begin with, such as "evaluation 3.seeds".
"""

import sys
from typing import Any

from jaxeval.errors import DataError


def typed(of: Any, kind: type, at: str, expected: str) -> Any:
    """An instance of a type, which messages name as `expected`."""
    if not isinstance(of, kind):
        raise DataError(f"{at}: expected {expected}, got {of!r}")
    return of


def numbers(of: Any, at: str) -> tuple[float, ...]:
    """A list of finite numbers."""
    return tuple(map(float, _listed(of, at, "numbers")))


def whole(of: Any, at: str) -> tuple[int, ...]:
    """A list of whole numbers; other programs write 1 as 1.0."""
    listed = _listed(of, at, "whole numbers")
    if any(number % 1 for number in listed):
        raise DataError(f"{at}: expected a list of whole numbers, got {of!r}")
    return tuple(map(int, listed))


def pair(of: Any, at: str) -> tuple[int, int]:
    """Two whole numbers."""
    both = whole(of, at)
    if len(both) != 2:
        raise DataError(f"{at}: expected two whole numbers, got {of!r}")
    return both[0], both[1]


def _listed(of: Any, at: str, what: str) -> Any:
    """A text, or true, would pass for some numbers too."""
    if isinstance(of, list | tuple) and all(map(_is_finite, of)):
        return of
    raise DataError(f"{at}: expected a list of {what}, got {of!r}")


def _is_finite(of: Any) -> bool:
    if not isinstance(of, int | float) or isinstance(of, bool):
        return False
    return abs(of) <= sys.float_info.max  # which NaN is not
