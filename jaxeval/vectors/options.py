"""Arguments of `jaxeval vectors svd`, and what they ask for."""

import argparse
from typing import TYPE_CHECKING

from jaxeval import cli, machine
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.vectors.baseline import Options


def add_svd(parser: argparse.ArgumentParser) -> None:
    """Adds all of them; what hyperwords calls them stands in brackets."""
    parser.add_argument("corpus", metavar="CORPUS", help="text, perhaps gzip")
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="word2vec text; gzip where it ends with .gz"
    )
    _add_words(parser.add_argument_group("words and windows"))
    _add_matrix(parser.add_argument_group("matrix"))
    parser.add_argument(
        "--processes", type=cli.positive, default=machine.cores(), help="that count (all cores)"
    )
    parser.add_argument(
        "--seed", type=arguments.seed, default=0, help="of windows and dropped words (0)"
    )
    parser.add_argument(
        "--scratch", metavar="DIR", help="for the pairs of words, 12 bytes each (the system's)"
    )
    parser.add_argument("--json", metavar="PATH", help="counts and seconds as JSON, - for stdout")


def _add_words(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--lower-case", action="store_true", help="take all words in lower case")
    group.add_argument(
        "--min-count", type=cli.positive, default=100, metavar="N", help="of a word [thr] (100)"
    )
    group.add_argument(
        "--window", type=cli.positive, default=2, metavar="N", help="words on a side [win] (2)"
    )
    group.add_argument("--dynamic", action="store_true", help="draw windows from 1 to N [dyn]")
    group.add_argument(
        "--subsample",
        type=cli.number(0, 1),
        default=0.0,
        metavar="T",
        help="drop frequent words with probability 1 - sqrt(T / share) [sub] (0: none)",
    )
    group.add_argument("--delete", action="store_true", help="dropped words leave no gap [del]")


def _add_matrix(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--smoothing",
        type=cli.number(0, 1),
        default=0.75,
        metavar="A",
        help="exponent of the contexts' counts [cds] (.75)",
    )
    group.add_argument(
        "--shift", type=cli.number(1), default=1.0, metavar="K", help="less log K [neg] (1)"
    )
    group.add_argument(
        "--dimension", type=cli.positive, default=100, metavar="D", help="of vectors [dim] (100)"
    )
    group.add_argument(
        "--exponent",
        type=cli.number(0, 1),
        default=0.5,
        metavar="P",
        help="of the singular values, 0 to 1 [eig] (.5)",
    )
    group.add_argument("--add-contexts", action="store_true", help="add contexts' vectors [w+c]")


def svd(args: argparse.Namespace) -> "Options":
    """What the arguments ask for."""
    from jaxeval.vectors import baseline, counts

    windows = counts.Windows(args.window, args.dynamic, args.subsample, args.delete, args.seed)
    return baseline.Options(
        windows,
        min_count=args.min_count,
        lower_case=args.lower_case,
        smoothing=args.smoothing,
        shift=args.shift,
        dimension=args.dimension,
        exponent=args.exponent,
        add_contexts=args.add_contexts,
    )
