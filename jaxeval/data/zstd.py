"""Files compressed by zstd, read in bounded memory; the library is an extra."""

import io
from pathlib import Path
from typing import Any

from jaxeval.errors import DataError

MAGIC = b"\x28\xb5\x2f\xfd"
_WINDOW = 1 << 27  # bytes that a file may ask the decompressor to remember (zstd --long=27)
_AT_ONCE = 1 << 10  # compressed bytes; four of them can unpack to 128 KiB, all to 32 MiB


class Damaged(Exception):
    """A file that ends before its last frame does, or that holds no zstd frame."""


def opened(path: Path) -> io.BufferedReader:
    """A stream of the bytes within a zstd file, of one frame or several.

    Raises:
      DataError: the library that reads it is not installed.
    """
    try:
        import zstandard
    except ImportError:
        message = "compressed by zstd; expected the package: pip install 'jaxeval[zstd]'"
        raise DataError(message, path) from None
    return io.BufferedReader(_Stream(path, zstandard), 1 << 20)


class _Stream(io.RawIOBase):
    """The bytes within; unlike the library's own stream, it tells a file that was cut short."""

    def __init__(self, path: Path, library: Any):
        self._file, self._library = path.open("rb"), library
        self._decompressor = library.ZstdDecompressor(max_window_size=_WINDOW)
        self._frame: Any = None  # None between frames
        self._compressed, self._out = b"", memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._out:
            self._compressed = self._compressed or self._file.read(_AT_ONCE)
            if not self._compressed:
                if self._frame is not None:
                    raise Damaged("its last frame has no end")
                return 0
            self._out = memoryview(self._next())
        target = memoryview(buffer)
        size = min(len(target), len(self._out))
        target[:size], self._out = self._out[:size], self._out[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()

    def _next(self) -> bytes:
        """What the compressed bytes at hand unpack to."""
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        try:
            out: bytes = self._frame.decompress(self._compressed)
        except self._library.ZstdError as error:
            raise Damaged(str(error)) from None
        self._compressed = self._frame.unused_data if self._frame.eof else b""
        if self._frame.eof:
            self._frame = None
        return out
