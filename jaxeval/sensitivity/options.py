"""Arguments of the sensitivity of sweeps, and what is read as they say."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxeval.errors import ConfigError
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.sensitivity.hyperparameters import Declared
    from jaxeval.sensitivity.sources import Request


def add_columns(parser: argparse.ArgumentParser) -> None:
    """What is read of each sweep, and what its values alone do not say."""
    parser.add_argument(
        "--score", metavar="COLUMN", help="fractions (score; dev in a sweep of a runs folder)"
    )
    parser.add_argument(
        "--experiment",
        action="append",
        default=[],
        metavar="NAME",
        help="only this name or id of a runs folder; may be repeated (all sweeps)",
    )
    parser.add_argument(
        "--hyperparameters",
        nargs="+",
        default=[],
        metavar="A",
        help="columns: A B or A,B (all that a recorded sweep drew)",
    )
    parser.add_argument(
        "--order", action="append", default=[], metavar="NAME=A,B,..", help="of a category"
    )
    parser.add_argument(
        "--when",
        action="append",
        default=[],
        metavar="NAME:OTHER=A,B",
        help="NAME has an effect only where OTHER is A or B",
    )
    parser.add_argument(
        "--log", nargs="+", default=[], metavar="A", help="drawn evenly in the logarithm"
    )
    parser.add_argument(
        "--space",
        metavar="FILE",
        help="what tables were drawn from, as docs/sweeps.md describes: columns, their ranges, "
        "orders and conditions",
    )


def add_rows(parser: argparse.ArgumentParser) -> None:
    """Which runs count."""
    parser.add_argument(
        "--missing",
        choices=("error", "drop", "zero"),
        default="error",
        help="what to do with a missing score; zero: a run that failed scored 0 (error)",
    )


def add_groups(parser: argparse.ArgumentParser) -> None:
    """What is averaged over what."""
    parser.add_argument(
        "--by",
        nargs="+",
        default=[],
        metavar="LABEL",
        help="labels that tell groups of sweeps apart, such as architecture or task,architecture",
    )
    parser.add_argument(
        "--over", metavar="LABEL", help="average over it in each group (dataset, if --by is given)"
    )
    parser.add_argument(
        "--file-name",
        metavar="PATTERN",
        help="labels in names of tables and folders: {dataset}-{architecture}.tsv",
    )


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """How the metrics are computed."""
    parser.add_argument(
        "--rope", type=float, default=0.01, help="equivalence margin of two scores (.01)"
    )
    parser.add_argument("--ks", type=_ks, default=(25, 50, 100, 150), metavar="A,B,..")
    parser.add_argument(
        "--convention",
        choices=("default", "published", "text"),
        default="default",
        help="how metrics count; published: as in the paper's tables, except rho where several "
        "runs are best (default)",
    )
    parser.add_argument(
        "--resamples",
        type=arguments.count,
        help="of the intervals of a sweep (1000 for one or two sweeps, none for more)",
    )
    parser.add_argument("--seed", type=arguments.seed, default=0, help="of the resamples (0)")


def _ks(text: str) -> tuple[int, ...]:
    return tuple(arguments.whole(part) for part in text.split(","))


def request(args: argparse.Namespace) -> "Request":
    """What is read of each table or runs folder."""
    from jaxeval.sensitivity.sources import Request
    from jaxeval.space import space

    return Request(
        score=args.score,
        hyperparameters=arguments.names(args.hyperparameters),
        declared=_declared(args),
        missing=args.missing,
        experiments=args.experiment,
        space=space.read(args.space) if args.space else None,
        file_name=args.file_name,
    )


def _declared(args: argparse.Namespace) -> "Declared":
    from jaxeval.sensitivity.hyperparameters import Declared, HyperparameterScale

    orders = {name: values.split(",") for name, values in arguments.roles(args.order).items()}
    conditions: dict[str, dict[str, Sequence[str]]] = {}
    for text in args.when:
        name, colon, condition = text.partition(":")
        other, equals, values = condition.partition("=")
        if not (name and colon and other and equals):
            raise ConfigError(f"--when {text!r}: expected NAME:OTHER=A,B")
        conditions.setdefault(name, {})[other] = values.split(",")
    scales = {name: HyperparameterScale(log=True) for name in arguments.names(args.log)}
    return Declared(orders, conditions, scales)
