"""`python -m jaxeval.plan`: how many items, samples or runs show a difference of two models."""

import argparse
import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxeval import cli, files, outputs
from jaxeval.runs import arguments

if TYPE_CHECKING:
    import numpy as np

    from jaxeval.runs.item_scores import TaskScores
    from jaxeval.stats.items import Pilot, Plan, Size, Spread

_SDS = ("items", "runs", "items_runs", "samples")
_DESCRIPTION = """\
How many items, samples (answers to an item) or runs show a difference of two models, and which of
them is cheapest. The spread comes from a pilot (--log: logs of both models, or --items: their
predictions), or is given as standard deviations of the difference of the two models' scores of an
item.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.plan --difference 0.03 --sd-items 0.33333
  python -m jaxeval.plan --difference 0.02 --log logs --model new --minus old --metric acc \\
      --run-cost 5000 --item-cost 20
  python -m jaxeval.plan --difference 0.02 --items predictions.csv --model A --minus B

docs/items_and_runs.md says what is computed.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("plan", _DESCRIPTION, _EXAMPLES)
    parser.add_argument(
        "--difference",
        type=arguments.positive,
        required=True,
        metavar="D",
        help="that is to be shown, in the scores' own unit: .01 is a point of accuracy",
    )
    parser.add_argument("--power", type=_fraction, default=0.8, help="probability to show it (.8)")
    parser.add_argument("--alpha", type=_fraction, default=0.05, help="level of the test (.05)")
    _add_pilot(parser)
    known = parser.add_argument_group("known standard deviations of the difference")
    known.add_argument("--sd-items", type=cli.number(0), metavar="SD", help="between items")
    known.add_argument("--sd-runs", type=cli.number(0), metavar="SD", help="of a run's mean (0)")
    known.add_argument(
        "--sd-items-runs", type=cli.number(0), metavar="SD", help="of items x runs (0)"
    )
    known.add_argument(
        "--sd-samples", type=cli.number(0), metavar="SD", help="of answers to an item (0)"
    )
    known.add_argument(
        "--fewest-runs",
        type=cli.positive,
        default=1,
        metavar="R",
        help="of each model; 1 (the default) takes these runs as fixed",
    )
    cost = parser.add_argument_group("what a thing costs, in any unit")
    cost.add_argument("--answer-cost", type=cli.number(0), default=1.0, metavar="C", help="(1)")
    cost.add_argument("--item-cost", type=cli.number(0), default=0.0, metavar="C", help="(0)")
    cost.add_argument(
        "--run-cost", type=cli.number(0), default=0.0, metavar="C", help="of training one (0)"
    )
    parser.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")
    return parser


def _add_pilot(parser: argparse.ArgumentParser) -> None:
    pilot = parser.add_argument_group("a pilot")
    pilot.add_argument("--items", metavar="FILE", help="a row an item of a run, as of compare")
    pilot.add_argument("--model", metavar="NAME")
    pilot.add_argument("--minus", metavar="NAME", help="the other")
    logs = parser.add_argument_group("a pilot of logs, as of compare")
    arguments.add_logs(logs)
    logs.add_argument("--metric", metavar="NAME", help="of a task with several")
    logs.add_argument("--column", action="append", default=[], metavar="ROLE=KEY")
    logs.add_argument("--missing", choices=("error", "drop", "zero"), default="error")
    arguments.add_direction(logs)


def main(words: Sequence[str] | None = None) -> int:
    """Parses, reads the pilot, plans, prints."""
    verb = parser()
    args = verb.parse_args(words)
    reads = itertools.chain([args.items], arguments.log_files(args))
    outputs.refuse_unwritable(args.json, reads=reads)
    from jaxeval.report.items import plan as report
    from jaxeval.stats import items

    if not args.log and (args.task or args.metric or args.cluster or args.column):
        verb.error("--task, --metric, --cluster and --column: expected --log beside them")
    pilot, runs = _pilot(verb, args) if args.items or args.log else (None, None)
    spread, now = (pilot.spread, pilot.size) if pilot else _known(verb, args)
    costs = items.Costs(args.answer_cost, args.item_cost, args.run_cost)

    def planned(of: "Spread") -> "Plan":
        how = {"pilot": pilot is not None, "power": args.power, "alpha": args.alpha}
        return items.plan(args.difference, of, now, costs, **how)

    unit = "answers" if costs == items.Costs() else ""
    summary = report.Planned(pilot, spread, planned(spread), runs=runs, unit=unit)
    if pilot:
        low = planned(pilot.low) if pilot.low else None
        summary = summary._replace(low=low, high=planned(pilot.high))
        if summary.plan.cheapest:
            size, alpha = summary.plan.cheapest.size, args.alpha
            expected = pilot.expected_power(args.difference, size, alpha=alpha)
            summary = summary._replace(expected_power=expected)
    elif now.runs == 1:
        levels = {"power": args.power, "alpha": args.alpha}
        number = items.millers_items(args.difference, spread, **levels)
        summary = summary._replace(millers_items=number)
    if args.json:
        files.write_json(args.json, report.to_dict(summary))
    if args.json != "-":
        report.show(summary)
    return 0


def _fraction(text: str) -> float:
    value = cli.number(0, 1)(text)
    if value in (0.0, 1.0):
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1, got {text!r}")
    return value


def _known(verb: argparse.ArgumentParser, args: argparse.Namespace) -> "tuple[Spread, Size]":
    from jaxeval.stats import items

    if args.model or args.minus:
        verb.error("--model and --minus: expected --log or --items beside them")
    if args.sd_items is None:
        verb.error("expected --log PATH or --items FILE (a pilot) or --sd-items SD")
    if args.sd_runs and args.fewest_runs < 2:
        verb.error("--sd-runs: expected --fewest-runs 2 or more beside it")
    squares = [(getattr(args, f"sd_{name}") or 0.0) ** 2 for name in _SDS]
    if not any(squares):
        verb.error("--sd-items: expected a number above 0, as no other --sd is; got 0")
    return items.Spread(*squares), items.Size(2, args.fewest_runs)


def _pilot(
    verb: argparse.ArgumentParser, args: argparse.Namespace
) -> "tuple[Pilot, tuple[int, int]]":
    """What a pilot shows, and the runs of its two models."""
    from jaxeval.runs import metrics
    from jaxeval.stats import items

    source = "--log" if args.log else "--items"
    other = next((name for name in _SDS if getattr(args, f"sd_{name}") is not None), None)
    if other or not (args.model and args.minus):
        verb.error(f"{source}: expected --model and --minus beside it, and no --sd")
    if args.log and args.items:
        verb.error("--log with --items: expected one pilot")
    if args.model == args.minus:
        verb.error(f"--minus: expected another model than --model, found {args.minus!r} twice")
    if args.log:
        task = _task(args)
        metrics.refuse_points("difference", args.difference, task.stored_unit)
        a, b = (task.scores[model] for model in (args.model, args.minus))
        return items.pilot(a, b, clusters=task.clusters), (a.shape[1], b.shape[1])
    metrics.refuse_points("difference", args.difference, "fraction")  # accuracies
    a, b = _predictions(args)
    return items.pilot(a, b), (a.shape[1], b.shape[1])


def _task(args: argparse.Namespace) -> "TaskScores":
    """Of logs."""
    from jaxeval.errors import DataError
    from jaxeval.report import text
    from jaxeval.runs.logs import arguments as of_logs
    from jaxeval.stats.items import completeness

    _, paired = of_logs.read(args, (args.model, args.minus))
    task, *others = paired.tasks
    if others:
        names = text.listed([each.task for each in paired.tasks])
        raise DataError(f"several tasks ({names}); expected --task with one")
    for line in (*paired.notes, *completeness.warnings(task)):
        print(f"warning: {line}", file=sys.stderr)
    return task


def _predictions(args: argparse.Namespace) -> "list[np.ndarray]":
    """[items, runs] of both models, of a table of predictions."""
    from jaxeval.errors import DataError
    from jaxeval.runs import items as predictions

    of_items = predictions.read(args.items).items
    both = [data for data in of_items.data_sets if {args.model, args.minus} & {*data.models}]
    if len(both) > 1:
        raise DataError(f"plan: expected one dataset, found {len(both)}", args.items)
    of_items.refuse_unknown([args.model, args.minus])
    return [both[0].models[model].scores[..., 0] for model in (args.model, args.minus)]


if __name__ == "__main__":
    cli.run(main)
