"""Figures of experiments: dev and test scores, learning curves, sweeps."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.report import plots, scores, sweeps
from jaxeval.report.document import Figure
from jaxeval.report.runs import summary
from jaxeval.runs import records
from jaxeval.runs.records import CurveRow, MemberRow
from jaxeval.sensitivity import trials
from jaxeval.stats import describe

_Groups = Sequence[Sequence[MemberRow]]  # the members of each experiment

_DEV = plots.colour(0)
_PARTS = ("dev", "test")


def draw(
    groups: _Groups, points: Sequence[CurveRow] | None, places: Mapping[str, int] | None = None
) -> list[Figure]:
    """Draws all figures of experiments.

    For each metric: violins of experiments of seeds, and ranks of the sweeps. For each
    experiment: its own figures; without points, no learning curves. Figures without any number
    are left out.

    Args:
      places: experiment -> number of its colour; then only violins, of test scores alone.
    """
    drawn, shared = [], Counter(members[0].name for members in groups)
    groups = [
        [row._replace(name=f"{row.name} ({row.experiment[:8]})") for row in members]
        if shared[members[0].name] > 1
        else members
        for members in groups
    ]
    for metric in dict.fromkeys(members[0].metric for members in groups):
        alike = [members for members in groups if members[0].metric == metric]
        seeds = [
            summary.collapse_repeats(members)
            for members in alike
            if records.kind(members) in ("seeds", "noise")
        ]
        drawn += [_violins(seeds, places)] if seeds else []
        swept = trials.recorded_sweeps(alike) if places is None else []
        if len(swept) > 1:  # one is drawn below
            ranks = sweeps.ranks(swept)
            drawn.append(ranks._replace(name=f"ranks_{metric}", title="Sweeps: score by rank"))
    for members in groups if places is None else ():
        stem = f"{members[0].experiment}_" if len(groups) > 1 else ""
        for figure in _draw_experiment(members, points):
            title = f"{members[0].name}: {figure.title}" if stem else figure.title
            drawn.append(figure._replace(name=stem + figure.name, title=title))
    return [figure for figure in drawn if figure.rows]


def _draw_experiment(
    members: Sequence[MemberRow], points: Sequence[CurveRow] | None
) -> list[Figure]:
    kind, keys = records.kind(members), {records.key(row) for row in members}
    drawn = [] if kind == "tuning" else [_scatter(members)]
    if points is not None:
        own = [point for point in points if records.key(point) in keys]
        drawn.append(_curves(own, members[0].metric, members[0].unit))
    if kind not in ("seeds", "noise"):
        lead = "Each member has a setting of its own. "
        drawn = [figure._replace(caption=lead + figure.caption) for figure in drawn]
    if (sweep := trials.recorded_sweep(members)) is None:
        return drawn
    marginals = [sweeps.marginals([sweep])] if sweep.axes else []  # no axes without any score
    return [sweeps.ranks([sweep]), *marginals, *drawn]


def _violins(groups: _Groups, places: Mapping[str, int] | None = None) -> Figure:
    """Draws scores of experiments with one metric, a panel for each data set; as `draw`."""
    parts = _PARTS if places is None else _PARTS[1:]
    metric, unit = groups[0][0].metric, groups[0][0].unit
    label, factor = scores.label(metric, unit), scores.factor(unit)
    names = records.dataset_names([members[0] for members in groups])
    panels = [[m for m in groups if m[0].data_hash == key] for key in names]
    widest = max(map(len, panels))
    drawing, axes = plots.grid(len(panels), max(1, 6 // widest), (max(2.2 * widest, 4.5), 4.2))
    rows: list[tuple[object, ...]] = []
    for panel, name, group in zip(axes, names.values(), panels, strict=True):
        title, samples = [name] if len(names) > 1 else [], []
        for members in group:
            of = [[(row, getattr(row, p)) for row in members] for p in parts]
            known = [[(row, factor * x) for row, x in each if x is not None] for each in of]
            first = places[members[0].experiment] if places else 0
            each_part = (np.array([x for _, x in each]) for each in known)
            samples.append(dict(enumerate(each_part, first)))
            rows += [
                (row.name, part, row.seed, row.split, f"{x:.3f}", *title)
                for part, each in zip(parts, known, strict=True)
                for row, x in each
            ]
        plots.violins(panel, [plots.wrapped(m[0].name, 24) for m in group], samples)
        panel.set_ylabel(label if len(parts) > 1 else f"test {label}")
        panel.set_title(plots.literal("".join(title)), fontsize=10)
    if places is None:
        plots.legend(drawing, plots.marks(parts))
    several = " Scores on different data sets are not comparable." if len(names) > 1 else ""
    return Figure(
        f"distributions_{metric}",
        f"Distribution of {metric} over members",
        "Each mark is a member (seed or split) at the scored epoch; more than 500 are shown by "
        "500 quantiles. Wide bar: first to third quartile; white line: median. Outline: Gaussian "
        "kernel density (Scott's rule) of at least three different scores, cut at the lowest and "
        f"highest score.{several}",
        drawing,
        ("experiment", "part", "seed", "split", label, *(("data set",) if several else ())),
        rows,
    )


def _scatter(members: Sequence[MemberRow]) -> Figure:
    """Draws test scores against dev scores of an experiment."""
    label = scores.label(members[0].metric, members[0].unit)
    factor = scores.factor(members[0].unit)
    scored = [
        (row, row.dev * factor, row.test * factor)
        for row in summary.collapse_repeats(members)
        if row.dev is not None and row.test is not None
    ]
    drawing, panel = plots.canvas(4.5, 4.2)
    dev, test = [x for _, x, _ in scored], [y for _, _, y in scored]
    marks = panel.scatter(dev, test, s=28, c=_DEV, edgecolors="white", linewidths=0.6, zorder=3)
    marks.set_rasterized(len(scored) > plots.MOST_DRAWN)
    panel.set(xlabel=f"dev {label}", ylabel=f"test {label}")
    plots.ruled(panel, "both")
    correlation = summary.summarize(members).rho
    rho = "not defined" if correlation is None else f"{correlation:.2f}"
    return Figure(
        "dev_test",
        "Test score against dev score",
        f"Each mark is a member. Spearman's rho: {rho}, n = {len(scored)}.",
        drawing,
        ("seed", "split", f"dev {label}", f"test {label}"),
        [(row.seed, row.split, f"{x:.3f}", f"{y:.3f}") for row, x, y in scored],
    )


def _curves(points: Sequence[CurveRow], metric: str, unit: str) -> Figure:
    """Draws dev scores by epoch: median and quantile bands over the members still training."""
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
