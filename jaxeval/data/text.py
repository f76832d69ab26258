"""Files line by line: UTF-8, plain or gzip, with errors that name file and line."""

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from jaxeval.errors import DataError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
_POINTER = b"version https://git-lfs.github.com/spec/"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # its byte order marks
MOST_BYTES = 16 << 30  # of a decompressed file
_MOST_TIMES = 200  # its compressed size; vectors and corpora shrink to a fifth at best
_SMALL = 1 << 26  # bytes that any file may unpack to
_LONGEST_LINE = 1 << 24
_TOO_LARGE = "too large for a text file of this kind"


def iterate_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file, without their ends (\\n or \\r\\n) and without a byte order mark.

    Raises:
      DataError: no such file, not UTF-8, binary, gzip cut short or too large, no text at all.
    """
    text = False
    for number, raw in enumerate(raw_lines(path), 1):
        line = decode(raw, path, number)
        text = text or bool(line.strip())
        yield line
    if not text:
        raise DataError("the file is empty; expected text", path)


def columns(path: str | Path, names: Mapping[str, int]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and values of tab-separated lines, as they stand; empty lines are left out.

    There is no header, and quotes are characters like others.

    Args:
      path: plain or gzip.
      names: name -> column, from 1; other columns are not looked at.

    Raises:
      DataError: a line that lacks a column, or in which it is blank; what `iterate_lines` raises.
    """
    for number, line in enumerate(iterate_lines(path), 1):
        if line:
            yield number, values(line, names, path, number)


def values(line: str, names: Mapping[str, int], path: str | Path, number: int) -> dict[str, str]:
    """The values of a line.

    Raises:
      DataError: a column that is not there, or blank.
    """
    fields = line.split("\t")
    for name, column in names.items():
        if column > len(fields):
            message = f"expected a column {column} ({name}), found {len(fields)}, split at tabs"
            raise DataError(message, path, number)
        if not fields[column - 1].strip():
            raise DataError(f"column {column} ({name}) is empty", path, number)
    return {name: fields[column - 1] for name, column in names.items()}


def raw_lines(path: str | Path) -> Iterator[bytes]:
    """The lines of a file as they stand, with their ends; none of an empty file.

    Raises:
      DataError: no such file, damaged or too large, a line that does not end.
    """
    for number, raw in enumerate(_pieces(path), 1):
        if len(raw) == _LONGEST_LINE:
            raise DataError(_TOO_LARGE, path, number)
        yield raw


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[io.BufferedIOBase]:
    """A stream of a file's bytes, decompressed.

    Raises:
      DataError: no such file, damaged, zip; also of what is read within the block.
    """
    with _as_data_errors(path, lambda: None), _open(Path(path)) as stream:
        yield stream


def read_bytes(path: str | Path) -> bytes:
    """All bytes of a file, decompressed.

    Raises:
      DataError: no such file, gzip cut short or too large, zip, no byte at all.
    """
    raw = b"".join(_pieces(path))
    if not raw:
        raise DataError("the file is empty; expected text", path)
    return raw


def most_bytes(path: str | Path) -> int:
    """How many bytes a file may give: its own if it is plain; fewer than would fill the memory."""
    size = Path(path).stat().st_size
    if _start(Path(path)).startswith(_GZIP):
        return min(MOST_BYTES, max(_SMALL, _MOST_TIMES * size))
    return min(MOST_BYTES, size)


def decode(raw: bytes, path: str | Path, number: int) -> str:
    """A line as text, without its end; the first without a byte order mark.

    Raises:
      DataError: not UTF-8, or binary.
    """
    if number == 1:
        raw = raw.removeprefix(_BOM)
    return decode_block(raw, path, number).removesuffix("\n").removesuffix("\r")


def decode_block(raw: bytes, path: str | Path, number: int | None = None) -> str:
    """Bytes of a file as text.

    Args:
      number: of the line that they are; None: they are several.

    Raises:
      DataError: not UTF-8, or binary.
    """
    if raw.startswith(_UTF16):  # no UTF-8 begins so
        raise DataError("UTF-16; convert it with: iconv -f UTF-16 -t UTF-8", path, number)
    if b"\x00" in raw:
        raise DataError("a binary file (NUL byte); expected text in UTF-8", path, number)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        advice = "not UTF-8; convert it, for instance with: iconv -f LATIN1 -t UTF-8"
        raise DataError(advice, path, number) from None


def no_file(path: str | Path, said: str = "no such file or folder") -> DataError:
    """What to raise where neither a file nor a folder is; a device, which is there, is none."""
    there = os.path.exists(path)  # False of a name that is too long for a path
    return DataError("a device or a pipe; expected a file or a folder" if there else said, path)


def refuse_pointer(path: Path) -> None:
    """Large files of a repository that was cloned without Git LFS are a few lines each.

    Raises:
      DataError: the file is such a pointer, or cannot be read.
    """
    with _as_data_errors(path, lambda: None):
        start = _start(path, len(_POINTER))
    if start == _POINTER:
        raise DataError("a pointer of Git LFS in place of the file; run git lfs pull there", path)


def _pieces(path: str | Path) -> Iterator[bytes]:
    """The lines of a file with their ends, cut where they are longer than _LONGEST_LINE."""
    number = total = 0
    with _as_data_errors(path, lambda: number + 1), _open(Path(path)) as stream:
        most = most_bytes(path)
        while raw := stream.readline(_LONGEST_LINE):
            number, total = number + 1, total + len(raw)
            if total > most:
                raise DataError(_TOO_LARGE, path, number)
            yield raw


@contextlib.contextmanager
def _as_data_errors(path: str | Path, line: Callable[[], int | None]) -> Iterator[None]:
    """Makes errors of reading a file DataErrors, at the line where they arise."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"damaged gzip file, perhaps cut short ({error})"
        raise DataError(message, path, line()) from None
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None


def _open(path: Path) -> io.BufferedIOBase:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError("a device or a pipe; expected a file", path)
    refuse_pointer(path)
    start = _start(path)
    if start == _ZIP:
        raise DataError("a zip archive or a spreadsheet; unpack it, or export it as text", path)
    if start == _ZSTD:
        raise DataError("compressed by zstd; unpack it first, or compress it by gzip", path)
    return gzip.open(path, "rb") if start.startswith(_GZIP) else path.open("rb")


def _start(path: Path, size: int = 4) -> bytes:
    with path.open("rb") as probe:
        return probe.read(size)
