"""Lines of text files."""

import gzip
from pathlib import Path

import pytest

from jaxeval.data import text
from jaxeval.errors import DataError


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    """Dies if str.splitlines, which also splits at U+0085, U+2028, \\f or \\r, is used."""
    path = tmp_path / "f"
    lines = ["a\u2028b", "c\x85d", "e\x0cf", "g\rh", ""]
    path.write_bytes("\n".join([*lines, "last"]).encode())
    assert list(text.iterate_lines(path)) == [*lines, "last"]


def test_gzip_by_content_not_by_name(tmp_path: Path) -> None:
    """Dies if the file's name decides whether it is decompressed."""
    named, plain = tmp_path / "f.txt", tmp_path / "f.gz"
    named.write_bytes(gzip.compress(b"one\ntwo\n"))
    plain.write_bytes(b"one\ntwo\n")
    assert list(text.iterate_lines(named)) == list(text.iterate_lines(plain)) == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.zip", "a zip archive; unpack it first"), ("a.XLSX", "export its table as CSV")],
)
def test_archives_are_named(name: str, message: str, tmp_path: Path) -> None:
    """Dies if a spreadsheet is to be unpacked."""
    (tmp_path / name).write_bytes(b"PK\x03\x04more")
    with pytest.raises(DataError, match=message):
        list(text.iterate_lines(tmp_path / name))


def test_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the limit counts compressed bytes, or is not applied."""
    monkeypatch.setattr(text, "MOST_BYTES", 1000)
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(b"0123456\n" * 125))
    assert len(list(text.iterate_lines(path))) == 125
    path.write_bytes(gzip.compress(b"0123456\n" * 126))
    with pytest.raises(DataError, match=":126: too large"):
        list(text.iterate_lines(path))


def test_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a line is read whole before its length is looked at."""
    monkeypatch.setattr(text, "_LONGEST_LINE", 16)
    path = tmp_path / "f"
    path.write_bytes(b"short\n" + b"x" * 100)
    with pytest.raises(DataError, match=":2: too large"):
        list(text.iterate_lines(path))


def test_lines_before_an_error_are_given(tmp_path: Path) -> None:
    """Dies if the file is read whole before the first line is given."""
    path = tmp_path / "f"
    path.write_bytes(b"good\n\xff\n")
    lines = text.iterate_lines(path)
    assert next(lines) == "good"
    with pytest.raises(DataError, match=":2:"):
        next(lines)


@pytest.mark.parametrize("data", [b"", b"\n \t\r\n", b"\xef\xbb\xbf\n"])
def test_a_file_without_text_is_refused(data: bytes, tmp_path: Path) -> None:
    """Dies if blank lines alone, or a byte order mark, count as text."""
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(DataError, match="the file is empty"):
        list(text.iterate_lines(path))
