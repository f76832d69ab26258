"""`python -m jaxeval.runs`: lists and exports what a runs folder holds."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from jaxeval import cli, files, outputs

if TYPE_CHECKING:
    from jaxeval.report.runs.summary import ExperimentSummary
    from jaxeval.runs.records import MemberRow

_EXAMPLES = """\
examples:
  python -m jaxeval.runs list runs
  python -m jaxeval.runs export runs --to members.csv
  python -m jaxeval.runs export runs --curves --to curves.parquet
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser(
        "runs",
        "Lists the experiments of a runs folder or database, or exports its tables.",
        _EXAMPLES,
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser("list", help="experiments with their members")
    listing.add_argument("--json", metavar="PATH", help="as JSON, - for stdout")
    export = verbs.add_parser("export", help="one row per member, as CSV or Parquet")
    export.add_argument(
        "--curves", action="store_true", help="one row per epoch and metric instead"
    )
    export.add_argument(
        "--to", default="-", metavar="FILE", help=".csv or .parquet; - is stdout (-)"
    )
    for verb in (listing, export):
        verb.add_argument("runs", help="runs folder or database URL")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Loads, then lists or exports."""
    args = parser().parse_args(arguments)
    outputs.refuse_unwritable(
        getattr(args, "json", None), getattr(args, "to", None), runs=[args.runs]
    )
    from jaxeval import runs
    from jaxeval.runs import export, records

    if args.verb == "export":
        if args.curves:
            export.write(runs.load_curves(args.runs), records.CurveRow._fields, args.to)
        else:
            export.write(runs.load(args.runs), records.MemberRow._fields, args.to)
        return 0
    listed = _experiments(runs.load(args.runs))
    if args.json:
        files.write_json(args.json, listed)
    else:
        _print(listed)
    return 0


class Listed(TypedDict):
    """An experiment as it is listed; medians over the members that have scores of the part."""

    name: str
    experiment: str
    metric: str
    unit: str
    members: dict[str, int]
    n_dev: int
    n_test: int
    median_dev: float | None
    median_test: float | None


def _experiments(rows: Sequence["MemberRow"]) -> list[Listed]:
    """One entry an experiment, as `report` describes it."""
    from jaxeval.report.runs import summary
    from jaxeval.runs import experiments

    return [_listed(summary.of_members(members)) for members in experiments.by_experiment(rows)]


def _listed(of: "ExperimentSummary") -> Listed:
    return {
        "name": of.name,
        "experiment": of.experiment,
        "metric": of.metric,
        "unit": of.unit,
        "members": of.statuses,
        "n_dev": of.dev.n if of.dev else 0,
        "n_test": of.test.n if of.test else 0,
        "median_dev": of.dev.median if of.dev else None,
        "median_test": of.test.median if of.test else None,
    }


def _print(listed: Sequence[Listed]) -> None:
    from jaxeval.report import scores, tables, text

    head = ("experiment", "id", "members", "metric", "n of dev", "dev", "n of test", "test")
    rows = []
    for entry in listed:
        members, unit = text.statuses(entry["members"]), entry["unit"]
        named = (entry["name"], entry["experiment"], members, scores.label(entry["metric"], unit))
        dev = (str(entry["n_dev"]), scores.shown(entry["median_dev"], unit))
        test = (str(entry["n_test"]), scores.shown(entry["median_test"], unit))
        rows.append((*named, *dev, *test))
    console = tables.console()
    tables.print_table(console, head, rows, range(4))
    console.print("dev and test: medians over n members", style="dim")


if __name__ == "__main__":
    cli.run(main)
