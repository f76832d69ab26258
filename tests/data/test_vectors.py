"""Pretrained vectors: formats, words that are kept, and files that mean harm."""

import gzip
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import text, vectors
from jaxeval.errors import DataError

WORDS = ["the", "Zoë", "new york", "a.b", "\u202eevil"]
TABLE = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)


def _glove(words: list[str] = WORDS, table: np.ndarray = TABLE, header: bool = False) -> bytes:
    lines = [f"{len(words)} {table.shape[1]}"] if header else []
    lines += [f"{w} {' '.join(map(str, row))}" for w, row in zip(words, table, strict=True)]
    return "\n".join([*lines, ""]).encode()


def _binary(
    words: list[str] = WORDS, table: np.ndarray = TABLE, end: bytes = b"\n", header: str = ""
) -> bytes:
    header = header or f"{len(words)} {table.shape[1]}"
    rows = zip((w.replace(" ", "_").encode() for w in words), table.astype("<f4"), strict=True)
    return f"{header}\n".encode() + b"".join(w + b" " + row.tobytes() + end for w, row in rows)


@pytest.mark.parametrize(
    "data",
    [
        _glove(),
        _glove(header=True),
        gzip.compress(_glove()),
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
    subset = vectors.read(tmp_path / "v", {"the", "a.b"})
    assert subset.index == {"the": 0, "a.b": 1}
    np.testing.assert_array_equal(subset.table, TABLE[[0, 3]])


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
    monkeypatch.setattr(text, "_BLOCK", at_once)
    read = vectors.read(tmp_path / "v")
    assert read.repeated == 1
    expected = [line.rsplit(" ", 8) for line in lines if line is not lines[200]]
    assert list(read.index) == [word for word, *_ in expected]
    numbers = np.array([[float(n) for n in row] for _, *row in expected]).astype(np.float32)
    np.testing.assert_array_equal(read.table, numbers)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_binary(header="1000000000 6"), "promises 1000000000 vectors, found 5"),
        (_binary(header="4 6"), "promises 4 vectors, found 5"),
        (_binary(header="5 1000000"), "vectors of 1000000 numbers; expected 1 to 4096"),
        (b"2 2\na b " + b"\0" * 7 + b"?\nc \0\0\0?\0\0\0?\n", "the word before .* holds a blank"),
        (_binary()[:-3], "its last vector has no end|promises"),
        (_binary(table=np.where(TABLE > 1, np.nan, TABLE)), "holds nan, inf"),
        (_binary(table=TABLE * np.float32(1e7)), "holds nan, inf or more than 1e"),
        (b"9999999999999999999 2\na 1 2\n", "promises 9999999999999999999 vectors, found 1"),
        (b"a 0 0\nb 0 0\n", "all its vectors are 0"),
        (b"a 1 2\nb 3 2e6\n", "holds 2e.06; expected at most 1e.06"),
        (b"a 1 2\nb 3 \x1b[31m\n", "found '\\\\\\\\x1b|expected numbers"),
        (b"3 6\na\xff " + struct.pack("<6f", *TABLE[0]) * 3, "not UTF-8|promises"),
    ],
)
def test_hostile_files(data: bytes, message: str, tmp_path: Path) -> None:
    """Dies if a header is believed before the file is, or a word is printed as it stands."""
    path = tmp_path / "v"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message) as caught:
        vectors.read(path)
    said = str(caught.value)
    assert said.startswith(str(path)) and said.isprintable() and len(said) < 500


def test_memory_is_that_of_the_table(tmp_path: Path) -> None:
    """Dies if a header that lies reserves memory, or the table is held twice while it is read."""
    path = tmp_path / "v"
    rows = np.random.default_rng(0).normal(size=(200, 100))
    row = [" ".join(f"{x:.4f}" for x in numbers) for numbers in rows]
    with path.open("w") as stream:
        stream.writelines(f"w{k} {row[k % 200]}\n" for k in range(120_000))
    few = tmp_path / "few"  # what reading imports is no table
    few.write_text(f"w {row[0]}\n")
    code = (  # ru_maxrss would be that of the process that started this one
        "import sys, pyarrow.csv\nfrom jaxeval.data import text, vectors\n"
        "peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "vectors.read(sys.argv[2])\nbefore = peak()\nread = vectors.read(sys.argv[1])\n"
        "print((peak() - before) / (read.table.nbytes / 2**10))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path, few], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 2  # words and the dictionary of them are half as large here
