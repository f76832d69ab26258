"""`python -m jaxeval.compare`: is model A really better than B?"""

import argparse
import dataclasses
import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxeval import cli, outputs
from jaxeval.compare import logs, options, single_runs, studying
from jaxeval.runs import arguments

if TYPE_CHECKING:
    from jaxeval.stats.pairwise import Rules

_DESCRIPTION = """\
Compares the score distributions of two or more models: from any score table (CSV, TSV,
JSON, JSON lines, Parquet), from a runs folder, or from logs of evaluations of language models
(item by item). Without names, all models there are.

  python -m jaxeval.compare options ...     # what one hyperparameter does: options --help
"""
_EPILOG = """\
a table is tidy (columns model and score; seed, split, dataset, metric, status, dev where known)
or wide (one column per model), or JSON: {model: [scores]} or records. Other names:
  --column model=arch --column score=test_f1 --column seed=run

examples:
  python -m jaxeval.compare lstm transformer --table scores.csv
  python -m jaxeval.compare --runs runs --figures figures
  python -m jaxeval.compare A B --table scores.json --column split=number  # k-th scores share k
  python -m jaxeval.compare A B --table scores.tsv --margin 0.005 --json -
  python -m jaxeval.compare --table one_score_a_data_set.csv --control baseline --figures figures
  python -m jaxeval.compare --log lm_eval_output --metric acc      # item by item
  python -m jaxeval.compare new old --log new=new.eval --log old=old.eval --gate --margin 0.01

docs/compare.md and docs/evaluation_logs.md say what is computed, and describe the JSON.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    parser = cli.parser("compare", _DESCRIPTION, _EPILOG)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="two or more; absent: all")
    arguments.add_table(parser)
    arguments.add_items(parser)
    logs.add(parser)
    _add_rules(parser)
    _add_output(parser)
    return parser


def _add_rules(parser: argparse.ArgumentParser) -> None:
    rules = parser.add_argument_group("how they are compared")
    rules.add_argument(
        "--unit",
        choices=("seed", "split", "dataset", "row"),
        help="what one independent repetition is; scores within it are averaged "
        "(dataset where each has one score of a model, else split where several are there, else "
        "seed, else row)",
    )
    rules.add_argument(
        "--alpha", type=arguments.probability, default=0.05, help="corrected level (.05)"
    )
    rules.add_argument(
        "--correction",
        choices=("holm", "bonferroni", "benjamini_hochberg"),
        default="holm",
        help="over all tests looked at (holm)",
    )
    rules.add_argument(
        "--margin",
        type=arguments.positive,
        help="smallest difference that matters, in the table's unit",
    )
    rules.add_argument(
        "--control", metavar="MODEL", help="compare all others with this one only, not all pairs"
    )
    rules.add_argument(
        "--gamma",
        type=arguments.positive,
        help="score of a data set that is solved, for the optimality gap (1 for fractions)",
    )
    rules.add_argument(
        "--resamples", type=arguments.whole, default=9999, help="permutations, bootstraps (9999)"
    )
    rules.add_argument("--seed", type=arguments.seed, default=0, help="of the resamples (0)")


def _add_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    out.add_argument(
        "--details", action="store_true", help="print all tests of all pairs on all data sets"
    )
    out.add_argument("--json", metavar="PATH", help="everything as JSON, - for stdout")
    out.add_argument("--latex", nargs="?", const="-", metavar="PATH", help="tables to paste")
    out.add_argument("--markdown", nargs="?", const="-", metavar="PATH", help="tables to paste")
    out.add_argument("--figures", metavar="DIR", help="violins, ECDF ... as SVG, PDF, PNG")


def main(words: Sequence[str] | None = None) -> int:
    """Reads, studies, prints."""
    words = list(sys.argv[1:] if words is None else words)
    if words[:1] == ["options"]:
        return options.main(words[1:])
    args = arguments.parse(parser(), words)
    texts = args.json, args.latex, args.markdown, args.junit, args.html
    reads = itertools.chain([args.table, args.items], arguments.log_files(args))
    outputs.refuse_unwritable(*texts, folder=args.figures, reads=reads, runs=[args.runs])
    if args.log:
        return logs.main(args)
    logs.refuse_without_logs(args)
    destinations = studying.Destinations(
        args.json, args.latex, args.markdown, args.figures, args.details
    )
    destinations.refuse_several_on_stdout()
    models = args.models
    if args.control and models and args.control not in models:
        models = [*models, args.control]
    with cli.waiting("reading the scores"):
        table, trained = arguments.scores_and_items(args, models)
    if left := single_runs.left_out(table, trained, args):
        kept = [model for model in table.models if model not in left]
        table, trained = arguments.scores_and_items(args, kept)
        note = f"left out, as they have one score each: {', '.join(left)}"
        table = dataclasses.replace(table, warnings=(*table.warnings, note))
    over_items = single_runs.study(table, trained, args) if trained else None
    if over_items is not None:
        logs.write(over_items, args)
        return 0
    study = studying.study(
        table,
        _rules(args),
        args.unit,
        control=args.control,
        gamma=args.gamma,
        trained=trained,
    )
    studying.write(study, destinations)
    return 0


def _rules(args: argparse.Namespace) -> "Rules":
    from jaxeval.stats import pairwise

    return pairwise.Rules(
        alpha=args.alpha,
        correction=args.correction,
        margin=args.margin,
        resamples=args.resamples,
        seed=args.seed,
    )


if __name__ == "__main__":
    cli.run(main)
