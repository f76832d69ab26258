"""What a hyperparameter is drawn from: each distribution maps a quantile to a value."""

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn, TypeGuard

from jaxeval.errors import ConfigError
from jaxeval.files import Json

Value = bool | int | float | str
KINDS = ("uniform", "log_uniform", "integer", "log_integer", "choices")
_MOST_CHOICES = 10_000
_WHOLE = 2**53  # up to here a float holds every whole number


@dataclasses.dataclass(frozen=True)
class Uniform:
    """Evenly from low to high."""

    low: float
    high: float

    def at(self, quantile: float) -> float:
        """The value below which a share `quantile` of the draws lies."""
        return min(self.high, self.low + quantile * (self.high - self.low))


@dataclasses.dataclass(frozen=True)
class LogUniform:
    """Evenly in the logarithm, from low to high."""

    low: float
    high: float

    def at(self, quantile: float) -> float:
        """The value below which a share `quantile` of the draws lies."""
        low, high = math.log(self.low), math.log(self.high)
        return min(self.high, max(self.low, math.exp(low + quantile * (high - low))))


class _Grid:
    """Numbers of which there are `count`, evenly drawn."""

    low: Any
    step: Any = 1
    count: int

    def at(self, quantile: float) -> Any:
        """The value below which a share `quantile` of the draws lies."""
        return self.value(int(quantile * self.count))

    def value(self, index: int) -> Any:
        """The value of a place in the order of size, from 0."""
        return self.low + self.step * index

    def takes(self, value: object) -> bool:
        """Whether a value is of the grid."""
        index = round((value - self.low) / self.step) if _is_number(value) else -1
        return 0 <= index < self.count and self.value(index) == value


@dataclasses.dataclass(frozen=True)
class Integer(_Grid):
    """Evenly over the grid low, low + step, .. up to high: all values are equally likely.

    (`q_uniform` of Weights & Biases rounds a real number, which halves the chance of both ends.)
    """

    low: int
    high: int
    step: int = 1

    @property
    def count(self) -> int:  # type: ignore[override]
        """Values of the grid."""
        return (self.high - self.low) // self.step + 1


@dataclasses.dataclass(frozen=True)
class LogInteger(_Grid):
    """Whole numbers from low to high, evenly in the logarithm: 1 to 10 as often as 10 to 100.

    A number k is drawn with the probability of (k - 1/2, k + 1/2) under the log-uniform
    distribution from low - 1/2 to high + 1/2, as by Optuna.
    """

    low: int
    high: int

    @property
    def count(self) -> int:  # type: ignore[override]
        """Values."""
        return self.high - self.low + 1

    def at(self, quantile: float) -> int:
        """The value below which a share `quantile` of the draws lies."""
        low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
        return min(self.high, max(self.low, round(math.exp(low + quantile * (high - low)))))


@dataclasses.dataclass(frozen=True)
class Stepped(_Grid):
    """Evenly over the grid low, low + step, .. up to high."""

    low: float
    high: float
    step: float

    @property
    def count(self) -> int:  # type: ignore[override]
        """Values of the grid; its last one may lie below high."""
        return int((self.high - self.low) / self.step * (1 + 1e-12)) + 1

    def value(self, index: int) -> float:
        """The value of a place in the order of size, from 0; .3 and not .30000000000000004."""
        return float(f"{self.low + self.step * index:.12g}")


@dataclasses.dataclass(frozen=True)
class Choices:
    """One of several values, all equally likely.

    Attributes:
      ordered: whether the values have an order: that of size for numbers, for texts the given one.
    """

    values: tuple[Value, ...]
    ordered: bool

    @property
    def are_words(self) -> bool:
        """Whether the values are texts or booleans."""
        return isinstance(self.values[0], str | bool)

    @property
    def in_order(self) -> tuple[Value, ...]:
        """Numbers by size, all others as given."""
        numbers = self.ordered and not self.are_words
        return tuple(sorted(self.values, key=float)) if numbers else self.values

    def at(self, quantile: float) -> Value:
        """The value at a place, in the given order."""
        return self.values[int(quantile * len(self.values))]

    def takes(self, value: object) -> bool:
        """Whether a value is one of them; true is not 1."""
        same = (value == v and isinstance(value, bool) == isinstance(v, bool) for v in self.values)
        return any(same)


Grid = Integer | LogInteger | Stepped  # numbers of which there are so many
Distribution = Uniform | LogUniform | Grid | Choices


def to_dict(of: Distribution) -> dict[str, Json]:
    """The keys of a space file; `parse` gives the distribution again."""
    match of:
        case Choices():
            ordered = {"ordered": True} if of.ordered and of.are_words else {}
            return {"choices": list(of.values), **ordered}
        case Integer():
            return {"integer": [of.low, of.high], **({} if of.step == 1 else {"step": of.step})}
        case Stepped():
            return {"uniform": [of.low, of.high], "step": of.step}
    kinds = {Uniform: "uniform", LogUniform: "log_uniform", LogInteger: "log_integer"}
    return {kinds[type(of)]: [of.low, of.high]}


def parse(table: Mapping[str, Any], where: str) -> Distribution:
    """The distribution that a table names.

    Args:
      where: file and table, for messages.

    Raises:
      ConfigError: none or several, or one that cannot be drawn from.
    """
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
    match kind:
        case "integer":
            step = table.get("step", 1)
            if not (_is_whole(step) and step >= 1 and (step <= high - low or low == high)):
                _refuse(f"{where}.step", f"a whole number from 1 to {high - low}", step)
            return Integer(low, high, step)
        case "log_integer":
            return LogInteger(low, high)
        case "log_uniform":
            return LogUniform(low, high)
    if "step" not in table:
        return Uniform(low, high)
    if not (_is_number(table["step"]) and 0 < table["step"] <= high - low):
        _refuse(f"{where}.step", f"a number above 0, at most {high - low:g}", table["step"])
    return Stepped(low, high, float(table["step"]))


def _refuse(path: str, expected: str, found: object) -> NoReturn:
    raise ConfigError(f"{path}: expected {expected}, got {found!r:.60}")


def _ends(ends: Any, kind: str, path: str) -> tuple[Any, Any]:
    """The ends of a range, as floats or whole numbers; whole ones may be equal."""
    whole, log = kind.endswith("integer"), kind.startswith("log")
    if not isinstance(ends, list) or len(ends) != 2:
        _refuse(path, "[low, high]", ends)
    if not all(map(_is_whole if whole else _is_number, ends)):
        _refuse(path, f"two {'whole numbers below 2^53' if whole else 'finite numbers'}", ends)
    low, high = ends if whole else map(float, ends)
    if low > high or (low == high and not whole):
        _refuse(path, f"[low, high] with low {'not above' if whole else 'below'} high", ends)
    if log and (low < 1 if whole else low <= 0):
        _refuse(path, "whole numbers from 1" if whole else "numbers above 0", ends)
    if not math.isfinite(high - low) or (log and math.log(low) == math.log(high) and not whole):
        _refuse(path, "two numbers further apart, within what a float can hold", ends)
    return low, high


def _choices(values: Any, ordered: object, where: str) -> Choices:
    path = f"{where}.choices"
    if not isinstance(values, list) or not 0 < len(values) <= _MOST_CHOICES:
        _refuse(path, f"a list of values, at most {_MOST_CHOICES}", values)
    numbers = all(map(_is_number, values))
    if not numbers and not any(all(isinstance(v, kind) for v in values) for kind in (str, bool)):
        _refuse(path, "all texts, all finite numbers or all true and false", values)
    for value, count in Counter(values).items():
        if isinstance(value, str) and _reads_as_number(value):  # a table does not tell them apart
            _refuse(path, "numbers without quotes, or words", value)
        if count > 1:
            raise ConfigError(f"{path}: expected different values, got {value!r} twice")
    if ordered not in (None, True, *(() if numbers else (False,))):
        _refuse(f"{where}.ordered", "true or nothing" if numbers else "true or false", ordered)
    return Choices(tuple(values), numbers or bool(ordered))


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number that a float can hold."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max  # type: ignore[arg-type]


def _is_whole(value: object) -> TypeGuard[int]:
    return _is_number(value) and isinstance(value, int) and abs(value) < _WHOLE


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
