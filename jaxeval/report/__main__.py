"""`python -m jaxeval.report`: what the runs of a folder say, in the terminal and as a page."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files, outputs
from jaxeval.errors import RunError

if TYPE_CHECKING:
    from jaxeval.report.runs import page

_DESCRIPTION = """\
Shows the score distributions of the experiments in a runs folder: a table here, and one
self-contained HTML page with figures (RUNS/report.html unless --html says otherwise).
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.report runs
  python -m jaxeval.report runs --experiment wnut17_ner --figures figures
  python -m jaxeval.report runs --json -
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    verb = cli.parser("report", _DESCRIPTION, _EXAMPLES)
    verb.add_argument("runs", help="runs folder or database URL")
    verb.add_argument("--experiment", metavar="NAME", help="only this name, id, or begin of one")
    verb.add_argument("--html", metavar="PATH", help="the page (RUNS/report.html)")
    verb.add_argument("--figures", metavar="DIR", help="also write all figures as SVG, PDF, PNG")
    verb.add_argument("--json", metavar="PATH", help="the summaries as JSON, - for stdout")
    cli.add_details(verb)
    return verb


def main(arguments: Sequence[str] | None = None) -> int:
    """Loads, summarises, draws."""
    args = parser().parse_args(arguments)
    outputs.refuse_unwritable(args.html, args.json, folder=args.figures, runs=[args.runs])
    from jaxeval import runs
    from jaxeval.report.runs import page, summary, terminal
    from jaxeval.runs import experiments
    from jaxeval.sensitivity import trials

    source = runs.shown(args.runs)
    rows = _chosen(runs.load(args.runs), args.experiment, source)
    points = runs.load_curves(args.runs)
    groups = experiments.by_experiment(rows)
    planned = {
        members[0].experiment: trials.planned(args.runs, members[0].experiment)
        for members in groups
    }
    summaries = [summary.of_members(rows, planned[rows[0].experiment]) for rows in groups]
    if args.json:
        files.write_json(args.json, [summary.to_dict(described) for described in summaries])
    if args.json != "-":
        terminal.print_all(summaries, args.details)
    target = _page_path(args.html, args.runs)
    if target is None and not args.figures:
        return 0
    drawn = page.draw(groups, points)
    if target is not None:
        files.write_text(target, page.render(groups, drawn, source, planned))
        if args.json != "-":
            print(f"\npage: {target}")
    if args.figures:
        _write_figures(groups, drawn, Path(args.figures))
    return 0


def _chosen(rows: list, name: str | None, source: str) -> list:
    from jaxeval.runs import experiments

    names = {row.experiment: row.name for row in rows}
    if not names:
        raise RunError(f"{source}: no member has ended")
    ids = [*names] if name is None else experiments.ids_of(names, name)
    if not ids:
        known = experiments.with_ids(names)
        raise RunError(f"{source}: no experiment {name!r}; experiments with members: {known}")
    return [row for row in rows if row.experiment in ids]


def _page_path(html: str | None, runs: str) -> Path | None:
    """Where the page goes; None: nowhere, as the runs are no folder, or one that is only read."""
    if html:
        return Path(html)
    if not Path(runs).is_dir():
        return None
    page = Path(runs) / "report.html"
    try:
        files.refuse_unwritable(page)
    except RunError as error:
        print(f"no page: {error}; --html FILE writes one elsewhere", file=sys.stderr)
        return None
    return page


def _write_figures(groups: list, drawn: "page.Drawn", folder: Path) -> None:
    from jaxeval.report import figures

    named = [(figure, figure.name) for figure in drawn.overview]
    for members, of_experiment in zip(groups, drawn.experiments, strict=True):
        stem = members[0].experiment
        named += [(figure, f"{stem}_{figure.name}") for figure in of_experiment]
    for figure, stem in named:
        for path in figures.save(figure, folder, stem):
            print(f"figure: {path}")


if __name__ == "__main__":
    cli.run(main)
