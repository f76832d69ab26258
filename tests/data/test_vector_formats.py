"""Formats of word vectors, and files that mean harm: one line of error, bounded memory."""

import gzip
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import text, vector_rows, vector_text, vectors, zstd
from jaxeval.errors import DataError

WORDS = ["the", "Zoë", "new york", "a.b", "\u202eevil"]
TABLE = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)


def _text(words: list[str] = WORDS, table: np.ndarray = TABLE, header: bool = False) -> bytes:
    lines = [f"{len(words)} {table.shape[1]}"] if header else []
    lines += [f"{w} {' '.join(map(str, row))}" for w, row in zip(words, table, strict=True)]
    return "\n".join([*lines, ""]).encode()


def _binary(
    words: list[str] = WORDS, table: np.ndarray = TABLE, end: bytes = b"\n", header: str = ""
) -> bytes:
    header = header or f"{len(words)} {table.shape[1]}"
    rows = zip((w.replace(" ", "_").encode() for w in words), table.astype("<f4"), strict=True)
    return f"{header}\n".encode() + b"".join(w + b" " + row.tobytes() + end for w, row in rows)


def _refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        vectors.read(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message and len(message) < 500
    assert message.isprintable()
    return message


@pytest.mark.parametrize(
    "data",
    [
        _text(),
        _text(header=True),
        gzip.compress(_text()),
        _binary(),
        _binary(end=b""),
        gzip.compress(_binary()),
    ],
    ids=["glove", "word2vec", "gzip", "binary", "binary without newlines", "binary in gzip"],
)
def test_all_formats_give_the_same(data: bytes, tmp_path: Path) -> None:
    """Dies if a format is told by the file's name, or a newline becomes part of a word."""
    (tmp_path / "v").write_bytes(data)
    read = vectors.read(tmp_path / "v")
    assert [word.replace(" ", "_") for word in read.index] == [w.replace(" ", "_") for w in WORDS]
    np.testing.assert_array_equal(read.table, TABLE)
    subset = vectors.read(tmp_path / "v", {"the", "a.b"}, "Zoë")
    assert subset.index == {"the": 0, "a.b": 1} and subset.unknown is not None
    np.testing.assert_array_equal(subset.table, TABLE[[0, 3]])
    np.testing.assert_array_equal(subset.unknown, TABLE[1])


@pytest.mark.parametrize("at_once", [1, 1 << 10, 1 << 20])
@pytest.mark.parametrize("form", [str, lambda x: f"{x:.4f}", lambda x: f"{x:.3e}"])
def test_lines_at_once_and_one_by_one_give_the_same(
    at_once: int, form: Callable[[float], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a batch's numbers differ in a bit from `float`'s, or a batch forgets words."""
    table = np.random.default_rng(1).normal(size=(300, 8)).astype(np.float32)
    lines = [f"w{k} " + " ".join(map(form, row)) for k, row in enumerate(table.tolist())]
    lines[100] = "of two words" + lines[100].removeprefix("w100")
    lines[200] = "w7" + lines[200].removeprefix("w200")  # again
    (tmp_path / "v").write_text("\n".join(lines))
    monkeypatch.setattr(vector_text, "_BATCH", at_once)
    read = vectors.read(tmp_path / "v")
    expected = [line.rsplit(" ", 8) for line in lines if line is not lines[200]]
    assert list(read.index) == [word for word, *_ in expected]
    numbers = np.array([[float(n) for n in row] for _, *row in expected]).astype(np.float32)
    np.testing.assert_array_equal(read.table, numbers)
    assert read.repeated == ("w7",)


def test_npy_with_its_vocabulary(tmp_path: Path) -> None:
    """Dies if rows and words are matched otherwise than in order, or float64 is kept."""
    np.save(tmp_path / "v.npy", TABLE.astype(np.float64))
    with pytest.raises(DataError, match=r"expected its words in .*v\.vocab"):
        vectors.read(tmp_path / "v.npy")
    (tmp_path / "v.vocab").write_text("\n".join(WORDS))
    read = vectors.read(tmp_path / "v.npy")
    assert list(read.index) == WORDS and read.table.dtype == np.float32
    np.testing.assert_array_equal(read.table, TABLE)
    (tmp_path / "v.vocab").write_text("\n".join(WORDS[1:]))
    with pytest.raises(DataError, match="expected 5 words"):
        vectors.read(tmp_path / "v.npy")


def test_npy_with_objects_is_not_unpickled(tmp_path: Path) -> None:
    """Dies if objects are allowed: reading them runs what the file says."""

    class Harm:
        def __reduce__(self) -> tuple:
            return os.mkdir, (str(tmp_path / "harm"),)

    array = np.empty((1, 1), object)
    array[0, 0] = Harm()
    np.save(tmp_path / "v.npy", array, allow_pickle=True)
    (tmp_path / "v.vocab").write_text("a")
    with pytest.raises(DataError, match="without objects"):
        vectors.read(tmp_path / "v.npy")
    assert not (tmp_path / "harm").exists()


def test_npy_of_another_shape_or_cut_short(tmp_path: Path) -> None:
    """Dies if integers, a row of numbers or a file shorter than its header says are taken."""
    (tmp_path / "v.vocab").write_text("a\nb")
    path = tmp_path / "v.npy"
    for array in (np.zeros((2, 3), int), np.zeros(3), np.zeros((2, 3, 4))):
        np.save(path, array)
        with pytest.raises(DataError, match="expected floats"):
            vectors.read(path)
    np.save(path, np.ones((2, 300)))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match="cannot be read"):
        vectors.read(path)


def test_zstd(tmp_path: Path) -> None:
    """Dies if two frames are read as one, or one that is cut short as if it were whole."""
    zstandard = pytest.importorskip("zstandard", reason="an extra")
    path, whole = tmp_path / "v", _text()
    frames = [zstandard.compress(part) for part in (whole[:99], whole[99:])]
    path.write_bytes(b"".join(frames))
    np.testing.assert_array_equal(vectors.read(path).table, TABLE)
    assert "damaged zstd" in _refused(path, b"".join(frames)[:-3])
    assert "damaged zstd" in _refused(path, zstd.MAGIC + b"nonsense")


def test_zstd_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a missing library is a traceback."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "pip install 'jaxeval[zstd]'" in _refused(tmp_path / "v", zstd.MAGIC + bytes(20))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_binary(header="1000000000 6"), r"promises 26000000000 bytes"),
        (_binary(header="6 6"), "promises 6 vectors, found 5|promises 156 bytes"),
        (_binary(header="4 6"), "promises 4 vectors, found at least 5"),
        (_binary(header="5 1000000"), "vectors of 1000000 numbers; expected 1 to 4096"),
        (_binary()[:-3], "its last vector has no end|promises"),
        (_binary(table=np.where(TABLE > 1, np.nan, TABLE)), "holds nan, inf"),
        (_binary(table=TABLE * np.float32(1e7)), "holds nan, inf or more than 1e"),
        (b"3 0\na\nb\nc\n", "vectors of 0 numbers"),
        (b"99999999999999999999999999999999 2\na 1 2\n", "expected"),
        (b"9999999999999999999 2\na 1 2\n", "promises 9999999999999999999 vectors, found 1"),
        (b"a 0 0\nb 0 0\n", "all its vectors are 0"),
        (b"a 1 2\nb 3 2e6\n", "holds 2e.06; expected at most 1e.06"),
        (b"a 1 2\nb 3 \x1b[31m\n", "found '\\\\\\\\x1b|expected numbers"),
        ("a 1 2\nb 3 \u202e4\n".encode(), "expected numbers"),
        (b"3 6\na\xff " + struct.pack("<6f", *TABLE[0]) * 3, "not UTF-8|promises"),
    ],
)
def test_hostile_files(data: bytes, message: str, tmp_path: Path) -> None:
    """Dies if a header is believed before the file is, or a word is printed as it stands."""
    path = tmp_path / "v"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message):
        vectors.read(path)
    _refused(path, data)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("a\t1 2 3\nb\t4 5 6\n", 1),
        ("2 3\na\t1 2 3\nb\t4 5 6\n", 2),
        ("a 1 2 3\nb\t4 5 6\nc 1 2 3\n", 2),
        ("a 1 2 3\nb c\t5 4 5 6\n", 2),
        ("a\t1\t2\t3\nb\t4\t5\t6\n", 1),
    ],
)
def test_a_tab_after_the_word_is_refused(data: str, line: int, tmp_path: Path) -> None:
    """Dies if a word is read with the tab and its first number, so that no word is found."""
    message = _refused(tmp_path / "v", data.encode())
    assert f":{line}: expected numbers between blanks, found them between tabs" in message


def test_a_tab_elsewhere_is_no_matter(tmp_path: Path) -> None:
    """Dies if a tab at the end of a line, or in a word, is an error."""
    (tmp_path / "v").write_text("a 1 2\t\nb\tc 3 4\n")
    assert vectors.read(tmp_path / "v").index == {"a": 0, "b\tc": 1}


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a line is read whole before its length is looked at, or shown whole."""
    monkeypatch.setattr(text, "_LONGEST_LINE", 1 << 12)
    assert ":2: too large" in _refused(tmp_path / "v", b"a 1 2\nb " + b"1" * 10_000)
    monkeypatch.undo()
    assert "found 'xxx" in _refused(tmp_path / "v", b"a 1 2\nb 3 " + b"x" * 10_000)


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a file may unpack to hundreds of times its size, in text or binary."""
    monkeypatch.setattr(text, "_SMALL", 1 << 10)
    lines = "".join(f"{'w' * 2000}{k} 0 0\n" for k in range(500))
    assert "too large" in _refused(tmp_path / "v", gzip.compress(lines.encode()))
    zeros = b"100000 6\n" + b"w " + bytes(24) * 100_000
    assert "promises 2600000 bytes" in _refused(tmp_path / "v", gzip.compress(zeros))


def test_memory_is_that_of_the_table(tmp_path: Path) -> None:
    """Dies if a header that lies reserves memory, or the table is held twice while it is read."""
    path = tmp_path / "v"
    rows = np.random.default_rng(0).normal(size=(200, 100))
    row = [" ".join(f"{x:.4f}" for x in numbers) for numbers in rows]
    with path.open("w") as stream:
        stream.writelines(f"w{k} {row[k % 200]}\n" for k in range(40_000))
    code = (
        "import resource, sys\nfrom jaxeval.data import vectors\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before = peak()\nread = vectors.read(sys.argv[1])\n"
        "print((peak() - before) / (read.table.nbytes / 2**20))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 2  # words and the dictionary of them are half as large here


def test_words_equal_in_lower_case_are_named() -> None:
    """Dies if only words that are equal as they stand are found."""
    index = {"The": 0, "cat": 1, "the": 2, "THE": 3}
    assert vectors.equal_in_lower_case(index) == [("The", "the", "THE")]
    assert vectors.coverage(["cat", "dog", "the"], index) == (2, 3)


def test_the_table_grows_in_place() -> None:
    """Dies if growing loses rows, or rows that were never filled are kept."""
    collection = vector_rows.Collection(None, None)
    for k in range(50):
        names = [f"{k}.{n}" for n in range(k)]
        kept = collection.choose(names)
        collection.add(kept, np.full((k, 3), k, np.float32), None)
    table = collection.finished(3, "v")
    assert table.tolist() == [[k] * 3 for k in range(50) for _ in range(k)]
