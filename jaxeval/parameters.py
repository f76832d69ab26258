"""Types of a verb's parameters: what they accept, from Python and from a command line."""

import builtins
import dataclasses
import functools
import inspect
import json
import math
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from jaxeval import errors
from jaxeval.errors import ConfigError

MOST = 1_000_000  # members, trials, resamples of one call
SEED_LIMIT = 2**32
_LONGEST_NUMBER = 40  # characters


@dataclasses.dataclass(frozen=True)
class Number:
    """A number within bounds.

    Attributes:
      exclusive: the bounds themselves are not allowed.
    """

    low: float
    high: float = math.inf
    exclusive: bool = False

    def check(self, value: object, kind: type) -> int | float:
        """The value as a plain int or float; ValueError says what was expected."""
        try:
            if isinstance(value, bool):
                raise TypeError
            number = operator.index(value) if kind is int else float(value)  # type: ignore
        except (TypeError, ValueError):
            number = math.nan
        within = self.low < number < self.high if self.exclusive else self.low <= number
        if not (within and number <= self.high and math.isfinite(number)):
            raise ValueError(self._expected(kind))
        return number

    def _expected(self, kind: type) -> str:
        what = "a whole number" if kind is int else "a number"
        if math.isinf(self.high):
            return f"{what} {'above' if self.exclusive else 'from'} {self.low:g}"
        between = f"between {self.low:g} and {self.high:g}"
        return (
            f"{what} {between}"
            if self.exclusive
            else f"{what} from {self.low:g} to {_g(self.high)}"
        )


def _g(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


@dataclasses.dataclass(frozen=True)
class Numbers:
    """N, which stands for first .. first + N - 1, or a list of distinct whole numbers."""

    least: int

    def check(self, value: object) -> int | list[int]:
        """A count, or the distinct numbers; ValueError says what was expected."""
        try:
            if not isinstance(value, Iterable):
                return int(Number(1, MOST).check(value, int))
            bounds = Number(self.least, SEED_LIMIT - 1)
            numbers = [int(bounds.check(item, int)) for item in value]
            if numbers and not isinstance(value, str) and len({*numbers}) == len(numbers):
                return numbers
        except (ValueError, TypeError):
            pass
        raise ValueError(
            f"a whole number from 1 to {MOST}, or a list of different ones from {self.least} "
            "below 2^32"
        )


class _ChangesOf:
    """Marks changes of a config: {key: value}, or key=value on a command line."""


class _Python:
    """Marks a parameter that a command line does not have."""


Count = Annotated[int, Number(1, MOST)]
Natural = Annotated[int, Number(0, SEED_LIMIT - 1)]
Positive = Annotated[float, Number(0, exclusive=True)]
NonNegative = Annotated[float, Number(0)]
Probability = Annotated[float, Number(0, 1, exclusive=True)]
Seeds = Annotated[int | Sequence[int], Numbers(0)]
Splits = Annotated[int | Sequence[int], Numbers(1)]
Changes = Annotated[Mapping[str, object] | Iterable[str], _ChangesOf]
Quiet = Annotated[bool, _Python]


def numbers(count: int | Sequence[int]) -> list[int]:
    """1 .. count, or the list itself: what `Seeds` and `Splits` stand for."""
    return list(range(1, count + 1)) if isinstance(count, int) else list(count)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """What a verb's signature says of one parameter.

    Attributes:
      kind: bool, int, float, str (a path, too), list (of words), dict (of NAME=VALUE),
        Numbers or changes.
    """

    name: str
    kind: type
    bounds: Number | Numbers | None
    choices: tuple[str, ...]
    default: object
    positional: bool
    optional: bool
    python_only: bool

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty

    def check(self, value: object) -> object:
        """The value as the verb takes it.

        Raises:
          ValueError: what was expected.
        """
        if value is None:
            if self.optional or self.default is None:
                return None
            raise ValueError("a value")
        if isinstance(self.bounds, Number):
            return self.bounds.check(value, self.kind)
        if isinstance(self.bounds, Numbers):
            return self.bounds.check(value)
        if self.choices and value not in self.choices:
            raise ValueError(f"{'one of ' if self.choices[2:] else ''}{' or '.join(self.choices)}")
        if self.kind is bool and not isinstance(value, bool):
            raise ValueError("True or False")
        if self.kind is list and isinstance(value, str):
            raise ValueError("a list")
        if self.kind is _ChangesOf:
            return changed_keys(value)
        return value


Verb = TypeVar("Verb", bound=Callable[..., Any])


def verb(function: Verb) -> Verb:
    """Checks a verb's arguments against the types of its parameters, whoever calls it.

    Messages name an argument as the caller has it: `seeds=0` of Python, `--seeds 0` of a shell.

    Raises:
      ConfigError: naming the argument, what was expected and what was found.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*positional: object, **named: object) -> object:
        with errors.called_from_python():
            bound = signature.bind(*positional, **named)
            for parameter in of_verb(function):
                if parameter.name in bound.arguments:
                    value = bound.arguments[parameter.name]
                    bound.arguments[parameter.name] = _checked(parameter, value)
            return function(*bound.args, **bound.kwargs)

    return typing.cast(Verb, checked)


def _checked(parameter: Parameter, value: object) -> object:
    try:
        return parameter.check(value)
    except ValueError as expected:
        if isinstance(expected, ConfigError):
            raise
        name = errors.argument(parameter.name)
        raise ConfigError(f"{name}: expected {expected}, got {value!r:.60}") from None


@functools.cache
def of_verb(function: Callable[..., object]) -> tuple[Parameter, ...]:
    """The parameters of a verb, in their order."""
    function = inspect.unwrap(function)
    found = []
    names = _Names(function.__globals__)
    hints = typing.get_type_hints(function, localns=names, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints[name]
        marks = getattr(hint, "__metadata__", ())
        if marks:
            hint = hint.__origin__
        members = typing.get_args(hint) if _is_union(hint) else (hint,)
        optional = type(None) in members
        members = tuple(of for of in members if of is not type(None))
        for of in members:  # Annotated inside of a union: Count | None
            marks = (*marks, *getattr(of, "__metadata__", ()))
        bounds = next((mark for mark in marks if isinstance(mark, Number | Numbers)), None)
        kind, choices = _kind(members, marks)
        is_list = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        found.append(
            Parameter(
                name=name,
                kind=list if is_list else kind,
                bounds=bounds,
                choices=choices,
                default=() if is_list else parameter.default,
                positional=parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
                optional=optional,
                python_only=_Python in marks,
            )
        )
    return tuple(found)


class _Names(dict[str, object]):
    """Names of a module; str for types that only a checker imports."""

    def __missing__(self, name: str) -> object:
        return getattr(builtins, name, str)


def _is_union(hint: object) -> bool:
    return isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union


def _kind(members: Sequence[Any], marks: Sequence[object]) -> tuple[type, tuple[str, ...]]:
    """What a command line has for a type, and the words that it may be."""
    if _ChangesOf in marks:
        return _ChangesOf, ()
    plain = [
        getattr(of, "__origin__", of) if hasattr(of, "__metadata__") else of for of in members
    ]
    literal = next((of for of in plain if typing.get_origin(of) is Literal), None)
    if literal is not None:
        return str, typing.get_args(literal)
    origins = [typing.get_origin(of) or of for of in plain]
    for kind in (bool, int, float):
        if kind in origins and not {str, Path} & set(origins):
            return kind, ()
    if {str, Path} & set(origins):
        return str, ()
    if any(isinstance(of, type) and issubclass(of, Mapping) for of in origins):
        return dict, ()
    if any(isinstance(of, type) and issubclass(of, Iterable) for of in origins):
        return list, ()
    return str, ()


def changed_keys(changes: object) -> list[str]:
    """Changes of a config as a command line has them: `key=value`, tables key by key.

    Raises:
      ConfigError: they are no keys with values.
    """
    try:
        pairs = changes.items() if isinstance(changes, Mapping) else changes or ()
        return [word for pair in pairs for word in _words(pair, "")]  # type: ignore
    except (TypeError, ValueError):
        expected = "key -> value, such as {'training.epochs': 5}"
        name = errors.argument("changes")
        raise ConfigError(f"{name}: expected {expected}, got {changes!r:.60}") from None


def _words(pair: str | tuple[str, object], prefix: str) -> Iterable[str]:
    if isinstance(pair, str):
        if "=" not in pair:
            raise ValueError
        yield pair
        return
    key, value = pair
    if isinstance(value, Mapping):
        for inner in value.items():
            yield from _words(inner, f"{prefix}{key}.")
    else:
        shown = json.dumps(value, ensure_ascii=False, default=plain)  # None: null
        yield f"{prefix}{key}={shown}"


def plain(value: object) -> object:
    """What JSON has for an object that it does not know: numpy's numbers, or text."""
    to_plain = getattr(value, "tolist", None)
    return str(value) if to_plain is None else to_plain()
