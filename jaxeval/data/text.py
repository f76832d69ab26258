"""Files of a corpus: which of a folder they are, and their lines (UTF-8, plain or gzip)."""

import contextlib
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from jaxeval.errors import DataError

# ends messages about a line that is not of the format that a config names
OTHER_FORMAT = (
    "data.source.format=auto goes by the file's name (vectors judge: TASK:data.source.format=auto)"
)
_PARTS = ("train", "dev", "test")
_MOST_NAMES = 8  # in a message
_GZIP = b"\x1f\x8b"
_POINTER = b"version https://git-lfs.github.com/spec/"
BOM = b"\xef\xbb\xbf"
_MOST_BYTES = 16 << 30  # of a decompressed file
_MOST_TIMES = 200  # the compressed size; vectors and corpora shrink to a fifth at best
_SMALL = 1 << 26  # bytes to which any file may unpack
_LONGEST_LINE = 1 << 24
_BLOCK = 1 << 18
_TOO_LARGE = "too large for a text file of this kind"


def iterate_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a file without line ends (\\n or \\r\\n) and byte order mark.

    Raises DataError: no such file, not UTF-8, binary, gzip cut short or too large, no text at all.
    """
    text = False
    for number, raw in enumerate(itertools.chain.from_iterable(blocks(path)), 1):
        line = decode(raw, path, number)
        text = text or bool(line.strip())
        yield line
    if not text:
        raise DataError("the file is empty; expected text", path)


def columns(path: str | Path, names: Mapping[str, int]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields line number and `values` of tab-separated lines, without empty lines.

    There is no header, and quotes have no meaning. `names`: name -> column, from 1.
    """
    for number, line in enumerate(iterate_lines(path), 1):
        if line:
            yield number, values(line, names, path, number)


def values(line: str, names: Mapping[str, int], path: str | Path, number: int) -> dict[str, str]:
    """Returns the values of a line's columns; raises DataError if one is missing or blank."""
    fields = line.split("\t")
    for name, column in names.items():
        if column > len(fields):
            message = f"expected a column {column} ({name}), found {len(fields)}, split at tabs"
            raise DataError(message, path, number)
        if not fields[column - 1].strip():
            raise DataError(f"column {column} ({name}) is empty", path, number)
    return {name: fields[column - 1] for name, column in names.items()}


def blocks(path: str | Path) -> Iterator[list[bytes]]:
    """Yields the lines of a file without newlines, in blocks as they are read.

    Raises DataError: no such file, damaged or too large, a line that does not end.
    """
    left, number = b"", 1
    for piece in pieces(path):
        lines = (left + piece).split(b"\n")
        left = lines.pop()
        if len(left) > _LONGEST_LINE:
            raise DataError(_TOO_LARGE, path, number + len(lines))
        number += len(lines)
        if lines:
            yield lines
    if left:
        yield [left]


def read_bytes(path: str | Path) -> bytes:
    """Returns all bytes of a file, decompressed; raises DataError as `blocks`, or if empty."""
    raw = b"".join(pieces(path))
    if not raw:
        raise DataError("the file is empty; expected text", path)
    return raw


def pieces(path: str | Path) -> Iterator[bytes]:
    """Yields the bytes of a file, decompressed; raises DataError as `blocks`."""
    total = 0
    with opened(path) as stream:
        most = _most_bytes(path)
        while piece := stream.read(_BLOCK):
            total += len(piece)
            if total > most:
                raise DataError(_TOO_LARGE, path)
            yield piece


def _most_bytes(path: str | Path) -> int:
    """Returns the limit of a file's decompressed size: a plain file's own, or less than memory."""
    size = Path(path).stat().st_size
    with Path(path).open("rb") as stream:
        zipped = stream.read(len(_GZIP)) == _GZIP
    return min(_MOST_BYTES, max(_SMALL, _MOST_TIMES * size) if zipped else size)


def decode(raw: bytes, path: str | Path, number: int | None = None) -> str:
    """Decodes bytes of a file; raises DataError if they are not UTF-8, or binary.

    A line, which has a number, loses its end and a byte order mark.
    """
    if number == 1:
        raw = raw.removeprefix(BOM)
    if b"\x00" in raw:
        raise DataError("a binary file (NUL byte); expected text in UTF-8", path, number)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        advice = "not UTF-8; convert it, for instance with: iconv -f LATIN1 -t UTF-8"
        raise DataError(advice, path, number) from None
    return text if number is None else text.removesuffix("\r")


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[io.BufferedIOBase]:
    """Opens a file as a stream of decompressed bytes.

    Raises DataError: no such file, damaged; also for what is read within the block.
    """
    file = Path(path)
    with _data_errors(path):
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise DataError("a device or a pipe; expected a file", path)
        refuse_pointer(file)
        with file.open("rb") as stream:
            zipped = stream.read(len(_GZIP)) == _GZIP
            stream.seek(0)
            yield gzip.GzipFile(fileobj=stream) if zipped else stream


def refuse_pointer(path: Path) -> None:
    """Raises DataError for a pointer of Git LFS, or a file that cannot be read.

    Large files of a repository cloned without Git LFS are pointers of a few lines.
    """
    with _data_errors(path), path.open("rb") as stream:
        start = stream.read(len(_POINTER))
    if start == _POINTER:
        raise DataError("a pointer of Git LFS in place of the file; run git lfs pull there", path)


@contextlib.contextmanager
def _data_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"damaged gzip file, perhaps cut short ({error})", path) from None
    except FileNotFoundError:
        raise DataError("no such file", path) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from None


def no_file(path: str | Path, said: str = "no such file or folder") -> DataError:
    """Returns the error for a path that is neither a file nor a folder."""
    there = os.path.exists(path)  # False for names that are too long
    return DataError("a device or a pipe; expected a file or a folder" if there else said, path)


def find_parts(
    settings: Any,
    key: str,
    required: Collection[str] = _PARTS,
    alone: bool = False,
) -> dict[str, Path]:
    """Returns the files of train, dev and test: those in a folder that fit a part's pattern.

    Raises DataError: no file or several for a part.

    Args:
      settings: with `path`, the folder or a single file, and a pattern or absolute path for each
        part (None: no file); `key` is their key in a config, such as "data.source".
      required: parts that must be there; others must if an unread file has train's suffix.
      alone: whether one file, or the only one of a folder, is train.
    """
    folder = Path(settings.path)
    if folder.is_file() and alone:
        return {"train": folder}
    if folder.is_file():
        raise DataError(f"a file; expected the corpus' folder, such as {folder.parent}", folder)
    if not folder.is_dir():
        raise no_file(folder, "no such file or folder; expected one that holds the corpus")
    names = sorted(file.name for file in folder.iterdir() if file.is_file())
    patterns = {part: getattr(settings, part) for part in _PARTS}
    fitting = {p: _fitting(names, p, pattern, key) for p, pattern in patterns.items() if pattern}
    if alone and len(names) == 1 and not any(own for p, own in fitting.items() if p != "train"):
        return {"train": folder / names[0]}
    unread = [name for name in names if not any(name in own for own in fitting.values())]
    files = {}
    for part, pattern in patterns.items():
        found = fitting.get(part, [])
        if len(found) > 1:
            several = f"{len(found)} files fit the {part} pattern {pattern!r}"
            listed = ", ".join(found[:_MOST_NAMES])
            raise DataError(f"{several}: {listed}; set {key}.{part}=NAME", folder)
        if found:
            files[part] = folder / found[0]  # the pattern itself if it is absolute
            continue
        beside = [
            name for name in unread if "train" in files and name.endswith(files["train"].suffix)
        ]
        if part in required or (pattern and beside):
            holds = ", ".join((beside or names)[:_MOST_NAMES]) or "no file"
            lacking = f"no file fits the {part} pattern {pattern!r}; the folder holds {holds}"
            absent = "" if part in required else ", or null: there is none"
            raise DataError(f"{lacking}; set {key}.{part}=NAME{absent}", folder)
    return files


def _fitting(names: list[str], part: str, pattern: str, key: str) -> list[str]:
    if not Path(pattern).is_absolute():
        return [name for name in names if fnmatch(name, pattern)]
    if not Path(pattern).is_file():
        raise no_file(pattern, f"no such file; {key}.{part} names it as the {part} part")
    return [pattern]


def detect_format(
    file: Path, named: str, suffixes: Mapping[str, str], formats: Collection[str]
) -> str:
    """Returns the named format of a file or, for "auto", the one of its suffix (before .gz)."""
    if named != "auto":
        return named
    ending = suffix(file)
    if ending not in suffixes:
        raise DataError(
            f"its name does not tell its format; expected {', '.join(suffixes)}, or "
            f"data.source.format=FORMAT, one of {', '.join(formats)}",
            file,
        )
    return suffixes[ending]


def suffix(file: Path) -> str:
    """Returns the lower-case suffix of a file's name before .gz, such as ".tsv"."""
    return Path(file.name.lower().removesuffix(".gz")).suffix
