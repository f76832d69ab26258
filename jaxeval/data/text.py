"""Text files line by line: UTF-8, plain or gzip, with errors that name file and line."""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from jaxeval.errors import DataError

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
MOST_BYTES = 16 << 30  # of a decompressed file
_LONGEST_LINE = 1 << 24


def iterate_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file, without their ends (\\n or \\r\\n) and without a byte order mark.

    Raises:
      DataError: no such file, not UTF-8, binary, gzip cut short or too large, no text at all.
    """
    number, text = 0, False
    try:
        with _open(Path(path)) as stream:
            total = 0
            while raw := stream.readline(_LONGEST_LINE):
                number, total = number + 1, total + len(raw)
                if total > MOST_BYTES or len(raw) == _LONGEST_LINE:
                    raise DataError("too large for a text file of this kind", path, number)
                line = _decode(raw, path, number)
                text = text or bool(line.strip())
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"damaged gzip file, perhaps cut short ({error})"
        raise DataError(message, path, number + 1) from None
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None
    if not text:
        raise DataError("the file is empty; expected text", path)


def _open(path: Path) -> gzip.GzipFile | BufferedReader:
    with path.open("rb") as probe:
        compressed = probe.read(2) == _GZIP
    return gzip.open(path, "rb") if compressed else path.open("rb")


def _decode(raw: bytes, path: str | Path, number: int) -> str:
    if number == 1:
        raw = raw.removeprefix(_BOM)
    if b"\x00" in raw:
        raise DataError("a binary file (NUL byte); expected text in UTF-8", path, number)
    try:
        return raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        advice = "not UTF-8; convert it, for instance with: iconv -f LATIN1 -t UTF-8"
        raise DataError(advice, path, number) from None
