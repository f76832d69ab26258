"""`python -m jaxeval.noise`: how much of the spread is the split's, the seed's, the machine's."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import cli, files
from jaxeval.config import arguments as limits
from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.runs.records import MemberRow
    from jaxeval.stats.balance import Table
    from jaxeval.stats.repeats import Noise
    from jaxeval.stats.results import Interval

_PARTS = ("dev", "test")
_OF_CROSSED = ("splits", "precision", "split_cost", "model", "minus", "table", "runs")
_OF_CONFIG = ("data", "seeds", "seed_list", "splits", "repeats")
_OF_TABLE = ("model", "minus", "rows", "missing", "score", "column", "metric")
_DESCRIPTION = """\
Splits the spread of scores into its parts, with intervals.

--by seed,repeat (the default) trains every seed several times (Melis et al. 2018, section 7.2):
the spread of dev and test is that of the same seed repeated (a GPU may add up in another order
each time) and that between seeds. On a CPU the same seed gives the same scores, and only the
seeds' part is left.

--by split,seed trains every seed on every random split: the spread is the split's, the seed's and
that of both together; then it says what to train for a precision of the mean. Scores of any other
framework do as well (--table).
"""
_EXAMPLES = """\
examples:
  python -m jaxeval.noise CONFIG --data DIR --seeds 8 --repeats 4
  python -m jaxeval.noise CONFIG --data DIR --by split,seed --splits 6 --seeds 6 --precision 0.01
  python -m jaxeval.noise --by split,seed --table scores.csv --model A --minus B --precision 0.005

The same command continues what was interrupted. docs/noise.md says what is computed.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("noise", _DESCRIPTION, _EXAMPLES)
    cli.add_config(parser)
    cli.add_seeds(parser)
    parser.add_argument(
        "--by",
        choices=("seed,repeat", "split,seed"),
        default="seed,repeat",
        metavar="PARTS",
        help="of the variance: seed,repeat or split,seed (seed,repeat)",
    )
    parser.add_argument(
        "--repeats",
        type=cli.positive,
        metavar="R",
        help="runs of each seed (4; by split,seed 1, of each on each split)",
    )
    crossed = parser.add_argument_group("by split,seed")
    crossed.add_argument(
        "--splits", type=cli.positive, metavar="N", help="random splits 1 .. N (6)"
    )
    crossed.add_argument(
        "--precision",
        type=arguments.positive,
        metavar="X",
        help="half of the mean's 95 %% interval to plan for, in the scores' own unit: .01 is a "
        "point of F1 (the metric's equivalence margin)",
    )
    crossed.add_argument(
        "--split-cost", type=cli.number(0), metavar="C", help="of a new split, in runs (0)"
    )
    crossed.add_argument("--model", metavar="NAME", help="of the table, where it has several")
    crossed.add_argument("--minus", metavar="NAME", help="another: the paired difference")
    arguments.add_table(parser)
    cli.add_details(parser)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Parses, trains or reads, splits the spread, prints."""
    verb = parser()
    args = cli.parse_config(verb, words, reads=("table",), runs=("out", "runs"))
    if args.by == "seed,repeat":
        _by_repeat(verb, args)
    elif args.table is not None or args.runs is not None:
        _by_split_of_table(verb, args)
    else:
        _by_split(verb, args)
    return 0


def _by_repeat(verb: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    other = [name for name in _OF_CROSSED if getattr(args, name) is not None]
    if other:
        verb.error(f"--{other[0].replace('_', '-')}: goes with --by split,seed")
    _refuse_of_table(verb, args)
    seeds, repeats = cli.seeds_of(args), args.repeats or 4
    if repeats < 2 or len(seeds) < 2:
        verb.error("expected 2 or more --repeats of 2 or more seeds")
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.studies import proposers

    cli.say_default(args)
    config = studies.read(args.config, args.changes, args.data)
    rows = observe.train(proposers.repeats(config, seeds, repeats), Path(args.out))
    by_part = _of_repeats(rows, seeds)
    if args.json:
        from jaxeval.report.plain import plain

        content = {part: plain(noise) for part, noise in by_part.items()}
        files.write_json(args.json, {"metric": rows[0].metric, **content})
    if args.json != "-":
        _show_repeats(by_part, rows[0].metric, rows[0].unit)


def _of_repeats(rows: "Sequence[MemberRow]", seeds: Sequence[int]) -> "dict[str, Noise]":
    """The components of dev and test, over the seeds of which no run failed."""
    from jaxeval.stats import repeats

    by_part = {}
    for part in _PARTS:
        by_seed = {seed: [getattr(r, part) for r in rows if r.seed == seed] for seed in seeds}
        whole = [scores for scores in by_seed.values() if None not in scores]
        if len(whole) < len(seeds):
            lost = len(seeds) - len(whole)
            print(f"{part}: {lost} seeds left out, a run of each has no score", file=sys.stderr)
        if len(whole) < 2:
            raise DataError(f"noise: {len(whole)} seeds have scores of all their runs; 2 needed")
        by_part[part] = repeats.noise(whole)
    return by_part


def _show_repeats(by_part: "dict[str, Noise]", metric: str, unit: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from jaxeval.report import scores

    table, factor = Table(box=None, pad_edge=False), scores.factor(unit)
    for title in (
        scores.label(metric, unit),
        "mean",
        "sd of any run",
        "sd of one seed repeated",
        "sd between seeds",
    ):
        table.add_column(title, no_wrap=True)
    for part, noise in by_part.items():
        table.add_row(
            part,
            scores.shown(noise.mean, unit),
            f"{factor * noise.sd:.3g}",
            _with_interval(noise.sd_repeat, noise.sd_repeat_interval, factor),
            _with_interval(noise.sd_seed, noise.sd_seed_interval, factor),
        )
    console = Console(highlight=False, soft_wrap=True, width=160)
    first = by_part["dev"]
    console.print(_of_seeds(by_part["test"], metric), style="bold")
    console.print(table)
    console.print(
        f"{first.seeds} seeds, {first.repeats} runs each; 95 % intervals for normal scores"
    )


def _of_seeds(noise: "Noise", metric: str) -> str:
    """Whether runs of one seed differ, and whether by less than seeds do."""
    if noise.sd == 0:
        return f"All runs have the same test {metric}: nothing is known of what varies it."
    if noise.sd_repeat == 0:
        return (
            f"The same seed gave the same test {metric}, to the last bit: all of it is the seed's."
        )
    repeat, seed = noise.sd_repeat_interval, noise.sd_seed_interval
    if repeat.high < seed.low:
        return f"Seeds differ by more in test {metric} than runs of one seed do."
    if seed.high < repeat.low:
        return f"Runs of one seed differ by more in test {metric} than seeds do."
    return f"Whether seeds differ by more in test {metric} than runs of one seed was not shown."


def _with_interval(sd: float, interval: "Interval", factor: float) -> str:
    shown = f"{factor * sd:.3g}"
    if interval.absent:
        return f"{shown} (no interval: {interval.absent})"
    return f"{shown} ({factor * interval.low:.3g} to {factor * interval.high:.3g})"


def _refuse_of_table(verb: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    arguments.refuse_given(verb, args, _OF_TABLE, "expected with --table or --runs")


def _by_split(verb: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    seeds, splits, repeats = cli.seeds_of(args), args.splits or 6, args.repeats or 1
    if min(len(seeds), splits) < 2:
        verb.error("expected 2 or more --splits and 2 or more seeds")
    _refuse_of_table(verb, args)
    if len(seeds) * splits * repeats > limits.MOST:
        raise ConfigError(f"--splits: expected at most {limits.MOST} runs in all")
    if not (args.config or args.changes or args.data):
        verb.error(
            "expected a CONFIG, which is trained, or recorded scores in --table FILE or --runs DIR"
        )
    from jaxeval import backend

    backend.prepare()
    from jaxeval import observe, studies
    from jaxeval.runs import metrics
    from jaxeval.stats import balance
    from jaxeval.studies import cohorts, proposers

    cli.say_default(args)
    config = studies.read(args.config, args.changes, args.data)
    trials = proposers.crossed(config, seeds, range(1, splits + 1), repeats)
    session = studies.Session()
    entries = cohorts.entries(trials, session.loader)
    metrics.refuse_points("precision", args.precision or 0.0, entries[0].record.unit)
    rows = observe.train_cohorts(cohorts.by_program(entries), Path(args.out), session=session)
    labels = [row.split for row in rows], [row.seed for row in rows]
    tables = {part: balance.table(*labels, [getattr(r, part) for r in rows]) for part in _PARTS}
    first = rows[0]
    _answer(tables, first.metric, first.unit, args.precision or first.margin, args)


def _by_split_of_table(verb: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if args.config:
        verb.error("expected no CONFIG beside --table or --runs")
    said = "expected without --table or --runs, with a CONFIG that is trained"
    arguments.refuse_given(verb, args, _OF_CONFIG, said)
    if args.minus is not None and args.model in (None, args.minus):
        verb.error(f"--minus {args.minus}: expected another model in --model beside it")
    from jaxeval.runs import cells, metrics
    from jaxeval.stats import balance

    table = arguments.table(args, [name for name in (args.model, args.minus) if name])
    metrics.refuse_points("precision", args.precision or 0.0, table.stored_unit)
    for line in table.warnings:
        print(f"warning: {line}", file=sys.stderr)
    tables = {"score": balance.table(*cells.cells(table, args.model, args.minus))}
    name = " - ".join(filter(None, (args.model or table.models[0], args.minus)))
    metric = f"{table.metric or 'score'} of {name}"
    _answer(tables, metric, table.stored_unit, args.precision, args)


def _answer(
    tables: "Mapping[str, Table]",
    metric: str,
    unit: str,
    precision: float | None,
    args: argparse.Namespace,
) -> None:
    """Components of each part of the data, and a plan where a precision is known."""
    from jaxeval.report import crossed as report
    from jaxeval.stats import crossed, designs

    parts = []
    for name, table in tables.items():
        study = crossed.components(table.scores)
        plan = None
        if precision and study.total.sd > 0:  # equal scores say nothing of what others would be
            plan = designs.plan(study, precision, args.split_cost or 0.0)
        parts.append(report.Part(name, study, table.dropped, plan))
    if args.json:
        files.write_json(args.json, report.to_dict(parts, metric, unit))
    if args.json != "-":
        report.show(parts, metric, unit, args.details)


if __name__ == "__main__":
    cli.run(main)
