"""The errors a user can cause or must act on; the verbs print them as one line and exit with 2."""

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

# None: a verb was called; of a function of Python: see `in_python`
_OF_PYTHON: ContextVar[Mapping[str, str] | None] = ContextVar("_OF_PYTHON", default=None)


def printable(name: str) -> str:
    """A name that a terminal shows as it is: what is no printable character is escaped."""
    return name if name.isprintable() else name.encode("unicode_escape").decode()


def argument(name: str, value: object = None) -> str:
    """An argument in a message, as who called has it: `--n-best 5`, or `n_best=5` of Python.

    Args:
      name: the flag's, with underscores.
      value: what it was or could be; True of a switch; {role: name} of `--role ROLE=NAME`, which
        may be repeated; None: the argument alone.
    """
    names = _OF_PYTHON.get()
    if names is not None:
        return names.get(name, f"{name}{{}}").format("" if value is None else f"={value!r}")
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, Mapping):
        return " ".join(f"{flag} {role}={column}" for role, column in value.items())
    return flag if value is None or value is True else f"{flag} {value}"


def changes() -> str:
    """What a config's changes stand in, as who called has it."""
    return "command line" if _OF_PYTHON.get() is None else "changes"


@contextlib.contextmanager
def in_python(**names: str) -> Iterator[None]:
    """Decorates a function of Python: messages name its arguments as `name=value`, not as flags.

    Args:
      names: of arguments that are called otherwise than flags; {} is where a value goes:
        column="columns{}".
    """
    before = _OF_PYTHON.set(names)
    try:
        yield
    finally:
        _OF_PYTHON.reset(before)


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


class ConfigError(JaxevalError, ValueError):
    """A configuration that cannot be used: names the key, the value and what is allowed."""


class RunError(JaxevalError):
    """A run that cannot go on (full disk, another process at work ...): says what to do next."""
