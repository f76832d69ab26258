"""Words of running text: by hand, and by laws that hold for any text."""

import hypothesis
import pytest
from hypothesis import strategies

from jaxeval.data import tokens

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


def _words(text: str, spans: list[tokens.CharacterSpan]) -> list[str]:
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(("text", "words"), WORDS.items())
def test_words_by_hand(text: str, words: list[str]) -> None:
    """Dies if a clitic, number, accent, joined emoji or flag is cut, or punctuation is not."""
    assert _words(text, tokens.split(text)) == words


@hypothesis.given(strategies.text(max_size=30))
def test_all_but_blanks_stands_in_one_word(text: str) -> None:
    """Dies if a character is lost or doubled, a word is empty, or words change places."""
    spans = tokens.split(text)
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
    spans = tokens.split_at_blanks(text)
    pieces = tokens.cut(spans, (start, end))
    assert "".join(_words(text, pieces)) == "".join(_words(text, spans)) == "".join(text.split())
    assert all(a < b for a, b in pieces)
    assert not any(a < border < b for a, b in pieces for border in (start, end))
    if text[start:end].strip():
        first, last = tokens.covered(pieces, start, end)
        assert "".join(_words(text, pieces[first:last])) == "".join(text[start:end].split())


def test_words_between_blanks_stay_as_they_are() -> None:
    """Dies if text that was cut into words before is cut again."""
    text = "ca n't wait ... 3.50$ #tag-a"
    assert _words(text, tokens.split_at_blanks(text)) == text.split()
