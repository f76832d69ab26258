"""Files line by line: UTF-8, plain, gzip or zstd, with errors that name file and line."""

import contextlib
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from jaxeval.data import zstd
from jaxeval.errors import DataError

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_POINTER = b"version https://git-lfs.github.com/spec/"
_SPREADSHEETS = (".xlsx", ".xlsm", ".ods")  # which are zip archives
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # its byte order marks
MOST_BYTES = 16 << 30  # of a decompressed file
_MOST_TIMES = 200  # its compressed size; vectors and corpora shrink to a fifth at best
_SMALL = 1 << 26  # bytes that any file may unpack to
_LONGEST_LINE = 1 << 24


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


def line_with(path: str | Path, parts: Collection[str]) -> int | None:
    """The number of the line, from 1, of which these texts are whole values, but for blanks.

    It finds the place of something that was read, for messages. None: no line fits, as where
    something stands over several lines, or more than one does.
    """
    wanted = {"".join(part.split()) for part in parts}
    lines = (raw.decode("utf-8-sig", "replace") for raw in raw_lines(path))
    numbers = [number for number, line in enumerate(lines, 1) if wanted <= _values(line)]
    return numbers[0] if len(numbers) == 1 else None


def _values(line: str) -> set[str]:
    """Values of a JSON object, columns, or label and text of `LABEL:detail text`; no blanks."""
    try:
        tree = json.loads(line)
    except (ValueError, RecursionError):
        tree = None
    if isinstance(tree, dict):
        values = [str(value) for value in tree.values() if isinstance(value, str | int)]
    elif "\t" in line:
        values = line.split("\t")
    else:
        label, _, content = line.partition(" ")
        values = [label.partition(":")[0], content]
    return {"".join(value.split()) for value in values}


def raw_lines(path: str | Path) -> Iterator[bytes]:
    """The lines of a file as they stand, with their ends; none of an empty file.

    Raises:
      DataError: no such file, damaged or too large, a line that does not end.
    """
    for number, raw in enumerate(_pieces(path), 1):
        if len(raw) == _LONGEST_LINE:
            raise DataError("too large for a text file of this kind", path, number)
        yield raw


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[io.BufferedIOBase]:
    """A stream of a file's bytes; of those within where it is compressed.

    Raises:
      DataError: no such file, damaged, zip; also of what is read within the block.
    """
    with _told(path, lambda: None), _open(Path(path)) as stream:
        yield stream


def read_bytes(path: str | Path) -> bytes:
    """All bytes of a file; those within where it is gzip.

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
    if _start(Path(path)).startswith((_GZIP, zstd.MAGIC)):
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


def _pieces(path: str | Path) -> Iterator[bytes]:
    """The lines of a file with their ends, cut where they are longer than _LONGEST_LINE."""
    number = total = 0
    with _told(path, lambda: number + 1), _open(Path(path)) as stream:
        most = most_bytes(path)
        while raw := stream.readline(_LONGEST_LINE):
            number, total = number + 1, total + len(raw)
            if total > most:
                raise DataError("too large for a text file of this kind", path, number)
            yield raw


@contextlib.contextmanager
def _told(path: str | Path, line: Callable[[], int | None]) -> Iterator[None]:
    """Makes errors of reading a file DataErrors, at the line where they arise."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"damaged gzip file, perhaps cut short ({error})"
        raise DataError(message, path, line()) from None
    except zstd.Damaged as error:
        message = f"damaged zstd file, perhaps cut short ({error})"
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
    if start == _ZIP and path.suffix.lower() in _SPREADSHEETS:
        raise DataError("a spreadsheet; export its table as CSV", path)
    if start == _ZIP:
        raise DataError("a zip archive; unpack it first", path)
    if start.startswith(_GZIP):
        return gzip.open(path, "rb")
    return zstd.opened(path) if start == zstd.MAGIC else path.open("rb")


def no_file(path: str | Path, said: str = "no such file or folder") -> DataError:
    """What to raise where neither a file nor a folder is; a device, which is there, is none."""
    there = os.path.exists(path)  # False of a name that is too long for a path
    return DataError("a device or a pipe; expected a file or a folder" if there else said, path)


def refuse_pointer(path: Path) -> None:
    """Large files of a repository that was cloned without Git LFS are a few lines each.

    Raises:
      DataError: the file is such a pointer, or cannot be read.
    """
    with _told(path, lambda: None):
        start = _start(path, len(_POINTER))
    if start == _POINTER:
        raise DataError("a pointer of Git LFS in place of the file; run git lfs pull there", path)


def _start(path: Path, size: int = 4) -> bytes:
    with path.open("rb") as probe:
        return probe.read(size)
