"""`python -m jaxeval.sweep`: a random sweep of hyperparameters, as few compiled programs."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files, outputs
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.studies import sweeps

_DESCRIPTION = """\
Draws runs from a search space, writes all draws down, and trains them: runs whose shapes can share
a compiled program are members of one population, padded to its size.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.sweep configs/wiemerslage2024/georgian_transformer_small.toml \\
      --space configs/wiemerslage2024/space_transformer_small.toml --data DIR --runs 24
  python -m jaxeval.sweep CONFIG --space FILE --data DIR --runs 200 --dry-run   # the plan
  python -m jaxeval.sensitivity runs    # what the sweep says of the architecture
  python -m jaxeval.report runs         # the same as a page with figures

The same command continues what was interrupted; with more --runs it goes on where it ended.
docs/sweeps.md describes space files, cohorts and the cost model.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("sweep", _DESCRIPTION, _EXAMPLES)
    cli.add_config(parser)
    parser.add_argument("--space", required=True, metavar="FILE", help="the search space (TOML)")
    parser.add_argument(
        "--runs", type=cli.positive, default=24, metavar="N", help="runs 1 .. N (24)"
    )
    parser.add_argument(
        "--seed", type=arguments.seed, default=1, metavar="S", help="of the draws (1)"
    )
    parser.add_argument(
        "--most-cohorts",
        type=cli.positive,
        metavar="N",
        help="compiled programs at most, whatever padding costs",
    )
    parser.add_argument("--store", metavar="URL", help="database instead of RUNS/runs.sqlite")
    cli.add_again(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the plan, and stop")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Parses, draws, plans, trains, prints."""
    args = cli.parse_config(parser(), words, reads=("space",))
    cli.say_default(args)
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe
    from jaxeval.report.runs import summary, terminal
    from jaxeval.space import space
    from jaxeval.studies import inputs, sweeps

    drawn = sweeps.draw(
        args.config,
        args.changes,
        args.data,
        space.read(args.space),
        seed=args.seed,
        count=args.runs,
        folder=Path(args.out),
        where=args.space,
    )
    configs = (drawn.base.config, *(trial.config for trial in drawn.trials))
    outputs.refuse_replaced([args.json], inputs.files_of(*configs))
    if args.dry_run:
        return _dry_run(drawn, args)
    rows = observe.sweep(drawn, args.store, most_cohorts=args.most_cohorts, again=args.again)
    whole = summary.of_members(rows)
    if args.json:
        files.write_json(args.json, summary.to_dict(whole))
    if args.json != "-":
        terminal.print_summary(whole)
        lost = " --missing zero" if any(row.dev is None for row in rows) else ""
        print(f"\nnext: python -m jaxeval.sensitivity {args.store or args.out}{lost}")
    return 0


def _dry_run(drawn: "sweeps.DrawnSweep", args: argparse.Namespace) -> int:
    """Shows the plan."""
    from jaxeval.report.runs import terminal
    from jaxeval.report.sweep import plan
    from jaxeval.studies import timing

    findings, ratio = drawn.base.source.findings, drawn.measured(args.store)
    terminal.print_findings(findings.remarks, findings.warnings)
    estimates = timing.corrected(drawn.estimates(args.most_cohorts), ratio)
    if args.json:
        values = [dict(trial.values) for trial in drawn.trials]
        files.write_json(args.json, plan.to_dict(estimates, values, ratio, findings.warnings))
    if args.json != "-":
        plan.show(estimates, ratio)
    return 0


if __name__ == "__main__":
    cli.run(main)
