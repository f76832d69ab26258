"""The errors a user can cause or must act on; the verbs print them as one line and exit with 2."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

# which a terminal obeys, XML forbids, or which turn the direction of writing; half characters
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_PYTHON: ContextVar[bool] = ContextVar("_PYTHON", default=False)  # a function was called
_SHELL: ContextVar[bool] = ContextVar("_SHELL", default=False)


def printable(name: str) -> str:
    """A name in a line: control characters, also those that turn or end lines, are escaped."""
    return _CONTROL.sub(_escaped, name)


def printable_lines(text: str) -> str:
    """The same of lines: their ends and tabs stay."""
    return re.sub(r"[^\n\t]+", lambda part: printable(part[0]), text)


def _escaped(character: re.Match[str]) -> str:
    return character[0].encode("unicode_escape").decode("ascii")


def argument(name: str, value: object = None) -> str:
    """An argument in a message, as the caller has it: `--n-best 5`, or `n_best=5` of Python.

    `value`: what it was or could be; {role: name} of `--role ROLE=NAME`; None: the name alone.
    """
    if _PYTHON.get():
        return name if value is None else f"{name}={value!r}"
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, Mapping):
        return " ".join(f"{flag} {role}={column}" for role, column in value.items())
    if value is False:
        return flag.replace("--", "--no-", 1)
    return flag if value is None or value is True else f"{flag} {value}"


def changes() -> str:
    """What a config's changes stand in, as who called has it."""
    return "changes" if _PYTHON.get() else "command line"


@contextlib.contextmanager
def called_from_shell() -> Iterator[None]:
    """Within, messages name arguments as flags: `--seeds 0`."""
    token = _SHELL.set(True)
    try:
        yield
    finally:
        _SHELL.reset(token)


@contextlib.contextmanager
def called_from_python() -> Iterator[None]:
    """Within, messages name arguments as a function has them, unless a shell called."""
    token = _PYTHON.set(not _SHELL.get())
    try:
        yield
    finally:
        _PYTHON.reset(token)


class JaxevalError(Exception):
    """Parent of all errors whose message is meant for the user; a traceback is a bug.

    Those of wrong input are ValueErrors too, for who calls from Python.
    """


class DataError(JaxevalError, ValueError):
    """Input that cannot be read: names the file, the line (1-based) and what was expected."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        self.path, self.line = path, line
        name = "" if path is None else printable(str(path))
        location = "" if path is None else f"{name}: " if line is None else f"{name}:{line}: "
        super().__init__(location + message)


@contextlib.contextmanager
def parsing(
    what: str,
    path: str | Path,
    line: int | None = None,
    error: type[JaxevalError] = DataError,
    passing: tuple[type[Exception], ...] = (JaxevalError, OSError, MemoryError),
    then: str = "",
) -> Iterator[None]:
    """Makes whatever a parser raises of damaged input one error for the user.

    Args:
      what: was expected, or found: "not valid TOML".
      passing: what is no matter of the parser's.
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
        said = f"{what} ({reason}){then}"
        if error is DataError:
            raise DataError(said, path, line) from None
        raise error(f"{printable(str(path))}: {said}") from None


class ConfigError(JaxevalError, ValueError):
    """A configuration that cannot be used: names the key, the value and what is allowed."""


class RunError(JaxevalError):
    """A run that cannot go on (full disk, another process at work ...): says what to do next."""
