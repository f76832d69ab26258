"""The diagram of average ranks over data sets (Demšar 2006, figures 1 and 2)."""

from typing import TYPE_CHECKING

from jaxeval.report import plots
from jaxeval.report.document import Figure
from jaxeval.stats.datasets import Across

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_AXIS = 4.2  # inches of the axis of ranks; names stand beside it
_LINE = 0.3  # inches between two names
_LETTERS = 40  # of a line of a name
_LETTER = 0.09  # inches
_MOST_TICKS = 15


def draw(across: Across, level: float) -> Figure:
    """Average ranks with bars of Nemenyi's test, or the interval around a control.

    Without a control, bars join models that do not differ (Demšar's figure 1). With one, the
    interval of Bonferroni and Dunn is drawn around it (figure 2): a model outside differs; those
    that Holm's procedure finds to differ, which is more powerful, are marked.
    """
    assert across.ranking is not None
    ranking, other = across.ranking, across.control_difference
    ranks = dict(zip(ranking.models, ranking.average_ranks, strict=True))
    rejected = ranking.iman_davenport.p_value <= level  # else no model is said to differ
    marked = {other.model for other in across.against if rejected and other.p_adjusted <= level}
    groups = () if across.against else ranking.groups
    names = [
        f"{plots.wrapped(name, _LETTERS)}{' *' if name in marked else ''} ({rank:.2f})"
        for name, rank in ranks.items()
    ]
    drawing, axes = _scale(names, len(groups))
    _names(axes, names, [*ranks.values()], len(groups))
    for k, group in enumerate(groups):
        ends = [ranks[group[0]] - 0.03, ranks[group[-1]] + 0.03]
        axes.plot(ends, [-0.2 - 0.22 * k] * 2, color="black", linewidth=3)
    if across.against and across.control is not None and other is not None:
        _interval(axes, ranks[across.control], other, len(ranks))
        caption = (
            f"1 is best. Grey: within the critical difference of the control {across.control} "
            f"(Bonferroni-Dunn, level {level:g}). Models marked * differ significantly from it by "
            "Holm's procedure, which is more powerful."
        )
    else:
        critical = ranking.critical_difference
        axes.plot([1, 1 + critical], [0.75] * 2, color="black", lw=2)
        axes.text(1, 0.82, f"critical difference {critical:.2f}", fontsize=9)
        caption = (
            "1 is best. Models joined by a bar do not differ significantly (Nemenyi's test, level "
            f"{ranking.alpha:g}), which does not show that they are equal."
        )
    title, columns = "Average ranks over data sets", ("model", "average rank")
    rows = [(name, f"{rank:.3f}") for name, rank in ranks.items()]
    return Figure("critical_difference", title, caption, drawing, columns, rows)


def _height(line: int, bars: int) -> float:
    """Of the k-th name from above, below all bars."""
    return -0.22 * bars - 0.3 - 0.42 * line


def _scale(names: list[str], bars: int) -> tuple["Drawing", "Axes"]:
    """A drawing with the axis of ranks, in units of its y axis of about 0.7 inches."""
    from matplotlib.figure import Figure as Drawing

    models = len(names)
    half = (models + 1) // 2
    sides = ("\n".join(of).split("\n") for of in (names[:half], names[half:]))
    left, right = (0.3 + _LETTER * max(map(len, lines)) for lines in sides)
    width = left + _AXIS + right
    drawing = Drawing(figsize=(width, 1.3 + _LINE * half + 0.16 * bars))
    axes = drawing.add_axes((left / width, 0.03, _AXIS / width, 0.94))
    axes.axis("off")
    axes.set_ylim(_height(0, bars) - 0.42 * (half - 1) - 0.2, 1.15)
    axes.plot([1, models], [0, 0], color="black", linewidth=1)
    for tick in range(1, models + 1):
        axes.plot([tick, tick], [0, 0.12], color="black", linewidth=1)
        if (tick - 1) % -(-models // _MOST_TICKS) == 0:
            axes.text(tick, 0.18, str(tick), ha="center", va="bottom", fontsize=9)
    return drawing, axes


def _names(axes: "Axes", names: list[str], ranks: list[float], bars: int) -> None:
    """The better half to the left, the others to the right, each joined to its rank."""
    last = len(names)
    beside = 0.15 * last / 4  # in ranks, of which there may be many
    for k, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = k < (last + 1) // 2
        height = _height(k if left else last - 1 - k, bars)
        edge = 1 - beside if left else last + beside
        axes.plot([rank, rank, edge], [0, height, height], color="#555555", linewidth=0.9)
        axes.annotate(
            name, (edge, height), (-4 if left else 4, 0), textcoords="offset points",
            ha="right" if left else "left", va="center", fontsize=9, linespacing=1.0,
        )  # fmt: skip


def _interval(axes: "Axes", rank: float, difference: float, models: int) -> None:
    """Ranks that do not differ from the control's, cut off where there are no ranks."""
    low, high = max(1.0, rank - difference), min(float(models), rank + difference)
    axes.axvspan(low, high, color="#bbbbbb", alpha=0.4, linewidth=0, zorder=0)
    axes.plot([low, high], [-0.1] * 2, color="black", linewidth=3, gid="control")
    axes.plot([rank], [-0.1], "o", color="white", markeredgecolor="black", markersize=6)
    axes.text(low, 0.82, f"control ± {difference:.2f} (Bonferroni-Dunn)", fontsize=9)
