"""Pairs of words with scores, analogy questions, and words looked up in vectors."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from jaxeval.data import vectors
from jaxeval.errors import DataError
from jaxeval.vectors import lookup, pairs, questions


@pytest.mark.parametrize(
    "content",
    [
        "tiger\tcat\t7.35\nbook paper\tink\t7\nking\tqueen\t8.5\n",
        "word1,word2,score\ntiger,cat,7.35\nbook paper,ink,7\nking,queen,8.5\n",
        "# MEN\n\ntiger\tcat\t7.35\textra\nbook paper\tink\t7\textra\nking\tqueen\t8.5\textra\n",
    ],
    ids=["tabs", "commas and a header", "comment, blank line, more columns"],
)
def test_pairs(content: str, tmp_path: Path) -> None:
    """Dies if a header becomes a pair, or words with blanks are split where tabs separate."""
    (tmp_path / "f.txt").write_text(content)
    read = pairs.read(tmp_path / "f.txt")
    assert read.name == "f.txt"
    assert read.first == ("tiger", "book paper", "king") and read.second == ("cat", "ink", "queen")
    assert read.gold.tolist() == [7.35, 7, 8.5]
    assert read.header == ("word1,word2,score" if content.startswith("word1") else "")


@pytest.mark.parametrize(
    "name",
    [
        "[score]",
        "_score",
        "<score>",
        "*score",
        "1-10 score",
        "2014 mean",
        '"Human (mean)"',
        "S",
    ],
)
@pytest.mark.parametrize("words", ["word1\tword2", "\t"])
def test_headers_as_they_come(name: str, words: str, tmp_path: Path) -> None:
    """Dies if a name is told by its first letter alone, or a header needs names of its words."""
    line = f"{words}\t{name}"
    (tmp_path / "f").write_text(f"{line}\n# damaged\n" + "a\tb\t1\n" * 3)
    read = pairs.read(tmp_path / "f")
    assert read.header == line and read.gold.tolist() == [1, 1, 1]


def test_the_score_may_stand_in_another_column(tmp_path: Path) -> None:
    """Dies if SimLex-999 as published (score in column 4) cannot be read."""
    (tmp_path / "f").write_text("word1\tword2\tPOS\tS\na b A 1\n".replace(" ", "\t") * 1)
    with pytest.raises(DataError, match="at least 3 pairs"):
        pairs.read(tmp_path / "f", 4)
    (tmp_path / "f").write_text("a b A 1\nc d N 2\ne f V 3\n")
    assert pairs.read(tmp_path / "f", 4).gold.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a b 1\nc d\n", ":2: expected two words and a score in column 3, found 2 columns"),
        ("a b 1\nc d x\n", ":2: expected a score in column 3, found 'x'"),
        ("a b x\nc d y\n", ":2: expected a score"),
        ("a b 1\nc d nan\n", ":2: expected a score"),
        ("a b nan\nc d 1\n", ":1: expected a score in column 3, found 'nan'"),
        ("a\tb\t1,5\nc\td\t1\n", ":1: expected a score in column 3, found '1,5'"),
        ("a\tb\t\nc\td\t1\n", ":1: expected a score in column 3, found ''"),
        ("a b 1_0\n", ":1: expected a score in column 3, found '1_0'"),
        ("king\tqueen\tO.5\nc\td\t1\n", r":1: .*'O\.5'; begin it with # if it is a header"),
        ("king\tqueen\tx7.0\n", r":1: expected a score in column 3, found 'x7\.0'; begin it"),
        ("king\tqueen\t7.0abc\n", r":1: expected a score"),
        ("king\tqueen\tNA\n", ":1: expected a score in column 3, found 'NA'; begin it with #"),
        ("king\tqueen\tN/A\n", ":1: expected a score in column 3, found 'N/A'; begin it with #"),
        ("word1\tword2\t%\n", ":1: .* found '%'; begin it with # if it is a header"),
        ("% names\n", ":1: .* found 2 columns; begin it with # if it is a header"),
        ("a,b,1\n,d,2\n", ":2: expected two words and a score in column 3, found an empty word"),
    ],
)
def test_pairs_refused(content: str, message: str, tmp_path: Path) -> None:
    """Dies if damaged lines are skipped, or read as something else: two headers, nan, a first line
    that is no header."""
    (tmp_path / "f").write_text(content)
    with pytest.raises(DataError, match=message):
        pairs.read(tmp_path / "f")


GOOGLE = """\
: capitals
Athens Greece Oslo Norway
Oslo Norway Athens Greece
: gram1-plural
cat cats dog dogs
: capitals
Paris France Oslo Norway
"""


def test_google_questions(tmp_path: Path) -> None:
    """Dies if a section that goes on is a new one, or units are not sorted by their section."""
    (tmp_path / "q").write_text(GOOGLE)
    read = questions.read(tmp_path / "q")
    assert read.asked[1] == ("Oslo", "Norway", "Athens") and read.answers[1] == ("Greece",)
    assert read.sections == ("capitals", "gram1-plural")
    assert read.groups == ("semantic", "syntactic")
    assert read.section.tolist() == [0, 0, 1, 0]
    assert read.second[3] == read.first[1] == read.second[0]  # Oslo, Norway
    assert read.first[0] == read.second[1] and len(read.strata) == 5
    assert read.strata[read.first].tolist() == read.section.tolist()
    assert read.strata[read.second].tolist() == read.section.tolist()
    assert (np.diff(read.strata) >= 0).all()


def test_bats(tmp_path: Path) -> None:
    """Dies if a line is asked of itself, or only the first answer is right."""
    folder = tmp_path / "BATS" / "1_Inflectional"
    folder.mkdir(parents=True)
    (folder / "I01 [plural].txt").write_text("album\talbums\napp\tapps/applications\n")
    (folder.parent / "metadata.json").write_text("{}")
    read = questions.read(tmp_path / "BATS")
    assert read.asked == [("album", "albums", "app"), ("app", "apps", "album")]
    assert read.answers == [("apps", "applications"), ("albums",)]
    assert read.sections == ("I01 [plural]",) and read.groups == ("1_Inflectional",)
    assert read.first.tolist() == [0, 1] and read.second.tolist() == [1, 0]


@pytest.mark.parametrize("content", [": s\na b c\n", "a b c d\n", ": s\n"])
def test_questions_refused(content: str, tmp_path: Path) -> None:
    """Dies if three words, words before a section or no question at all are taken."""
    (tmp_path / "q").write_text(content)
    with pytest.raises(DataError, match="expected"):
        questions.read(tmp_path / "q")


def test_lookup_in_lower_case(tmp_path: Path) -> None:
    """Dies if the later of two words that are equal in lower case counts, or stays a candidate."""
    (tmp_path / "v").write_text("The 3 4\ncat 0 2\nTHE 1 0\nDog 5 12\n")
    read = lookup.read(tmp_path / "v")
    assert read.index == {"the": 0, "cat": 1, "dog": 2}
    np.testing.assert_allclose(read.unit, [[0.6, 0.8], [0, 1], [5 / 13, 12 / 13]], rtol=1e-6)
    assert read.rows(["dog", "The", "the"]).tolist() == [2, -1, 0]
    table = lookup.read(tmp_path / "v", ["DOG", "cat"])
    assert table.index == {"cat": 0, "dog": 1}
    cased = lookup.read(tmp_path / "v", ["THE", "dog"], lower_case=False)
    assert cased.index == {"THE": 0}
    assert lookup.read(tmp_path / "v", most=2).index == {"the": 0, "cat": 1}


def test_a_word_with_a_vector_of_zeros_has_none(tmp_path: Path) -> None:
    """Dies if zeros become nan, hide the same word in another case, or are not counted."""
    (tmp_path / "v").write_text("A 0 0\nb 0 2\nc 0 0\na 3 0\n")
    read = lookup.read(tmp_path / "v")
    assert read.unit.tolist() == [[0, 1], [1, 0]] and read.zeros == 2
    assert read.rows(["a", "b", "c"]).tolist() == [1, 0, -1]
    assert lookup.read(tmp_path / "v", ["c", "b"]).zeros == 1
    assert lookup.read(tmp_path / "v", most=2).zeros == 1
    none = lookup.read(tmp_path / "v", most=1)
    assert none.rows(["a"]).tolist() == [-1] and none.unit.shape == (0, 2)


def test_short_vectors_have_a_direction(tmp_path: Path) -> None:
    """Dies if numbers whose squares float32 does not hold count as zeros, or lose digits."""
    (tmp_path / "v").write_text("a 3e-25 4e-25\nb 3e-21 -4e-21\nc 0 0\nd 3e-38 4e-38\ne 3 4\n")
    read = lookup.read(tmp_path / "v")
    assert read.zeros == 1 and [*read.index] == ["a", "b", "d", "e"]
    np.testing.assert_allclose(np.abs(read.unit), [[0.6, 0.8]] * 4, rtol=1e-6)


def test_words_of_zeros_alone_are_refused(tmp_path: Path) -> None:
    """Dies if a test of words whose vectors are all 0 has a score."""
    (tmp_path / "v").write_text("a 0 0\nb 0 2\n")
    with pytest.raises(DataError, match="all its vectors of words that are asked for are 0"):
        lookup.read(tmp_path / "v", ["a"])


def test_the_recipe_for_words_in_common(tmp_path: Path) -> None:
    """Dies if docs/judging_vectors.md cuts a file so that it cannot be read: a header whose number
    of words is a word of the other file."""
    rows = {"svd_all.txt": ["the", "3", "of"], "glove_all.txt": ["3", "a", "the", "5"]}
    for name, words in rows.items():
        head = f"{len(words)} 2\n" if name == "svd_all.txt" else ""
        lines = (f"{word} {row} .5\n" for row, word in enumerate(words, 1))
        (tmp_path / name).write_text(head + "".join(lines))
    page = (Path(__file__).parents[2] / "docs/judging_vectors.md").read_text()
    recipe = [line for line in page.splitlines() if line.startswith("    awk ")]
    subprocess.run("\n".join(recipe), shell=True, cwd=tmp_path, check=True)
    glove, svd = (vectors.read(tmp_path / f"{name}.txt") for name in ("glove", "svd"))
    assert [*glove.index] == ["3", "the"] and glove.table[:, 0].tolist() == [1, 3]
    assert [*svd.index] == ["the", "3"] and svd.table[:, 0].tolist() == [1, 2]
