"""Words: tokenisation of running text, spellings, characters and casing.

The rules know no language except English clitics. Letters and digits are recognised by Unicode
category, so that combining accents, joined emoji and flags stay whole. Text without blanks between
words (Chinese, Thai) comes out in long runs and must be segmented before.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

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
_NO_CAPITALS = -1  # of padding: no feature is set
_NORMALISED = (
    (re.compile('"+'), '"'),
    (re.compile(r"\d{4}-\d{2}-\d{2}"), "DATE_TOKEN"),
    (re.compile(r"\d{1,2}:\d{2}(:\d{2})?"), "TIME_TOKEN"),
    (re.compile(r"[0-9.,]+"), "NUMBER_TOKEN"),
)

# Patterns match a text's shape, which has one of these characters for each of its own:
# letter, number, mark (belongs to the character before), joiner, half a flag, other symbol, blank
_SHAPES = {"L": "L", "N": "N", "M": "M", "P": "S", "S": "S", "Z": " ", "C": "S"}
_THEMSELVES = {"\u2019": "'", **{c: c for c in "'.,:"}, "\u200d": "J"}
_SKIN_TONES, _FLAGS = range(0x1F3FB, 0x1F400), range(0x1F1E6, 0x1F200)
_TOKEN = re.compile(
    r"(?<![LNM])(?:L\.){2,}"  # U.S.
    r"|(?:[LN][MJ]*)+(?:(?:(?<=[NM])[.,:](?=N)|'(?=L))(?:[LN][MJ]*)+)*"  # 3.50, 5pm, don't
    r"|RR"
    r"|\SM*(?:J\SM*)*"
)
_CLITIC = re.compile(r"(?<=\w)(?:n['\u2019]t|['\u2019](?:s|m|d|re|ve|ll))$", re.IGNORECASE)

Span = tuple[int, int]  # start and end, exclusive


def split(text: str, at_blanks: bool = False) -> list[Span]:
    """Returns the words, numbers, clitics ("n't", "'s" ...) and punctuation marks of a text.

    Args:
      at_blanks: the text is tokenised: words stand between blanks.
    """
    if at_blanks:
        return [match.span() for match in re.finditer(r"\S+", text)]
    spans = [match.span() for match in _TOKEN.finditer("".join(map(_shape, text)))]
    clitics = [_CLITIC.search(text[start:end]) for start, end in spans]
    borders = [s + c.start() for (s, _), c in zip(spans, clitics, strict=True) if c is not None]
    return cut(spans, borders)


def cut(spans: Sequence[Span], borders: Iterable[int]) -> list[Span]:
    """Cuts spans at the borders that lie within them."""
    ends = sorted({*borders, *(end for _, end in spans)})
    pieces, at = [], 0
    for start, end in spans:
        while at < len(ends) and ends[at] <= start:
            at += 1
        while start < end:
            pieces.append((start, ends[at]))
            start = ends[at]
            at = at + 1
    return pieces


def _shape(character: str) -> str:
    if character in _THEMSELVES:
        return _THEMSELVES[character]
    code = ord(character)
    category = unicodedata.category(character)
    if code in _FLAGS:
        return "R"
    if code in _SKIN_TONES or category == "Cf":
        return "M"
    return " " if character.isspace() or category == "Cc" else _SHAPES[category[0]]


def pad(sentence: Sequence[str], width: int | None) -> tuple[str, ...]:
    """Cuts or pads ("") a sentence to `width` words; None: returns all words."""
    first = tuple(sentence[:width])
    return first + ("",) * ((width or 0) - len(first))


def _casing(word: str) -> int:
    """Returns the index of the word's casing in `CASINGS`."""
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


def _capitals(word: str) -> int:
    """Returns the index of the word's pattern in `_CAPITALS`, which knows ASCII letters only."""
    return next(n for n, pattern in enumerate(_CAPITALS) if pattern.fullmatch(word))


def _normalise(word: str) -> str:
    """Applies UKPLab's rule: lower case; dates, times and numbers become one token each.

    As published, "." and "," are numbers; that matters only to words without a vector.
    """
    word = word.lower().replace("--", "-")
    for pattern, replacement in _NORMALISED:
        word = pattern.sub(replacement, word)
    return word


def zero_digits(word: str) -> str:
    """Replaces every digit by 0 (Lample et al. 2016)."""
    return re.sub(r"\d", "0", word)


def spellings(word: str) -> tuple[str, ...]:
    """Returns the names under which a word is looked up, in order: as is, lower, normalised."""
    return word, word.lower(), _normalise(word)


def rows(forms: Sequence[str], index: Mapping[str, int]) -> np.ndarray:
    """Returns the row of each form's first known spelling: [F] int32, -1 if there is none."""
    each = (next((index[s] for s in spellings(form) if s in index), -1) for form in forms)
    return np.fromiter(each, np.int32, len(forms))


def shapes(forms: Sequence[str]) -> dict[str, np.ndarray]:
    """Returns the casing and capitals of each form, [F] int32."""
    casings = [_casing(form) if form else PADDING for form in forms]
    patterns = [_capitals(form) if form else _NO_CAPITALS for form in forms]
    return {"casing": np.array(casings, np.int32), "capitals": np.array(patterns, np.int32)}


def characters(forms: Sequence[str], alphabet: Sequence[str], most: int) -> np.ndarray:
    """Returns the character numbers of each form: [F, W], W <= `most` the longest form's length.

    Longer forms are cut: nearly all are web addresses, and one of them would widen all others.

    Args:
      alphabet: characters in the order of their numbers, after padding and unknown.
    """
    numbers = {character: number for number, character in enumerate(alphabet, UNKNOWN + 1)}
    width = min(most, max(map(len, forms)))
    table = np.zeros((len(forms), width), np.uint8 if len(numbers) < 250 else np.int32)
    for row, form in enumerate(forms):
        first = form[:width]
        table[row, : len(first)] = [numbers.get(character, UNKNOWN) for character in first]
    return table
