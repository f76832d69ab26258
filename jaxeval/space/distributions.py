"""What a hyperparameter is drawn from, read from the keys of its table.

Each distribution maps a quantile in [0, 1) to a value, so that one uniform number makes one draw.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from typing import TypeGuard

from jaxeval.errors import ConfigError
from jaxeval.files import Json

Value = bool | int | float | str
_MOST_CHOICES = 10_000
KINDS = ("uniform", "log_uniform", "integer", "log_integer", "choices")
_WHOLE = 2**53  # up to here a float holds every whole number


@dataclasses.dataclass(frozen=True)
class Uniform:
    """Evenly from low to high."""

    low: float
    high: float

    def at(self, quantile: float) -> float:
        """The value below which a share `quantile` of the draws lies."""
        return min(self.high, self.low + quantile * (self.high - self.low))

    def takes(self, value: object) -> bool:
        """Never: no number of a continuous range is drawn with a probability above 0."""
        return False

    def to_dict(self) -> dict[str, Json]:
        """As in a space file."""
        return {"uniform": [self.low, self.high]}


@dataclasses.dataclass(frozen=True)
class LogUniform:
    """Evenly in the logarithm, from low to high."""

    low: float
    high: float

    def at(self, quantile: float) -> float:
        """The value below which a share `quantile` of the draws lies."""
        low, high = math.log(self.low), math.log(self.high)
        return min(self.high, max(self.low, math.exp(low + quantile * (high - low))))

    def takes(self, value: object) -> bool:
        """Never: no number of a continuous range is drawn with a probability above 0."""
        return False

    def to_dict(self) -> dict[str, Json]:
        """As in a space file."""
        return {"log_uniform": [self.low, self.high]}


@dataclasses.dataclass(frozen=True)
class Integer:
    """Evenly over the grid low, low + step, .. up to high.

    Sweeps of Weights & Biases (`q_uniform`) draw a real number and round it to the grid, which
    halves the probability of both ends; here all values are equally likely.
    """

    low: int
    high: int
    step: int = 1

    @property
    def count(self) -> int:
        """Values of the grid."""
        return (self.high - self.low) // self.step + 1

    def at(self, quantile: float) -> int:
        """The value below which a share `quantile` of the draws lies."""
        return self.value(int(quantile * self.count))

    def value(self, index: int) -> int:
        """The value of a place in the order of size, from 0."""
        return self.low + self.step * index

    def takes(self, value: object) -> bool:
        """Whether a value is of the grid."""
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return self.low <= value <= self.high and (value - self.low) % self.step == 0

    def to_dict(self) -> dict[str, Json]:
        """As in a space file."""
        step = {} if self.step == 1 else {"step": self.step}
        return {"integer": [self.low, self.high], **step}


@dataclasses.dataclass(frozen=True)
class LogInteger:
    """Whole numbers from low to high, evenly in the logarithm: 1 to 10 as often as 10 to 100.

    A number k is drawn with the probability of (k - 1/2, k + 1/2) under the log-uniform
    distribution from low - 1/2 to high + 1/2, as by Optuna.
    """

    low: int
    high: int

    @property
    def count(self) -> int:
        """Values."""
        return self.high - self.low + 1

    def at(self, quantile: float) -> int:
        """The value below which a share `quantile` of the draws lies."""
        low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
        number = round(math.exp(low + quantile * (high - low)))
        return min(self.high, max(self.low, number))

    def value(self, index: int) -> int:
        """The value of a place in the order of size, from 0."""
        return self.low + index

    def takes(self, value: object) -> bool:
        """Whether a value is one of them."""
        return Integer(self.low, self.high).takes(value)

    def to_dict(self) -> dict[str, Json]:
        """As in a space file."""
        return {"log_integer": [self.low, self.high]}


@dataclasses.dataclass(frozen=True)
class Stepped:
    """Evenly over the grid low, low + step, .. up to high."""

    low: float
    high: float
    step: float

    @property
    def count(self) -> int:
        """Values of the grid; its last one may lie below high."""
        return int((self.high - self.low) / self.step * (1 + 1e-12)) + 1

    def at(self, quantile: float) -> float:
        """The value below which a share `quantile` of the draws lies."""
        return self.value(int(quantile * self.count))

    def value(self, index: int) -> float:
        """The value of a place in the order of size, from 0; .3 and not .30000000000000004."""
        return float(f"{self.low + self.step * index:.12g}")

    def takes(self, value: object) -> bool:
        """Whether a value is of the grid."""
        if not _is_number(value):
            return False
        index = round((value - self.low) / self.step)  # type: ignore[operator]
        return 0 <= index < self.count and self.value(index) == value

    def to_dict(self) -> dict[str, Json]:
        """As in a space file."""
        return {"uniform": [self.low, self.high], "step": self.step}


@dataclasses.dataclass(frozen=True)
class Choices:
    """One of several values, all equally likely.

    Attributes:
      ordered: whether the values have an order: that of size for numbers, for texts the given one.
    """

    values: tuple[Value, ...]
    ordered: bool

    @property
    def in_order(self) -> tuple[Value, ...]:
        """Numbers by size, all others as given."""
        numbers = self.ordered and not isinstance(self.values[0], str | bool)
        return tuple(sorted(self.values, key=float)) if numbers else self.values

    def at(self, quantile: float) -> Value:
        """The value at a place, in the given order."""
        return self.values[int(quantile * len(self.values))]

    def takes(self, value: object) -> bool:
        """Whether a value is one of them; true is not 1."""
        return any(value == v and isinstance(value, bool) == isinstance(v, bool)
                   for v in self.values)  # fmt: skip

    def to_dict(self) -> dict[str, Json]:
        """As in a space file."""
        said = {"ordered": True} if self.ordered and not _is_number(self.values[0]) else {}
        return {"choices": list(self.values), **said}


Grid = Integer | LogInteger | Stepped  # numbers of which there are so many
Distribution = Uniform | LogUniform | Grid | Choices


def parse(table: Mapping[str, object], where: str) -> Distribution:
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
    for key, kinds in (("step", ("integer", "uniform")), ("ordered", ("choices",))):
        if key in table and named[0] not in kinds:
            raise ConfigError(f"{where}.{key}: only {' and '.join(kinds)} has it, not {named[0]}")
    values, path = table[named[0]], f"{where}.{named[0]}"
    if named[0] == "choices":
        return _choices(values, table.get("ordered"), where)
    if not isinstance(values, list) or len(values) != 2:
        raise ConfigError(f"{path}: expected [low, high], got {values!r}")
    if named[0] == "integer":
        return _integer(values, table.get("step", 1), where)
    if named[0] == "log_integer":
        of = _integer(values, 1, where, "log_integer")
        if of.low < 1:
            raise ConfigError(f"{path}: expected whole numbers from 1, got {values!r}")
        return LogInteger(of.low, of.high)
    of_range = _continuous(named[0], values, path)
    if "step" not in table:
        return of_range
    step, width = table["step"], of_range.high - of_range.low
    if not _is_number(step) or not 0 < step <= width:  # type: ignore[operator]
        raise ConfigError(
            f"{where}.step: expected a number above 0, at most {width:g}, got {step!r}"
        )
    return Stepped(of_range.low, of_range.high, float(step))  # type: ignore[arg-type]


def _continuous(kind: str, ends: list, where: str) -> Uniform | LogUniform:
    if not all(_is_number(v) and _is_finite(v) for v in ends):
        raise ConfigError(f"{where}: expected two finite numbers, got {ends!r}")
    low, high = map(float, ends)
    if not low < high:
        raise ConfigError(f"{where}: expected [low, high] with low below high, got {ends!r}")
    if kind == "log_uniform" and low <= 0:
        raise ConfigError(f"{where}: expected numbers above 0, which have a logarithm, "
                          f"got {ends!r}")  # fmt: skip
    if kind == "log_uniform" and not math.log(low) < math.log(high):
        raise ConfigError(f"{where}: expected two numbers whose logarithms differ, got {ends!r}")
    if not math.isfinite(high - low):
        raise ConfigError(f"{where}: expected a range that a float can hold, got {ends!r}")
    return LogUniform(low, high) if kind == "log_uniform" else Uniform(low, high)


def _integer(ends: list, step: object, where: str, kind: str = "integer") -> Integer:
    if not all(_is_whole(v) for v in ends):
        raise ConfigError(f"{where}.{kind}: expected two whole numbers below 2^53 in size, "
                          f"got {ends!r}")  # fmt: skip
    low, high = ends
    if low > high:
        raise ConfigError(f"{where}.{kind}: expected [low, high] with low not above high, "
                          f"got {ends!r}")  # fmt: skip
    if not _is_whole(step) or step < 1:
        raise ConfigError(f"{where}.step: expected a whole number from 1, got {step!r}")
    if low < high and step > high - low:
        raise ConfigError(f"{where}.step: expected at most {high - low}, got {step}: "
                          f"nothing but {low} would be left of {ends!r}")  # fmt: skip
    return Integer(low, high, step)


def _choices(values: object, ordered: object, where: str) -> Choices:
    path = f"{where}.choices"
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{path}: expected a list of values, got {values!r:.60}")
    if len(values) > _MOST_CHOICES:
        raise ConfigError(f"{path}: expected at most {_MOST_CHOICES} values, got {len(values)}")
    numbers = all(_is_number(v) and _is_finite(v) for v in values)
    if not numbers and not any(all(isinstance(v, kind) for v in values) for kind in (str, bool)):
        raise ConfigError(f"{path}: expected all texts, all finite numbers or all true and "
                          f"false, got {values!r:.60}")  # fmt: skip
    number = next((v for v in values if isinstance(v, str) and _reads_as_number(v)), None)
    if number is not None:
        raise ConfigError(f"{path}: expected numbers without quotes, or words, got {number!r}: "
                          "a table of scores could not tell it from a number")  # fmt: skip
    twice = next((v for v, n in Counter(values).items() if n > 1), None)
    if twice is not None:
        raise ConfigError(f"{path}: expected different values, got {twice!r} twice")
    if ordered is not None and not isinstance(ordered, bool):
        raise ConfigError(f"{where}.ordered: expected true or false, got {ordered!r}")
    if numbers and ordered is False:
        raise ConfigError(
            f"{where}.ordered: expected true or nothing: numbers are ordered by size"
        )
    return Choices(tuple(values), numbers or bool(ordered))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WHOLE
