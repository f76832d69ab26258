"""Words of running text, their spellings, characters and casing."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from jaxeval.data import words

WORDS = {
    "I don't like it.": ["I", "do", "n't", "like", "it", "."],
    "DON\u2019T! They\u2019ll": ["DO", "N\u2019T", "!", "They", "\u2019ll"],
    "the waiters' o'clock 'til": ["the", "waiters", "'", "o'clock", "'", "til"],
    "$3.50, 1,000 at 9:30pm; 5.": ["$", "3.50", ",", "1,000", "at", "9:30pm", ";", "5", "."],
    "U.S. food e.g. pie.Then": ["U.S.", "food", "e.g.", "pie", ".", "Then"],
    "top-notch (really)...": ["top", "-", "notch", "(", "really", ")", ".", ".", "."],
    "cafe\u0301s naïve": ["cafe\u0301s", "naïve"],
    "हिन्दी में": ["हिन्दी", "में"],
    "ex\u200cam\u00adple": ["ex\u200cam\u00adple"],
    "so 👩🏽\u200d🍳👍🏿!": ["so", "👩🏽\u200d🍳", "👍🏿", "!"],
    "🇩🇪🇫🇷❤\ufe0f1\ufe0f\u20e3": ["🇩🇪", "🇫🇷", "❤\ufe0f", "1\ufe0f\u20e3"],
    "a\u00a0b\tc\nd\x07e": ["a", "b", "c", "d", "e"],
    "": [],
}


def _in_words(text: str, spans: list[words.Span]) -> list[str]:
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(("text", "expected"), WORDS.items())
def test_words_by_hand(text: str, expected: list[str]) -> None:
    """Dies if a clitic, number, accent, joined emoji or flag is cut, or punctuation is not."""
    assert _in_words(text, words.split(text)) == expected


@hypothesis.given(strategies.text(max_size=30))
def test_all_but_blanks_stands_in_one_word(text: str) -> None:
    """Dies if a character is lost or doubled, a word is empty, or words change places."""
    spans = words.split(text)
    assert all(start < end for start, end in spans)
    assert spans == sorted(spans)
    inside = [position for start, end in spans for position in range(start, end)]
    assert len(inside) == len({*inside})
    outside = "".join(text[position] for position in {*range(len(text))} - {*inside})
    assert not any(character.isalnum() for character in outside)
    assert all(c.isspace() or not c.isprintable() for c in outside)


@hypothesis.given(strategies.text(max_size=20), strategies.data())
def test_borders_are_borders_of_words(text: str, data: strategies.DataObject) -> None:
    """Dies if a target shares a word with what stands beside it, or cutting loses a character."""
    positions = strategies.integers(0, len(text))
    start, end = sorted((data.draw(positions), data.draw(positions)))
    spans = words.split(text, at_blanks=True)
    pieces = words.cut(spans, (start, end))
    assert (
        "".join(_in_words(text, pieces))
        == "".join(_in_words(text, spans))
        == "".join(text.split())
    )
    assert all(a < b for a, b in pieces)
    assert not any(a < border < b for a, b in pieces for border in (start, end))


KINDS = {
    "2024": "numeric",
    "12a": "mainly_numeric",
    "zoë": "all_lower",
    "ÉTÉ": "all_upper",
    "B2b": "initial_upper",
    "x2Y": "contains_digit",
    "iPhone": "other",
    "--": "other",
}


@pytest.mark.parametrize(("word", "kind"), KINDS.items())
def test_casing(word: str, kind: str) -> None:
    """Dies if two tests change places, or exactly half digits counts as mainly numeric."""
    assert words.CASINGS[words._casing(word)] == kind


@pytest.mark.parametrize(
    ("word", "normal"),
    [
        ('""', '"'),
        ("2006-09-12", "DATE_TOKEN"),
        ("12:30:05", "TIME_TOKEN"),
        ("3,000.5", "NUMBER_TOKEN"),
        ("5pm", "NUMBER_TOKENpm"),
        (".", "NUMBER_TOKEN"),
    ],
)
def test_normalise(word: str, normal: str) -> None:
    """Dies if numbers are replaced before dates and times, or the tokens are lowered too."""
    assert words._normalise(word) == normal


def test_the_first_known_spelling_counts() -> None:
    """Dies if a word as it stands does not come before lower case, or that before normalised."""
    index = {"Bath": 0, "bath": 1, "NUMBER_TOKEN": 2, "7": 3}
    forms = ["Bath", "BATH", "bath", "7", "8", "cat"]
    actual = words.rows(forms, index)
    assert actual.tolist() == [0, 1, 1, 3, 2, -1]
    assert actual.dtype == np.int32


def test_characters_are_cut_and_padded() -> None:
    """Dies if a long form widens the table, or a character without number is padding."""
    table = words.characters(["", "ab", "azb", "bbbbbbb"], "ab", most=4)
    assert table.tolist() == [[0, 0, 0, 0], [2, 3, 0, 0], [2, 1, 3, 0], [3, 3, 3, 3]]
    assert words.characters(["", "ab"], "ab", most=4).shape == (2, 2)
