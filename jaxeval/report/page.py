"""One self-contained HTML page of all experiments in a runs folder; opens offline, no script."""

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from typing import Any

from jaxeval import __version__
from jaxeval.report import (
    figures,
    summary,
    sweep_best,
    sweep_data,
    sweep_figures,
    sweep_panels,
    terminal,
)
from jaxeval.runs.records import CurveRow, MemberRow

_WIDE = 9.0  # inches; from here a figure gets the width of the page


def render(
    rows: Sequence[MemberRow],
    points: Sequence[CurveRow],
    place: str,
    planned: Mapping[str, int | None],
) -> str:
    """The page of the given members (at least one) and their scores by epoch.

    Args:
      place: where they were read, in words.
      planned: experiment -> runs that its sweep has in all (`summary.of_members`).
    """
    import jinja2

    groups = summary.by_experiment(rows)
    source = (
        importlib.resources.files("jaxeval.report").joinpath("page.html.jinja").read_text("utf-8")
    )
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(source).render(
        place=place,
        version=__version__,
        shown=summary.shown,
        overview=[_drawn(f, f"overview-{f.name}") for f in overview(groups)],
        experiments=[
            _experiment(members, points, planned.get(members[0].experiment)) for members in groups
        ],
    )


def overview(groups: Sequence[Sequence[MemberRow]]) -> list[figures.Figure]:
    """For each metric: violins of the experiments, a panel a data set, and ranks of the sweeps.

    A sweep has no violin: beside those of seeds its spread, that of settings, would mislead.
    """
    found = []
    for metric in dict.fromkeys(members[0].metric for members in groups):
        alike = [members for members in groups if members[0].metric == metric]
        sweeps = sweep_data.of_experiments(alike)
        seeds = [members for members in alike if not summary.is_sweep(members)]
        found += [figures.violins(seeds)] if seeds else []
        if sweeps:
            drawn = sweep_figures.ranks(sweeps)
            found.append(drawn._replace(name=f"ranks_{metric}", title="Sweeps: score by rank"))
    return found


def of_experiment(
    members: Sequence[MemberRow], points: Sequence[CurveRow]
) -> list[figures.Figure]:
    """The figures of one experiment."""
    own = {(row.seed, row.split, row.hparams) for row in members}
    curve = [
        p
        for p in points
        if p.experiment == members[0].experiment and (p.seed, p.split, p.hparams) in own
    ]
    found = [figures.scatter(members), figures.curves(curve, members[0].metric)]
    sweep = sweep_data.of_members(members)
    if sweep is None:
        return found
    said = "Each member has a setting of its own. "
    panels = (
        [  # none where no run has a score
            sweep_best.near_best([sweep], summary.ROPE),
            sweep_panels.marginals([sweep]),
        ]
        if sweep.axes
        else []
    )
    return [
        sweep_figures.ranks([sweep]),
        *panels,
        *(one._replace(caption=said + one.caption) for one in found),
    ]


def _drawn(figure: figures.Figure, salt: str) -> dict[str, Any]:
    wide = figure.drawing.get_figwidth() > _WIDE
    return figure._asdict() | {"svg": figures.to_svg(figure, salt), "wide": wide}


def _experiment(
    members: Sequence[MemberRow], points: Sequence[CurveRow], planned: int | None
) -> dict[str, Any]:
    found = summary.of_members(members, planned)
    signatures = {
        f"jax {r.jax}, flax {r.flax}, jaxeval {r.jaxeval}, {r.device}, lanes {r.lanes}"
        for r in members
    }
    return {
        "summary": found,
        "rows": members,
        "remarks": list(terminal.remarks(found)),
        "versions": sorted(signatures),
        "figures": [
            _drawn(f, f"{found.experiment}-{f.name}") for f in of_experiment(members, points)
        ],
        "troubled": [row for row in members if row.test is None],
        "config": json.dumps(json.loads(members[0].config), indent=2),
    }
