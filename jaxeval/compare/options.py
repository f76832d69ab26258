"""`python -m jaxeval.compare options`: what one hyperparameter does, other things being equal."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxeval import cli
from jaxeval.errors import DataError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.runs.checks import Unusable

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
      --score Test_F1 --group Dataset --where Setting=SingleTask --fold-case Backend \\
      --ignore ID,Epochs,OptimalEpoch,Dev_F1,Max_Test_F1,LabelKey
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("compare options", _DESCRIPTION, _EPILOG)
    read = arguments.add_source(made)
    read.add_argument(
        "--where", action="append", default=[], metavar="COLUMN=VALUE", help="only such rows"
    )
    read.add_argument(
        "--fold-case", action="append", default=[], metavar="COLUMN", help="ignore case in it"
    )
    made.add_argument("--option", required=True, metavar="COLUMN", help="what is studied")
    made.add_argument("--score", required=True, metavar="COLUMN")
    made.add_argument(
        "--values", metavar="A,B,..", help="compare only these values of the option (all)"
    )
    made.add_argument("--group", nargs="+", default=[], metavar="COLUMN", help="reported apart")
    made.add_argument(
        "--ignore", nargs="+", default=[], metavar="COLUMN", help="not part of the key"
    )
    made.add_argument(
        "--key", nargs="+", metavar="COLUMN", help="the key, in so many words; commas do as well"
    )
    made.add_argument(
        "--repeats",
        choices=("first", "last", "mean", "median"),
        default="first",
        help="which score stands for several of one configuration (first)",
    )
    made.add_argument("--ddof", type=int, choices=(0, 1), default=1, help="of the sds (1)")
    made.add_argument("--lower-is-better", action="store_true", help="for losses")
    made.add_argument("--json", metavar="PATH", help="the result as JSON, - for stdout")
    return made


def main(words: Sequence[str]) -> int:
    """Reads, compares, prints."""
    given = parser().parse_args(words)
    for name in ("group", "ignore", "key"):
        setattr(given, name, arguments.names(getattr(given, name) or ()))
    from jaxeval import stats
    from jaxeval.report import text
    from jaxeval.report.comparison import options
    from jaxeval.report.plain import plain

    table, unusable = _table(given)
    key = _key(table, given)
    found = stats.paired_options(
        table,
        given.option,
        given.score,
        by=given.group,
        key=key,
        options=given.values.split(",") if given.values else _ordered(table[given.option]),
        repeats=given.repeats,
        higher_is_better=not given.lower_is_better,
        ddof=given.ddof,
    )
    effect = _seed_effect(table, given, key)
    adjusted = options.adjusted(found)
    if given.json:
        tree = {
            "option": given.option,
            "score": given.score,
            "key": key,
            "rows": len(next(iter(table.values()))),
            "missing": given.missing,
            "unusable": plain(unusable),
            "adjust_p_values": {"method": "holm", "tests": len(adjusted)},
            "paired_options": options.with_adjusted(plain(found), adjusted),
            "seed_effect": plain(effect),
        }
        cli.write_json(given.json, tree)
    if given.json != "-":
        if unusable:
            print(text.unusable(unusable, given.missing))
        options.show(given.option, found, effect, adjusted)
    return 0


def _table(
    given: argparse.Namespace,
) -> tuple[Mapping[str, Sequence[Any]], Sequence["Unusable"]]:
    """The rows asked for, column by column as text, scores as numbers; and what was unusable."""
    from jaxeval.runs import checks, foreign

    table = arguments.columns(given)
    for name in (
        given.option,
        given.score,
        *given.group,
        *given.ignore,
        *(given.key or ()),
        *given.fold_case,
    ):
        table[name]  # a column that is named must exist
    for name, value in arguments.roles(given.where).items():
        column = table[name]
        table = foreign.pick(table, [k for k in range(len(table)) if str(column[k]) == value])
        if not len(table):
            raise DataError(f"no row has {name}={value}", table.source)
    if given.missing == "zero" and given.lower_is_better:
        raise DataError("--missing zero: 0 would be the best of losses; --missing drop")
    scores, keep, unusable = checks.usable(table, given.score, given.missing)
    kept = foreign.pick(table, keep.tolist()).values
    values: dict[str, Sequence[Any]] = {
        name: [str(value) for value in column] for name, column in kept.items()
    }
    for name in given.fold_case:
        values[name] = [value.lower() for value in values[name]]
    return {**values, given.score: scores[keep]}, unusable


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Distinct values: numbers by size, all others as they appear."""
    distinct = list(dict.fromkeys(values))
    try:
        return sorted(distinct, key=float)
    except (TypeError, ValueError):
        return distinct


def _key(table: Mapping[str, Sequence[Any]], given: argparse.Namespace) -> list[str]:
    taken = {given.option, given.score, *given.group, *given.ignore}
    return given.key or [name for name in table if name not in taken]


def _seed_effect(
    table: Mapping[str, Sequence[Any]], given: argparse.Namespace, key: Sequence[str]
) -> Any:
    """None where no configuration was trained twice."""
    from jaxeval import stats

    try:
        return stats.seed_effect(table, given.score, key=[*key, given.option], by=given.group)
    except DataError:
        return None
