"""The diagram of average ranks over data sets (Demšar 2006, figures 1 and 2)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jaxeval.report import glyphs, plots
from jaxeval.report.document import Figure
from jaxeval.stats.datasets import Across

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_WIDTH = 7.5  # inches
_EDGES = (0.22, 0.78)  # of the axis of ranks, as shares of the width; names stand beside it
_LINE = 0.3  # inches between two names
_LETTERS = 40  # of a line of a name
_MARGIN = 0.05  # inches beside names
_MOST_TICKS = 15


def draw(across: Across, level: float) -> Figure:
    """Average ranks with bars of Nemenyi's test, or the interval around a control.

    Without a control, bars join models that do not differ (Demšar's figure 1). With one, the
    interval of Bonferroni and Dunn is drawn around it (figure 2): a model outside differs; those
    that Holm's procedure finds to differ, which is more powerful, are marked.
    """
    assert across.ranking is not None
    ranking = across.ranking
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    rejected = ranking.iman_davenport.p_value <= level  # else no model is said to differ
    marked = {other.model for other in across.against if rejected and other.p_adjusted <= level}
    groups = () if across.against else ranking.groups
    drawing, axes = _scale(len(ranks), len(groups))
    _names(axes, ranks, marked, len(groups))
    for k, group in enumerate(groups):
        ends = [ranks[group[0]] - 0.03, ranks[group[-1]] + 0.03]
        axes.plot(ends, [_bar(k)] * 2, color="black", linewidth=3)
    if across.against and across.control is not None and across.control_difference is not None:
        _interval(axes, ranks[across.control], across.control_difference, len(ranks))
        caption = (
            f"1 is best. Grey: within the critical difference of the control {across.control} "
            f"(Bonferroni-Dunn, level {level:g}). Models marked * differ significantly from it by "
            "Holm's procedure, which is more powerful."
        )
    else:
        _critical_difference(axes, ranking.critical_difference)
        caption = (
            "1 is best. Models joined by a bar do not differ significantly (Nemenyi's test, level "
            f"{ranking.alpha:g}), which does not show that they are equal."
        )
    _widen(drawing, axes)
    return Figure(
        "critical_difference",
        "Average ranks over data sets",
        caption,
        drawing,
        ("model", "average rank"),
        [(name, f"{rank:.3f}") for name, rank in ranks.items()],
    )


def _bar(k: int) -> float:
    """Height of the k-th bar below the axis."""
    return -0.2 - 0.22 * k


def _scale(models: int, bars: int) -> tuple["Drawing", "Axes"]:
    """A drawing with the axis of ranks, in units of its y axis of about 0.7 inches."""
    from matplotlib.figure import Figure as Drawing

    lines = (models + 1) // 2
    drawing = Drawing(figsize=(_WIDTH, 1.3 + _LINE * lines + 0.16 * bars))
    left, right = _EDGES
    axes = drawing.add_axes((left, 0.03, right - left, 0.94))
    axes.axis("off")
    axes.set_ylim(_height(0, bars) - 0.42 * (lines - 1) - 0.2, 1.15)
    axes.plot([1, models], [0, 0], color="black", linewidth=1)
    step = -(-models // _MOST_TICKS)
    for tick in range(1, models + 1):
        axes.plot([tick, tick], [0, 0.12], color="black", linewidth=1)
        if (tick - 1) % step == 0:
            axes.text(tick, 0.18, str(tick), ha="center", va="bottom", fontsize=9)
    return drawing, axes


def _height(line: int, bars: int) -> float:
    """Of the k-th name from above, below all bars."""
    return -0.22 * bars - 0.3 - 0.42 * line


def _names(axes: "Axes", ranks: Mapping[str, float], marked: set[str], bars: int) -> None:
    """The better half to the left, the others to the right, each joined to its rank."""
    half, last = (len(ranks) + 1) // 2, len(ranks)
    beside = 0.15 * last / 4  # in ranks, of which there may be many
    for k, (name, rank) in enumerate(ranks.items()):
        left = k < half
        height = _height(k if left else last - 1 - k, bars)
        edge = 1 - beside if left else last + beside
        axes.plot([rank, rank, edge], [0, height, height], color="#555555", linewidth=0.9)
        axes.annotate(
            f"{plots.wrapped(name, _LETTERS)}{' *' if name in marked else ''} ({rank:.2f})",
            (edge, height), (-4 if left else 4, 0), textcoords="offset points",
            ha="right" if left else "left", va="center", fontsize=9, linespacing=1.0,
        )  # fmt: skip


def _widen(drawing: "Drawing", axes: "Axes") -> None:
    """Makes room for names that reach beyond the drawing, beside an axis of the same length."""
    width, height = drawing.get_size_inches()
    axes.autoscale_view()
    with glyphs.drawn(drawing):
        texts = axes.get_tightbbox()
    assert texts is not None
    left = max(0.0, _MARGIN - texts.x0 / drawing.dpi)
    right = max(0.0, _MARGIN + texts.x1 / drawing.dpi - width)
    wider, place = width + left + right, axes.get_position()
    drawing.set_size_inches(wider, height)
    ends = (left + place.x0 * width, place.width * width)
    axes.set_position((ends[0] / wider, place.y0, ends[1] / wider, place.height))


def _critical_difference(axes: "Axes", difference: float) -> None:
    axes.plot([1, 1 + difference], [0.75] * 2, color="black", lw=2)
    axes.text(1, 0.82, f"critical difference {difference:.2f}", fontsize=9)


def _interval(axes: "Axes", rank: float, difference: float, models: int) -> None:
    """Ranks that do not differ from the control's, cut off where there are no ranks."""
    low, high = max(1.0, rank - difference), min(float(models), rank + difference)
    axes.axvspan(low, high, color="#bbbbbb", alpha=0.4, linewidth=0, zorder=0)
    axes.plot([low, high], [_bar(0) / 2] * 2, color="black", linewidth=3, gid="control")
    axes.plot([rank], [_bar(0) / 2], "o", color="white", markeredgecolor="black", markersize=6)
    axes.text(low, 0.82, f"control ± {difference:.2f} (Bonferroni-Dunn)", fontsize=9)
