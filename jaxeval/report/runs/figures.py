"""Figures of experiments: dev and test scores of all members, learning curves, sweeps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxeval.report import plots, scores
from jaxeval.report.document import Figure
from jaxeval.report.plots import literal
from jaxeval.report.runs import summary
from jaxeval.report.sweep import best, data, panels
from jaxeval.report.sweep import figures as sweep_figures
from jaxeval.runs import experiments
from jaxeval.runs.records import CurveRow, MemberRow
from jaxeval.stats import describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Groups = Sequence[Sequence[MemberRow]]  # experiments, each as its members

_DEV, _TEST = plots.COLOURS[:2]
_PARTS = {"dev": (-0.2, _DEV, "o"), "test": (0.2, _TEST, "^")}  # shift, colour, marker
_MOST_A_PANEL = 6  # experiments
_INCHES = 2.2  # of an experiment
_LETTERS = 24  # of a line of its name
_MOST_NAMED = 16  # members whose seeds can be read beside their marks


def draw(groups: Groups, points: Sequence[CurveRow]) -> list[Figure]:
    """All figures of experiments, each given as its members.

    For each metric violins of the experiments, panels by data set, and ranks of the sweeps; then
    those of each experiment, whose names begin with its id where there are several.

    A sweep has no violin, nor has any other study of settings: beside those of seeds their spread
    would mislead.
    """
    drawn = []
    for metric in dict.fromkeys(members[0].metric for members in groups):
        alike = [members for members in groups if members[0].metric == metric]
        seeds = [
            summary.independent(members)
            for members in alike
            if experiments.kind(members) in ("seeds", "noise")
        ]
        drawn += [violins(seeds)] if seeds else []
        if sweeps := data.of_experiments(alike):
            ranks = sweep_figures.ranks(sweeps)
            drawn.append(ranks._replace(name=f"ranks_{metric}", title="Sweeps: score by rank"))
    for members in groups:
        stem = f"{members[0].experiment}_" if len(groups) > 1 else ""
        for figure in _of_experiment(members, points):
            title = f"{members[0].name}: {figure.title}" if stem else figure.title
            drawn.append(figure._replace(name=stem + figure.name, title=title))
    return drawn


def _of_experiment(members: Sequence[MemberRow], points: Sequence[CurveRow]) -> list[Figure]:
    first, kind = members[0], experiments.kind(members)
    keys = {(row.experiment, row.seed, row.split, row.repeat, row.hparams) for row in members}
    own = [
        point
        for point in points
        if (point.experiment, point.seed, point.split, point.repeat, point.hparams) in keys
    ]
    drawn = [] if kind == "tuning" else [scatter(members)]
    drawn.append(_curves(own, first.metric, first.unit))
    if kind not in ("seeds", "noise"):
        said = "Each member has a setting of its own. "
        drawn = [figure._replace(caption=said + figure.caption) for figure in drawn]
    sweep = data.of_members(members)
    if sweep is None:
        return drawn
    beside = []
    if sweep.axes:  # none where no run has a score
        beside = [best.near_best([sweep], first.margin), panels.marginals([sweep])]
    return [sweep_figures.ranks([sweep]), *beside, *drawn]


def _label(members: Sequence[MemberRow]) -> str:
    return scores.label(members[0].metric, members[0].unit)


def violins(groups: Groups) -> Figure:
    """Dev and test scores of experiments that share a metric: panels by data set, all points."""
    label = _label(groups[0])
    names = experiments.dataset_names([members[0] for members in groups])
    several = len(names) > 1
    by_dataset = {
        key: [members for members in groups if members[0].data_hash == key] for key in names
    }
    drawing, panels = _panels(by_dataset)
    rows: list[tuple[object, ...]] = []
    for key, parts in panels.items():
        name = (names[key],) if several else ()
        for panel, part in parts:
            rows += [(*row, *name) for row in _draw_violins(panel, part)]
            panel.set_ylabel(label)
            panel.set_title(literal("".join(name)), fontsize=10)
        plots.same_limits([panel for panel, _ in parts])
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=marker, color=colour, label=part)
        for part, (_, colour, marker) in _PARTS.items()
    ]
    plots.legend(drawing, handles)
    return Figure(
        f"distributions_{groups[0][0].metric}",
        f"Distribution of {groups[0][0].metric} over members",
        "Each mark is a member (seed or split) at the epoch that is scored. Wide bar: "
        "first to third quartile; white line: median. Where there are at least three different "
        "scores, a Gaussian kernel density (Scott's rule) is drawn around them, cut at the lowest "
        "and highest score."
        + (" Scores on different data sets are not comparable." if several else ""),
        drawing,
        ("experiment", "part", "seed", "split", label, *(("data set",) if several else ())),
        rows,
    )


def _panels(
    by_dataset: Mapping[str, Groups],
) -> tuple["Drawing", dict[str, list[tuple["Axes", Groups]]]]:
    """A drawing, and the panels of each data set with the experiments in them."""
    parts = {key: list(plots.chunks(group, _MOST_A_PANEL)) for key, group in by_dataset.items()}
    widest = max(len(part) for group in parts.values() for part in group)
    count = sum(map(len, parts.values()))
    columns = max(1, _MOST_A_PANEL // widest)
    width = max(_INCHES * widest, 2.6 if count > 1 else 4.5)
    drawing, axes = plots.grid(count, columns, (width, 4.2))
    remaining = iter(axes)
    return drawing, {
        key: [(next(remaining), part) for part in group] for key, group in parts.items()
    }


def _draw_violins(panel: "Axes", groups: Groups) -> list[tuple[str, str, int, int, str]]:
    """Draws experiments side by side; the numbers drawn."""
    rows, ticks = [], []
    for number, members in enumerate(groups):
        counts = []
        for part, (shift, colour, marker) in _PARTS.items():
            scored = [row for row in members if getattr(row, part) is not None]
            counts.append(len(scored))
            values = np.array([getattr(row, part) for row in scored], float)
            values *= scores.factor(members[0].unit)
            rows += [
                (row.name, part, row.seed, row.split, f"{value:.3f}")
                for row, value in zip(scored, values, strict=True)
            ]
            plots.violin(panel, number + shift, values, colour, marker)
        n = " and ".join(map(str, dict.fromkeys(counts)))
        ticks.append(f"{plots.wrapped(members[0].name, _LETTERS)}\n(n = {n})")
    plots.ruled(panel)
    panel.set_xticks(range(len(groups)), ticks)
    panel.set_xlim(-0.6, len(groups) - 0.4)
    return rows


def _named(
    members: Sequence[MemberRow], points: Iterable[tuple[float, float]]
) -> dict[tuple[float, float], str]:
    """Each point's seed/split; those of members that share a point stand side by side."""
    names: dict[tuple[float, float], str] = {}
    for row, point in zip(members, points, strict=True):
        name = str(row.seed) + (f"/{row.split}" if row.split else "")
        names[point] = f"{names[point]}, {name}" if point in names else name
    return names


def scatter(members: Sequence[MemberRow]) -> Figure:
    """Dev against test score of one experiment's members."""
    label, factor = _label(members), scores.factor(members[0].unit)
    shown = summary.independent(members)
    scored = [row for row in shown if row.dev is not None and row.test is not None]
    drawing, panel = plots.canvas(4.5, 4.2)
    dev = [(row.dev or 0.0) * factor for row in scored]
    test = [(row.test or 0.0) * factor for row in scored]
    panel.scatter(dev, test, s=28, c=_DEV, edgecolors="white", linewidths=0.6, zorder=3)
    if len(scored) <= _MOST_NAMED:
        for point, name in _named(scored, zip(dev, test, strict=True)).items():
            panel.annotate(name, point, (4, 3), textcoords="offset points", fontsize=8)
    panel.set(xlabel=f"dev {label}", ylabel=f"test {label}")
    plots.ruled(panel, "both")
    correlation = summary.of_members(members).rho
    rho = "not defined" if correlation is None else f"{correlation:.2f}"
    named = ", named by its seed (seed/split)" if len(scored) <= _MOST_NAMED else ""
    return Figure(
        "dev_test",
        "Test score against dev score",
        f"Each mark is a member{named}. Spearman's rho: {rho}, n = {len(scored)}.",
        drawing,
        ("seed", "split", f"dev {label}", f"test {label}"),
        [
            (row.seed, row.split, f"{x:.3f}", f"{y:.3f}")
            for row, x, y in zip(scored, dev, test, strict=True)
        ],
    )


def _curves(points: Sequence[CurveRow], metric: str, unit: str) -> Figure:
    """Dev score by epoch: median and quantile bands over the members still training."""
    by_epoch: dict[int, list[float]] = {}
    for row in points:
        if row.part == "dev" and row.metric == metric and row.value is not None:
            by_epoch.setdefault(row.epoch, []).append(row.value * scores.factor(unit))
    epochs = sorted(by_epoch)
    table = [(e, len(by_epoch[e]), *describe.five_numbers(by_epoch[e])) for e in epochs]
    drawing, panel = plots.canvas(6.0, 4.2)
    if table:
        _, _, low, q1, median, q3, high = map(np.array, zip(*table, strict=True))
        bands = ((low, high, 0.12, "min to max"), (q1, q3, 0.3, "quartiles"))
        handles = [
            *(
                panel.fill_between(epochs, a, b, color=_DEV, linewidth=0, alpha=alpha, label=label)
                for a, b, alpha, label in bands
            ),
            *panel.plot(epochs, median, color=_DEV, marker="o", markersize=3, label="median"),
        ]
        plots.legend(drawing, handles)
    panel.set(xlabel="epoch", ylabel=f"dev {scores.label(metric, unit)}")
    panel.locator_params(axis="x", integer=True)
    return Figure(
        "curves",
        "Learning curves on dev",
        "Median, quartiles and range over the members still training in that epoch; members that "
        "have stopped early or diverged are not carried forward, so n falls (see the table).",
        drawing,
        ("epoch", "n", "min", "q1", "median", "q3", "max"),
        [(e, n, *(f"{v:.3f}" for v in five)) for e, n, *five in table],
    )
