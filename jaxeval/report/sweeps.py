"""Figures of sweeps: score by rank, by each hyperparameter, settings of good runs.

A panel has the scale of the space that its values are from; without one numbers are on a line.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxeval.report import plots, scores
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.sensitivity import hyperparameters, metrics
from jaxeval.sensitivity.hyperparameters import Axis
from jaxeval.sensitivity.trials import Sweep
from jaxeval.stats import describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLUMNS = 4
_LETTERS = 26  # that fit beneath a panel
_MARGIN = 0.05  # of an axis, on both sides of a range
_REACH = 5.0  # points around scores that are all equal


def _shown(sweep: Sweep) -> np.ndarray:
    return scores.factor(sweep.unit) * sweep.scores


def _score_limits(sweeps: Sequence[Sweep]) -> tuple[float, float]:
    """Ends of an axis that shows the scores of all sweeps, with room even where they are equal."""
    every = np.concatenate([_shown(sweep) for sweep in sweeps])
    largest = scores.factor(sweeps[0].unit)  # of fractions
    if not len(every):
        return 0.0, largest
    low, high = float(every.min()), float(every.max())
    if low == high and largest > 1:
        low, high = max(0.0, low - _REACH), min(largest, high + _REACH)
    elif low == high:
        reach = 0.05 * abs(low) or 1.0
        low, high = low - reach, high + reach
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _with_losses(said: str, sweeps: Sequence[Sweep]) -> str:
    """A caption, and what it says of runs that no figure can show."""
    for of in (sweep for sweep in sweeps if sweep.lost):
        said += f" {of.lost} of {len(of.scores) + of.lost} runs of {of.name} ended without a score"
        said += " and are not shown."
    return said


def ranks(sweeps: Sequence[Sweep], groups: Sequence[str] | None = None) -> Figure:
    """Scores of all runs, best first. All sweeps have one metric.

    Args:
      groups: of each sweep, which then share a colour and a line of the legend.
    """
    drawing, axes = plots.canvas(5.5, 4.0)
    named = [sweep.name for sweep in sweeps] if groups is None else list(groups)
    rows, numbers = [], {name: k for k, name in enumerate(dict.fromkeys(named))}
    size, width = (4, 1.5) if groups is None else (1, 0.8)
    style: Any = {"marker": ".", "markersize": size, "linewidth": width}
    for sweep, group in zip(sweeps, named, strict=True):
        falling = _shown(sweep)[np.argsort(-sweep.gain, kind="stable")]
        line = plots.line_style(numbers[group])
        axes.plot(np.arange(1, len(falling) + 1), falling, **style, **line)
        rows += [(sweep.name, rank, f"{s:.2f}") for rank, s in enumerate(falling, 1)]
    label = scores.label(sweeps[0].metric, sweeps[0].unit)
    axes.set(xlabel="rank of the run", ylabel=literal(label), ylim=_score_limits(sweeps))
    axes.locator_params(axis="x", integer=True)
    plots.legend(drawing, plots.lines(numbers))
    said = "All runs of a sweep, best first. A flat line is an architecture that forgives."
    said = _with_losses(said, sweeps)
    return Figure("ranks", "Score by rank", said, drawing, ("sweep", "rank", label), rows)


class _Panel(NamedTuple):
    """A hyperparameter of the sweeps that have it; its categories, unless it is measured."""

    name: str
    drawn: "Axes"
    members: Sequence[tuple[int, Sweep, Axis]]
    categories: list[str] | None

    def scale(self, side: str) -> None:
        """Gives an axis the scale and range of the space, or the categories as labels."""
        if self.categories is None:
            self._measure(side)
            return
        # labels stand aslant where they would run into one another
        slant = 20 if side == "x" and sum(map(len, self.categories)) > _LETTERS else 0
        places, labels = range(len(self.categories)), [*map(literal, self.categories)]
        style: Any = {"fontsize": 7, "rotation": slant} if side == "x" else {"fontsize": 7}
        getattr(self.drawn, f"set_{side}ticks")(places, labels, **style)
        getattr(self.drawn, f"set_{side}lim")(-0.5, len(labels) - 0.5)

    def _measure(self, side: str) -> None:
        scales = [axis.scale for _, _, axis in self.members]
        ends = [end for scale in scales for end in (scale.low, scale.high) if end is not None]
        ends += [number for _, _, axis in self.members for number in np.array(axis.used, float)]
        if not ends:
            return
        low, high = min(ends), max(ends)
        set_limits = getattr(self.drawn, f"set_{side}lim")
        if any(scale.log for scale in scales) and low > 0:
            getattr(self.drawn, f"set_{side}scale")("log")
            stretch = (high / low) ** _MARGIN if high > low else 2.0
            set_limits(low / stretch, high * stretch)
        else:
            margin = _MARGIN * (high - low) or 0.5 * abs(low) or 0.5
            set_limits(low - margin, high + margin)
            ticks = getattr(self.drawn, f"{side}axis").get_major_locator()
            whole = all(scale.whole for scale in scales)
            ticks.set_params(nbins=5, integer=whole)  # more labels run into one another


def _grid(sweeps: Sequence[Sweep], share_y: bool = False) -> tuple["Drawing", list[_Panel]]:
    """A drawing, and its panels, in the order of the sweeps' hyperparameters."""
    every = [(k, sweep, axis) for k, sweep in enumerate(sweeps) for axis in sweep.axes]
    names = list(dict.fromkeys(axis.name for _, _, axis in every))
    width = 2.6 if len(names) > 1 else 4.0
    drawing, drawn = plots.grid(len(names), _COLUMNS, (width, 2.3), share_y=share_y)
    panels = []
    for name, panel in zip(names, drawn, strict=True):
        panel.tick_params(labelsize=7)
        members = [member for member in every if member[2].name == name]
        panels.append(_Panel(name, panel, members, _categories([axis for *_, axis in members])))
    return drawing, panels


def _texts(axis: Axis) -> list[str]:
    return [hyperparameters.text(value) for value in axis.used]


def _categories(axes: Sequence[Axis]) -> list[str] | None:
    if all(axis.scale.categories is None for axis in axes):
        return None
    named = dict.fromkeys(t for axis in axes for t in (axis.scale.categories or _texts(axis)))
    try:
        return sorted(named, key=float)
    except ValueError:
        return [*named]


def marginals(sweeps: Sequence[Sweep]) -> Figure:
    """Score against each hyperparameter, all others as they were drawn."""
    drawing, grid = _grid(sweeps, share_y=True)
    label = scores.label(sweeps[0].metric, sweeps[0].unit)
    for number, panel in enumerate(grid):
        for order, (k, sweep, axis) in enumerate(panel.members):
            if panel.categories is None:
                x = np.array(axis.used, float)
            else:  # beside one another, and spread: equal scores can be told apart
                places = [panel.categories.index(text) for text in _texts(axis)]
                x = plots.jitter(len(places), 0.15) + np.array(places, float)
                x = x + 0.2 * (order - (len(panel.members) - 1) / 2)
            style: Any = {"s": 6, "color": plots.colour(k), "marker": plots.marker(k)}
            panel.drawn.scatter(x, _shown(sweep)[axis.active], **style)
        panel.drawn.set_xlabel(literal(panel.name), fontsize=8)
        panel.scale("x")
        if number % _COLUMNS == 0:
            panel.drawn.set_ylabel(literal(label), fontsize=8)
    grid[0].drawn.set_ylim(*_score_limits(sweeps))
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    rows = [(s.name, axis.name, int(axis.active.sum())) for s in sweeps for axis in s.axes]
    said = _with_losses("Each mark is a run in which the hyperparameter has an effect.", sweeps)
    columns, title = ("sweep", "hyperparameter", "runs"), "Scores by each hyperparameter"
    return Figure("marginals", title, said, drawing, columns, rows)


def near_best(sweeps: Sequence[Sweep], margin: float) -> Figure:
    """Each hyperparameter's values in the runs near the best against all runs, sweep by sweep."""
    drawing, grid = _grid(sweeps)
    rows: list[tuple] = []
    for panel in grid:
        panel.drawn.set_title(literal(panel.name), fontsize=8)
        rows += (_boxes if panel.categories is None else _bars)(panel, margin)
        panel.scale("y" if panel.categories is None else "x")
    plots.legend(drawing, plots.marks([sweep.name for sweep in sweeps]))
    counts = [int(metrics.near_best(s.scores, margin, s.higher_is_better).sum()) for s in sweeps]
    near = [f"{n} of {len(s.scores)} ({s.name})" for n, s in zip(counts, sweeps, strict=True)]
    said = (
        f"Filled: runs within {scores.difference(margin, sweeps[0].unit)} of the sweep's best, "
        f"{'; '.join(near)}. Hollow: all runs. Bars are shares of the runs in which the "
        "hyperparameter has an effect, in percent; boxes are quartiles, whiskers the range, marks "
        "the runs near the best. Where filled and hollow differ, the hyperparameter may matter."
    )
    columns = ("sweep", "hyperparameter", "runs", "n", "values")
    title = "Settings of the runs near the best"
    return Figure("near_best", title, _with_losses(said, sweeps), drawing, columns, rows)


def _parts(panel: _Panel, margin: float) -> Iterator[tuple[int, int, bool, np.ndarray, tuple]]:
    """Order and number of each sweep, whether filled, the runs among those that act, a row."""
    for order, (k, sweep, axis) in enumerate(panel.members):
        near = metrics.near_best(sweep.scores, margin, sweep.higher_is_better)[axis.active]
        for part, chosen in (("all", np.full(len(near), True)), ("near best", near)):
            row = (sweep.name, axis.name, part, int(chosen.sum()))
            yield order, k, part != "all", chosen, row


def _boxes(panel: _Panel, margin: float) -> list[tuple]:
    rows, ticks = [], []
    for order, k, filled, runs, row in _parts(panel, margin):
        chosen, at = np.array(panel.members[order][2].used, float)[runs], 2.4 * k + filled
        five = [f"{value:.4g}" for value in describe.five_numbers(chosen)] if len(chosen) else "-"
        ticks.append((at, row[2]))
        rows.append((*row, " / ".join(five)))
        if len(chosen):
            _box(panel.drawn, at, chosen, k, filled)
    places, labels = zip(*ticks, strict=True)
    panel.drawn.set_xticks(places, labels, fontsize=7)
    panel.drawn.set_xlim(min(places) - 0.6, max(places) + 0.6)
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
    style: Any = {"color": plots.colour(number), "marker": plots.marker(number)}
    panel.scatter(x, y, s=8, linewidths=0, zorder=3, **style)


def _bars(panel: _Panel, margin: float) -> list[tuple]:
    categories = panel.categories or []
    width, rows = 0.8 / (2 * len(panel.members)), []
    for order, k, filled, runs, row in _parts(panel, margin):
        counts = Counter(np.array(_texts(panel.members[order][2]), object)[runs].tolist())
        shares = [100 * counts[name] / max(1, row[3]) for name in categories]
        at = np.arange(len(categories)) - 0.4 + width * (2 * order + filled + 0.5)
        colour = plots.colour(k)
        face, alpha = (colour, 0.7) if filled else ("none", 1.0)
        style: Any = {"facecolor": face, "edgecolor": colour, "alpha": alpha}
        panel.drawn.bar(at, shares, 0.92 * width, **style)
        rows.append((*row, ", ".join(f"{name}: {counts[name]}" for name in categories)))
    panel.drawn.set_ylim(0, 105)
    panel.drawn.set_ylabel("% of runs", fontsize=7)
    return rows


def best_systems(
    sweeps: Sequence[Sweep], groups: Mapping[str, Mapping[str, str]], over: str
) -> Figure:
    """The best run's value of each hyperparameter, a box over datasets for each group.

    Figure 2 of Wiemerslage et al. (2024); groups: name -> dataset -> sweep.
    """
    drawing, grid = _grid(sweeps)
    rows: list[tuple] = []
    for panel in grid:
        having = {sweep.name: (sweep, axis) for _, sweep, axis in panel.members}
        panel.drawn.set_title(literal(panel.name), fontsize=8)
        categories = panel.categories
        for k, (group, members) in enumerate(groups.items()):
            values = []
            for dataset, (sweep, axis) in (
                (d, having[s]) for d, s in members.items() if s in having
            ):
                best = int(np.argmax(sweep.gain))
                if axis.active[best]:
                    values.append(str(axis.values[best]))
                    rows.append((group, panel.name, dataset, values[-1]))
            if values and categories is None:
                drawn = np.array(values, float)
                _box(panel.drawn, k, drawn, k, True)
                style: Any = {"color": "black", "markersize": 4, "fillstyle": "none"}
                panel.drawn.plot([k], [drawn.mean()], "D", **style)
            elif categories is not None:
                at = [categories.index(hyperparameters.text(value)) for value in values]
                _marks(panel.drawn, k + plots.jitter(len(at), 0.5), np.array(at, float), k)
        panel.drawn.set_xticks([])
        panel.drawn.set_xlim(-0.7, len(groups) - 0.3)
        panel.scale("y")
    plots.legend(drawing, plots.marks(list(groups)))
    tied = sum(int(np.sum(s.gain == s.gain.max()) > 1) for s in sweeps if len(s.scores))
    said = (
        f"Each mark is the best run of a sweep, the first where several are best ({tied} of "
        f"{len(sweeps)} sweeps). Boxes are quartiles over {over}, whiskers the range, the line "
        "the median, the diamond the mean."
    )
    columns = ("group", "hyperparameter", over, "value")
    title = f"Settings of the best runs, by {over}"
    return Figure("best_systems", title, said, drawing, columns, rows)
