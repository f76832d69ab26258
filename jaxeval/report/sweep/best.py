"""Figures of good settings: of a sweep's runs near the best, and of best runs over datasets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxeval.report import plots, scores
from jaxeval.report.figures import Figure
from jaxeval.report.plots import literal
from jaxeval.report.sweep import panels
from jaxeval.report.sweep.data import Sweep
from jaxeval.sensitivity import hyperparameters
from jaxeval.sensitivity.hyperparameters import Axis
from jaxeval.stats import describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = ("sweep", "hyperparameter", "runs", "n", "values")


def near_best(sweeps: Sequence[Sweep], margin: float) -> Figure:
    """Each hyperparameter's values in the runs near the best against all runs, sweep by sweep."""
    drawing, by_name = panels.grid(sweeps)
    rows: list[tuple] = []
    for name, panel in by_name.items():
        members = panels.having(sweeps, name)
        axes = [axis for _, _, axis in members]
        categories = panels.categories_of(axes)
        panel.set_title(literal(name), fontsize=8)
        if categories is None:
            rows += _boxes(panel, members, margin)
            panels.measure(panel, "y", axes)
        else:
            rows += _bars(panel, members, categories, margin)
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    near = [f"{int(s.near_best(margin).sum())} of {len(s.scores)} ({s.name})" for s in sweeps]
    caption = [
        f"Filled: runs within {scores.difference(margin, sweeps[0].unit)} of the sweep's best, "
        f"{'; '.join(near)}. Hollow: all runs. Bars are shares of the runs in which the "
        "hyperparameter has an effect, in percent; boxes are quartiles, whiskers the range, marks "
        "the runs near the best. Where filled and hollow differ, the hyperparameter may matter.",
        *panels.losses(sweeps),
    ]
    title = "Settings of the runs near the best"
    return Figure("near_best", title, " ".join(caption), drawing, _COLUMNS, rows)


def best_systems(
    sweeps: Sequence[Sweep], groups: Mapping[str, Mapping[str, int]], over: str
) -> Figure:
    """The best run's value of each hyperparameter, a box over datasets for each group.

    Figure 2 of Wiemerslage et al. (2024).

    Args:
      groups: name -> dataset -> number of its sweep.
      over: what a box is over, for words.
    """
    drawing, by_name = panels.grid(sweeps)
    rows: list[tuple] = []
    for name, panel in by_name.items():
        for group, dataset, value in _best_panel(panel, name, sweeps, groups):
            rows.append((group, name, dataset, value))
    plots.legend(drawing, plots.marks(list(groups)))
    tied = sum(int(np.sum(s.gain == s.gain.max()) > 1) for s in sweeps if len(s.scores))
    return Figure(
        "best_systems",
        f"Settings of the best runs, by {over}",
        f"Each mark is the best run of a sweep, the first where several are best ({tied} of "
        f"{len(sweeps)} sweeps). Boxes are quartiles over {over}, whiskers the range, the line "
        "the median, the diamond the mean.",
        drawing,
        ("group", "hyperparameter", over, "value"),
        rows,
    )


def _best_panel(
    panel: "Axes", name: str, sweeps: Sequence[Sweep], groups: Mapping[str, Mapping[str, int]]
) -> list[tuple[str, str, str]]:
    """The boxes of a hyperparameter; (group, dataset, value) of each best run that has it."""
    rows: list[tuple[str, str, str]] = []
    axes = [axis for _, _, axis in panels.having(sweeps, name)]
    categories = panels.categories_of(axes)
    panel.set_title(literal(name), fontsize=8)
    for k, (group, members) in enumerate(groups.items()):
        values = {
            dataset: value
            for dataset, number in members.items()
            if (value := _best_value(sweeps[number], name)) is not None
        }
        rows += [(group, dataset, value) for dataset, value in values.items()]
        if values:
            _best_box(panel, k, list(values.values()), categories)
    panel.set_xticks([])
    panel.set_xlim(-0.7, len(groups) - 0.3)
    if categories is None:
        panels.measure(panel, "y", axes)
    else:
        panel.set_yticks(range(len(categories)), map(literal, categories), fontsize=7)
        panel.set_ylim(-0.5, len(categories) - 0.5)
    return rows


def _best_value(sweep: Sweep, name: str) -> str | None:
    """The best run's value; None where the hyperparameter has no effect in it."""
    best = int(np.argmax(sweep.gain))
    return next(
        (str(a.values[best]) for a in sweep.axes if a.name == name and a.active[best]), None
    )


def _best_box(
    panel: "Axes", number: int, values: Sequence[str], categories: Sequence[str] | None
) -> None:
    if categories is None:
        drawn = np.array(values, float)
        _box(panel, number, drawn, number, True)
        panel.plot([number], [drawn.mean()], "D", color="black", markersize=4, fillstyle="none")
        return
    at = np.array([categories.index(hyperparameters.text(value)) for value in values], float)
    _marks(panel, number + plots.jitter(len(at), 0.5), at, number)


def _boxes(
    panel: "Axes", members: Sequence[tuple[int, Sweep, Axis]], margin: float
) -> list[tuple]:
    """Two boxes a sweep, and the numbers behind them."""
    rows, ticks = [], []
    for k, sweep, axis in members:
        values, near = panels.numbers(axis), sweep.near_best(margin)[axis.active]
        for part, chosen, filled in (("all", values, False), ("near best", values[near], True)):
            x = 2.4 * k + filled
            ticks.append((x, part))
            rows.append((sweep.name, axis.name, part, len(chosen), _quartiles(chosen)))
            if len(chosen):
                _box(panel, x, chosen, k, filled)
    panel.set_xticks([at for at, _ in ticks], [part for _, part in ticks], fontsize=7)
    panel.set_xlim(min(at for at, _ in ticks) - 0.6, max(at for at, _ in ticks) + 0.6)
    return rows


def _marks(panel: "Axes", x: np.ndarray, y: np.ndarray, number: int) -> None:
    """As the legend has them."""
    style: Any = {"color": plots.colour(number), "marker": plots.marker(number)}
    panel.scatter(x, y, s=8, linewidths=0, zorder=3, **style)


def _box(panel: "Axes", x: float, values: np.ndarray, number: int, filled: bool) -> None:
    colour = plots.colour(number)
    parts = panel.boxplot(
        [values],
        positions=[x],
        widths=0.7,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": "black"},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    parts["boxes"][0].set(
        facecolor=colour if filled else "none", edgecolor=colour, alpha=0.5 if filled else 1.0
    )
    if filled:
        _marks(panel, x + plots.jitter(len(values), 0.4), values, number)


def _quartiles(values: np.ndarray) -> str:
    if not len(values):
        return "-"
    return " / ".join(f"{value:.4g}" for value in describe.five_numbers(values))


def _bars(
    panel: "Axes",
    members: Sequence[tuple[int, Sweep, Axis]],
    categories: Sequence[str],
    margin: float,
) -> list[tuple]:
    """Two bars a sweep and category, and the counts behind them."""
    width, rows = 0.8 / (2 * len(members)), []
    for order, (k, sweep, axis) in enumerate(members):
        used = np.array(panels.texts(axis), object)
        near = sweep.near_best(margin)[axis.active]
        for part, chosen, filled in (("all", used, False), ("near best", used[near], True)):
            counts = Counter(chosen.tolist())
            shares = [100 * counts[name] / max(1, len(chosen)) for name in categories]
            at = np.arange(len(categories)) - 0.4 + width * (2 * order + filled + 0.5)
            colour = plots.colour(k)
            panel.bar(
                at,
                shares,
                0.92 * width,
                facecolor=colour if filled else "none",
                edgecolor=colour,
                alpha=0.7 if filled else 1.0,
            )
            shown = ", ".join(f"{name}: {counts[name]}" for name in categories)
            rows.append((sweep.name, axis.name, part, len(chosen), shown))
    panels.name_ticks(panel, categories)
    panel.set_ylim(0, 105)
    panel.set_ylabel("% of runs", fontsize=7)
    return rows
