"""Experiments in numbers, and in figures: dev and test scores, learning curves, sweeps."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from jaxeval.files import Json
from jaxeval.report import Figure, plots, scores, sweeps
from jaxeval.runs import records
from jaxeval.runs.records import CurveRow, MemberRow
from jaxeval.sensitivity import metrics, trials
from jaxeval.stats import describe

_OF_MEMBERS = ("name", "experiment", "metric", "higher_is_better", "unit")  # alike in all
_OF_BEST = ("seed", "split", "dev", "test")
_Groups = Sequence[Sequence[MemberRow]]  # the members of each experiment
_DEV = plots.colour(0)
_PARTS = ("dev", "test")


@dataclasses.dataclass(frozen=True)
class _SweepSummary:
    """A random sweep, whose spread of scores is that of settings."""

    setting: Mapping[str, Json] | None  # of the run with the best dev score
    near: int  # runs within the margin of the best dev score, that one included
    margin: float
    missing: int  # planned runs that have not ended


@dataclasses.dataclass(frozen=True)
class ExperimentSummary:
    """An experiment; scores are in the metric's own unit, sd with n - 1.

    A search has no test scores: its settings are chosen by dev, and test is for the best one.
    """

    name: str
    experiment: str
    metric: str
    higher_is_better: bool
    unit: str
    statuses: dict[str, int]
    dev: describe.Summary | None
    test: describe.Summary | None
    best_seed: int | None  # with the best dev score, lowest of equals; None if none learned
    best_split: int | None
    best_dev: float | None
    best_test: float | None  # the test score of that member
    ties: int  # members with the best dev score
    rho: float | None  # Spearman's, of dev and test
    rho_note: str  # why rho is None
    never_learned: int  # members whose dev score stayed 0, which have no best epoch
    best_epochs: tuple[int, float, int] | None  # min, median and max of the others
    wall_seconds: float  # sum over members
    sweep: _SweepSummary | None
    kind: records.Kind  # what the members differ in

    @property
    def parts(self) -> dict[str, describe.Summary | None]:
        """The parts of the data that are shown."""
        dev = {"dev": self.dev}
        return dev if self.kind == "tuning" else {**dev, "test": self.test}


def summarize(rows: Sequence[MemberRow], planned: int | None = None) -> ExperimentSummary:
    """Returns the summary of one experiment's members.

    Args:
      planned: number of runs of a sweep, ended or not.
    """
    first = rows[0]
    kind = records.kind(rows)
    members = collapse_repeats(rows)
    if kind == "tuning":
        members = [row._replace(test=None) for row in members]
    scored = [row for row in members if row.dev is not None]
    dev, test = (_known(members, part) for part in ("dev", "test"))
    sign = 1 if first.higher_is_better else -1
    learned = [row for row in scored if row.dev or row.best_epoch is not None]
    best = max(learned, key=lambda r: (sign * (r.dev or 0.0), -r.seed, -r.split), default=None)
    both = [row for row in scored if row.test is not None]
    rho, note = describe.spearman(_known(both, "dev"), _known(both, "test"))
    epochs = [r.best_epoch for r in rows if r.dev is not None and r.best_epoch is not None]
    sweep = None
    if trials.recorded_space(first.config, first.name) is not None:
        near = metrics.near_best(np.array(dev), first.margin, first.higher_is_better).sum()
        setting = json.loads(best.hparams) if best else None
        missing = max(0, (planned or 0) - len(rows))
        sweep = _SweepSummary(setting, int(near), first.margin if best else 0.0, missing)
    of_best: Any = {f"best_{name}": getattr(best, name, None) for name in _OF_BEST}
    return ExperimentSummary(
        **{name: getattr(first, name) for name in _OF_MEMBERS},
        **of_best,
        statuses=dict(sorted(Counter(row.status for row in rows).items())),
        dev=describe.summarize(dev) if dev else None,
        test=describe.summarize(test) if test else None,
        ties=sum(score == best.dev for score in dev) if best else 0,
        rho=rho,
        rho_note=note,
        never_learned=sum(row.never_learned for row in rows),
        best_epochs=(min(epochs), float(np.median(epochs)), max(epochs)) if epochs else None,
        wall_seconds=sum(row.wall_seconds for row in rows),
        sweep=sweep,
        kind=kind,
    )


def _known(rows: Sequence[MemberRow], part: str) -> list[float]:
    return [score for row in rows if (score := getattr(row, part)) is not None]


def collapse_repeats(rows: Sequence[MemberRow]) -> Sequence[MemberRow]:
    """Collapses repeated runs of one seed and split into their mean.

    Repeats share the draws of their seed: counted one by one, they would shorten every interval.
    """
    if records.kind(rows) != "noise":
        return rows
    groups: dict[tuple[int, int], list[MemberRow]] = {}
    for row in rows:
        groups.setdefault((row.seed, row.split), []).append(row)
    once = []
    for group in groups.values():
        each = {part: _known(group, part) for part in ("dev", "test")}
        means: Any = {part: fmean(known) if known else None for part, known in each.items()}
        once.append(group[0]._replace(**means))
    return once


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
    drawn: list[Figure] = []
    names = records.told_apart((members[0].experiment, members[0].name) for members in groups)
    groups = [[row._replace(name=names[row.experiment]) for row in of] for of in groups]
    for metric in dict.fromkeys(members[0].metric for members in groups):
        alike = [members for members in groups if members[0].metric == metric]
        seeds = [
            collapse_repeats(members)
            for members in alike
            if records.kind(members) in ("seeds", "noise")
        ]
        drawn += _violins(seeds, places) if seeds else ()
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
    kind = records.kind(members)
    keys = {records.key(row) for row in members}
    drawn = [] if kind == "tuning" else [_scatter(members)]
    if points is not None:
        own = [point for point in points if records.key(point) in keys]
        drawn.append(_curves(own, members[0].metric, members[0].unit))
    if kind not in ("seeds", "noise"):
        lead = "Each member has its own setting. "
        drawn = [figure._replace(caption=lead + figure.caption) for figure in drawn]
    if (sweep := trials.recorded_sweep(members)) is None:
        return drawn
    marginals = [sweeps.marginals([sweep])] if sweep.axes else []  # no axes without any score
    return [sweeps.ranks([sweep]), *marginals, *drawn]


def _violins(groups: _Groups, places: Mapping[str, int] | None = None) -> Iterator[Figure]:
    """Draws scores of experiments with one metric, a panel for each data set; as `draw`."""
    parts = _PARTS if places is None else _PARTS[1:]
    metric = groups[0][0].metric
    label = scores.label(groups[0][0].metric, groups[0][0].unit)
    names = records.dataset_names([members[0] for members in groups])
    several = " Scores on different data sets are not comparable." if len(names) > 1 else ""
    samples: dict[str, list[tuple[str, dict[int, np.ndarray]]]] = {}
    rows: dict[tuple[str, str], list[tuple[object, ...]]] = {}
    for members in sorted(groups, key=lambda of: [*names].index(of[0].data_hash)):
        title = names[members[0].data_hash] if several else ""
        at: dict[int, np.ndarray] = {}
        for number, part in enumerate(parts, places[members[0].experiment] if places else 0):
            known = [(row, getattr(row, part)) for row in members]
            known = [(row, scores.factor(row.unit) * x) for row, x in known if x is not None]
            at[number] = np.array([x for _, x in known])
            rows.setdefault((title, members[0].name), []).extend(
                (row.name, part, row.seed, row.split, f"{x:.3f}", *([title] if several else []))
                for row, x in known
            )
        samples.setdefault(title, []).append((members[0].name, at))
    caption = (
        "Each mark is a member (seed or split) at the scored epoch; more than 500 are shown by "
        "500 quantiles. Wide bar: first to third quartile; white line: median. Outline: Gaussian "
        "kernel density (Scott's rule) of at least three different scores, cut at the lowest and "
        f"highest score.{several}"
    )
    head = ("experiment", "part", "seed", "split", label, *(("data set",) if several else ()))
    drawn = plots.violins(samples, label if len(parts) > 1 else f"test {label}")
    for page, (drawing, panels) in enumerate(drawn, 1):
        if places is None:
            plots.legend(drawing, plots.marks(parts))
        shown = dict.fromkeys((title, name) for title, each in panels for name, _ in each)
        name = f"distributions_{metric}" + (f"_{page}" if page > 1 else "")
        title = f"Distribution of {metric} over members"
        cells = [r for k in shown for r in rows[k]]
        yield Figure(name, title, caption, drawing, head, cells)


def _scatter(members: Sequence[MemberRow]) -> Figure:
    """Draws test scores against dev scores of an experiment."""
    label = scores.label(members[0].metric, members[0].unit)
    factor = scores.factor(members[0].unit)
    scored = [
        (row, row.dev * factor, row.test * factor)
        for row in collapse_repeats(members)
        if row.dev is not None and row.test is not None
    ]
    drawing, panel = plots.canvas(4.5, 4.2)
    dev, test = [x for _, x, _ in scored], [y for _, _, y in scored]
    marks = panel.scatter(dev, test, s=28, c=_DEV, edgecolors="white", linewidths=0.6, zorder=3)
    marks.set_rasterized(len(scored) > plots.MOST_DRAWN)
    panel.set(xlabel=f"dev {label}", ylabel=f"test {label}")
    plots.ruled(panel, "both")
    correlation = summarize(members).rho
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
        for a, b, alpha, band in bands:
            panel.fill_between(epochs, a, b, color=_DEV, linewidth=0, alpha=alpha, label=band)
        panel.plot(epochs, median, color=_DEV, marker="o", markersize=3, label="median")
        plots.legend(drawing)
    panel.set(xlabel="epoch", ylabel=f"dev {scores.label(metric, unit)}")
    panel.locator_params(axis="x", integer=True, min_n_ticks=1)
    return Figure(
        "curves",
        "Learning curves on dev",
        "Median, quartiles and range over the members still training in that epoch; members that "
        "have stopped early or diverged are not carried forward, so n falls (see the table).",
        drawing,
        ("epoch", "n", "min", "q1", "median", "q3", "max"),
        [(e, n, *(f"{v:.3f}" for v in five)) for e, n, *five in table],
    )
