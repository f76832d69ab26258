"""The errors a user can cause or must act on; the verbs print them as one line and exit with 2."""

import contextlib
import difflib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

# control characters, those that turn the direction of writing, and half characters
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
Naming = Callable[[str, object], str]  # of an argument: its name, its value
_NAMING: ContextVar[Naming | None] = ContextVar("_NAMING", default=None)


def printable(name: str) -> str:
    """Returns a name with control characters and line ends escaped."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), name)


def printable_lines(text: str) -> str:
    """Returns lines with control characters escaped; their ends and tabs stay."""
    return re.sub(r"[^\n\t]+", lambda part: printable(part[0]), text)


def meant(name: str, known: Iterable[str], instead: str = "") -> str:
    """Returns a hint for an unknown name: the nearest known one, else `instead`."""
    near = difflib.get_close_matches(name, [*known], 1)
    return f"did you mean {near[0]}?" if near else instead


def counted(count: int, noun: str, plural: str = "") -> str:
    """Returns a count with its noun: "1 draw", "2,000 draws", "2 batches"."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def argument(name: str, value: object = None) -> str:
    """Returns an argument for a message, as who called has it: see `called_from`.

    Args:
      value: what it was or could be; {role: name} of `--role ROLE=NAME`; None: the name alone.
    """
    return (_NAMING.get() or flag)(name, value)


def flag(name: str, value: object) -> str:
    """Names an argument as a shell has it: `--n-best 5`."""
    bare = f"--{name.replace('_', '-')}"
    if isinstance(value, Mapping):
        words = (shlex.quote(f"{role}={column}") for role, column in value.items())
        return " ".join(f"{bare} {word}" for word in words)
    if value is False:
        return bare.replace("--", "--no-", 1)
    return bare if value is None or value is True else f"{bare} {value}"


def parameter(name: str, value: object) -> str:
    """Names an argument as Python has it: `n_best=5`."""
    return name if value is None else f"{name}={value!r}"


def of_command(command: str) -> Naming:
    """Returns how a page names arguments, which has none: `jaxeval COMMAND --n-best 5`."""
    return lambda name, value: f"jaxeval {command} {flag(name, value)}"


def changes() -> str:
    """Returns where the changes of a config stand, for a message."""
    return "changes" if _NAMING.get() is parameter else "command line"


@contextlib.contextmanager
def called_from(how: Naming) -> Iterator[None]:
    """Within, messages name arguments in this way; by `parameter` only if nothing else called."""
    known = _NAMING.get() if how is parameter else None
    token = _NAMING.set(known or how)
    try:
        yield
    finally:
        _NAMING.reset(token)


class JaxevalError(Exception):
    """Parent of all errors whose message is meant for the user; a traceback is a bug."""


class DataError(JaxevalError, ValueError):
    """Input that cannot be read: names the file, the line (1-based) and what was expected."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        self.path, self.line = path, line
        name = "" if path is None else printable(str(path))
        location = "" if path is None else f"{name}: " if line is None else f"{name}:{line}: "
        super().__init__(location + message)


class ConfigError(JaxevalError, ValueError):
    """A configuration that cannot be used: names the key, the value and what is allowed."""


class RunError(JaxevalError):
    """A run that cannot go on (full disk, another process at work ...): says what to do next."""


@contextlib.contextmanager
def parsing(
    what: str,
    path: str | Path,
    line: int | None = None,
    error: type[JaxevalError] = DataError,
    passing: tuple[type[Exception], ...] = (JaxevalError, OSError, MemoryError),
    then: str = "",
) -> Iterator[None]:
    """Turns any exception of a parser of damaged input into one error for the user.

    Args:
      what: the message, such as "not valid TOML".
      passing: exceptions that are not the parser's, and stay.
      then: what to do, behind the reason.
    """
    try:
        yield
    except passing:
        raise
    except Exception as wrong:
        deep = "nested too deeply" if isinstance(wrong, RecursionError) else None
        text = deep or getattr(wrong, "strerror", None) or str(wrong)
        reason = printable(text.strip().partition("\n")[0])[:200] or type(wrong).__name__
        message = f"{what} ({reason}){then}"
        if error is DataError:
            raise DataError(message, path, line) from None
        raise error(f"{printable(str(path))}: {message}") from None
