"""The errors a user can cause or must act on; the verbs print them as one line and exit with 2."""

from pathlib import Path


def printable(name: str) -> str:
    """A name that a terminal shows as it is: what is no printable character is escaped."""
    return name if name.isprintable() else name.encode("unicode_escape").decode()


class JaxevalError(Exception):
    """Parent of all errors whose message is meant for the user; a traceback is a bug."""


class DataError(JaxevalError):
    """Input that cannot be read: names the file, the line (1-based) and what was expected."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        self.path, self.line = path, line
        name = "" if path is None else printable(str(path))
        location = "" if path is None else f"{name}: " if line is None else f"{name}:{line}: "
        super().__init__(location + message)


class ConfigError(JaxevalError):
    """A configuration that cannot be used: names the key, the value and what is allowed."""


class RunError(JaxevalError):
    """A run that cannot go on (full disk, another process at work ...): says what to do next."""
