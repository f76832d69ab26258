"""Files that nobody vouches for: JSON lines, JSON, zip archives with JSON members."""

import contextlib
import io
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from jaxeval.data import text
from jaxeval.errors import DataError, JaxevalError, parsing
from jaxeval.files import Json

_MOST_BYTES = 1 << 30  # of a file, or of a member of an archive
_ZSTD = 93  # Python's zipfile reads it from 3.14
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, lengths of name and extra field
_PASSING = (JaxevalError, MemoryError)


def lines(path: Path) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Number and object of each line of JSON lines that is not blank.

    Raises DataError: naming the line that is no object; a torn last one too.
    """
    for number, line in enumerate(text.iterate_lines(path), 1):
        if not line.strip():
            continue
        with parsing("not valid JSON", path, number):
            tree = json.loads(line)
        if not isinstance(tree, dict):
            raise DataError("expected a JSON object in each line", path, number)
        yield number, tree


def tree(path: Path) -> Json:
    """What a JSON file holds; raises DataError where it is none, or too large."""
    text.refuse_pointer(path)
    with parsing("cannot be read", path, passing=_PASSING), path.open("rb") as stream:
        return _parsed(stream, _MOST_BYTES, "", path)


def members(tree: Json) -> Mapping[str, Json]:
    """Those of a JSON object; none of what is no object."""
    return tree if isinstance(tree, Mapping) else {}


@contextlib.contextmanager
def archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive; raises DataError where it is none, or cut short."""
    with parsing("not a whole zip archive, perhaps cut short", path, passing=(MemoryError,)):
        zipped = zipfile.ZipFile(path)
    with zipped:
        yield zipped


def archived(zipped: zipfile.ZipFile, name: str, path: Path) -> Json:
    """What a JSON member of an archive holds, no more bytes than the archive declares.

    Raises DataError: too large, damaged, encrypted, or compressed by what is not there.
    """
    info = zipped.getinfo(name)
    with parsing(f"{name}: damaged", path, passing=_PASSING), contextlib.ExitStack() as stack:
        try:
            stream: IO[bytes] = stack.enter_context(zipped.open(info))
        except NotImplementedError:
            if info.compress_type != _ZSTD:
                raise
            stream = stack.enter_context(_zstd(info, path))
        return _parsed(stream, min(info.file_size, _MOST_BYTES), f"{name}: ", path)


def _parsed(stream: IO[bytes], most: int, head: str, path: Path) -> Json:
    raw = stream.read(most + 1)
    if len(raw) > most:
        raise DataError(f"{head}expected at most {most} bytes, or as many as it declares", path)
    with parsing(f"{head}not valid JSON", path):
        whole: Json = json.loads(raw)
    return whole


@contextlib.contextmanager
def _zstd(info: zipfile.ZipInfo, path: Path) -> Iterator[Any]:
    """What zstd frames in an archive hold."""
    try:
        import zstandard
    except ImportError:
        advice = "pip install 'jaxeval[zstd]' reads it, as Python does from 3.14 on"
        raise DataError(f"{info.filename}: compressed by zstd; {advice}", path) from None
    with path.open("rb") as file:
        file.seek(info.header_offset)
        signature, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size).ljust(30))
        if signature != b"PK\x03\x04":
            raise DataError(f"{info.filename}: no zip member where the archive says", path)
        file.seek(name + extra, 1)
        compressed = io.BytesIO(file.read(min(info.compress_size, _MOST_BYTES)))
        yield zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
