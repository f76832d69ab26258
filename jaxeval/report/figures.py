"""Drawn figures with the words and numbers that say the same, as SVG, PDF and PNG files."""

import hashlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxeval.errors import RunError, printable_lines
from jaxeval.report import glyphs
from jaxeval.report.document import Figure

_OF_PAGE = {  # what is drawn in a colour, as page.html.jinja has it
    "#000000": "currentColor",
    "#0072b2": "var(--blue)",
    "#555555": "var(--soft)",
    "#ffffff": "var(--card)",
    "#dddddd": "var(--line)",
}


# what changes from day to day, or with versions, and is left out
_UNSAID: Any = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".png": {"Software": None},
}


def _lay_out(figure: Figure) -> None:
    """Places everything once: left to itself matplotlib does so anew for every file.

    Control characters in names are escaped: SVG with them is not well-formed.
    """
    from matplotlib.text import Text

    for words in figure.drawing.findobj(Text):
        if (said := printable_lines(words.get_text())) != words.get_text():
            words.set_text(said)
    if figure.drawing.get_layout_engine() is not None:
        with glyphs.drawn(figure.drawing):
            figure.drawing.draw_without_rendering()
            figure.drawing.set_layout_engine("none")


def to_svg(figure: Figure, salt: str) -> str:
    """The figure as an <svg> element of a page; equal figures give equal bytes.

    Ink, paper and rules have the page's colours, which a dark page has others of.

    Args:
      figure: what to draw.
      salt: keeps the ids of several figures on one page apart.
    """
    import matplotlib

    _lay_out(figure)
    stream = io.StringIO()
    style: Any = {"svg.fonttype": "path", "svg.hashsalt": _hash(salt)}
    with matplotlib.rc_context(style), glyphs.drawn(figure.drawing):
        metadata = {"Date": None, "Creator": None}
        figure.drawing.savefig(stream, format="svg", transparent=True, metadata=metadata)
    text = stream.getvalue()
    for drawn, of_page in _OF_PAGE.items():
        text = text.replace(drawn, of_page)
    return _own_ids(text[text.index("<svg") :], _hash(salt)[:8])


def _own_ids(svg: str, prefix: str) -> str:
    """Prefixes all ids and what refers to them: glyphs of all figures are named alike."""
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    return svg.replace("url(#", f"url(#{prefix}-")


def _hash(salt: str) -> str:
    return hashlib.sha256(salt.encode()).hexdigest()


def folder(path: Path) -> Path:
    """A folder to write figures to, made where it is missing.

    Raises:
      RunError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{path}: no folder for figures ({error.strerror or error})"
        raise RunError(message) from None
    return path


def save(figure: Figure, into: Path, stem: str) -> list[Path]:
    """Writes STEM.svg, STEM.pdf and STEM.png (200 dots an inch) into a folder."""
    import matplotlib

    _lay_out(figure)
    style: Any = {"svg.fonttype": "path", "svg.hashsalt": _hash(stem), "pdf.fonttype": 42}
    paths = [folder(into) / f"{stem}.{kind}" for kind in ("svg", "pdf", "png")]
    for path in paths:
        metadata = _UNSAID[path.suffix]
        try:
            with matplotlib.rc_context(style), glyphs.drawn(figure.drawing):
                figure.drawing.savefig(path, dpi=200, facecolor="white", metadata=metadata)
        except OSError as error:
            message = f"{path}: cannot be written ({error.strerror or error})"
            raise RunError(message) from None
    return paths


def save_all(drawn: Sequence[Figure], into: Path) -> list[Path]:
    """Saves figures under their own names."""
    return [path for figure in drawn for path in save(figure, into, figure.name)]
