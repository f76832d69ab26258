"""The arguments of every verb that reads a score table, and the table they name."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxeval.config.arguments import MOST, SEEDS
from jaxeval.errors import ConfigError, argument, printable

if TYPE_CHECKING:
    from jaxeval.runs.imported import Columns
    from jaxeval.runs.layout import Layout
    from jaxeval.runs.scores import Scores


class Once(argparse.Action):
    """Stores an argument that names one source: a second would replace the first in silence."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Refuses a second."""
        first = getattr(namespace, self.dest, None)
        if first is not None:
            parser.error(
                f"{option_string} {first} and {option_string} {values}: expected one; put the "
                "scores into one table, with a column (dataset, model, seed) that tells them apart"
            )
        setattr(namespace, self.dest, values)


def add_source(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Where the table is, and how much of it is read."""
    group = parser.add_argument_group("what is read")
    group.add_argument(
        "--table",
        action=Once,
        metavar="FILE",
        help=".csv, .tsv, .json, .jsonl (all also .gz) or .parquet",
    )
    group.add_argument(
        "--runs", action=Once, metavar="DIR", help="a runs folder or database URL instead"
    )
    group.add_argument(
        "--missing",
        choices=("error", "drop", "zero"),
        default="error",
        help="what to do with a score that is missing, no number or infinite (error)",
    )
    return group


def refuse_given(
    parser: argparse.ArgumentParser, args: argparse.Namespace, names: Sequence[str], said: str
) -> None:
    """Refuses arguments that what is asked for has no use for: they would be passed over.

    Args:
      names: of arguments; those that have their default may stand.
      said: of the others: "expected with CONFIG, got --table".

    Raises:
      ConfigError: naming them.
    """
    given = [name for name in names if getattr(args, name) != parser.get_default(name)]
    if given:
        raise ConfigError(f"{', '.join(map(argument, given))}: {said}")


def add_table(parser: argparse.ArgumentParser) -> None:
    """All arguments of a score table."""
    group = add_source(parser)
    group.add_argument(
        "--score", metavar="NAME", help="column of scores (score; test in a runs folder)"
    )
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        help="which column is model, seed, split, dataset, metric, status or dev; last=EPOCH or "
        "best=DEV: which row of a run counts; may be repeated",
    )
    group.add_argument("--metric", metavar="NAME", help="only rows of this metric")
    add_direction(group)


def add_direction(group: argparse._ActionsContainer) -> None:
    """Whether higher or lower scores are better, where nothing is recorded of it."""
    asked = group.add_mutually_exclusive_group()
    for direction, higher in (("lower", False), ("higher", True)):
        asked.add_argument(
            f"--{direction}-is-better",
            action="store_const",
            const=higher,
            dest="higher_is_better",
            help=f"{direction} scores are better (as the metric's name says, else higher)",
        )


def scores(args: argparse.Namespace, models: Sequence[str]) -> "Scores":
    """The scores that the arguments name.

    Raises:
      ConfigError, DataError, RunError: naming the argument, or file, row and column.
    """
    from jaxeval.runs import native, tables

    _one_source(args)
    if args.runs is not None:
        return native.scores(args.runs, _layout(args, models))
    return tables.read(args.table, _layout(args, models))


def _layout(args: argparse.Namespace, models: Sequence[str]) -> "Layout":
    from jaxeval.runs import layout

    return layout.Layout(
        columns=roles(args.column) | ({"score": args.score} if args.score else {}),
        models=list(dict.fromkeys(models)),
        metric=args.metric,
        missing=args.missing,
        higher_is_better=args.higher_is_better,
    )


def columns(args: argparse.Namespace) -> "Columns":
    """The raw columns that the arguments name."""
    from jaxeval.runs import imported, native

    _one_source(args)
    if args.runs is not None:
        return native.columns(args.runs)
    return imported.read(args.table)


def _one_source(args: argparse.Namespace) -> None:
    if args.table is not None and args.runs is not None:
        raise ConfigError("expected either --table FILE or --runs DIR, not both")
    if args.table is None and args.runs is None:
        raise ConfigError(f"expected either --table FILE or --runs DIR{_meant(args)}")


def _meant(args: argparse.Namespace) -> str:
    """What to write where a model's name is that of a file or folder."""
    for name in getattr(args, "models", []):
        if os.path.exists(name):  # False of a name that is too long for a path
            flag = "--runs" if os.path.isdir(name) else "--table"
            return f"; {printable(name)} is no model but a path: {flag} {printable(name)}"
    return ""


def parse(parser: argparse.ArgumentParser, words: Sequence[str] | None) -> argparse.Namespace:
    """Arguments in any order; after "--" come models whose names look like flags."""
    every = list(sys.argv[1:] if words is None else words)
    cut = every.index("--") if "--" in every else len(every)
    parsed = parser.parse_intermixed_args(every[:cut])
    if cut < len(every):
        parsed.models = [*parsed.models, *every[cut + 1 :]]
    return parsed


def roles(pairs: Sequence[str]) -> dict[str, str]:
    """`ROLE=NAME` arguments as role -> name."""
    by_role = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not (role and equals and name):
            raise ConfigError(f"{pair!r}: expected ROLE=NAME, such as model=arch")
        by_role[role] = name
    return by_role


def names(words: Sequence[str]) -> list[str]:
    """Column names, parted by spaces or commas."""
    return [name for word in words for name in word.split(",") if name]


def whole(text: str) -> int:
    """A whole number from 1."""
    return _whole(text, 1, MOST)


def count(text: str) -> int:
    """A whole number from 0."""
    return _whole(text, 0, MOST)


def seed(text: str) -> int:
    """A seed."""
    return _whole(text, 0, SEEDS - 1)


def _whole(text: str, least: int, most: int) -> int:
    # Python's int refuses thousands of digits
    if not (text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        expected = f"expected a whole number from {least} to {most}, got {text!r}"
        raise argparse.ArgumentTypeError(expected)
    return int(text)


def positive(text: str) -> float:
    """A number above 0."""
    return _number(text, 0.0, float("inf"), "a number above 0")


def probability(text: str) -> float:
    """A number between 0 and 1."""
    return _number(text, 0.0, 1.0, "a number between 0 and 1")


def _number(text: str, low: float, high: float, expected: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = low
    if not low < value < high:
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")
    return value
