"""Files that are written whole or not at all, and files that stand for a lock."""

import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from jaxeval.errors import RunError

# what a JSON file holds
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


@contextlib.contextmanager
def replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    """A stream ("w" text, "wb" bytes) whose contents become the file's when the block ends.

    Its folder is made where it is missing; a block that fails leaves nothing.

    Raises:
      RunError: no room, no permission.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):  # gone where all went well
                os.unlink(temporary)


def refuse_unwritable(path: Path, *, folder: bool = False) -> None:
    """Raises RunError where a file, or files in a folder, could not be written; makes nothing.

    It is asked before work that takes long, as `replacing` would say so after it.
    """
    try:
        if not folder and path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        place = path if folder else path.parent
        while not place.exists():
            place = place.parent
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Holds a lock file for this process; the lock goes with the process, however it ends.

    Args:
      busy: what the error says where another process holds it.

    Raises:
      RunError: another process holds it, or there is no permission.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("w")
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(busy) from None
        yield
