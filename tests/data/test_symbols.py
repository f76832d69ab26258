"""Symbols and their numbers."""

import hypothesis
from hypothesis import strategies

from jaxeval.data import symbols


def test_code_points_are_kept_as_they_are() -> None:
    """Dies if a space is dropped, or letters and their accents are joined or normalised."""
    assert symbols.split(" të e\u0301", "characters") == (" ", "t", "ë", " ", "e", "\u0301")


def test_words_stand_between_ascii_spaces() -> None:
    """Dies if a no-break space ends a word, or two spaces hold one."""
    assert symbols.split(" t͡s  a\xa0b ", "words") == ("t͡s", "a\xa0b")


@hypothesis.given(strategies.text())
def test_splitting_is_undone_by_joining(text: str) -> None:
    """Dies if a character is lost, or a word; of spaces between words only one is kept."""
    assert symbols.join(symbols.split(text, "characters"), "characters") == text
    once = symbols.join(symbols.split(text, "words"), "words")
    assert once.split(" ") == ([w for w in text.split(" ") if w] or [""])


def test_numbers() -> None:
    """Dies if symbols do not follow the specials, or a word is taken for a special."""
    vocabulary = symbols.Vocabulary(("<unk>", "a"))
    assert len(vocabulary) == 6
    assert vocabulary.names == ("<pad>", "<s>", "</s>", "<unk>", "<unk>", "a")
    assert vocabulary.encode(("a", "b", "<unk>", "<s>")) == [5, symbols.UNKNOWN, 4, 3]


def test_a_sequence_ends_at_its_first_end() -> None:
    """Dies if what a model writes after END counts, or a missing END cuts the last symbol."""
    start, end = symbols.START, symbols.END
    assert symbols.upto_end([start, 5, 6, end, 7, end]) == [5, 6]
    assert symbols.upto_end([5, start, 6]) == [5, start, 6]
    assert symbols.upto_end([end, 5]) == symbols.upto_end([start]) == symbols.upto_end([]) == []
