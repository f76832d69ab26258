"""Pretrained vectors in text; what all readers share stands in test_malformed.py."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import vectors
from jaxeval.errors import DataError


def _write(folder: Path, content: str) -> Path:
    path = folder / "vectors.txt"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "content",
    [
        "the 1 -2.5 3e-1\ncat 4 5 6\n",
        "2 3\nthe 1 -2.5 3e-1\ncat 4 5 6\n",
        "2 3\nthe 1 -2.5 3e-1 \ncat 4 5 6 \n",
    ],
    ids=["glove", "word2vec", "word2vec, blank at the end"],
)
def test_glove_and_word2vec_give_the_same(content: str, tmp_path: Path) -> None:
    """Dies if the header becomes a word or a blank at the end of a line a field."""
    read = vectors.read(_write(tmp_path, content))
    assert read.index == {"the": 0, "cat": 1}
    assert read.table.dtype == np.float32
    np.testing.assert_array_equal(read.table, np.array([[1, -2.5, 0.3], [4, 5, 6]], np.float32))
    assert read.unknown is None


def test_words_may_hold_blanks(tmp_path: Path) -> None:
    """Dies if the word ends at the first blank (GloVe 840B), or a no-break space splits it."""
    read = vectors.read(_write(tmp_path, "a 1 2\n. . . 3 4\nb\u00a0c 5 6\n"))
    assert read.index == {"a": 0, ". . .": 1, "b\u00a0c": 2}
    np.testing.assert_array_equal(read.table, np.array([[1, 2], [3, 4], [5, 6]], np.float32))


def test_only_words_asked_for_are_kept(tmp_path: Path) -> None:
    """Dies if rows are numbered by line, or the unknown word's vector needs to be asked for."""
    read = vectors.read(_write(tmp_path, "a 1 2\nb 3 4\nUNK 5 6\nc 7 8\n"), {"c", "b"}, "UNK")
    assert read.index == {"b": 0, "c": 1}
    np.testing.assert_array_equal(read.table, np.array([[3, 4], [7, 8]], np.float32))
    assert read.unknown is not None
    np.testing.assert_array_equal(read.unknown, np.array([5, 6], np.float32))


def test_no_word_found_gives_an_empty_table(tmp_path: Path) -> None:
    """Dies if nothing in common with the corpus is a crash, or the width is lost."""
    assert vectors.read(_write(tmp_path, "a 1 2\n"), {"b"}).table.shape == (0, 2)


def test_the_first_of_equal_words_counts(tmp_path: Path) -> None:
    """Dies if a later line overwrites an earlier one or leaves a row that no word has."""
    read = vectors.read(_write(tmp_path, "a 1 2\nb 3 4\na 5 6\n"))
    assert read.index == {"a": 0, "b": 1}
    np.testing.assert_array_equal(read.table, np.array([[1, 2], [3, 4]], np.float32))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("a 1 2\nb 3\n", 2, "expected a word and 2 numbers, found 1"),
        ("a 1 2\nb 3 4 5\n", 2, "expected a word and 2 numbers, found 3"),
        ("2 3\na 1 2\nb 3 4\n", 2, "expected a word and 3 numbers, found 2"),
        ("a 1 2\nb 3 x\n", 2, "expected numbers"),
        ("a 1 2\nb nan 4\n", 2, "nan or inf"),
        ("a 1 2\nb 3 4\nc 5 -inf\n", 3, "nan or inf"),
        ("a 1 2\nb 3 1e50\n", 2, "nan or inf"),
        ("a 1 2\n\nb 3 4\n", 2, "expected a word and 2 numbers"),
        ("word\n", 1, "expected a word and 1 numbers"),
        ("5 ²\n", 1, "expected numbers"),
        ("2 3\n", None, "no vectors found"),
        ("a\t1\t2\nb\t3\t4\n", 1, "between blanks, found them between tabs; replace the tabs by"),
        ("a,1,2\nb,3,4\n", 1, "expected numbers between blanks, found them between commas"),
        (
            "a; 1; 2\nb; 3; 4\n",
            1,
            "expected numbers between blanks, found them between semicolons",
        ),
        ("2 2\na\t1\t2\nb\t3\t4\n", 2, "found them between tabs"),
        (", 1 2\n, 3\n", 2, "expected a word and 2 numbers, found 1"),
    ],
)
def test_refused(content: str, line: int | None, message: str, tmp_path: Path) -> None:
    """Dies if a damaged line is skipped, cut or padded, or line numbers forget the header."""
    with pytest.raises(DataError, match=message) as caught:
        vectors.read(_write(tmp_path, content))
    assert caught.value.line == line


def test_wrong_width_is_told_even_of_words_not_kept(tmp_path: Path) -> None:
    """Dies if lines of other words are not looked at: damage would depend on the corpus."""
    with pytest.raises(DataError, match=":2: expected a word and 2 numbers"):
        vectors.read(_write(tmp_path, "a 1 2\nb 3\n"), {"a"})


def test_a_missing_unknown_word_is_told(tmp_path: Path) -> None:
    """Dies if a misspelt name means no vector."""
    with pytest.raises(DataError, match="no vector named '<unk>'"):
        vectors.read(_write(tmp_path, "a 1 2\n"), unknown="<unk>")


@pytest.mark.parametrize("header", ["3 2", "1 2"])
def test_a_header_that_lies(header: str, tmp_path: Path) -> None:
    """Dies if a file that was cut short is read as if it were whole."""
    path = tmp_path / "v"
    path.write_text(f"{header}\nred 1 2\nblue 3 4\n")
    with pytest.raises(DataError, match=rf"v: .* promises {header[0]} vectors, found 2"):
        vectors.read(path, {"red"})


@pytest.mark.parametrize(
    ("content", "line"), [("the quick fox\nsaw a dog\n", 1), ("red 1 2\nsaw a dog\n", 2)]
)
def test_prose_is_no_vectors(content: str, line: int, tmp_path: Path) -> None:
    """Dies if lines of words that are not wanted are not looked at."""
    path = tmp_path / "v"
    path.write_text(content)
    with pytest.raises(DataError, match=f"v:{line}: expected numbers after the word"):
        vectors.read(path, {"red"})
