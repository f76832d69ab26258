"""Words: cut out of running text; their spellings, characters and casing.

Text is cut by rules that know no language but English clitics. Letters and digits are read by
their Unicode categories, so that accents that are characters of their own, joined emoji and flags
stay whole. Text without blanks between words (Chinese, Thai) comes out in long runs: bring it
with blanks.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

PADDING, UNKNOWN = 0, 1  # rows of every table: words, characters
CASINGS = (  # tested in this order (UKPLab), the last one if none fits; 0 is padding
    "padding",
    "other",
    "numeric",
    "mainly_numeric",
    "all_lower",
    "all_upper",
    "initial_upper",
    "contains_digit",
)
_CAPITALS = (  # tested in this order, the last one if none fits (VecEval's feature)
    re.compile(r"[a-z]+"),
    re.compile(r"[A-Z][a-z]+"),
    re.compile(r"[A-Z]+"),
    re.compile(r"[^A-Z]+[A-Z][^A-Z]*"),
    re.compile(r".*", re.DOTALL),
)
NO_CAPITALS = -1  # of padding: no feature is set
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_NUMBER = re.compile(r"[0-9.,]+")

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


class CharacterSpan(NamedTuple):
    """From `start` to before `end`."""

    start: int
    end: int


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


def padded(sentence: Sequence[str], width: int | None) -> tuple[str, ...]:
    """The first `width` words, and padding ("") up to them; None: all words."""
    kept = tuple(sentence[:width])
    return kept if width is None else kept + ("",) * (width - len(kept))


def casing(word: str) -> int:
    """Number of the word's casing in `CASINGS`."""
    digits = sum(character.isdigit() for character in word)
    tests = (
        (digits == len(word), "numeric"),
        (2 * digits > len(word), "mainly_numeric"),
        (word.islower(), "all_lower"),
        (word.isupper(), "all_upper"),
        (word[:1].isupper(), "initial_upper"),
        (digits > 0, "contains_digit"),
        (True, "other"),
    )
    return CASINGS.index(next(name for holds, name in tests if holds))


def capitals(word: str) -> int:
    """Number of the word's pattern in `_CAPITALS`: ASCII letters alone are read."""
    return next(n for n, pattern in enumerate(_CAPITALS) if pattern.fullmatch(word))


def normalise(word: str) -> str:
    """UKPLab's rule: lower case; dates, times and numbers become one token each.

    As published, "." and "," are numbers; that matters only to words without a vector.
    """
    word = word.lower().replace("--", "-")
    word = re.sub('"+', '"', word)
    word = _DATE.sub("DATE_TOKEN", word)
    word = _TIME.sub("TIME_TOKEN", word)
    return _NUMBER.sub("NUMBER_TOKEN", word)


def zero_digits(word: str) -> str:
    """Lample's rule: every digit becomes 0."""
    return re.sub(r"\d", "0", word)


def spellings(word: str) -> tuple[str, ...]:
    """Under which names a word is looked up, in this order: as is, lower case, normalised."""
    return word, word.lower(), normalise(word)


def rows(forms: Sequence[str], index: Mapping[str, int]) -> np.ndarray:
    """Row of each form in a table of vectors, by its first known spelling: [F] int32, -1: none."""
    each = (next((index[s] for s in spellings(form) if s in index), -1) for form in forms)
    return np.fromiter(each, np.int32, len(forms))


def shapes(forms: Sequence[str]) -> dict[str, np.ndarray]:
    """What of each form the kinds of its characters tell: casing and capitals, [F] int32."""
    casings = [casing(form) if form else PADDING for form in forms]
    patterns = [capitals(form) if form else NO_CAPITALS for form in forms]
    return {"casing": np.array(casings, np.int32), "capitals": np.array(patterns, np.int32)}


def alphabet(forms: Iterable[str]) -> dict[str, int]:
    """Every character of the forms, in code-point order, from number 2 on."""
    characters = sorted(set().union(*forms))
    return {character: number for number, character in enumerate(characters, UNKNOWN + 1)}


def characters(forms: Sequence[str], numbers: Mapping[str, int], most: int) -> np.ndarray:
    """Character numbers of each form: [F, W], W the longest form's length but at most `most`.

    Longer forms are cut: nearly all are web addresses, and one of them would widen all others.
    """
    width = min(most, max(map(len, forms)))
    table = np.zeros((len(forms), width), np.uint8 if len(numbers) < 250 else np.int32)
    for row, form in enumerate(forms):
        cut = form[:width]
        table[row, : len(cut)] = [numbers.get(character, UNKNOWN) for character in cut]
    return table
