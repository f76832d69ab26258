"""Every reader of files on damaged or unusual input: an error with file and line, or the data."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jaxeval.data import conll, conllu, tempeval3, tsv, vectors
from jaxeval.errors import DataError


class Reader(NamedTuple):
    """A reader, a good file for it, and a last line that has the wrong number of columns."""

    read: Callable[..., Any]
    good: str
    narrow: str


def _conllu_line(number: int, word: str, tag: str) -> str:
    return f"{number}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n"


def _tsv(path: Path) -> tuple[tuple[str, ...], ...]:
    """First and second column."""
    rows = [values for _, values in tsv.read(path, {"source": 1, "target": 2})]
    return tuple(tuple(row[name] for row in rows) for name in ("source", "target"))


READERS = {
    "conll": Reader(conll.read, "Zoë B-PER\nruns O\n", "far\n"),
    "tempeval3": Reader(tempeval3.read, "Zoë\tNNP\tO\nran\tVBD\tB-EVENT\n", "far\tRB\n"),
    "conllu": Reader(
        conllu.read, _conllu_line(1, "Zoë", "PROPN") + _conllu_line(2, "runs", "VERB"), "3\tfar\n"
    ),
    "tsv": Reader(_tsv, "Zoë\tz o\nruns\tr u n\n", "far\n"),
    "vectors": Reader(vectors.read, "Zoë 1.5 2\nruns 3 4\n", "far 5\n"),
}
CASES = pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())


def _content(read: Any) -> Any:
    return (read.index, read.table.tolist()) if isinstance(read, vectors.Vectors) else read


def _read(reader: Reader, path: Path, data: bytes) -> Any:
    path.write_bytes(data)
    return _content(reader.read(path))


def _refused(reader: Reader, path: Path, data: bytes) -> tuple[int | None, str]:
    """Line and message of the error, the message without the path (it holds the test's name)."""
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        reader.read(path)
    assert str(path) in str(caught.value)
    return caught.value.line, str(caught.value).removeprefix(str(path))


@CASES
def test_wrong_number_of_columns_names_the_line(reader: Reader, tmp_path: Path) -> None:
    """Dies if short lines are padded or dropped, or lines are counted from 0."""
    line, message = _refused(reader, tmp_path / "f", (reader.good + reader.narrow).encode())
    assert line == 3
    assert message.startswith(":3: expected") and "found" in message


@CASES
def test_latin1_names_the_line_and_the_remedy(reader: Reader, tmp_path: Path) -> None:
    """Dies if bytes that are not UTF-8 are replaced or ignored."""
    line, message = _refused(reader, tmp_path / "f", reader.good.encode("latin-1"))
    assert line == 1
    assert "not UTF-8" in message and "iconv -f LATIN1 -t UTF-8" in message


@CASES
def test_utf16_is_no_latin1(reader: Reader, tmp_path: Path) -> None:
    """Dies if the remedy of another encoding is named, which yields garbage."""
    line, message = _refused(reader, tmp_path / "f", reader.good.encode("utf-16"))
    assert line == 1 and "UTF-16; convert it with: iconv -f UTF-16 -t UTF-8" in message


@CASES
def test_binary_names_the_line(reader: Reader, tmp_path: Path) -> None:
    """Dies if a NUL byte, which is legal UTF-8, is taken for text."""
    line, message = _refused(reader, tmp_path / "f", reader.good.encode() + b"\x00\x01\x02")
    assert line == 3
    assert "binary" in message


@CASES
def test_a_pointer_of_git_lfs(reader: Reader, tmp_path: Path) -> None:
    """Dies if the few lines that stand for a file which was not fetched are read as the file."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    assert "run git lfs pull there" in _refused(reader, tmp_path / "f", pointer)[1]


@CASES
def test_truncated_gzip(reader: Reader, tmp_path: Path) -> None:
    """Dies if what came before the cut is returned as if it were the whole file."""
    whole = gzip.compress(reader.good.encode())
    assert _read(reader, tmp_path / "whole", whole)
    for cut in (4, 12, len(whole) - 1):
        line, message = _refused(reader, tmp_path / "f", whole[:cut])
        assert line is not None and "damaged gzip" in message


@CASES
def test_corrupt_gzip(reader: Reader, tmp_path: Path) -> None:
    """Dies if only a missing end, not a wrong check sum, counts as damage."""
    data = bytearray(gzip.compress(reader.good.encode()))
    data[-8] ^= 0xFF
    assert "damaged gzip" in _refused(reader, tmp_path / "f", bytes(data))[1]


@CASES
@pytest.mark.parametrize("data", [b"", b"\n \t\n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_empty_file(reader: Reader, data: bytes, tmp_path: Path) -> None:
    """Dies if a file without text is an empty corpus."""
    _refused(reader, tmp_path / "f", data)


@CASES
def test_missing_file_and_folder(reader: Reader, tmp_path: Path) -> None:
    """Dies if an OSError reaches the user."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(DataError, match=str(path)):
            reader.read(path)


@CASES
def test_one_sentence_windows_and_byte_order_mark(reader: Reader, tmp_path: Path) -> None:
    """Dies if a last sentence without blank line is lost, or \\r or U+FEFF ends up in a word."""
    plain = _read(reader, tmp_path / "plain", reader.good.encode())
    assert "Zoë" in plain[0].words if isinstance(plain, list) else "Zoë" in plain[0]
    variants = {
        "no_end": reader.good.rstrip("\n").encode(),
        "windows": reader.good.replace("\n", "\r\n").encode(),
        "mark": reader.good.encode("utf-8-sig"),
        "gzip": gzip.compress(reader.good.encode("utf-8-sig")),
    }
    for name, data in variants.items():
        assert _read(reader, tmp_path / name, data) == plain, name
