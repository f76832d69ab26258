"""Parts of figures (matplotlib, object API): canvases, colours, legends, one violin."""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from jaxeval.stats import describe

if TYPE_CHECKING:  # imported late: most commands draw nothing
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.lines import Line2D

T = TypeVar("T")

# Okabe & Ito's colours, told apart by all, with line styles and markers for those who see none
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = "o^sDvP*X"
MOST = len(COLOURS)  # lines or clouds of points that one panel tells apart
_STYLES = ("-", "--", "-.", ":")
_FEWEST = 3  # distinct scores a violin needs
_MOST_MARKS = 30  # of full size in a violin
_LETTERS_AN_INCH = 13  # of a legend
_LETTERS = 24  # of a line of a legend
_MOST_LINES = 5  # of a name
_LINE = 0.15  # inches, of a legend
_ROOM = 4  # lines of a legend that a drawing has room for


def literal(name: str) -> str:
    """A name as a label: matplotlib would read what stands between dollars as a formula."""
    return name.replace("$", r"\$")


def wrapped(name: str, letters: int) -> str:
    """A name as a label of lines with at most so many letters, broken after `-`, `_`, `/`, `.`.

    The middle of very long names is left out: the tables have it.
    """
    if any(unicodedata.east_asian_width(letter) in "FW" for letter in name):
        letters = max(1, letters // 2)  # twice as wide
    lines = re.findall(rf".{{1,{letters}}}(?:(?<=[-_/. ])|$)|.{{1,{letters}}}", name)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:2], "\u2026", *lines[-2:]]
    return literal("\n".join(line.strip() for line in lines))


def most_lines(labels: Sequence[str]) -> int:
    """Of the highest label."""
    return max(label.count("\n") + 1 for label in labels)


def colour(number: int) -> str:
    """Of the k-th model."""
    return COLOURS[number % MOST]


def marker(number: int) -> str:
    """Of the k-th model."""
    return MARKERS[number % MOST]


def line_style(number: int) -> dict[str, Any]:
    """Colour and line of the k-th model; 32 differ."""
    return {"color": colour(number), "linestyle": _STYLES[(number + number // MOST) % 4]}


def canvas(width: float, height: float) -> tuple["Drawing", "Axes"]:
    """An empty drawing and its axes."""
    drawing, (axes,) = grid(1, 1, (width, height))
    ruled(axes)
    return drawing, axes


def grid(
    count: int, columns: int, size: tuple[float, float], *, share_y: bool = False
) -> tuple["Drawing", list["Axes"]]:
    """A drawing with so many panels, row by row, and its panels; their size is in inches."""
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
    """Lines behind the data."""
    panel.grid(axis=axis, color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)


def chunks(names: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Names in as few parts of at most so many as there can be, of about one size."""
    parts = -(-len(names) // most)
    bounds = [round(k * len(names) / max(1, parts)) for k in range(parts + 1)]
    for begin, end in itertools.pairwise(bounds):
        yield names[begin:end]


def same_limits(panels: Sequence["Axes"], side: str = "y") -> None:
    """Gives panels one range, so that they can be compared."""
    limits = [getattr(panel, f"get_{side}lim")() for panel in panels]
    low, high = min(low for low, _ in limits), max(high for _, high in limits)
    for panel in panels:
        getattr(panel, f"set_{side}lim")(low, high)


def legend(drawing: "Drawing", handles: Sequence["Artist"]) -> None:
    """One for all panels, above them, in as many columns as the drawing has room for."""
    labels = [str(handle.get_label()) for handle in handles]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    room = int(_LETTERS_AN_INCH * drawing.get_figwidth() / (4 + longest))
    columns = min(len(handles), max(1, room))
    lines = -(-len(labels) // columns) * most_lines(labels)
    drawing.set_figheight(drawing.get_figheight() + _LINE * max(0, lines - _ROOM))
    drawing.legend(
        handles=handles, frameon=False, fontsize=8, loc="outside upper left", ncols=columns
    )


def lines(names: Mapping[str, int]) -> list["Line2D"]:
    """Legend handles of lines: name -> number."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=wrapped(n, _LETTERS), **line_style(k)) for n, k in names.items()]


def marks(names: Sequence[str], numbers: Sequence[int] | None = None) -> list["Line2D"]:
    """Legend handles of clouds of points, of colours and markers 0, 1 ... or these numbers."""
    from matplotlib.lines import Line2D

    how: dict[str, Any] = {"linestyle": ""}
    return [
        Line2D([], [], marker=marker(k), color=colour(k), label=wrapped(name, _LETTERS), **how)
        for k, name in zip(numbers or range(len(names)), names, strict=True)
    ]


def jitter(count: int, width: float) -> np.ndarray:
    """[n] fixed offsets within a width: equal scores stay apart, and figures reproducible."""
    return width * ((np.arange(count) * 0.618) % 1.0 - 0.5)


def violin(panel: "Axes", x: float, values: np.ndarray, colour: str, marker: str) -> None:
    """A density with quartiles, median and all points."""
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
        linewidths=0 if crowded else 0.6, zorder=3,
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
