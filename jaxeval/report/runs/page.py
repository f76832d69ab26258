"""The page of all experiments in a runs folder."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jaxeval.report import page, scores
from jaxeval.report.figures import Figure
from jaxeval.report.runs import figures, summary, terminal
from jaxeval.report.sweep import figures as sweep_figures
from jaxeval.runs import experiments
from jaxeval.runs.records import CurveRow, MemberRow
from jaxeval.sensitivity import trials
from jaxeval.version import VERSION


class Drawn(NamedTuple):
    """All figures of a runs folder, for its page and for files of their own."""

    overview: Sequence[Figure]
    experiments: Sequence[Sequence[Figure]]


def draw(groups: Sequence[Sequence[MemberRow]], points: Sequence[CurveRow]) -> Drawn:
    """The figures of experiments, each given as its members, and of their scores by epoch."""
    return Drawn(overview(groups), [of_experiment(members, points) for members in groups])


def render(
    groups: Sequence[Sequence[MemberRow]],
    drawn: Drawn,
    source: str,
    planned: Mapping[str, int | None],
) -> str:
    """The page of experiments, each given as its members (at least one), and of their figures.

    Args:
      source: where they were read, in words.
      planned: experiment -> runs that its sweep has in all (`summary.of_members`).
    """
    return page.render(
        "runs/page.html.jinja",
        source=source,
        version=VERSION,
        shown=scores.shown,
        overview=[page.drawn(f, f"overview-{f.name}") for f in drawn.overview],
        experiments=[
            _experiment(members, of_it, planned.get(members[0].experiment))
            for members, of_it in zip(groups, drawn.experiments, strict=True)
        ],
    )


def overview(groups: Sequence[Sequence[MemberRow]]) -> list[Figure]:
    """For each metric: violins of the experiments, panels by data set, and ranks of the sweeps.

    A sweep has no violin, nor has any other study of settings: beside those of seeds their spread
    would mislead.
    """
    drawn = []
    for metric in dict.fromkeys(members[0].metric for members in groups):
        alike = [members for members in groups if members[0].metric == metric]
        sweeps = trials.of_experiments(alike)
        seeds = [
            summary.independent(members)
            for members in alike
            if experiments.kind(members) in ("seeds", "noise")
        ]
        drawn += [figures.violins(seeds)] if seeds else []
        if sweeps:
            ranks = sweep_figures.ranks(sweeps)
            drawn.append(ranks._replace(name=f"ranks_{metric}", title="Sweeps: score by rank"))
    return drawn


def of_experiment(members: Sequence[MemberRow], points: Sequence[CurveRow]) -> list[Figure]:
    """The figures of one experiment."""
    first, kind = members[0], experiments.kind(members)
    keys = {(row.seed, row.split, row.repeat, row.hparams) for row in members}
    curve = [
        point
        for point in points
        if point.experiment == first.experiment
        and (point.seed, point.split, point.repeat, point.hparams) in keys
    ]
    drawn = [] if kind == "tuning" else [figures.scatter(members)]
    drawn.append(figures.curves(curve, first.metric, first.unit))
    said = "" if kind in ("seeds", "noise") else "Each member has a setting of its own. "
    drawn = [figure._replace(caption=said + figure.caption) for figure in drawn]
    sweep = trials.of_members(members)
    if sweep is None:
        return drawn
    by_hyperparameter = (
        [sweep_figures.near_best([sweep], first.margin), sweep_figures.marginals([sweep])]
        if sweep.axes  # none where no run has a score
        else []
    )
    return [
        sweep_figures.ranks([sweep]),
        *by_hyperparameter,
        *drawn,
    ]


def _experiment(
    members: Sequence[MemberRow], drawn: Sequence[Figure], planned: int | None
) -> dict[str, object]:
    described = summary.of_members(members, planned)
    versions = {
        f"jax {r.jax}, flax {r.flax}, jaxeval {r.jaxeval}, {r.device}, lanes {r.lanes}"
        for r in members
    }
    return {
        "summary": described,
        "kind": terminal.KINDS[described.kind],
        "parts": terminal.parts(described),
        "label": scores.label(described.metric, described.unit),
        "rows": members,
        "remarks": list(terminal.remarks(described)),
        "versions": sorted(versions),
        "figures": [page.drawn(f, f"{described.experiment}-{f.name}") for f in drawn],
        "troubled": [row for row in members if row.test is None],
        "config": json.dumps(json.loads(members[0].config), indent=2),
    }
