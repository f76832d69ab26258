"""Letters that matplotlib's own font lacks, from other fonts where they are installed."""

import contextlib
import functools
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_MOST_NAMED = 12  # letters
_BOXES = "Last Resort"  # a font of boxes, one for each script


@contextlib.contextmanager
def drawn(drawing: "Drawing") -> Iterator[None]:
    """Texts of a drawing that was laid out get fonts with their letters; a line says which lack.

    Within, matplotlib says nothing of them.
    """
    from matplotlib import rcParams
    from matplotlib.text import Text

    texts = [text for text in drawing.findobj(Text) if isinstance(text, Text)]
    letters = {letter for text in texts for letter in text.get_text() if not letter.isspace()}
    first = rcParams["font.family"]
    families, lacking = _families(frozenset(filter(lambda letter: ord(letter) > 127, letters)))
    for text in texts if families else ():
        text.set_fontfamily([*first, *families])
    if not lacking:
        yield
        return
    _tell(lacking)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


@functools.cache
def _families(letters: frozenset[str]) -> tuple[tuple[str, ...], str]:
    """Fonts that have letters which the first one lacks, and letters that none has."""
    from matplotlib import font_manager

    lacking = letters - _letters(font_manager.findfont(font_manager.FontProperties()))
    if not lacking:
        return (), ""
    families: list[str] = []
    for font in sorted(font_manager.fontManager.ttflist, key=_order):
        has = lacking & _letters(font.fname) if not font.name.startswith(_BOXES) else set()
        if has:
            families.append(font.name)
            lacking -= has
        if not lacking:
            break
    return tuple(families), "".join(sorted(lacking))


def _order(font: object) -> tuple[bool, bool, bool, str]:
    """Upright fonts of normal weight first, and of these those without serifs."""
    style, weight, name = (str(getattr(font, key)) for key in ("style", "weight", "name"))
    return style != "normal", weight not in ("400", "normal", "regular"), "Sans" not in name, name


@functools.cache
def _letters(path: str) -> frozenset[str]:
    """That a font file has."""
    from matplotlib import font_manager

    return frozenset(map(chr, font_manager.get_font(path).get_charmap()))


@functools.cache
def _tell(lacking: str) -> None:
    """Once for all figures that lack the same letters."""
    more = len(lacking) - _MOST_NAMED
    named = " ".join(lacking[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    message = f"figures: no installed font has {named}: drawn as boxes (the Noto fonts have them)"
    print(message, file=sys.stderr)
