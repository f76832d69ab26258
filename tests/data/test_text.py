"""Files line by line, and every reader of files on damaged or unusual input."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jaxeval.data import conll, text, vectors
from jaxeval.errors import DataError


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    """Dies if str.splitlines, which also splits at U+0085, U+2028, \\f or \\r, is used."""
    path = tmp_path / "f"
    lines = ["a\u2028b", "c\x85d", "e\x0cf", "g\rh", ""]
    path.write_bytes("\n".join([*lines, "last"]).encode())
    assert list(text.iterate_lines(path)) == [*lines, "last"]


def test_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the limit counts compressed bytes, or is not applied."""
    monkeypatch.setattr(text, "_MOST_BYTES", 1000)
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(b"0123456\n" * 125))
    assert len(list(text.iterate_lines(path))) == 125
    path.write_bytes(gzip.compress(b"0123456\n" * 126))
    with pytest.raises(DataError, match="too large"):
        list(text.iterate_lines(path))


def test_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a line is read whole before its length is looked at."""
    monkeypatch.setattr(text, "_LONGEST_LINE", 16)
    path = tmp_path / "f"
    path.write_bytes(b"short\n" + b"x" * 100)
    with pytest.raises(DataError, match=":2: too large"):
        list(text.iterate_lines(path))


def test_values_are_exactly_those_of_their_columns(tmp_path: Path) -> None:
    """Dies if columns count from 0, blanks are stripped, quotes are read or lines miscounted."""
    path = tmp_path / "f"
    path.write_text('a "b\t x \tN\n\nc\td\tV\tmore\n')
    names = {"features": 3, "source": 1, "target": 2}
    assert [(line.number, line.columns(names)) for line in text.lines(path)] == [
        (1, {"source": 'a "b', "target": " x ", "features": "N"}),
        (3, {"source": "c", "target": "d", "features": "V"}),
    ]


class Reader(NamedTuple):
    """A reader, a good file for it, and a last line that has the wrong number of columns."""

    read: Callable[..., Any]
    good: str
    narrow: str


def _conllu_line(number: int, word: str, tag: str) -> str:
    return f"{number}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n"


def _tsv(path: Path) -> tuple[tuple[str, ...], ...]:
    """First and second column."""
    rows = [line.columns({"source": 1, "target": 2}) for line in text.lines(path)]
    return tuple(tuple(row[name] for row in rows) for name in ("source", "target"))


READERS = {
    "conll": Reader(conll.read_columns, "Zoë B-PER\nruns O\n", "far\n"),
    "tempeval3": Reader(conll.read_tempeval3, "Zoë\tNNP\tO\nran\tVBD\tB-EVENT\n", "far\tRB\n"),
    "conllu": Reader(
        conll.read_conllu,
        _conllu_line(1, "Zoë", "PROPN") + _conllu_line(2, "runs", "VERB"),
        "3\tfar\n",
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
def test_damage_is_named_with_its_line(reader: Reader, tmp_path: Path) -> None:
    """Dies if short lines are padded, other bytes replaced, or NUL or a pointer is text."""
    good, path = reader.good.encode(), tmp_path / "f"
    line, message = _refused(reader, path, good + reader.narrow.encode())
    assert line == 3 and message.startswith(":3: expected") and "found" in message
    line, message = _refused(reader, path, reader.good.encode("latin-1"))
    assert line == 1 and "not UTF-8" in message and "iconv -f LATIN1 -t UTF-8" in message
    line, message = _refused(reader, path, good + b"\x00\x01\x02")
    assert line == 3 and "binary" in message
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    assert "run git lfs pull there" in _refused(reader, path, pointer)[1]


@CASES
def test_truncated_gzip(reader: Reader, tmp_path: Path) -> None:
    """Dies if what came before the cut is returned as if it were the whole file."""
    whole = gzip.compress(reader.good.encode())
    assert _read(reader, tmp_path / "whole", whole)
    for cut in (4, 12, len(whole) - 1):
        assert "damaged gzip" in _refused(reader, tmp_path / "f", whole[:cut])[1]


@CASES
@pytest.mark.parametrize("data", [b"", b"\n \t\n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_empty_file(reader: Reader, data: bytes, tmp_path: Path) -> None:
    """Dies if a file without text is an empty corpus."""
    _refused(reader, tmp_path / "f", data)


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
