"""`python -m jaxeval.runs`: lists and exports what a runs folder holds."""

import argparse
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, TypedDict

from jaxeval import cli, files

if TYPE_CHECKING:
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
    upgrade = verbs.add_parser("upgrade", help="convert a database of an older jaxeval")
    for verb in (listing, export, upgrade):
        verb.add_argument("runs", help="runs folder or database URL")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Loads, then lists or exports."""
    args = parser().parse_args(arguments)
    cli.refuse_unwritable(getattr(args, "json", None), getattr(args, "to", None), runs=args.runs)
    from jaxeval import runs
    from jaxeval.runs import export, records

    if args.verb == "upgrade":
        runs.upgrade(args.runs)
        return 0
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
    """An experiment as it is listed; medians over the members that have scores."""

    name: str
    experiment: str
    metric: str
    unit: str
    members: dict[str, int]
    n: int
    median_dev: float | None
    median_test: float | None


def _experiments(rows: Sequence["MemberRow"]) -> list[Listed]:
    """One entry an experiment."""
    groups: dict[str, list[MemberRow]] = {}
    for row in rows:
        groups.setdefault(row.experiment, []).append(row)
    listed: list[Listed] = []
    for experiment, members in groups.items():
        scores = {
            part: [getattr(m, part) for m in members if getattr(m, part) is not None]
            for part in ("dev", "test")
        }
        listed.append(
            {
                "name": members[0].name,
                "experiment": experiment,
                "metric": members[0].metric,
                "unit": members[0].unit,
                "members": dict(Counter(member.status for member in members)),
                "n": len(scores["test"]),
                "median_dev": median(scores["dev"]) if scores["dev"] else None,
                "median_test": median(scores["test"]) if scores["test"] else None,
            }
        )
    return listed


def _print(listed: Sequence[Listed]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from jaxeval.report import scores, text

    table = Table("experiment", "id", "members", "metric", "n", "dev", "test", box=None)
    for entry in listed:
        members, unit = text.statuses(entry["members"]), entry["unit"]
        label = scores.label(entry["metric"], unit)
        medians = (scores.shown(m, unit) for m in (entry["median_dev"], entry["median_test"]))
        cells = (entry["name"], entry["experiment"], members, label, str(entry["n"]), *medians)
        table.add_row(*map(Text, cells))
    console = Console()
    console.print(table)
    console.print("dev and test: medians over n members", style="dim")


if __name__ == "__main__":
    cli.run(main)
