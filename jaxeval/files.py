"""Files that are written whole or not at all, lock files, and SQLite databases."""

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from jaxeval.errors import ConfigError, RunError, argument

if TYPE_CHECKING:
    import sqlite3

# what a JSON file holds
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_TEMPORARY = ".jaxeval."  # without the name, which may be as long as names may be
_SECONDS_LEFT = 10.0  # age of a temporary file that nobody writes any more
_DATABASE = "runs.sqlite"  # of a runs folder; names of its journals begin alike
_ENDINGS = (".json", ".html", ".md", ".tex", ".csv")  # of outputs
_KEPT = ("ablations", "checkpoints", "models", "sweeps", "tunings")  # beside the database


@contextlib.contextmanager
def replacing(path: Path, mode: str) -> Iterator[IO[Any]]:
    """Opens a stream ("w" text, "wb" bytes) whose contents replace the file when the block ends.

    If the block fails, the file stays as it was. A missing folder is made; the target of a symlink
    is replaced. Devices, pipes, stdout and stderr are written into.

    Raises:
      RunError: no room, no permission.
    """
    temporary = None
    encoding = None if "b" in mode else "utf-8"
    try:
        target = resolved(path)
        found = _stat(target)
        straight = None if found is None else _open_in_place(target, found)
        if straight is not None:
            with os.fdopen(straight, mode, encoding=encoding) as stream:
                yield stream
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=_TEMPORARY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # until it is closed: `_sweep` leaves it alone
        with os.fdopen(descriptor, mode, encoding=encoding) as stream:
            yield stream
            stream.flush()
            os.fchmod(descriptor, 0o644 if found is None else stat.S_IMODE(found.st_mode))
            os.fsync(descriptor)  # else the name may be on disk before the contents
        os.replace(temporary, target)
        with contextlib.suppress(OSError):  # some file systems cannot
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):  # gone if all went well
                os.unlink(temporary)


@functools.cache
def _sweep(folder: Path) -> None:
    """Deletes temporary files that killed processes left, once a process and folder."""
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{_TEMPORARY}*"):
            with contextlib.suppress(OSError), path.open("rb") as stream:
                if time.time() - path.stat().st_mtime > _SECONDS_LEFT:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody writes it
                    path.unlink()


def _open_in_place(path: Path, found: os.stat_result) -> int | None:
    """Returns a descriptor of a file that cannot be replaced; None for a regular file."""
    for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
        with contextlib.suppress(OSError):  # closed
            if os.path.samestat(found, os.fstat(descriptor)):
                stream.flush()  # opened again, it would be written from its start
                return os.dup(descriptor)
    return None if stat.S_ISREG(found.st_mode) else os.open(path, os.O_WRONLY)


def resolved(path: Path) -> Path:
    """Returns the target of a path through symlinks; a pipe has no other path than its own."""
    target = Path(os.path.realpath(path))
    return target if target.exists() or not path.exists() else path


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def refuse_unwritable(
    *targets: str | Path | None,
    folder: str | Path | None = None,
    reads: Iterable[str | Path | None] = (),
    runs: Iterable[str | Path | None] = (),
) -> None:
    """Refuses outputs that cannot be written or would replace something; makes nothing.

    It is called before work that takes long; `replacing` would fail after it.

    Args:
      targets: files, "-" for stdout, None for none.
      folder: of figures.
      reads: files that a verb reads.
      runs: runs folders, or databases, which are read.

    Raises:
      RunError, ConfigError: one cannot be written, two are the same file, or one would replace
        what is read, or what a runs folder keeps.
    """
    paths = [Path(target) for target in targets if target and target != "-"]
    read = [Path(path) for path in reads if path and path != "-"]
    read += [Path(place) for place in runs if place and not Path(place).is_dir()]
    written: dict[Path, Path] = {}
    for path in [*paths, Path(folder)] if folder else paths:
        is_file = path in paths
        if not replaceable(path, is_file):
            continue
        if (other := written.setdefault(resolved(path), path)) is not path:
            raise ConfigError(f"{other} and {path}: two outputs, expected a file for each")
        same = next((other for other in read if is_file and _is_same(path, other)), None)
        if same is not None:
            raise ConfigError(
                f"{path}: would be replaced, and it is read (as {same}); expected another file"
            )
        if _is_kept(resolved(path)):
            raise ConfigError(f"{path}: part of a runs folder; expected another place")


def replaceable(path: Path, is_file: bool = True) -> bool:
    """Returns whether writing replaces a file, or files in a folder, or makes them.

    A device or a pipe is written into. Raises RunError: it cannot be written.
    """
    try:
        target = resolved(path) if is_file else path
        found = _stat(target)
        if found is not None and is_file and not stat.S_ISREG(found.st_mode):
            if stat.S_ISDIR(found.st_mode) or not os.access(target, os.W_OK):
                number = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EACCES
                raise OSError(number, os.strerror(number))
            return False
        place = target.parent if is_file else target
        while _stat(place) is None:
            if place.is_symlink():  # no folder can be made there
                raise FileNotFoundError(errno.ENOENT, f"{place} is a link to nothing")
            place = place.parent
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None


def _is_kept(path: Path) -> bool:
    """True if a file has the place of one that a runs folder keeps."""
    folders = [folder for folder in path.parents if (folder / _DATABASE).is_file()]
    kept = any(path.relative_to(folder).parts[0] in _KEPT for folder in folders)
    return kept or path.name.startswith(_DATABASE)


def _is_same(path: Path, other: Path) -> bool:
    """True if two paths are one file, also by links; or `path` is in the folder `other`.

    A file in a folder that is read is an input, unless it ends as outputs do.
    """
    if other.is_dir() and path.is_file() and path.suffix not in _ENDINGS:
        return resolved(other) in resolved(path).parents
    with contextlib.suppress(OSError):  # one of them does not exist
        return path.samefile(other)
    return resolved(path) == resolved(other)


def lock_of(path: Path, name: str) -> Path:
    """Returns the lock file of a file that the argument of this name gives."""
    if not path.name:
        raise ConfigError(f"{argument(name)}: expected the name of a file")
    return path.with_name(f".{path.name}.lock")


class Busy(RunError):
    """Another process holds a lock."""


@contextlib.contextmanager
def locked(path: Path, busy: str, seconds: float = 1.0) -> Iterator[None]:
    """Holds a lock file; the lock ends with the process, however it ends.

    Waits some seconds for the lock: a killed process may still be ending.

    Raises:
      Busy: another process holds it; with the message `busy`.
      RunError: no permission.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("w")
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    with stream:
        end = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise Busy(busy) from None
                time.sleep(0.05)
        yield


def held(path: Path) -> bool:
    """Returns whether a process holds a lock file."""
    try:
        with path.open("rb", buffering=0) as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def connect(file: Path | None, write: bool = False) -> "sqlite3.Connection":
    """Connects to a SQLite file, or one in memory, without transactions of its own.

    A database in WAL mode needs files beside it. In a folder without write permission SQLite must
    be sure that nobody writes; an existing log is read.
    """
    import sqlite3

    target = ":memory:"
    if file is not None:
        effective = os.access in os.supports_effective_ids
        sealed = not os.access(file.parent, os.W_OK, effective_ids=effective)
        log = file.with_name(f"{file.name}-wal")
        query = "?immutable=1" if sealed and not write and not log.exists() else ""
        target = f"{file.absolute().as_uri()}{query}"
    return sqlite3.connect(
        target,
        timeout=60,
        detect_types=sqlite3.PARSE_DECLTYPES,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )


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
    """Writes a file whole or not at all; a missing folder is made."""
    with replacing(path, "w") as stream:
        stream.write(text)
