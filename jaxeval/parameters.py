"""Types of a verb's parameters: what they accept from Python and from a command line."""

import builtins
import functools
import inspect
import json
import math
import numbers as abstract
import operator
import os
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from jaxeval import cli, errors
from jaxeval.errors import ConfigError

MOST = 1_000_000  # members, trials, resamples of one call
SEED_LIMIT = 2**32


class Number(NamedTuple):
    """Bounds of a number; `above` and `below` exclude the low and the high end."""

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def allows(self, value: float) -> bool:
        """Returns whether a number is within the bounds; infinity never is."""
        over = value > self.low if self.above else value >= self.low
        under = value < self.high if self.below else value <= self.high
        return over and under and math.isfinite(value)

    def check(self, value: object, kind: type) -> int | float:
        """Returns the value as a plain int or float; ValueError says what was expected."""
        try:
            if isinstance(value, bool):
                raise TypeError
            number = operator.index(value) if kind is int else float(value)  # type: ignore
        except (TypeError, ValueError):
            number = math.nan
        if not self.allows(number):
            raise ValueError(f"a {'whole number' if kind is int else 'number'} {self}")
        return number

    def __str__(self) -> str:
        if self.above and self.below:
            return f"between {self.low:g} and {self.high:g}"
        low = f"{'above' if self.above else 'from'} {self.low:g}"
        high = f" and below {self.high:g}" if self.below else f" to {self.high:.10g}"
        return low if math.isinf(self.high) else low + high


class Numbers(NamedTuple):
    """A count N, or a list of distinct whole numbers from `least`."""

    least: int

    def check(self, value: object) -> int | list[int]:
        """Returns the count or the numbers; ValueError says what was expected."""
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


Count = Annotated[int, Number(1, MOST)]
Natural = Annotated[int, Number(0, SEED_LIMIT - 1)]
Positive = Annotated[float, Number(0, above=True)]
NonNegative = Annotated[float, Number(0)]
Probability = Annotated[float, Number(0, 1, above=True, below=True)]
Seeds = Annotated[int | Sequence[int], Numbers(0)]
Splits = Annotated[int | Sequence[int], Numbers(1)]
# of a config: {key: value}, or key=value on a command line
Changes = Annotated[Mapping[str, object] | Iterable[str], "changes"]
# the form of each parameter that is a dict
PAIRS = {"column": "ROLE=NAME", "data": "TASK=PATH", "range": "NAME=LOW:HIGH"}
Quiet = Annotated[bool, "python"]  # a flag that a command line does not have
# of a type, what else is taken in its place
_TAKEN = {Path: os.PathLike, float: abstract.Real, Sequence: Iterable}


def numbers(count: int | Sequence[int]) -> list[int]:
    """Returns 1 .. count, or the list itself, as `Seeds` and `Splits` mean it."""
    return list(range(1, count + 1)) if isinstance(count, int) else list(count)


class Parameter(NamedTuple):
    """One parameter of a verb, as its signature describes it."""

    name: str
    kind: type  # bool, int, float, str (also a path), list of words, dict of `PAIRS`
    classes: tuple[type, ...]  # of its values, or of each if there are several; () for any
    default: object
    required: bool
    positional: bool
    variadic: bool  # *models
    optional: bool  # None is a value
    bounds: Number | Numbers | None
    choices: tuple[str, ...]
    changes: bool  # of a config
    python_only: bool  # a command line does not have it

    def of_words(self, given: Any) -> object:
        """Returns the words of a command line as the verb takes them; others stay text."""
        if self.kind is int and isinstance(given, str):
            parts = [part.strip() for part in given.removesuffix(",").split(",")]
            known = [int(part) if re.fullmatch("[0-9]{1,19}", part) else part for part in parts]
            return known if "," in given else known[0]
        if self.changes or self.kind not in (list, dict):
            return given
        if self.kind is list:
            # a file's name may hold a comma
            each = ([word] if os.path.exists(word) else word.split(",") for word in given)
            return [part for of_word in each for part in of_word if part] or self.default
        pairs: dict[str, str] = {}
        for word in given:
            name, _, value = word.partition("=")
            if not (name and value) or pairs.setdefault(name, value) != value:
                form = f"{PAIRS[self.name]}{', each once' if name in pairs else ''}"
                raise ConfigError(f"{errors.argument(self.name)}: expected {form}, got {word!r}")
        return pairs or self.default

    def check(self, value: Any) -> object:
        """Returns the value as the verb takes it; ValueError says what was expected."""
        if value is None:
            if self.optional or self.default is None:
                return None
            raise ValueError("a value")
        if self.changes:  # words `key=value`, tables key by key
            try:
                pairs = value.items() if isinstance(value, Mapping) else value or ()
                return [word for pair in pairs for word in _words(pair, "")]
            except (TypeError, ValueError):
                raise ValueError("key -> value, such as {'training.epochs': 5}") from None
        if isinstance(self.bounds, Numbers):
            return self.bounds.check(value)
        if self.bounds is not None:
            return self.bounds.check(value, self.kind)
        if self.choices and value not in self.choices:
            one_of = f"one of {', '.join(self.choices)}"
            raise ValueError(one_of if self.choices[2:] else " or ".join(self.choices))
        every = value if self.variadic else (value,)
        known = not self.classes or all(isinstance(each, self.classes) for each in every)
        if not known or (self.kind is list and isinstance(value, str)):
            of_text = "a path" if os.PathLike in self.classes else "a text"
            of_text += " or a dict" if Mapping in self.classes else ""
            names = {bool: "True or False", dict: "a dict", list: "a list"}
            raise ValueError(of_text if self.variadic else names.get(self.kind, of_text))
        if os.PathLike in self.classes and isinstance(value, str) and not value.strip():
            raise ValueError("a path, not an empty one (a shell variable that is not set?)")
        return value


_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def verb(function: _Verb) -> _Verb:
    """Makes a function a verb: its arguments are checked, its docstring is completed.

    Messages name an argument as the caller has it: `seeds=0` in Python, `--seeds 0` in a shell.

    Raises:
      ConfigError: a value is not of its parameter's type.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*positional: object, **named: object) -> object:
        with errors.called_from(errors.parameter):
            bound = signature.bind(*positional, **named)
            for parameter in describe(checked):
                if parameter.name in bound.arguments:
                    value = bound.arguments[parameter.name]
                    bound.arguments[parameter.name] = _checked(parameter, value)
                    if parameter.changes:
                        _refuse_arguments(bound.arguments[parameter.name], signature.parameters)
            return function(*bound.args, **bound.kwargs)

    checked.__doc__ = cli.complete_docstring(function)
    return typing.cast(_Verb, checked)


def _checked(parameter: Parameter, value: object) -> object:
    try:
        return parameter.check(value)
    except ValueError as expected:
        if isinstance(expected, ConfigError):
            raise
        got = " ".join(f"{value!r:.60}".split())
        name = errors.argument(parameter.name)
        raise ConfigError(f"{name}: expected {expected}, got {got}") from None


def _refuse_arguments(changes: Any, names: Collection[str]) -> None:
    """Raises ConfigError for a change of a config that sets an argument of the verb."""
    for word in changes:
        key, _, value = word.partition("=")
        # data={path="x"} is a table of a config
        if (name := key.strip().replace("-", "_")) in names and value.strip()[:1] not in ("", "{"):
            flag = errors.argument(name)
            raise ConfigError(f"{word}: no change of a config; expected the argument {flag}")


@functools.cache
def describe(function: Callable[..., object]) -> tuple[Parameter, ...]:
    """Returns the parameters of a verb in their order."""
    function = inspect.unwrap(function)
    names = _Names(function.__globals__)
    hints = typing.get_type_hints(function, localns=names, include_extras=True)
    found = inspect.signature(function).parameters.values()
    return tuple(_parameter(parameter, hints[parameter.name]) for parameter in found)


class _Names(dict[str, object]):
    """Names of a module; Any for types that only a type checker imports."""

    def __missing__(self, name: str) -> object:
        return getattr(builtins, name, Any)


def _parameter(parameter: inspect.Parameter, hint: object) -> Parameter:
    members, marks = _flatten(hint)
    origins = [typing.get_origin(member) or member for member in members]
    literal = next((m for m in members if typing.get_origin(m) is Literal), None)
    known = not {Any, Literal} & {*origins}
    variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return Parameter(
        parameter.name,
        kind=list if variadic else _kind(origins),
        classes=tuple(_TAKEN.get(of, of) for of in origins) if known else (),
        default=() if variadic else parameter.default,
        required=parameter.default is inspect.Parameter.empty and not variadic,
        positional=parameter.kind is not inspect.Parameter.KEYWORD_ONLY,
        variadic=variadic,
        optional=type(None) in members,
        bounds=next((mark for mark in marks if isinstance(mark, Number | Numbers)), None),
        choices=() if literal is None else typing.get_args(literal),
        changes="changes" in marks,
        python_only="python" in marks,
    )


def _flatten(hint: Any) -> tuple[list[Any], list[object]]:
    """The types of a union, and the marks of `Annotated`."""
    marks = [*getattr(hint, "__metadata__", ())]
    hint = hint.__origin__ if marks else hint
    if not (isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union):
        return [hint], marks
    parts = [_flatten(member) for member in typing.get_args(hint)]
    inner = [mark for _, found in parts for mark in found]
    return [member for members, _ in parts for member in members], [*marks, *inner]


def _kind(origins: Sequence[Any]) -> type:
    """The type that a command line has for the types of a union."""
    if {str, Path, Literal} & {*origins}:
        return str
    for kind in (bool, int, float):
        if kind in origins:
            return kind
    classes = [origin for origin in origins if isinstance(origin, type)]
    if any(issubclass(each, Mapping) for each in classes):
        return dict
    return list if any(issubclass(each, Iterable) for each in classes) else str


def _words(pair: str | tuple[str, object], prefix: str) -> Iterator[str]:
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
    """Returns what JSON has for an object that it does not know: numpy's numbers, or text."""
    to_plain = getattr(value, "tolist", None)
    return str(value) if to_plain is None else to_plain()
