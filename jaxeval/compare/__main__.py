"""`python -m jaxeval.compare`: is model A really better than B?"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from jaxeval import cli
from jaxeval.compare import options
from jaxeval.errors import ConfigError
from jaxeval.runs import arguments

_DESCRIPTION = """\
Compares the score distributions of two or more models: from any score table (CSV, TSV,
JSON, JSON lines, Parquet) or from a runs folder. Without names, all models of the table.

  python -m jaxeval.compare options ...     what one hyperparameter does (see: options --help)
"""
_EPILOG = """\
a table is tidy (columns model and score; seed, split, dataset, metric, status, dev where known)
or wide (a column a model), or JSON: {model: [scores]} or records. Other names:
  --column model=arch --column score=test_f1 --column seed=run

examples:
  python -m jaxeval.compare lstm transformer --table scores.csv
  python -m jaxeval.compare --runs runs --figures figures
  python -m jaxeval.compare A B --table scores.json --column split=number  # k-th scores share k
  python -m jaxeval.compare A B --table scores.tsv --margin 0.005 --json -
  python -m jaxeval.compare --table one_score_a_data_set.csv --control baseline --figures figures

docs/compare.md says what is computed, and describes the JSON.
"""


def parser() -> argparse.ArgumentParser:
    """The verb's arguments."""
    made = cli.parser("compare", _DESCRIPTION, _EPILOG)
    made.add_argument("models", nargs="*", metavar="MODEL", help="two or more; absent: all")
    arguments.add_table(made)
    rules = made.add_argument_group("how they are compared")
    rules.add_argument(
        "--unit",
        choices=("seed", "split", "dataset", "row"),
        help="what one independent repetition is; scores within it are averaged "
        "(split where splits differ, else seed, else row)",
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
    rules.add_argument("--seed", type=arguments.count, default=0, help="of the resamples (0)")
    out = made.add_argument_group("output")
    out.add_argument(
        "--details", action="store_true", help="print all tests of all pairs on all data sets"
    )
    out.add_argument("--json", metavar="PATH", help="everything as JSON, - for stdout")
    out.add_argument("--latex", nargs="?", const="-", metavar="PATH", help="tables to paste")
    out.add_argument("--markdown", nargs="?", const="-", metavar="PATH", help="tables to paste")
    out.add_argument("--figures", metavar="DIR", help="violins, ECDF, profiles ... as SVG and PNG")
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Reads, studies, prints."""
    words = list(sys.argv[1:] if words is None else words)
    if words[:1] == ["options"]:
        return options.main(words[1:])
    given = arguments.parse(parser(), words)
    from jaxeval.report import figures
    from jaxeval.report.comparison import as_json, paste, progress, terminal
    from jaxeval.report.comparison import figures as drawings
    from jaxeval.stats import pairwise, study

    rules = pairwise.Rules(
        alpha=given.alpha,
        correction=given.correction,
        margin=given.margin,
        resamples=given.resamples,
        seed=given.seed,
    )
    models = given.models
    if given.control and models and given.control not in models:
        models = [*models, given.control]
    table = arguments.table(given, models)
    how = {"control": given.control, "gamma": given.gamma, "told": progress.shown()}
    found = study.study(table, rules, given.unit, **how)
    pasted = {"latex": paste.latex, "markdown": paste.markdown}
    wanted = {name: getattr(given, name) for name in ("json", *pasted)}
    if list(wanted.values()).count("-") > 1:
        raise ConfigError("--json, --latex, --markdown: only one of them can go to stdout")
    if given.figures:
        figures.folder(Path(given.figures))  # before anything is written
    if given.json:
        cli.write_json(given.json, as_json.to_dict(found))
    for name, make in pasted.items():
        if wanted[name]:
            cli.write_out(wanted[name], make(found))
    paths: list[Path] = []
    if given.figures:
        paths = figures.save_all(drawings.draw(found), Path(given.figures))
    if "-" not in wanted.values():
        terminal.print_study(found, given.details)
        for path in paths:
            print(f"figure: {path}")
    return 0


if __name__ == "__main__":
    cli.run(main)
