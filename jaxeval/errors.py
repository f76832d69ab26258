"""The errors a user can cause or must act on; the verbs print them as one line and exit with 2."""

from pathlib import Path


class JaxevalError(Exception):
    """Parent of all errors whose message is meant for the user; a traceback is a bug."""


class DataError(JaxevalError):
    """Input that cannot be read: names the file, the line (1-based) and what was expected."""

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        self.path, self.line = path, line
        location = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(location + message)


class ConfigError(JaxevalError):
    """A configuration that cannot be used: names the key, the value and what is allowed."""


class RunError(JaxevalError):
    """A run that cannot go on (full disk, another process at work ...): says what to do next."""
