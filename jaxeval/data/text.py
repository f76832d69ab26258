"""Files of a corpus: which of a folder they are, and their lines (UTF-8, plain or gzip)."""

import contextlib
import gzip
import io
import itertools
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from jaxeval.errors import DataError, argument

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


class Line(NamedTuple):
    """A line of a file, without its end."""

    path: str | Path
    number: int  # from 1
    text: str

    def error(self, message: str) -> DataError:
        """Returns the error that names this line."""
        return DataError(message, self.path, self.number)

    def columns(self, names: Mapping[str, int], key: str = "{}") -> dict[str, str]:
        """Returns the values between tabs by name; quotes have no meaning.

        Raises DataError: a column that is missing or blank. `names`: name -> column, from 1; `key`
        has the form of what sets it.
        """
        fields = self.text.split("\t")
        for name, column in names.items():
            if column > len(fields):
                found = f"found {len(fields)}, split at tabs"
                raise self.error(f"expected a column {column} ({key.format(name)}), {found}")
            if not fields[column - 1].strip():
                raise self.error(f"column {column} ({key.format(name)}) is empty")
        return {name: fields[column - 1] for name, column in names.items()}


def lines(path: str | Path, encoding: str = "utf-8") -> Iterator[Line]:
    """Yields the lines of a file that are not blank; raises DataError as `iterate_lines`."""
    return (line for line in _numbered(path, encoding) if line.text.strip())


def paragraphs(path: str | Path) -> Iterator[list[Line]]:
    """Yields the lines between blank lines; raises DataError as `iterate_lines`."""
    for is_text, block in itertools.groupby(_numbered(path), lambda line: bool(line.text.strip())):
        if is_text:
            yield [*block]


def columns(line: str) -> list[str]:
    """Splits at tabs or ASCII blanks only: a no-break space belongs to its word."""
    return line.split("\t") if "\t" in line else [part for part in line.split(" ") if part]


def _numbered(path: str | Path, encoding: str = "utf-8") -> Iterator[Line]:
    each = enumerate(iterate_lines(path, encoding=encoding), 1)
    return (Line(path, number, line) for number, line in each)


def iterate_lines(
    path: str | Path, raw: Iterable[bytes] | None = None, encoding: str = "utf-8"
) -> Iterator[str]:
    """Yields the lines of a file without line ends (\\n or \\r\\n) and byte order mark.

    Raises DataError: no such file, not UTF-8, binary, gzip cut short or too large, no text at all.

    Args:
      raw: the bytes in pieces; None: those of the file.
    """
    number, text = 1, False
    for block in blocks(path, raw):
        try:
            decoded = decode(b"\n".join(block), path, None, encoding).split("\n")
        except DataError:  # again, to name the line
            decoded = [decode(line, path, at, encoding) for at, line in enumerate(block, number)]
        if number == 1:
            decoded[0] = decoded[0].removeprefix("\ufeff")
        text = text or any(map(str.strip, decoded))
        number += len(block)
        for line in decoded:
            yield line.removesuffix("\r")
    if not text:
        raise DataError("the file is empty; expected text", path)


def table_lines(path: str | Path) -> tuple[str, Iterator[str], int]:
    """Returns the header of a table, the lines below, and the lines above: one may be for Excel.

    That line tells the delimiter.
    """
    lines = iterate_lines(path)
    header = next(lines, "")
    if not re.fullmatch(r"sep=[,;\t]", header, re.IGNORECASE):
        return header, lines, 0
    if not (header := next(lines, "")):
        raise DataError("the first line names the delimiter; expected a header below it", path)
    return header, lines, 1


def blocks(path: str | Path, raw: Iterable[bytes] | None = None) -> Iterator[list[bytes]]:
    """Yields the lines of a file (or of `raw`) without newlines, in blocks as they are read.

    Raises DataError: no such file, damaged or too large, a line that does not end.
    """
    left, number = b"", 1
    for piece in pieces(path) if raw is None else raw:
        block = (left + piece).split(b"\n")
        left = block.pop()
        if len(left) > _LONGEST_LINE:
            raise DataError(_TOO_LARGE, path, number + len(block))
        number += len(block)
        if block:
            yield block
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
        most = Path(path).stat().st_size
        if isinstance(stream, gzip.GzipFile):
            most = max(_SMALL, _MOST_TIMES * most)
        while piece := stream.read(_BLOCK):
            total += len(piece)
            if total > min(most, _MOST_BYTES):
                raise DataError(_TOO_LARGE, path)
            yield piece


def decode(
    raw: bytes, path: str | Path, number: int | None = None, encoding: str = "utf-8"
) -> str:
    """Decodes bytes of a file; raises DataError, with the line's number, if they are no text."""
    if b"\x00" in raw:
        expected = "expected text in UTF-8, plain or gzipped"
        raise DataError(f"a binary file or UTF-16 (NUL byte); {expected}", path, number)
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        advice = "not UTF-8; convert it, for instance with: iconv -f LATIN1 -t UTF-8"
        raise DataError(advice, path, number) from None


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
        raise DataError("a Git LFS pointer instead of the file; run git lfs pull there", path)


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
    settings: Any, key: str, required: Collection[str] = _PARTS, alone: bool = False
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
        raise no_file(folder, f"no such file or folder; {argument('data')} names the corpus")
    files_there = (file.name for file in folder.iterdir() if file.is_file())
    names = sorted(name for name in files_there if not name.startswith("."))
    patterns = {part: pattern for part in _PARTS if (pattern := getattr(settings, part))}
    fitting = {p: _fitting(names, pattern, f"{key}.{p}") for p, pattern in patterns.items()}
    if alone and len(names) == 1 and not (fitting.get("dev") or fitting.get("test")):
        return {"train": folder / names[0]}
    # the path itself if a pattern is absolute
    files = {part: folder / own[0] for part, own in fitting.items() if len(own) == 1}
    read = {*itertools.chain(*fitting.values())}
    suffix = files.get("train", folder).suffix
    beside = [n for n in names if n not in read and "train" in files and n.endswith(suffix)]
    wrong: list[str] = []
    changes: list[str] = []
    for part, own in fitting.items():
        if own[1:] or (not own and (part in required or beside)):
            fit = f"{len(own)} files fit" if own else "no file fits"
            wrong.append(f"{fit} the {part} pattern {patterns[part]!r}")
            likely = [name for name in own or names if part in name.lower()]
            absent = "" if own or part in required else ", or null: there is none"
            changes.append(f"{key}.{part}={likely[0] if len(likely) == 1 else 'NAME'}{absent}")
    if wrong:
        holds = f"the folder holds {_listed(beside or names)}"
        raise DataError(f"{'; '.join(wrong)}; {holds}; set {' '.join(changes)}", folder)
    return files


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) or "no file"


def _fitting(names: list[str], pattern: str, key: str) -> list[str]:
    if not Path(pattern).is_absolute():
        return [name for name in names if fnmatch(name, pattern)]
    if not Path(pattern).is_file():
        raise no_file(pattern, f"no such file; {key} names it")
    return [pattern]


def detect_format(
    file: Path, named: str, suffixes: Mapping[str, str], formats: Collection[str]
) -> str:
    """Returns the named format of a file or, for "auto", the one of its suffix (before .gz)."""
    if named != "auto":
        return named
    if found := suffixes.get(suffix(file)):
        return found
    expected = f"expected {', '.join(suffixes)}, or data.source.format=FORMAT, one of "
    raise DataError(f"its name does not tell its format; {expected}{', '.join(formats)}", file)


def suffix(file: Path) -> str:
    """Returns the lower-case suffix of a file's name before .gz, such as ".tsv"."""
    return Path(file.name.lower().removesuffix(".gz")).suffix
