"""Figures of sweeps: score by rank, along and by each hyperparameter, settings of good runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxeval.report import plots, scores
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.report.sweep import panels
from jaxeval.sensitivity import hyperparameters, metrics
from jaxeval.sensitivity.hyperparameters import Axis
from jaxeval.sensitivity.trials import Sweep
from jaxeval.stats import describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(sweeps: Sequence[Sweep], margin: float) -> list[Figure]:
    """All figures of one or more sweeps; sweeps may differ in their hyperparameters."""
    if not any(sweep.axes for sweep in sweeps):
        return [ranks(sweeps)]
    return [ranks(sweeps), _profile(sweeps), marginals(sweeps), near_best(sweeps, margin)]


def draw_groups(
    sweeps: Sequence[Sweep], groups: Mapping[str, Mapping[str, str]], over: str
) -> list[Figure]:
    """The figures of sweeps that are averaged over datasets; group -> dataset -> sweep."""
    named = {name: group for group, members in groups.items() for name in members.values()}
    drawn = [ranks(sweeps, [named[sweep.name] for sweep in sweeps])]
    if any(sweep.axes for sweep in sweeps):
        drawn.append(_best_systems(sweeps, groups, over))
    return drawn


def ranks(sweeps: Sequence[Sweep], groups: Sequence[str] | None = None) -> Figure:
    """Scores of all runs, best first. All sweeps have one metric.

    Args:
      groups: of each sweep, which then share a colour and a line of the legend; None: each sweep
        has its own.
    """
    drawing, axes = plots.canvas(5.5, 4.0)
    named = [sweep.name for sweep in sweeps] if groups is None else list(groups)
    rows, numbers = [], {name: k for k, name in enumerate(dict.fromkeys(named))}
    marker = (
        {"markersize": 4, "linewidth": 1.5}
        if groups is None
        else {"markersize": 1, "linewidth": 0.8}
    )
    for sweep, group in zip(sweeps, named, strict=True):
        falling = panels.shown(sweep)[np.argsort(-sweep.gain, kind="stable")]
        style: Any = {"marker": ".", **marker, **plots.line_style(numbers[group])}
        axes.plot(np.arange(1, len(falling) + 1), falling, **style)
        rows += [(sweep.name, rank, f"{s:.2f}") for rank, s in enumerate(falling, 1)]
    label = panels.label(sweeps[0])
    axes.set(xlabel="rank of the run", ylabel=literal(label), ylim=panels.score_limits(sweeps))
    axes.locator_params(axis="x", integer=True)
    plots.legend(drawing, plots.lines(numbers))
    said = "All runs of a sweep, best first. A flat line is an architecture that forgives."
    caption = " ".join([said, *panels.losses(sweeps)])
    return Figure("ranks", "Score by rank", caption, drawing, ("sweep", "rank", label), rows)


def _profile(sweeps: Sequence[Sweep]) -> Figure:
    drawing, axes = plots.canvas(6.5, 4.0)
    rows, numbers = [], {sweep.name: k for k, sweep in enumerate(sweeps) if sweep.axes}
    for sweep in (sweep for sweep in sweeps if sweep.axes):
        distance = metrics.gower(sweep.axes, np.array([np.argmax(sweep.gain)]))[0]
        order = np.lexsort((-sweep.gain, distance))
        x, y = distance[order], panels.shown(sweep)[order]
        style: Any = {"linewidth": 0.8, "marker": ".", "markersize": 4}
        axes.plot(x, y, **style, **plots.line_style(numbers[sweep.name]))
        rows += [(sweep.name, f"{a:.4f}", f"{b:.2f}") for a, b in zip(x, y, strict=True)]
    named, label = "distance from the best run", panels.label(sweeps[0])
    axes.set(xlabel=f"{named}, all hyperparameters", ylabel=literal(label))
    axes.set_ylim(*panels.score_limits(sweeps))
    plots.legend(drawing, plots.lines(numbers))
    return Figure(
        "profile",
        "Scores along all hyperparameters",
        f"Runs by their {named}; ups and downs are what `maxima` and `mean change` count.",
        drawing,
        ("sweep", named, label),
        rows,
    )


def marginals(sweeps: Sequence[Sweep]) -> Figure:
    """Score against each hyperparameter, all others as they were drawn."""
    drawing, grid = panels.grid(sweeps, share_y=True)
    for number, panel in enumerate(grid):
        for order, (k, sweep, axis) in enumerate(panel.members):
            if panel.categories is None:
                x = panels.numbers(axis)
            else:  # beside one another, and spread: equal scores can be told apart
                x = plots.jitter(int(axis.active.sum()), 0.15) + _places(axis, panel.categories)
                x = x + 0.2 * (order - (len(panel.members) - 1) / 2)
            y = panels.shown(sweep)[axis.active]
            panel.drawn.scatter(x, y, s=6, color=plots.colour(k), marker=plots.marker(k))
        panel.drawn.set_xlabel(literal(panel.name), fontsize=8)
        panel.scale("x")
        if number % panels.COLUMNS == 0:
            panel.drawn.set_ylabel(literal(panels.label(sweeps[0])), fontsize=8)
    grid[0].drawn.set_ylim(*panels.score_limits(sweeps))
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    said = "Each mark is a run in which the hyperparameter has an effect."
    return Figure(
        "marginals",
        "Scores by each hyperparameter",
        " ".join([said, *panels.losses(sweeps)]),
        drawing,
        ("sweep", "hyperparameter", "runs"),
        [(s.name, axis.name, int(axis.active.sum())) for s in sweeps for axis in s.axes],
    )


def _places(axis: Axis, categories: Sequence[str]) -> np.ndarray:
    return np.array([categories.index(text) for text in panels.texts(axis)], float)


def _near(sweep: Sweep, margin: float) -> np.ndarray:
    return metrics.near_best(sweep.scores, margin, sweep.higher_is_better)


def near_best(sweeps: Sequence[Sweep], margin: float) -> Figure:
    """Each hyperparameter's values in the runs near the best against all runs, sweep by sweep."""
    drawing, grid = panels.grid(sweeps)
    rows: list[tuple] = []
    for panel in grid:
        panel.drawn.set_title(literal(panel.name), fontsize=8)
        rows += (_boxes if panel.categories is None else _bars)(panel, margin)
        panel.scale("y" if panel.categories is None else "x")
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    near = [f"{int(_near(s, margin).sum())} of {len(s.scores)} ({s.name})" for s in sweeps]
    caption = [
        f"Filled: runs within {scores.difference(margin, sweeps[0].unit)} of the sweep's best, "
        f"{'; '.join(near)}. Hollow: all runs. Bars are shares of the runs in which the "
        "hyperparameter has an effect, in percent; boxes are quartiles, whiskers the range, marks "
        "the runs near the best. Where filled and hollow differ, the hyperparameter may matter.",
        *panels.losses(sweeps),
    ]
    columns = ("sweep", "hyperparameter", "runs", "n", "values")
    title = "Settings of the runs near the best"
    return Figure("near_best", title, " ".join(caption), drawing, columns, rows)


def _boxes(panel: panels.Panel, margin: float) -> list[tuple]:
    """Two boxes a sweep, and the numbers behind them."""
    rows, ticks = [], []
    for k, sweep, axis in panel.members:
        values, near = panels.numbers(axis), _near(sweep, margin)[axis.active]
        for part, chosen, filled in (("all", values, False), ("near best", values[near], True)):
            ticks.append((2.4 * k + filled, part))
            five = (
                " / ".join(f"{value:.4g}" for value in describe.five_numbers(chosen))
                if len(chosen)
                else "-"
            )
            rows.append((sweep.name, axis.name, part, len(chosen), five))
            if len(chosen):
                _box(panel.drawn, 2.4 * k + filled, chosen, k, filled)
    panel.drawn.set_xticks([at for at, _ in ticks], [part for _, part in ticks], fontsize=7)
    panel.drawn.set_xlim(min(at for at, _ in ticks) - 0.6, max(at for at, _ in ticks) + 0.6)
    return rows


def _box(panel: "Axes", x: float, values: np.ndarray, number: int, filled: bool) -> None:
    colour = plots.colour(number)
    style: Any = {"whis": (0, 100), "patch_artist": True, "manage_ticks": False}
    style |= {f"{part}props": {"color": colour} for part in ("whisker", "cap")}
    style["medianprops"] = {"color": "black"}
    parts = panel.boxplot([values], positions=[x], widths=0.7, **style)
    face, alpha = (colour, 0.5) if filled else ("none", 1.0)
    parts["boxes"][0].set(facecolor=face, edgecolor=colour, alpha=alpha)
    if filled:
        _marks(panel, x + plots.jitter(len(values), 0.4), values, number)


def _marks(panel: "Axes", x: np.ndarray, y: np.ndarray, number: int) -> None:
    """As the legend has them."""
    style: Any = {"color": plots.colour(number), "marker": plots.marker(number)}
    panel.scatter(x, y, s=8, linewidths=0, zorder=3, **style)


def _bars(panel: panels.Panel, margin: float) -> list[tuple]:
    """Two bars a sweep and category, and the counts behind them."""
    categories = panel.categories or []
    width, rows = 0.8 / (2 * len(panel.members)), []
    for order, (k, sweep, axis) in enumerate(panel.members):
        used = np.array(panels.texts(axis), object)
        near = _near(sweep, margin)[axis.active]
        for part, chosen, filled in (("all", used, False), ("near best", used[near], True)):
            counts = Counter(chosen.tolist())
            shares = [100 * counts[name] / max(1, len(chosen)) for name in categories]
            at = np.arange(len(categories)) - 0.4 + width * (2 * order + filled + 0.5)
            colour = plots.colour(k)
            face, alpha = (colour, 0.7) if filled else ("none", 1.0)
            panel.drawn.bar(
                at, shares, 0.92 * width, facecolor=face, edgecolor=colour, alpha=alpha
            )
            counted = ", ".join(f"{name}: {counts[name]}" for name in categories)
            rows.append((sweep.name, axis.name, part, len(chosen), counted))
    panel.drawn.set_ylim(0, 105)
    panel.drawn.set_ylabel("% of runs", fontsize=7)
    return rows


def _best_systems(
    sweeps: Sequence[Sweep], groups: Mapping[str, Mapping[str, str]], over: str
) -> Figure:
    """The best run's value of each hyperparameter, a box over datasets for each group.

    Figure 2 of Wiemerslage et al. (2024).
    """
    drawing, grid = panels.grid(sweeps)
    rows: list[tuple] = []
    for panel in grid:
        having = {sweep.name: (sweep, axis) for _, sweep, axis in panel.members}
        panel.drawn.set_title(literal(panel.name), fontsize=8)
        for k, (group, members) in enumerate(groups.items()):
            values = []
            for dataset, (sweep, axis) in (
                (d, having[s]) for d, s in members.items() if s in having
            ):
                best = int(np.argmax(sweep.gain))
                if axis.active[best]:
                    values.append(str(axis.values[best]))
                    rows.append((group, panel.name, dataset, values[-1]))
            if values:
                _best_box(panel.drawn, k, values, panel.categories)
        panel.drawn.set_xticks([])
        panel.drawn.set_xlim(-0.7, len(groups) - 0.3)
        panel.scale("y")
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
