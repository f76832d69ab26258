"""What all verbs share: errors as one line, exit codes, JSON output."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from jaxeval.errors import JaxevalError, RunError


def run(main: Callable[[], int | None]) -> NoReturn:
    """Runs a verb: 0 done, 2 for the user's errors (one line on stderr), 130 interrupted."""
    try:
        status = main() or 0
        sys.stdout.flush()
    except JaxevalError as error:
        print(f"error: {error}", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:  # the reader of a pipe has gone; nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)


def write_json(target: str, content: Any) -> None:
    """Writes JSON to a file, or to stdout for "-"."""
    write_out(target, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_out(target: str, text: str) -> None:
    """Writes text to a file, or to stdout for "-"."""
    if target == "-":
        sys.stdout.write(text)
    else:
        write_text(Path(target), text)


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all; its folder is made where it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
