"""Draws the scores that `jaxeval vectors judge` found, from its table (--csv), as it draws them.

python benchmarks/vectors_judged_figure.py benchmarks/results/vectors_judged.csv vectors_judged.png
"""

import argparse
import csv
from pathlib import Path

from jaxeval.report.judgement import figures
from jaxeval.report.judgement.data import Cost, Judged
from jaxeval.stats import judgement
from jaxeval.stats.rules import Rules


def main() -> None:
    """Reads and draws."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", type=Path)
    parser.add_argument("figure", type=Path)
    parser.add_argument("--mode", choices=("fixed", "tuned"), default="fixed")
    args = parser.parse_args()
    scores: dict[str, dict[str, dict[int, float]]] = {}
    metrics = {}
    for row in csv.DictReader(args.table.read_text().splitlines()):
        metrics[row["dataset"]] = row["task_metric"]
        if row["mode"] == args.mode and row["score"]:
            of_task = scores.setdefault(row["vectors"], {}).setdefault(row["dataset"], {})
            of_task[int(row["seed"])] = float(row["score"])
    files, rules = {name: name for name in scores}, Rules()
    mode = judgement.judge(args.mode, scores, rules)
    judged = Judged(files, (mode,), (), metrics, {}, Cost(0.0, 0.0, 0.0), rules, ())
    figures.scores(mode, judged).drawing.savefig(args.figure, dpi=200)


if __name__ == "__main__":
    main()
