"""Large files that nobody vouches for, piece by piece: JSON, JSON lines, zip archives."""

import codecs
import contextlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, parsing
from jaxeval.files import Json

_CHUNK = 1 << 20
_LARGEST = 1 << 28  # characters of one value
_MOST_BYTES = 4 << 30  # of a file, or of a member of an archive
_EXPONENT = 3  # characters behind which a number does not go on: 1 and e-5
_BLANKS = re.compile(r"[ \t\r\n]*")
_ZSTD = 93  # Python's zipfile reads it from 3.14
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, lengths of name and extra field


class _Stream(Protocol):
    """What is read, such as a file in binary mode."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


class Bounded:
    """A stream that ends in an error where it is longer than it may be, or damaged."""

    def __init__(self, stream: _Stream, path: Path, most: int = _MOST_BYTES):
        self._stream, self._path, self._left = stream, path, most

    def read(self, size: int, /) -> bytes:
        """At most so many bytes.

        Raises:
          DataError: too many in all, or damaged.
        """
        with parsing(
            "damaged, perhaps cut short", self._path, passing=(JaxevalError, MemoryError)
        ):
            raw = self._stream.read(size)
        self._left -= len(raw)
        if self._left < 0:
            raise DataError("more bytes than it declares or may have", self._path)
        return raw


def lines(path: Path) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Number and object of each line of JSON lines that is not blank.

    Raises:
      DataError: naming the line that is no object; a torn last one too.
    """
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not line.strip():
            continue
        with parsing("not valid JSON", path, number):
            tree = json.loads(line)
        if not isinstance(tree, dict):
            raise DataError("expected a JSON object in each line", path, number)
        yield number, tree


def members(path: Path, one_by_one: Collection[str] = ()) -> Iterator[tuple[str, Json]]:
    """The same as `pieces`, of a file."""
    text.refuse_pointer(path)
    with path.open("rb") as file:
        yield from pieces(Bounded(file, path), path, one_by_one)


def pieces(
    stream: _Stream, path: Path, one_by_one: Collection[str] = ()
) -> Iterator[tuple[str, Json]]:
    """Key and value of each member of a JSON object.

    Of an array under a key of `one_by_one`, each element by itself under that key; so too those of
    an array that is itself the whole, under "".

    Raises:
      DataError: not JSON, neither object nor array, or a value too large.
    """
    scanner = _Scanner(stream, path)
    if scanner.next_of("{[") == "[":
        yield from (("", element) for element in scanner.elements())
    else:
        separator = "," if scanner.peek() != "}" else scanner.next_of("}")
        while separator == ",":
            key = scanner.value()
            scanner.next_of(":")
            if key in one_by_one and scanner.peek() == "[":
                scanner.next_of("[")
                yield from ((str(key), element) for element in scanner.elements())
            else:
                yield str(key), scanner.value()
            separator = scanner.next_of(",}")
    if scanner.peek():
        raise DataError("not valid JSON (more behind its end)", path)


class _Scanner:
    """A position in a stream of JSON; the text before it is forgotten."""

    def __init__(self, stream: _Stream, path: Path):
        self._stream, self._path = stream, path
        self._bytes = codecs.getincrementaldecoder("utf-8-sig")()
        self._decoder = json.JSONDecoder()
        self._text, self._at, self._ended = "", 0, False

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = blanks.end() if blanks else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def next_of(self, expected: str) -> str:
        """The next character, one of these, which is passed."""
        character = self.peek()
        if not character or character not in expected:
            what = repr(character) if character else "its end"
            message = f"not valid JSON (expected one of {expected}, found {what})"
            raise DataError(message, self._path)
        self._at += 1
        return character

    def value(self) -> Json:
        """The next value, which is passed."""
        self.peek()
        while True:
            with parsing("not valid JSON", self._path):
                try:
                    tree, end = self._decoder.raw_decode(self._text, self._at)
                    if end + _EXPONENT < len(self._text) or self._ended:
                        self._at = end
                        return tree
                except json.JSONDecodeError:  # perhaps as it goes on
                    if self._ended:
                        raise
            self._more()

    def elements(self) -> Iterator[Json]:
        """The elements of an array whose bracket is passed, and the bracket at its end."""
        separator = "," if self.peek() != "]" else self.next_of("]")
        while separator == ",":
            yield self.value()
            separator = self.next_of(",]")

    def _more(self) -> None:
        """Reads on, twice as much of a value that is twice as large."""
        rest = self._text[self._at :]
        if len(rest) > _LARGEST:
            raise DataError(f"a JSON value of more than {_LARGEST >> 20} MiB", self._path)
        raw = self._stream.read(max(_CHUNK, len(rest)))
        self._ended = not raw
        with parsing("not UTF-8", self._path):
            self._text, self._at = rest + self._bytes.decode(raw, self._ended), 0


@contextlib.contextmanager
def archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive.

    Raises:
      DataError: it is none, or cut short.
    """
    with parsing("not a whole zip archive, perhaps cut short", path, passing=(MemoryError,)):
        zipped = zipfile.ZipFile(path)
    with zipped:
        yield zipped


def archived(zipped: zipfile.ZipFile, name: str, path: Path) -> Iterator[tuple[str, Json]]:
    """The same as `pieces`, of a member of an archive, no more of it than the archive declares.

    Raises:
      DataError: too large, damaged, encrypted, or compressed by what is not there.
    """
    info = zipped.getinfo(name)
    if info.file_size > _MOST_BYTES:
        raise DataError(f"{name}: {info.file_size} bytes; expected at most {_MOST_BYTES}", path)
    passing = (JaxevalError, MemoryError)
    with (
        parsing(f"{name}: cannot be read", path, passing=passing),
        contextlib.ExitStack() as stack,
    ):
        try:
            stream: IO[bytes] = stack.enter_context(zipped.open(info))
        except NotImplementedError:
            if info.compress_type != _ZSTD:
                raise
            stream = stack.enter_context(_zstd(info, path))
        yield from pieces(Bounded(stream, path, info.file_size), path)


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
        compressed = io.BytesIO(file.read(min(info.compress_size, _LARGEST)))
        yield zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
