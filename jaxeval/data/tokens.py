"""Words of running text and where they stand, by rules that know no language but English clitics.

Letters and digits are read by their Unicode categories, so that accents that are characters of
their own, joined emoji and flags stay whole. Text without blanks between words (Chinese, Thai)
comes out in long runs: bring it with blanks.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class CharacterSpan(NamedTuple):
    """From `start` to before `end`."""

    start: int
    end: int


# The rules are patterns over a text's shape, a character of these for each of its own:
# letter, number, mark (goes with what it follows), joiner, half a flag, other symbol, blank
_SHAPES = {"L": "L", "N": "N", "M": "M", "P": "S", "S": "S", "Z": " ", "C": "S"}
_JOINER = "\u200d"
_AS_THEY_STAND = {"\u2019": "'", **{c: c for c in "'.,:"}, _JOINER: "J"}
_SKIN_TONES, _FLAGS = range(0x1F3FB, 0x1F400), range(0x1F1E6, 0x1F200)
_TOKEN = re.compile(
    r"(?<![LNM])(?:L\.){2,}"  # U.S.
    r"|(?:[LN][MJ]*)+(?:(?:(?<=[NM])[.,:](?=N)|'(?=L))(?:[LN][MJ]*)+)*"  # 3.50, 5pm, don't
    r"|RR"
    r"|\SM*(?:J\SM*)*"
)
_CLITIC = re.compile(r"(?<=\w)(?:n['\u2019]t|['\u2019](?:s|m|d|re|ve|ll))$", re.IGNORECASE)


def split(text: str) -> list[CharacterSpan]:
    """Words, numbers, clitics ("n't", "'s" ...) and single punctuation marks of a text."""
    return [
        part
        for match in _TOKEN.finditer("".join(map(_shape, text)))
        for part in _without_clitic(text, CharacterSpan(*match.span()))
    ]


def split_at_blanks(text: str) -> list[CharacterSpan]:
    """What stands between blanks, of text that somebody has cut into words already."""
    return [CharacterSpan(*match.span()) for match in re.finditer(r"\S+", text)]


def cut(spans: Sequence[CharacterSpan], borders: Iterable[int]) -> list[CharacterSpan]:
    """The same spans, those that a border lies in cut there."""
    positions = sorted({*borders})
    pieces = []
    for start, end in spans:
        inside = [position for position in positions if start < position < end]
        pieces += [
            CharacterSpan(*ends) for ends in zip([start, *inside], [*inside, end], strict=True)
        ]
    return pieces


def covered(spans: Sequence[CharacterSpan], start: int, end: int) -> CharacterSpan:
    """Which spans lie within characters `start` to `end`, borders of some: numbers from 0."""
    inside = [n for n, span in enumerate(spans) if start <= span.start and span.end <= end]
    return CharacterSpan(inside[0], inside[-1] + 1)


def _shape(character: str) -> str:
    """One of the characters that patterns are written in."""
    if character in _AS_THEY_STAND:
        return _AS_THEY_STAND[character]
    code, category = ord(character), unicodedata.category(character)
    if code in _FLAGS:
        return "R"
    if code in _SKIN_TONES or category == "Cf":
        return "M"
    return " " if character.isspace() or category == "Cc" else _SHAPES[category[0]]


def _without_clitic(text: str, span: CharacterSpan) -> list[CharacterSpan]:
    """A word and its clitic, or the word."""
    clitic = _CLITIC.search(text[span.start : span.end])
    return cut([span], [span.start + clitic.start()] if clitic else [])
