"""Parts of figures (matplotlib's object API), and drawn figures as files."""

import contextlib
import functools
import itertools
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from jaxeval.errors import RunError, printable_lines
from jaxeval.report import Figure
from jaxeval.stats import describe

if TYPE_CHECKING:  # imported late: most commands draw nothing
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_T = TypeVar("_T")
_Place = tuple[str, Mapping[int, np.ndarray]]  # a name, and number of a colour -> scores
_Page = tuple["Drawing", Sequence[tuple[str, Sequence[_Place]]]]  # with data set and places

# Okabe & Ito's colours are told apart by colour-blind readers; line styles and markers vary too
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MOST = len(COLOURS)  # lines or clouds of points that can be told apart in one panel
_MARKERS = "o^sDvP*X"
_STYLES = ("-", "--", "-.", ":")
_FEWEST = 3  # distinct scores that a density needs
MOST_DRAWN = 2000  # marks; more become an image, which stays small
_MOST_MARKS, _MOST_POINTS = 30, 500  # in a violin: of full size, in all
_MOST_VIOLINS = 10  # names in a panel
_MOST_ROWS = 4  # of panels in a drawing
_NARROWEST, _WIDEST = 3.3, 15.0  # inches, of a panel and of a drawing
_SLOTS = (0.9, 1.5)  # inches of a violin with a short name, and with a long one
_LETTERS_OF_NAMES = 15  # an inch, below violins
_BESIDE = 0.65  # inches for the labels of scores
_TITLE = 36  # letters of a line of a title
_LETTERS_PER_INCH = 13  # of a legend
_LETTERS = 24  # of a line of a legend
_MOST_LINES = 5  # of a name
_LINE = 0.15  # inches, of a legend or a name
_FREE_LINES = 4  # of a legend that fit without a higher drawing
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


def log_axis(panel: "Axes", low: float, high: float) -> None:
    """Makes the x axis logarithmic; of values within a decade, only the ends are labelled."""
    panel.set_xscale("log")
    if high < 10 * low:  # matplotlib's labels would overlap
        panel.set_xticks([low, high], [f"{end:.3g}" for end in (low, high)])
        panel.minorticks_off()


def chunks(names: Sequence[_T], most: int) -> Iterator[Sequence[_T]]:
    """Splits names into the fewest parts of at most `most`, of about equal size."""
    parts = -(-len(names) // most)
    bounds = [round(k * len(names) / max(1, parts)) for k in range(parts + 1)]
    for begin, end in itertools.pairwise(bounds):
        yield names[begin:end]


def legend(drawing: "Drawing", named: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Draws one legend above all panels, in as many columns as fit.

    Args:
      named: name -> style of its line or mark; None: what is labelled in the first panel.
    """
    from matplotlib.lines import Line2D

    handles = dict(zip(*drawing.axes[0].get_legend_handles_labels()[::-1], strict=True))
    for name, style in (named or {}).items():
        handles[wrapped(name, _LETTERS)] = Line2D([], [], **style)
    longest = max(len(line) for label in handles for line in label.split("\n"))
    room = int(_LETTERS_PER_INCH * drawing.get_figwidth() / (4 + longest))
    columns = min(len(handles), max(1, room))
    lines = -(-len(handles) // columns) * most_lines([*handles])
    drawing.set_figheight(drawing.get_figheight() + _LINE * max(0, lines - _FREE_LINES))
    place: Any = {"frameon": False, "fontsize": 8, "loc": "outside upper left"}
    drawing.legend(handles.values(), handles, ncols=columns, **place)


def marks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns the styles of clouds of points in a legend, numbered from 0."""
    styles = (
        {"linestyle": "", "marker": marker(k), "color": colour(k)} for k in range(len(names))
    )
    return dict(zip(names, styles, strict=True))


def jitter(count: int, width: float) -> np.ndarray:
    """Returns [count] fixed offsets within a width, which keep equal scores apart."""
    return width * ((np.arange(count) * 0.618) % 1.0 - 0.5)


def violins(samples: Mapping[str, Sequence[_Place]], label: str) -> Iterator[_Page]:
    """Yields drawings of at most twelve panels with at most ten names each, and what they show.

    Panels of one data set share their axis of scores.

    Args:
      samples: of each data set; "" has no title.
      label: of the scores.
    """
    every = [place for places in samples.values() for place in places]
    names = [name for name, _ in every]
    beside = max(len(at) for _, at in every)
    slot = beside * float(np.clip(max(map(len, names)) / _LETTERS_OF_NAMES, *_SLOTS))
    most = min(_MOST_VIOLINS, int(_WIDEST / slot))
    panels = [(of, part) for of, places in samples.items() for part in chunks(places, most)]
    widest = max(len(of) for _, of in panels)
    width = max(_NARROWEST, slot * widest)
    letters = int(_LETTERS_OF_NAMES * (width - _BESIDE) / (widest + 0.2))
    lines = most_lines([wrapped(name, letters) for name in names])
    columns = max(1, min(3, int(_WIDEST / width)))
    for page in chunks(panels, columns * _MOST_ROWS):
        drawing, each = grid(len(page), columns, (width, 3.8 + _LINE * (lines - 1)))
        for panel, (data_set, places) in zip(each, page, strict=True):
            _violins(panel, [(wrapped(name, letters), at) for name, at in places])
            panel.set_xlim(-0.6, widest - 0.4)  # as many slots as the fullest panel has names
            panel.set_title(wrapped(data_set, _TITLE), fontsize=10)
            panel.set_ylabel(literal(label))
        for data_set, _ in page:
            alike = [of for of, (name, _) in zip(each, page, strict=True) if name == data_set]
            low, high = zip(*(of.get_ylim() for of in alike), strict=True)
            for of in alike:
                of.set_ylim(min(low), max(high))
        yield drawing, page


def _violins(panel: "Axes", places: Sequence[_Place]) -> None:
    """Draws samples side by side, with their sizes below."""
    ticks = []
    for x, (name, at) in enumerate(places):
        for k, (number, values) in enumerate(at.items()):
            if len(values):
                _violin(panel, x + 0.4 * (k - (len(at) - 1) / 2), values, number)
        sizes = dict.fromkeys(str(len(values)) for values in at.values())
        ticks.append(f"{name}\n(n = {' and '.join(sizes)})")
    panel.set_xticks(range(len(ticks)), ticks, fontsize=8)
    ruled(panel)


def _violin(panel: "Axes", x: float, values: np.ndarray, number: int) -> None:
    """Draws a density, quartiles, the median and the scores, of which many become fewer."""
    low, middle, high = describe.five_numbers(values)[1:4]
    many = len(values) > _MOST_POINTS
    if many:  # evenly spaced order statistics
        values = np.quantile(values, (np.arange(_MOST_POINTS) + 0.5) / _MOST_POINTS)
    if len(np.unique(values)) >= _FEWEST:
        panel.violinplot([values], [x], widths=0.36, showextrema=False)
        panel.collections[-1].set(facecolor=colour(number), alpha=0.25, edgecolor=colour(number))
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    crowded = len(values) > _MOST_MARKS
    offsets = jitter(len(values), 0.28 if crowded else 0.18)[ranks]
    style: Any = {"s": 6, "alpha": 0.5, "linewidths": 0, "rasterized": many}
    if not crowded:
        offsets += np.copysign(0.055, offsets)  # beside the bar
        style = {"s": 22, "alpha": 1.0, "linewidths": 0.6}
    style |= {"marker": marker(number), "c": colour(number), "edgecolors": "white", "zorder": 3}
    panel.scatter(x + offsets, values, **style)
    for half, ends, tint, width in (
        (0.0, (low, high), "white", 7),
        (0.0, (low, high), colour(number), 5),
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
def prepared(drawing: "Drawing", style: Any) -> Iterator[None]:
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
                with prepared(figure.drawing, style):
                    figure.drawing.savefig(path, dpi=200, facecolor="white", metadata=metadata)
            except OSError as error:
                message = f"{path}: cannot be written ({error.strerror or error})"
                raise RunError(message) from None
    return paths
