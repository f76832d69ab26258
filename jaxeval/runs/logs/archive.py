"""Members of a zip archive that nobody vouches for, those compressed by zstd too."""

import contextlib
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from jaxeval.errors import DataError

_ZSTD = 93  # Python's zipfile reads it from 3.14
_MOST_BYTES = 4 << 30  # of a member
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, lengths of name and extra field
_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


class Bounded:
    """A stream that ends in an error where it is longer than it may be, or damaged."""

    def __init__(self, stream: IO[bytes], path: Path, most: int = _MOST_BYTES):
        self._stream, self._path, self._left = stream, path, most

    def read(self, size: int, /) -> bytes:
        """At most so many bytes.

        Raises:
          DataError: too many in all, or damaged.
        """
        try:
            raw = self._stream.read(size)
        except DataError:
            raise
        except Exception as error:  # zstandard has an exception of its own
            raise DataError(f"damaged, perhaps cut short ({error})", self._path) from None
        self._left -= len(raw)
        if self._left < 0:
            raise DataError("more bytes than it declares or may have", self._path)
        return raw


@contextlib.contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive.

    Raises:
      DataError: it is none, or cut short.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _ERRORS as error:
        raise DataError(f"not a whole zip archive, perhaps cut short ({error})", path) from None
    with archive:
        yield archive


@contextlib.contextmanager
def member(archive: zipfile.ZipFile, name: str, path: Path) -> Iterator[Bounded]:
    """A member's contents, no more of them than the archive declares.

    Raises:
      DataError: too large, damaged, encrypted, or compressed by what is not there.
    """
    info = archive.getinfo(name)
    if info.file_size > _MOST_BYTES:
        raise DataError(f"{name}: {info.file_size} bytes; expected at most {_MOST_BYTES}", path)
    with contextlib.ExitStack() as stack:
        try:
            stream: IO[bytes] = stack.enter_context(archive.open(info))
        except NotImplementedError as error:
            if info.compress_type != _ZSTD:
                raise DataError(f"{name}: {error}", path) from None
            stream = stack.enter_context(_zstd(info, path))
        except _ERRORS as error:
            raise DataError(f"{name}: cannot be read ({error})", path) from None
        yield Bounded(stream, path, info.file_size)


@contextlib.contextmanager
def _zstd(info: zipfile.ZipInfo, path: Path) -> Iterator[Any]:
    """What zstd frames in an archive hold."""
    try:
        import zstandard
    except ImportError:
        raise DataError(
            f"{info.filename}: compressed by zstd (zip method 93), which Python reads from 3.14 "
            "on; before, pip install 'jaxeval[zstd]' adds zstandard",
            path,
        ) from None
    with path.open("rb") as file:
        file.seek(info.header_offset)
        signature, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size).ljust(30))
        if signature != b"PK\x03\x04":
            raise DataError(f"{info.filename}: no zip member where the archive says", path)
        file.seek(name + extra, 1)
        compressed: Any = _Part(file, info.compress_size)
        yield zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)


class _Part:
    """The next so many bytes of a file."""

    def __init__(self, file: IO[bytes], size: int):
        self._file, self._left = file, size

    def read(self, size: int = -1, /) -> bytes:
        """At most so many of them; the rest for -1."""
        raw = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(raw)
        return raw
