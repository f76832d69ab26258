"""`python -m jaxeval.plan`: how many items, samples or runs show a difference of two models."""

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxeval import cli
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from rich.console import Console

    from jaxeval.stats.items import Design, Plan, Size, Spread

_SDS = ("items", "runs", "items_runs", "samples")
_DESCRIPTION = """\
How many items, samples (answers to an item) or runs show a difference of two models, and which of
them is cheapest. The spread comes from a pilot (--items: predictions of both models), or is given
as standard deviations of the difference of the two models' scores of an item.
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.plan --difference 0.03 --sd-items 0.33333
  python -m jaxeval.plan --difference 0.02 --items predictions.csv --model A --minus B \\
      --run-cost 5000 --item-cost 20

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
    pilot = parser.add_argument_group("a pilot")
    pilot.add_argument("--items", metavar="FILE", help="a row an item of a run, as of compare")
    pilot.add_argument("--model", metavar="NAME")
    pilot.add_argument("--minus", metavar="NAME", help="the other")
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


def main(words: Sequence[str] | None = None) -> int:
    """Parses, reads the pilot, plans, prints."""
    verb = parser()
    args = verb.parse_args(words)
    from jaxeval.stats import items

    spread, now = _of_pilot(verb, args) if args.items else _known(verb, args)
    costs = items.Costs(args.answer_cost, args.item_cost, args.run_cost)
    target = {"power": args.power, "alpha": args.alpha, "pilot": bool(args.items)}
    plan = items.plan(args.difference, spread, now, costs, **target)
    parts = _components(spread, now, pilot=bool(args.items))
    if args.json:
        cli.write_json(args.json, {**parts, **_as_json(plan)})
    if args.json != "-":
        _show(plan, parts, pilot=bool(args.items))
    return 0


def _fraction(text: str) -> float:
    value = cli.number(0, 1)(text)
    if value in (0.0, 1.0):
        raise argparse.ArgumentTypeError(f"expected a number between 0 and 1, got {text!r}")
    return value


def _known(verb: argparse.ArgumentParser, args: argparse.Namespace) -> "tuple[Spread, Size]":
    from jaxeval.stats import items

    if args.model or args.minus:
        verb.error("--model and --minus: expected --items beside them")
    if args.sd_items is None:
        verb.error("expected --items FILE (a pilot) or --sd-items SD")
    if args.sd_runs and args.fewest_runs < 2:
        verb.error("--sd-runs: expected --fewest-runs 2 or more beside it")
    squares = [(getattr(args, f"sd_{name}") or 0.0) ** 2 for name in _SDS]
    return items.Spread(*squares), items.Size(2, args.fewest_runs)


def _of_pilot(verb: argparse.ArgumentParser, args: argparse.Namespace) -> "tuple[Spread, Size]":
    import numpy as np

    from jaxeval.errors import DataError
    from jaxeval.runs import items as predictions
    from jaxeval.stats import items

    other = next((name for name in _SDS if getattr(args, f"sd_{name}") is not None), None)
    if other or not (args.model and args.minus):
        verb.error("--items: expected --model and --minus beside it, and no --sd")
    if args.model == args.minus:
        verb.error(f"--minus: expected another model than --model, found {args.minus!r} twice")
    runs = predictions.counted(args.items)
    datasets = {run.dataset for run in runs if run.model in (args.model, args.minus)}
    if len(datasets) > 1:
        raise DataError(f"plan: expected one dataset, found {len(datasets)}", args.items)
    scores = []
    for model in (args.model, args.minus):
        columns = [run.counts[:, 0] for run in runs if run.model == model]
        if not columns:
            names = ", ".join(dict.fromkeys(run.model for run in runs))
            raise DataError(f"no model {model!r}; it has {names}", args.items)
        scores.append(np.stack(columns, axis=1))
    return items.spread(*scores)


def _components(spread: "Spread", size: "Size", pilot: bool) -> dict[str, float | None]:
    """Variances by name; None where a pilot of one run or sample has them in items."""
    parts: dict[str, float | None] = dataclasses.asdict(spread)
    if pilot and size.runs == 1:
        parts |= {"runs": None, "items_x_runs": None}
    if pilot and size.samples == 1:
        parts |= {"samples": None}
    return parts


def _as_json(plan: "Plan") -> dict[str, object]:
    def design(of: "Design | None") -> dict[str, object] | None:
        return None if of is None else {**of.size._asdict(), "cost": of.cost, "power": of.power}

    return {
        "difference": plan.difference,
        "target_power": plan.target,
        "now": design(plan.now),
        "ways": {way: design(of) for way, of in plan.ways.items()},
        "cheapest": design(plan.cheapest),
    }


def _show(plan: "Plan", parts: Mapping[str, float | None], pilot: bool) -> None:
    from rich.console import Console

    from jaxeval.report import text

    console = Console(highlight=False, soft_wrap=True, width=120)
    if pilot:
        n, r, k = plan.now.size
        console.print(
            f"The pilot: {text.counted(n, 'item')}, {text.counted(r, 'run')} of each model, "
            f"{text.counted(k, 'sample')}; it shows a difference of {plan.difference:g} "
            f"with probability {plan.now.power:.2f}."
        )
    sds = (
        f"{name.replace('_', ' ')} {'unknown' if v is None else format(v**0.5, '.3g')}"
        for name, v in parts.items()
    )
    console.print(f"Standard deviations of the difference: {', '.join(sds)}")
    rows = _rows(plan, parts, pilot)
    _print_table(console, rows)
    if None in list(rows.values())[:-1]:
        console.print("-: no number shows the difference; what the others leave open stays.")
    if plan.now.size.runs == 1:
        console.print("One run of each model: it is taken as fixed, and other runs may differ.")
    if plan.cheapest is None:
        print("No number of items, runs and samples that was tried suffices.", file=sys.stderr)


def _rows(
    plan: "Plan", parts: Mapping[str, float | None], pilot: bool
) -> "dict[str, Design | None]":
    """What is shown, by name: ways of which something is known, then the cheapest design."""
    if not pilot:
        return {"items alone": plan.ways["items"], "cheapest": plan.cheapest}
    known = {"items": True, "samples": bool(parts["samples"]), "runs": plan.now.size.runs > 1}
    ways = {f"more {way} alone": design for way, design in plan.ways.items() if known[way]}
    return {**ways, "cheapest": plan.cheapest}


def _print_table(console: "Console", rows: "Mapping[str, Design | None]") -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("", "items", "runs", "samples", "cost", "power"):
        table.add_column(title, no_wrap=True, justify="left" if not title else "right")
    for name, design in rows.items():
        if design is None:
            table.add_row(name, *"-----")
        else:
            numbers = (str(number) for number in design.size)
            table.add_row(name, *numbers, f"{design.cost:,.6g}", f"{design.power:.2f}")
    console.print(table)


if __name__ == "__main__":
    cli.run(main)
