"""Parts of figures (matplotlib's object API), and drawn figures as SVG, PDF and PNG."""

import base64
import contextlib
import functools
import hashlib
import io
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from jaxeval.errors import RunError, printable_lines
from jaxeval.report.document import Figure
from jaxeval.stats import describe

if TYPE_CHECKING:  # imported late: most commands draw nothing
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D

_T = TypeVar("_T")

# Okabe & Ito's colours are told apart by colour-blind readers; line styles and markers vary too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MOST = len(COLOURS)  # lines or clouds of points that can be told apart in one panel
_MARKERS = "o^sDvP*X"
_STYLES = ("-", "--", "-.", ":")
_FEWEST = 3  # distinct scores that a density needs
MOST_DRAWN = 2000  # marks; more become an image, which stays small
_TINTS = 64  # of such an image on a page
_MOST_MARKS = 30  # of full size in a violin
_LETTERS_PER_INCH = 13  # of a legend
_LETTERS = 24  # of a line of a legend
_MOST_LINES = 5  # of a name
_LINE = 0.15  # inches, of a legend
_FREE_LINES = 4  # of a legend that fit without a higher drawing
_PAGE_COLOURS = {  # colours that page.css redefines for light and dark pages
    "#000000": "currentColor",
    "#0072b2": "var(--blue)",
    "#555555": "var(--soft)",
    "#ffffff": "var(--card)",
    "#dddddd": "var(--line)",
}
_SVG_STYLE = "stroke-linejoin: round; stroke-linecap: butt"  # matplotlib's for all elements
_METADATA: Any = {  # left out, as it changes with the day or the version
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    ".png": {"Software": None},
}
_FALLBACK_FONTS = (  # beginnings of the names of fonts with Chinese, Arabic and other letters
    "Noto Sans CJK", "Noto Sans", "Noto Color Emoji", "Noto Emoji", "Arial Unicode", "Microsoft",
    "PingFang", "Hiragino", "WenQuanYi", "Source Han", "Droid Sans Fallback", "Unifont",
)  # fmt: skip


def literal(name: str) -> str:
    """Escapes dollar signs, between which matplotlib would read a formula."""
    return name.replace("$", r"\$")


def wrapped(name: str, letters: int) -> str:
    """Breaks a name into lines of at most `letters`, preferably after `-`, `_`, `/` or `.`.

    The middle of very long names is left out.
    """
    lines = re.findall(rf".{{1,{letters}}}(?:(?<=[-_/. ])|$)|.{{1,{letters}}}", name)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:2], "\u2026", *lines[-2:]]
    return literal("\n".join(line.strip() for line in lines))


def most_lines(labels: Sequence[str]) -> int:
    """Returns the number of lines of the highest label."""
    return max(label.count("\n") + 1 for label in labels)


def colour(number: int) -> str:
    """Returns the colour of the k-th model."""
    return COLOURS[number % MOST]


def marker(number: int) -> str:
    """Returns the marker of the k-th model."""
    return _MARKERS[number % MOST]


def line_style(number: int) -> dict[str, Any]:
    """Returns the colour and line style of the k-th model; 32 differ."""
    return {"color": colour(number), "linestyle": _STYLES[(number + number // MOST) % 4]}


def canvas(width: float, height: float) -> tuple["Drawing", "Axes"]:
    """Returns a drawing with one panel; sizes are in inches."""
    drawing, (axes,) = grid(1, 1, (width, height))
    ruled(axes)
    return drawing, axes


def grid(
    count: int, columns: int, size: tuple[float, float], *, share_y: bool = False
) -> tuple["Drawing", list["Axes"]]:
    """Returns a drawing and its panels, row by row; `size` is that of a panel in inches."""
    from matplotlib.figure import Figure as Drawing

    columns = min(columns, count)
    rows = -(-count // columns)
    drawing = Drawing(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    panels = list(drawing.subplots(rows, columns, squeeze=False, sharey=share_y).flat)
    for spare in panels[count:]:
        spare.axis("off")
    for panel in panels[:count]:
        panel.spines[["top", "right"]].set_visible(False)
    return drawing, panels[:count]


def ruled(panel: "Axes", axis: Literal["x", "y", "both"] = "y") -> None:
    """Draws grid lines behind the data."""
    panel.grid(axis=axis, color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)


def chunks(names: Sequence[_T], most: int) -> Iterator[Sequence[_T]]:
    """Splits names into the fewest parts of at most `most`, of about equal size."""
    parts = -(-len(names) // most)
    bounds = [round(k * len(names) / max(1, parts)) for k in range(parts + 1)]
    for begin, end in itertools.pairwise(bounds):
        yield names[begin:end]


def same_limits(panels: Sequence["Axes"], side: str = "y") -> None:
    """Gives all panels the same range, so that they can be compared."""
    limits = [getattr(panel, f"get_{side}lim")() for panel in panels]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    for panel in panels:
        getattr(panel, f"set_{side}lim")(low, high)


def legend(drawing: "Drawing", handles: Sequence["Artist"]) -> None:
    """Draws one legend above all panels, in as many columns as fit."""
    labels = [str(handle.get_label()) for handle in handles]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    room = int(_LETTERS_PER_INCH * drawing.get_figwidth() / (4 + longest))
    columns = min(len(handles), max(1, room))
    lines = -(-len(labels) // columns) * most_lines(labels)
    drawing.set_figheight(drawing.get_figheight() + _LINE * max(0, lines - _FREE_LINES))
    drawing.legend(
        handles=handles, frameon=False, fontsize=8, loc="outside upper left", ncols=columns
    )


def lines(names: Mapping[str, int]) -> list["Line2D"]:
    """Returns the legend handles of lines; `names` maps a name to its number."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=wrapped(n, _LETTERS), **line_style(k)) for n, k in names.items()]


def marks(names: Sequence[str]) -> list["Line2D"]:
    """Returns the legend handles of clouds of points, numbered from 0."""
    from matplotlib.lines import Line2D

    bare: Any = {"linestyle": ""}
    return [
        Line2D([], [], marker=marker(k), color=colour(k), label=wrapped(name, _LETTERS), **bare)
        for k, name in enumerate(names)
    ]


def jitter(count: int, width: float) -> np.ndarray:
    """Returns [count] fixed offsets within a width, which keep equal scores apart."""
    return width * ((np.arange(count) * 0.618) % 1.0 - 0.5)


def violin(panel: "Axes", x: float, values: np.ndarray, colour: str, marker: str) -> None:
    """Draws a density, quartiles, the median and all points."""
    if not len(values):
        return
    if len(np.unique(values)) >= _FEWEST:
        panel.violinplot([values], [x], widths=0.36, showextrema=False)
        panel.collections[-1].set(facecolor=colour, alpha=0.25, edgecolor=colour)
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    crowded = len(values) > _MOST_MARKS
    offsets = jitter(len(values), 0.28 if crowded else 0.18)[ranks]
    if not crowded:
        offsets += np.copysign(0.055, offsets)  # beside the bar
    panel.scatter(
        x + offsets, values, s=6 if crowded else 22, marker=marker,
        c=colour, alpha=0.5 if crowded else 1.0, edgecolors="white",
        linewidths=0 if crowded else 0.6, zorder=3, rasterized=len(values) > MOST_DRAWN,
    )  # fmt: skip
    low, middle, high = describe.five_numbers(values)[1:4]
    for half, ends, tint, width in (
        (0.0, (low, high), "white", 7),
        (0.0, (low, high), colour, 5),
        (0.06, (middle, middle), "black", 4),
        (0.05, (middle, middle), "white", 2),
    ):
        bar: Any = {"solid_capstyle": "butt", "zorder": 4, "linewidth": width}  # above the marks
        panel.plot([x - half, x + half], ends, color=tint, **bar)


@functools.cache
def _fallback_fonts() -> list[str]:
    from matplotlib import font_manager

    names = sorted({font.name for font in font_manager.fontManager.ttflist})
    return [name for start in _FALLBACK_FONTS for name in names if name.startswith(start)]


@contextlib.contextmanager
def _prepared(drawing: "Drawing", style: Any) -> Iterator[None]:
    """Prepares a drawing for saving.

    Letters that matplotlib's font lacks are taken from installed fonts; without one they become
    boxes, and no warning is given. Control characters, which are not allowed in SVG, are escaped.
    The layout is computed once instead of once a file.
    """
    import matplotlib
    from matplotlib.text import Text

    for label in drawing.findobj(Text):
        if (printed := printable_lines(label.get_text())) != label.get_text():
            label.set_text(printed)
        if not printed.isascii():
            label.set_fontfamily([*matplotlib.rcParams["font.family"], *_fallback_fonts()])
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        if drawing.get_layout_engine() is not None:
            drawing.draw_without_rendering()
            drawing.set_layout_engine("none")
        yield


def to_svg(figure: Figure, salt: str) -> str:
    """Returns the figure as an <svg> element of a page; equal figures give equal bytes.

    Text, background and grid lines take the colours of a light or dark page. Styles become
    attributes, which a page may hold that allows no inline style.

    Args:
      salt: keeps the ids of several figures on one page apart.
    """
    stream, mark = io.StringIO(), hashlib.sha256(salt.encode()).hexdigest()
    with _prepared(figure.drawing, {"svg.fonttype": "path", "svg.hashsalt": mark}):
        metadata = {"Date": None, "Creator": None}
        figure.drawing.savefig(stream, format="svg", transparent=True, metadata=metadata)
    text = stream.getvalue()
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"(?<=data:image/png;base64,)[^\"]*", lambda png: _smaller(png[0]), text)
    text = re.sub(r'style="([^"]*)"', lambda style: _attributes(style[1]), text)
    text = text.replace("<svg ", f"<svg {_attributes(_SVG_STYLE)} ", 1)
    for drawn, of_page in _PAGE_COLOURS.items():
        text = text.replace(drawn, of_page)
    # glyphs have the same names in all figures: ids and references get a prefix
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{mark[:8]}-", text)
    return text[text.index("<svg") :]


def _smaller(png: str) -> str:
    """Returns an image in base64 with few colours: a fifth of the bytes."""
    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        image.quantize(_TINTS, Image.Quantize.FASTOCTREE).save(stream, "png", optimize=True)
    return base64.b64encode(stream.getvalue()).decode()


def _attributes(style: str) -> str:
    """Returns the attributes of an element of SVG for a style."""
    pairs = (part.partition(":") for part in style.split(";") if part.strip())
    return " ".join(f'{name.strip()}="{value.strip()}"' for name, _, value in pairs)


def save_all(drawn: Sequence[Figure], into: Path) -> list[Path]:
    """Writes NAME.svg, NAME.pdf and NAME.png (200 dpi) into a folder; returns the paths.

    Raises:
      RunError: a file cannot be written.
    """
    paths = []
    for figure in drawn:
        style = {"svg.fonttype": "path", "svg.hashsalt": figure.name, "pdf.fonttype": 42}
        for suffix, metadata in _METADATA.items():
            paths.append(path := into / f"{figure.name}{suffix}")
            try:
                into.mkdir(parents=True, exist_ok=True)
                with _prepared(figure.drawing, style):
                    figure.drawing.savefig(path, dpi=200, facecolor="white", metadata=metadata)
            except OSError as error:
                message = f"{path}: cannot be written ({error.strerror or error})"
                raise RunError(message) from None
    return paths
