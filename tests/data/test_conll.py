"""CoNLL column files; what all readers share stands in test_malformed.py."""

import os
from pathlib import Path

import pytest

from jaxeval.data import conll
from jaxeval.data.sentences import Sentence
from jaxeval.errors import DataError

CONLL2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER
"""


def _write(folder: Path, content: str) -> Path:
    path = folder / "corpus"
    path.write_text(content, encoding="utf-8")
    return path


def test_conll2003_layout(tmp_path: Path) -> None:
    """Dies if a -DOCSTART- line becomes a word, or line numbers skip the lines left out."""
    assert conll.read(_write(tmp_path, CONLL2003)) == [
        Sentence(("EU", "rejects"), ("B-ORG", "O"), (3, 4)),
        Sentence(("Peter",), ("B-PER",), (8,)),
    ]


@pytest.mark.parametrize(("word", "tag"), [(0, 1), (-4, -3)])
def test_columns_are_chosen(word: int, tag: int, tmp_path: Path) -> None:
    """Dies if the tag is always the last column, or negative columns are refused."""
    sentences = conll.read(_write(tmp_path, CONLL2003), word, tag)
    assert sentences[0].words == ("EU", "rejects")
    assert sentences[0].tags == ("NNP", "VBZ")


@pytest.mark.parametrize("blank", ["\n", "\t\n", "  \n", "\n\n\n", "\t\t\n \n"])
def test_white_space_ends_a_sentence(blank: str, tmp_path: Path) -> None:
    """Dies if only an empty line ends a sentence (WNUT-17), or two make an empty sentence."""
    read = conll.read(_write(tmp_path, f"a\tO\n{blank}b\tO\n{blank}"))
    assert [sentence.words for sentence in read] == [("a",), ("b",)]


def test_hash_is_a_word(tmp_path: Path) -> None:
    """Dies if lines that begin with # are comments: tweets hold such words."""
    assert conll.read(_write(tmp_path, "#\tO\n#news\tO\n"))[0].words == ("#", "#news")


def test_blanks_inside_tabs_and_no_break_spaces_belong_to_the_word(tmp_path: Path) -> None:
    """Dies if a line with tabs is split at blanks, or one with blanks at U+00A0."""
    assert conll.read(_write(tmp_path, "New York\tO\n"))[0].words == ("New York",)
    assert conll.read(_write(tmp_path, "10\u00a0000   CD\n"))[0].words == ("10\u00a0000",)


@pytest.mark.parametrize(
    ("content", "columns", "line", "message"),
    [
        ("a b\nc d\n", (2, -1), 1, "expected a column 2"),
        ("a b\nc d\n", (0, -3), 1, "expected a column -3"),
        ("a\tO\n\tO\n", (0, -1), 2, "column 0 is empty"),
        ("a\tO\nb\t\n", (0, -1), 2, "column -1 is empty"),
        ("a O\n\nb x O\n", (0, -1), 3, "expected 2 columns.*found 3"),
        ("-DOCSTART- O\n\n", (0, -1), None, "no sentence"),
    ],
)
def test_refused(
    content: str, columns: tuple[int, int], line: int | None, message: str, tmp_path: Path
) -> None:
    """Dies if a missing column, an empty field or a file of separators passes."""
    with pytest.raises(DataError, match=message) as caught:
        conll.read(_write(tmp_path, content), *columns)
    assert caught.value.line == line


@pytest.mark.skipif("JAXEVAL_DATA" not in os.environ, reason="JAXEVAL_DATA names no data folder")
@pytest.mark.parametrize(
    ("name", "count"),
    [("wnut17train.conll", 3394), ("emerging.dev.conll", 1009), ("emerging.test.annotated", 1287)],
)
def test_wnut17_has_its_published_size(name: str, count: int) -> None:
    """Dies if sentences are joined, split or lost."""
    assert len(conll.read(Path(os.environ["JAXEVAL_DATA"]) / "wnut17" / name)) == count


@pytest.mark.parametrize(
    ("columns", "content"), [((0, -1), "Ann\nran\n"), ((1, -1), "Ann B-PER\n")]
)
def test_one_column_is_not_word_and_tag(
    columns: tuple[int, int], content: str, tmp_path: Path
) -> None:
    """Dies if a word is its own tag: a file of one column, or one column asked for twice."""
    path = tmp_path / "f"
    path.write_text(content)
    with pytest.raises(DataError, match=r"f:1: word and tag are both column"):
        conll.read(path, *columns)
