"""`python -m jaxeval.compare options`: what one hyperparameter does, other things being equal."""

import argparse
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from jaxeval import cli, files, outputs
from jaxeval.errors import DataError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.runs.checks import Unusable
    from jaxeval.stats.configurations import OptionComparison, SeedEffect

_DESCRIPTION = """\
Compares the values of one option (a column of a table with a row a trained network) within
configurations that are equal in all other columns, as Reimers & Gurevych (2017) do; and shows what
the seed alone does to configurations that were trained more than once.
"""
_EPILOG = """\
The key of a configuration is every column but the option, the score, the groups and those left out
with --ignore: leave out what a run measures (other scores, epochs, ids) and what depends on the
option.

example (the published 51,422 networks):
  python -m jaxeval.compare options --table hyperparameter_results.csv.gz --option miniBatchSize \\
      --score Test_F1 --group Dataset --where Setting=SingleTask \\
      --ignore ID,Epochs,OptimalEpoch,Dev_F1,Max_Test_F1,LabelKey
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("compare options", _DESCRIPTION, _EPILOG)
    read = arguments.add_source(parser)
    read.add_argument(
        "--where", action="append", default=[], metavar="COLUMN=VALUE", help="only such rows"
    )
    parser.add_argument("--option", required=True, metavar="COLUMN", help="what is studied")
    parser.add_argument("--score", required=True, metavar="COLUMN")
    parser.add_argument(
        "--values", metavar="A,B,..", help="compare only these values of the option (all)"
    )
    parser.add_argument("--group", nargs="+", default=[], metavar="COLUMN", help="reported apart")
    parser.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="not part of the key"
    )
    parser.add_argument(
        "--key", nargs="+", metavar="COLUMN", help="the key, in so many words; commas do as well"
    )
    parser.add_argument(
        "--repeats",
        choices=("first", "last", "mean", "median"),
        default="first",
        help="which score stands for several of one configuration (first)",
    )
    parser.add_argument("--ddof", type=int, choices=(0, 1), default=1, help="of the sds (1)")
    arguments.add_direction(parser)
    parser.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")
    return parser


def main(words: Sequence[str]) -> int:
    """Reads, compares, prints."""
    args = parser().parse_args(words)
    outputs.refuse_unwritable(args.json, reads=[args.table], runs=[args.runs])
    for name in ("group", "ignore", "key"):
        setattr(args, name, arguments.names(getattr(args, name) or ()))
    from jaxeval.report import text
    from jaxeval.report.comparison import options
    from jaxeval.report.plain import plain

    table, unusable = _table(args)
    direction = _direction(table, args)
    if args.missing == "zero" and direction is False:
        raise DataError("--missing zero: 0 would be the best loss; expected --missing drop")
    key = _key(table, args)
    higher, assumed = direction is not False, direction is None
    comparisons = _compared(table, args, key, higher)
    effect = _seed_effect(table, args, key)
    adjusted = options.adjusted(comparisons)
    if args.json:
        tree = {
            **{"option": args.option, "score": args.score, "key": key},
            "rows": len(next(iter(table.values()))),
            "higher_is_better": higher,
            "direction_assumed": assumed,
            "missing": args.missing,
            "unusable": plain(unusable),
            "adjust_p_values": {"method": "holm", "tests": len(adjusted)},
            "paired_options": options.with_adjusted(comparisons, adjusted),
            "seed_effect": plain(effect),
        }
        files.write_json(args.json, tree)
    if args.json != "-":
        if unusable:
            print(text.unusable(unusable, args.missing))
        print(f"{args.score}: {text.direction(higher, assumed)}")
        options.show(args.option, comparisons, effect, adjusted)
    return 0


def _table(
    args: argparse.Namespace,
) -> tuple[Mapping[str, Sequence[Hashable]], Sequence["Unusable"]]:
    """The rows asked for, column by column as text, scores as numbers; and what was unusable."""
    from jaxeval.runs import checks, imported

    table = arguments.columns(args)
    for name in (
        args.option,
        args.score,
        *args.group,
        *args.ignore,
        *(args.key or ()),
    ):
        table[name]  # a column that is named must exist
    for name, value in arguments.roles(args.where).items():
        column = table[name]
        table = imported.pick(table, [k for k in range(len(table)) if str(column[k]) == value])
        if not len(table):
            raise DataError(f"--where {name}={value}: no row has this value", table.source)
    scores, keep, unusable = checks.usable(table, args.score, args.missing)
    kept = imported.pick(table, keep.tolist()).values
    values = {name: [str(value) for value in column] for name, column in kept.items()}
    return {**values, args.score: scores[keep]}, unusable


def _ordered(values: Sequence[Hashable]) -> list[Hashable]:
    """Distinct values: numbers by size, all others as they appear."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=lambda value: float(str(value)))
    except ValueError:
        return distinct


def _key(table: Mapping[str, Sequence[Hashable]], args: argparse.Namespace) -> list[str]:
    taken = {args.option, args.score, *args.group, *args.ignore}
    return args.key or [name for name in table if name not in taken]


def _direction(table: Mapping[str, Sequence[Hashable]], args: argparse.Namespace) -> bool | None:
    """Whether higher is better, by the rule of `directions.of_columns`; None: not known.

    What a runs folder records of its metric is about dev and test only; what is studied as an
    option is no metric.
    """
    from jaxeval.runs import directions

    of_others = args.runs is not None and args.score not in ("dev", "test")
    said = {} if of_others else {n: of for n, of in table.items() if n != args.option}
    source, who = args.table or args.runs, "the runs say" if args.runs else "the table says"
    return directions.of_columns(said, args.score, source, args.higher_is_better, who)


def _compared(
    table: Mapping[str, Sequence[Hashable]],
    args: argparse.Namespace,
    key: Sequence[str],
    higher_is_better: bool,
) -> "list[OptionComparison]":
    from jaxeval import stats

    return stats.paired_options(
        table,
        args.option,
        args.score,
        by=args.group,
        key=key,
        options=args.values.split(",") if args.values else _ordered(table[args.option]),
        repeats=args.repeats,
        higher_is_better=higher_is_better,
        ddof=args.ddof,
    )


def _seed_effect(
    table: Mapping[str, Sequence[Hashable]], args: argparse.Namespace, key: Sequence[str]
) -> "list[SeedEffect] | None":
    """None where no configuration was trained twice."""
    from jaxeval import stats

    try:
        return stats.seed_effect(table, args.score, key=[*key, args.option], by=args.group)
    except DataError:
        return None
