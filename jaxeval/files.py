"""Files that are written whole or not at all, and files that stand for a lock."""

import contextlib
import errno
import fcntl
import functools
import json
import math
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from jaxeval.errors import RunError

# what a JSON file holds
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_TEMPORARY = ".jaxeval."  # no part of the name: a name as long as names may be has to fit
_SECONDS_LEFT = 10.0  # since a temporary file was last written


@contextlib.contextmanager
def replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    """A stream ("w" text, "wb" bytes) whose contents become the file's when the block ends.

    A block that fails leaves what was there. The folder is made where it is missing; of a symlink
    the target is replaced. Devices, pipes, and what stdout or stderr goes to are written into.

    Raises:
      RunError: no room, no permission.
    """
    temporary = None
    encoding = None if "b" in mode else "utf-8"
    try:
        target = resolved(path)
        found = _found(target)
        straight = None if found is None else _straight(target, found)
        if straight is not None:
            with os.fdopen(straight, mode, encoding=encoding) as stream:
                yield stream
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=_TEMPORARY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # until it is closed: `_sweep` leaves it
        with os.fdopen(descriptor, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fchmod(descriptor, 0o644 if found is None else stat.S_IMODE(found.st_mode))
            os.fsync(descriptor)  # else the name may be on disk before the contents
        os.replace(temporary, target)
        with contextlib.suppress(OSError):  # file systems that cannot
            folder = os.open(target.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):  # gone where all went well
                os.unlink(temporary)


@functools.cache
def _sweep(folder: Path) -> None:
    """Deletes what killed processes left of files that they wrote, once a process and folder."""
    with contextlib.suppress(OSError):
        for entry in [*os.scandir(folder)]:
            if entry.name.startswith(_TEMPORARY) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError), open(entry.path, "rb") as stream:
                    if time.time() - entry.stat().st_mtime > _SECONDS_LEFT:
                        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody writes it
                        os.unlink(entry.path)


def _straight(path: Path, found: os.stat_result) -> int | None:
    """A descriptor of what cannot be replaced; None: a regular file.

    Stdout and stderr would be written from their start if they were opened again.
    """
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        with contextlib.suppress(OSError):  # closed
            if os.path.samestat(found, os.fstat(descriptor)):
                stream.flush()  # what was printed before stands before
                return os.dup(descriptor)
    return None if stat.S_ISREG(found.st_mode) else os.open(path, os.O_WRONLY)


def resolved(path: Path) -> Path:
    """What a path leads to, through symlinks; a pipe has no other path than its own."""
    target = Path(os.path.realpath(path))
    return target if target.exists() or not path.exists() else path


def replaceable(path: Path) -> bool:
    """Whether what is written takes the place of what was there; not in a device or a pipe."""
    found = _found(resolved(path))
    return found is None or stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)


def _found(path: Path) -> os.stat_result | None:
    """What is there; None: nothing."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def refuse_unwritable(path: Path, *, folder: bool = False) -> None:
    """Raises RunError where a file, or files in a folder, could not be written; makes nothing.

    It is asked before work that takes long, as `replacing` would say so after it.
    """
    try:
        target = path if folder else resolved(path)
        found = _found(target)
        if found is not None and not folder and not stat.S_ISREG(found.st_mode):
            if stat.S_ISDIR(found.st_mode) or not os.access(target, os.W_OK):
                number = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EACCES
                raise OSError(number, os.strerror(number))
            return
        place, missing = (target, []) if folder else (target.parent, [target.name])
        while _found(place) is None:
            if place.is_symlink():  # no folder can be made there
                raise FileNotFoundError(errno.ENOENT, f"{place} is a link to nothing")
            place, missing = place.parent, [place.name, *missing]
        if any(len(os.fsencode(n)) > os.pathconf(place, "PC_NAME_MAX") for n in missing):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Holds a lock file for this process; the lock goes with the process, however it ends.

    It is waited for for a second: a killed process may still be going.

    Raises:
      RunError: `busy` where another process holds it, or no permission.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("w")
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    with stream:
        end = time.monotonic() + 1.0
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise RunError(busy) from None
                time.sleep(0.05)
        yield


def write_json(target: str, content: object) -> None:
    """Writes JSON to a file, or to stdout for "-"; numbers that are not finite become null."""
    whole = json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    write_out(target, whole + "\n")


def _finite(content: object) -> object:
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if isinstance(content, Mapping):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return content


def write_out(target: str, text: str) -> None:
    """Writes text to a file, or to stdout for "-"."""
    if target == "-":
        sys.stdout.write(text)
    else:
        write_text(Path(target), text)


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all; its folder is made where it is missing."""
    with replacing(path, "w") as stream:
        stream.write(text)
