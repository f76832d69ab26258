"""Distributions of hyperparameters: each maps a quantile in [0, 1) to a value."""

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, TypeGuard

from jaxeval.config.fields import Range as Range
from jaxeval.errors import ConfigError
from jaxeval.files import Json

Value = bool | int | float | str
_MOST_CHOICES = 10_000
KINDS = ("uniform", "log_uniform", "integer", "log_integer", "choices")
_WHOLE = 2**53  # a float holds every whole number up to here


@dataclasses.dataclass(frozen=True)
class Grid:
    """Uniform on the numbers low, low + step, ... up to high, whole ones or decimals.

    (`q_uniform` of Weights & Biases rounds a real number, which halves the chance of both ends.)
    With `log`, a whole number k has the probability of (k - 1/2, k + 1/2) under the log-uniform
    distribution on [low - 1/2, high + 1/2], as in Optuna.
    """

    low: Any
    high: Any
    step: Any = 1
    whole: bool = True
    log: bool = False

    @property
    def count(self) -> int:
        """Number of values; the last one may lie below high."""
        if self.whole:
            return int((self.high - self.low) // self.step) + 1
        return int((self.high - self.low) / self.step * (1 + 1e-12)) + 1

    def at(self, quantile: float) -> Any:
        """Returns the value of a quantile."""
        if not self.log:
            return self.value(int(quantile * self.count))
        low = math.log(self.low - 0.5)
        high = math.log(self.high + 0.5)
        return min(self.high, max(self.low, round(math.exp(low + quantile * (high - low)))))

    def value(self, index: int) -> Any:
        """Returns the value with an index, from 0; decimals are 0.3, not 0.30000000000000004."""
        number = self.low + self.step * index
        return number if self.whole else float(f"{number:.12g}")

    def takes(self, value: object) -> bool:
        """Returns whether the value is on the grid."""
        index = round((value - self.low) / self.step) if _is_number(value) else -1
        return 0 <= index < self.count and self.value(index) == value


@dataclasses.dataclass(frozen=True)
class Choices:
    """One of several values, all equally likely."""

    values: tuple[Value, ...]
    ordered: bool  # whether the values have an order: by size for numbers, as given for texts
    log: ClassVar[bool] = False

    @property
    def count(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def are_words(self) -> bool:
        """True if the values are texts or booleans."""
        return isinstance(self.values[0], str | bool)

    @property
    def in_order(self) -> tuple[Value, ...]:
        """Ordered numbers by size, all other values as given."""
        numbers = self.ordered and not self.are_words
        return tuple(sorted(self.values, key=float)) if numbers else self.values

    def at(self, quantile: float) -> Value:
        """Returns the value of a quantile, in the given order."""
        return self.values[int(quantile * len(self.values))]

    def takes(self, value: object) -> bool:
        """Returns whether the value is one of them; true is not 1."""
        return any(
            value == own and isinstance(value, bool) == isinstance(own, bool)
            for own in self.values
        )


Distribution = Range | Grid | Choices


def to_dict(distribution: Distribution) -> dict[str, Json]:
    """Returns the keys of a space file, from which `parse` makes the distribution."""
    if isinstance(distribution, Choices):
        return {
            "choices": [*distribution.values],
            **({"ordered": True} if distribution.ordered and distribution.are_words else {}),
        }
    kind = "integer" if isinstance(distribution, Grid) and distribution.whole else "uniform"
    step = (
        {"step": distribution.step}
        if isinstance(distribution, Grid) and not (distribution.whole and distribution.step == 1)
        else {}
    )
    return {
        f"{'log_' if distribution.log else ''}{kind}": [distribution.low, distribution.high],
        **step,
    }


def parse(table: Mapping[str, Any], where: str) -> Distribution:
    """Returns the distribution of a table; raises ConfigError if it names none, or a wrong one."""
    named = [kind for kind in KINDS if kind in table]
    if len(named) != 1:
        present = " and ".join(named) or "none of them"
        raise ConfigError(f"{where}: expected one of {', '.join(KINDS)}, got {present}")
    (kind,) = named
    for key, kinds in (("step", ("integer", "uniform")), ("ordered", ("choices",))):
        if key in table and kind not in kinds:
            raise ConfigError(f"{where}.{key}: only {' and '.join(kinds)} has it, not {kind}")
    if kind == "choices":
        return _choices(table["choices"], table.get("ordered"), where)
    low, high = _ends(table[kind], kind, f"{where}.{kind}")
    step = table.get("step")
    if kind == "integer":
        step = 1 if step is None else step
        if not (_is_whole(step) and step >= 1 and (step <= high - low or low == high)):
            _refuse(f"{where}.step", f"a whole number from 1 to {high - low}", step)
        return Grid(low, high, step)
    if step is None:
        log = kind.startswith("log")
        return Grid(low, high, log=log) if kind == "log_integer" else Range(low, high, log)
    if not (_is_number(step) and 0 < step <= high - low):
        _refuse(f"{where}.step", f"a number above 0, at most {high - low:g}", step)
    return Grid(low, high, float(step), whole=False)


def _refuse(path: str, expected: str, found: object) -> NoReturn:
    raise ConfigError(f"{path}: expected {expected}, got {found!r:.60}")


def _ends(ends: Any, kind: str, path: str) -> tuple[Any, Any]:
    """Returns the ends of a range as floats or whole numbers; whole ones may be equal."""
    whole, log = kind.endswith("integer"), kind.startswith("log")
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        _refuse(path, "[low, high]", ends)
    if not all(map(_is_whole if whole else _is_number, ends)):
        _refuse(path, f"two {'whole numbers below 2^53' if whole else 'finite numbers'}", ends)
    low, high = ends if whole else map(float, ends)
    if low > high or (low == high and not whole) or math.isinf(high - low):
        _refuse(path, f"[low, high] with low {'not above' if whole else 'below'} high", ends)
    if log and (low < 1 if whole else low <= 0):
        _refuse(path, "whole numbers from 1" if whole else "numbers above 0", ends)
    return low, high


def _choices(values: Any, ordered: object, where: str) -> Choices:
    path = f"{where}.choices"
    if not isinstance(values, list | tuple) or not 0 < len(values) <= _MOST_CHOICES:
        _refuse(path, f"a list of values, at most {_MOST_CHOICES}", values)
    numbers = all(map(_is_number, values))
    if not numbers and not any(all(isinstance(v, kind) for v in values) for kind in (str, bool)):
        _refuse(path, "all texts, all finite numbers or all true and false", values)
    for value, count in Counter(values).items():
        if count > 1:
            raise ConfigError(f"{path}: expected different values, got {value!r} twice")
    if not (ordered is None or ordered is True or (ordered is False and not numbers)):
        _refuse(f"{where}.ordered", "true or nothing" if numbers else "true or false", ordered)
    return Choices(tuple(values), numbers or bool(ordered))


def _is_number(value: object) -> TypeGuard[int | float]:
    """True for finite numbers that a float can hold."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max  # type: ignore[arg-type]


def _is_whole(value: object) -> TypeGuard[int]:
    return _is_number(value) and isinstance(value, int) and abs(value) < _WHOLE
