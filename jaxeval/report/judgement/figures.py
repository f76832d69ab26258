"""Figures of a judgement: scores of all seeds, and error reduced, task by task."""

from typing import TYPE_CHECKING

import numpy as np

from jaxeval.report import plots
from jaxeval.report.figures import Figure
from jaxeval.report.judgement import data
from jaxeval.report.judgement.data import Judged
from jaxeval.stats.judgement import Judgement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES = 0.42  # of a file on an axis
_COLUMNS = 3  # of panels
_MOST = 12  # files that a panel shows
_SHORT, _LONG = 16, 24  # letters of a name aslant, and of a line of an upright one
_TALLER = 1.0  # inches, of a panel with upright names


def draw(of: Judged) -> list[Figure]:
    """For each mode scores, and error reduced where there is a baseline."""
    drawn = []
    for mode in of.modes:
        drawn.append(scores(mode, of))
        if mode.reductions:
            drawn.append(reductions(mode, of))
    return drawn


def scores(mode: Judgement, of: Judged) -> Figure:
    """Violins of test scores, a panel a task, files best mean first."""
    shown = mode.vectors[:_MOST]
    long = max(map(len, shown)) > _SHORT
    size = _panel_width(len(shown)), 3.0 + _TALLER * long
    drawing, panels = plots.grid(len(mode.tasks), _COLUMNS, size)
    names = [plots.wrapped(name, _LONG) for name in shown]
    styles = _styles(of)
    rows: list[tuple[object, ...]] = []
    for position, (task, panel) in enumerate(zip(mode.tasks, panels, strict=True)):
        for number, name in enumerate(shown):
            values = 100 * mode.scores[name][position]
            style = styles[name]
            plots.violin(panel, number, values, plots.colour(style), plots.marker(style))
            pairs = zip(mode.seeds, values, strict=True)
            rows += [(name, task, seed, f"{value:.3f}") for seed, value in pairs]
        panel.set_title(task, fontsize=10)
        panel.set_ylabel(f"{of.metrics[task]} (%)")
        plots.ruled(panel)
        panel.set_xticks(range(len(shown)), names)
        if long:
            panel.tick_params("x", rotation=90, labelsize=8)
        else:
            panel.tick_params("x", rotation=30)
            for label in panel.get_xticklabels():
                label.set_horizontalalignment("right")
    more = len(mode.vectors) - len(shown)
    return Figure(
        f"scores_{mode.mode}",
        f"Test scores, {data.MODES[mode.mode]}",
        "Each mark is a seed. Wide bar: first to third quartile; white line: median. Axes begin "
        "where the scores do, and are not the same for all tasks."
        + (f" The best {_MOST} files; {more} more are in the tables." if more else ""),
        drawing,
        ("vectors", "task", "seed", "score (%)"),
        rows,
    )


def _panel_width(files: int) -> float:
    """Inches of a panel with so many files."""
    return max(2.4, _INCHES * min(files, _MOST) + 1.2)


def _styles(of: Judged) -> dict[str, int]:
    """The number of each file's colour and marker, the same in all figures."""
    return {name: number for number, name in enumerate(of.files)}


def reductions(mode: Judgement, of: Judged) -> Figure:
    """Error reduced by each file, task by task and on average, with intervals."""
    shown = [*mode.reductions][:_MOST]
    groups = [*mode.reduced, "mean"]
    styles = _styles(of)
    width = _panel_width(len(mode.vectors)) * min(_COLUMNS, len(mode.tasks))
    drawing, panel = plots.canvas(max(5.0, width), 3.6)  # as wide as the scores' figure
    rows: list[tuple[object, ...]] = []
    step = 0.8 / max(len(shown), 1)
    for number, name in enumerate(shown):
        places = np.arange(len(groups)) + (number - (len(shown) - 1) / 2) * step
        rows += _bars(panel, mode, name, styles[name], places, 0.9 * step)
    intervals = any(data.has_interval(e) for effects in mode.reductions.values() for e in effects)
    panel.axhline(0, color="#000000", linewidth=0.8)
    panel.set_xticks(range(len(groups)), groups)
    panel.set_ylabel("relative error reduction (%)")
    plots.legend(drawing, plots.marks(shown, [styles[name] for name in shown]))
    return Figure(
        f"reductions_{mode.mode}",
        f"Relative error reduction against {mode.baseline}, {data.MODES[mode.mode]}",
        f"(s - b) / (1 - b) of mean scores s and of the baseline's b ({mode.baseline}), and its "
        "mean over tasks without weights."
        + (" Lines: 95 % intervals over seeds (t of log(1 - reduction))." if intervals else ""),
        drawing,
        ("vectors", "task", "reduction (%)", "low", "high"),
        rows,
    )


def _bars(
    panel: "Axes", mode: Judgement, name: str, style: int, places: np.ndarray, width: float
) -> list[tuple[object, ...]]:
    """The bars of a file; the numbers drawn."""
    effects = mode.reductions[name]
    values = 100 * np.array([effect.estimate for effect in effects])
    low, high = (
        100 * np.array([getattr(effect.interval, end) for effect in effects])
        for end in ("low", "high")
    )
    colour = plots.colour(style)
    panel.bar(places, values, width, color=colour, alpha=0.35, edgecolor=colour)
    known = np.isfinite(low)  # where seeds leave none
    panel.vlines(places[known], low[known], high[known], color=colour, linewidth=1.6)
    panel.scatter(places, values, s=18, marker=plots.marker(style), c=colour, zorder=3)
    numbers = zip([*mode.reduced, "mean"], values, low, high, strict=True)
    return [(name, task, *map(_number, each)) for task, *each in numbers]


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "-"
