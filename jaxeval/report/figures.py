"""Drawn figures as SVG of a page, and as SVG, PDF and PNG files."""

import contextlib
import functools
import hashlib
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxeval.errors import RunError, printable_lines
from jaxeval.report.document import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_OF_PAGE = {  # what is drawn in a colour, as page.html.jinja has it
    "#000000": "currentColor",
    "#0072b2": "var(--blue)",
    "#555555": "var(--soft)",
    "#ffffff": "var(--card)",
    "#dddddd": "var(--line)",
}
_UNSAID: Any = {  # what changes from day to day, or with versions
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".png": {"Software": None},
}
_FONTS = (  # with letters that matplotlib's own font lacks
    "Noto Sans CJK", "Noto Sans", "Noto Color Emoji", "Noto Emoji", "Arial Unicode", "Microsoft",
    "PingFang", "Hiragino", "WenQuanYi", "Source Han", "Droid Sans Fallback", "Unifont",
)  # fmt: skip


@functools.cache
def _fonts() -> list[str]:
    """Installed ones, which matplotlib tries one after another for each letter."""
    from matplotlib import font_manager

    names = sorted({font.name for font in font_manager.fontManager.ttflist})
    return [name for start in _FONTS for name in names if name.startswith(start)]


@contextlib.contextmanager
def _drawn(drawing: "Drawing", style: Any) -> Iterator[None]:
    """Texts find fonts for their letters; letters that no font has are boxes without a warning.

    Control characters in names are escaped: SVG with them is not well-formed. All is placed once:
    left to itself matplotlib does so anew for every file.
    """
    import matplotlib
    from matplotlib.text import Text

    for words in drawing.findobj(Text):
        if (said := printable_lines(words.get_text())) != words.get_text():
            words.set_text(said)
        if not said.isascii():
            words.set_fontfamily([*matplotlib.rcParams["font.family"], *_fonts()])
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        if drawing.get_layout_engine() is not None:
            drawing.draw_without_rendering()
            drawing.set_layout_engine("none")
        yield


def to_svg(figure: Figure, salt: str) -> str:
    """The figure as an <svg> element of a page; equal figures give equal bytes.

    Ink, paper and rules have the page's colours, which a dark page has others of.

    Args:
      salt: keeps the ids of several figures on one page apart.
    """
    stream, mark = io.StringIO(), hashlib.sha256(salt.encode()).hexdigest()
    with _drawn(figure.drawing, {"svg.fonttype": "path", "svg.hashsalt": mark}):
        metadata = {"Date": None, "Creator": None}
        figure.drawing.savefig(stream, format="svg", transparent=True, metadata=metadata)
    text = stream.getvalue()
    for drawn, of_page in _OF_PAGE.items():
        text = text.replace(drawn, of_page)
    # glyphs of all figures are named alike: ids and what refers to them get a prefix
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{mark[:8]}-", text)
    return text[text.index("<svg") :]


def save_all(drawn: Sequence[Figure], into: Path) -> list[Path]:
    """Writes NAME.svg, NAME.pdf and NAME.png (200 dots an inch) into a folder, which may be new.

    Raises:
      RunError: a file cannot be written.
    """
    paths = []
    for figure in drawn:
        style = {"svg.fonttype": "path", "svg.hashsalt": figure.name, "pdf.fonttype": 42}
        for kind, metadata in _UNSAID.items():
            paths.append(path := into / f"{figure.name}{kind}")
            try:
                into.mkdir(parents=True, exist_ok=True)
                with _drawn(figure.drawing, style):
                    figure.drawing.savefig(path, dpi=200, facecolor="white", metadata=metadata)
            except OSError as error:
                message = f"{path}: cannot be written ({error.strerror or error})"
                raise RunError(message) from None
    return paths
