"""Figures of good settings: of a sweep's runs near the best, and of best runs over datasets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.report import summary, sweep_panels
from jaxeval.report.figures import Figure, literal
from jaxeval.report.study_figures import COLOURS
from jaxeval.report.sweep_data import Sweep
from jaxeval.sensitivity.hyperparameters import Axis

_COLUMNS = ("sweep", "hyperparameter", "runs", "n", "values")


def near_best(sweeps: Sequence[Sweep], rope: float) -> Figure:
    """Each hyperparameter's values in the runs near the best against all runs, sweep by sweep."""
    drawing, panels = sweep_panels.grid(sweeps)
    rows: list[tuple] = []
    for name, panel in panels.items():
        members = sweep_panels.having(sweeps, name)
        axes = [axis for _, _, axis in members]
        categories = sweep_panels.categories_of(axes)
        panel.set_title(literal(name), fontsize=8)
        if categories is None:
            rows += _boxes(panel, members, rope)
            sweep_panels.measure(panel, "y", axes)
        else:
            rows += _bars(panel, members, categories, rope)
    sweep_panels.legend(drawing, [sweep.name for sweep in sweeps])
    near = [f"{int(s.near_best(rope).sum())} of {len(s.scores)} ({s.name})" for s in sweeps]
    caption = [
        f"Filled: runs within {summary.nearness(sweeps[0].fraction, rope)} of the sweep's best, "
        f"{'; '.join(near)}. Hollow: all runs. Bars are shares of the runs in which the "
        "hyperparameter has an effect, in percent; boxes are quartiles, whiskers the range, marks "
        "the runs near the best. Where filled and hollow differ, the hyperparameter may matter.",
        *sweep_panels.losses(sweeps),
    ]
    title = "Settings of the runs near the best"
    return Figure("near_best", title, " ".join(caption), drawing, _COLUMNS, rows)


def best_systems(
    sweeps: Sequence[Sweep], groups: Mapping[str, Mapping[str, int]], over: str
) -> Figure:
    """The best run's value of each hyperparameter, a box over datasets for each group.

    Figure 2 of Wiemerslage et al. (2024).

    Args:
      groups: name -> dataset -> place of its sweep.
      over: what a box is over, for words.
    """
    drawing, panels = sweep_panels.grid(sweeps)
    rows: list[tuple] = []
    for name, panel in panels.items():
        axes = [axis for _, _, axis in sweep_panels.having(sweeps, name)]
        categories = sweep_panels.categories_of(axes)
        panel.set_title(literal(name), fontsize=8)
        for k, (group, members) in enumerate(groups.items()):
            values = {
                dataset: value
                for dataset, place in members.items()
                if (value := _best_value(sweeps[place], name)) is not None
            }
            rows += [(group, name, dataset, value) for dataset, value in values.items()]
            if values:
                _best_box(panel, k, list(values.values()), categories)
        panel.set_xticks([])
        panel.set_xlim(-0.7, len(groups) - 0.3)
        if categories is None:
            sweep_panels.measure(panel, "y", axes)
        else:
            panel.set_yticks(range(len(categories)), map(literal, categories), fontsize=7)
            panel.set_ylim(-0.5, len(categories) - 0.5)
    sweep_panels.legend(drawing, list(groups))
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


def _best_value(sweep: Sweep, name: str) -> str | None:
    """The best run's value; None where the hyperparameter has no effect in it."""
    best = int(np.argmax(sweep.gain))
    return next(
        (str(a.values[best]) for a in sweep.axes if a.name == name and a.active[best]), None
    )


def _best_box(
    panel: Any, place: int, values: Sequence[str], categories: Sequence[str] | None
) -> None:
    from jaxeval.sensitivity.hyperparameters import text

    colour = COLOURS[place % sweep_panels.MOST]
    if categories is None:
        drawn = np.array(values, float)
        _box(panel, place, drawn, colour, True)
        panel.plot([place], [drawn.mean()], "D", color="black", markersize=4, fillstyle="none")
        return
    at = np.array([categories.index(text(value)) for value in values], float)
    shift = 0.5 * ((np.arange(len(at)) * 0.618) % 1 - 0.5)
    panel.scatter(place + shift, at, s=8, color=colour, linewidths=0)


def _boxes(panel: Any, members: Sequence[tuple[int, Sweep, Axis]], rope: float) -> list[tuple]:
    """Two boxes a sweep, and the numbers behind them."""
    rows, ticks = [], []
    for k, sweep, axis in members:
        values, near = sweep_panels.numbers(axis), sweep.near_best(rope)[axis.active]
        for part, chosen, filled in (("all", values, False), ("near best", values[near], True)):
            place = 2.4 * k + filled
            ticks.append((place, part))
            rows.append((sweep.name, axis.name, part, len(chosen), _quartiles(chosen)))
            if len(chosen):
                _box(panel, place, chosen, COLOURS[k % sweep_panels.MOST], filled)
    panel.set_xticks([at for at, _ in ticks], [part for _, part in ticks], fontsize=7)
    panel.set_xlim(min(at for at, _ in ticks) - 0.6, max(at for at, _ in ticks) + 0.6)
    return rows


def _box(panel: Any, place: float, values: np.ndarray, colour: str, filled: bool) -> None:
    made = panel.boxplot(
        [values],
        positions=[place],
        widths=0.7,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": "black"},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    made["boxes"][0].set(
        facecolor=colour if filled else "none", edgecolor=colour, alpha=0.5 if filled else 1.0
    )
    if filled:
        shift = 0.4 * ((np.arange(len(values)) * 0.618) % 1 - 0.5)
        panel.scatter(place + shift, values, s=4, color=colour, linewidths=0, zorder=3)


def _quartiles(values: np.ndarray) -> str:
    if not len(values):
        return "-"
    return " / ".join(f"{v:.4g}" for v in np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))


def _bars(
    panel: Any,
    members: Sequence[tuple[int, Sweep, Axis]],
    categories: Sequence[str],
    rope: float,
) -> list[tuple]:
    """Two bars a sweep and category, and the counts behind them."""
    width, rows = 0.8 / (2 * len(members)), []
    for order, (k, sweep, axis) in enumerate(members):
        used = np.array(sweep_panels.texts(axis), object)
        near = sweep.near_best(rope)[axis.active]
        for part, chosen, filled in (("all", used, False), ("near best", used[near], True)):
            counts = Counter(chosen.tolist())
            shares = [100 * counts[one] / max(1, len(chosen)) for one in categories]
            at = np.arange(len(categories)) - 0.4 + width * (2 * order + filled + 0.5)
            colour = COLOURS[k % sweep_panels.MOST]
            panel.bar(
                at,
                shares,
                0.92 * width,
                facecolor=colour if filled else "none",
                edgecolor=colour,
                alpha=0.7 if filled else 1.0,
            )
            shown = ", ".join(f"{one}: {counts[one]}" for one in categories)
            rows.append((sweep.name, axis.name, part, len(chosen), shown))
    sweep_panels.name_ticks(panel, categories)
    panel.set_ylim(0, 105)
    panel.set_ylabel("% of runs", fontsize=7)
    return rows
