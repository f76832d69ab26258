"""Are our TD-LSTM, IAN and AE those of a published study? Scores of runs trained here beside the
released ones of the same models (apmoore1/tdsa_comparisons, 8 runs each).

Reads the table of released predictions (results/released_predictions.md) and runs folders of
moore2021/{tdlstm,ian,ae} (results/sentiment.md). For every data set, model and metric: mean and
sd of ours and theirs, ours minus theirs with its 95 % interval (Welch) and Brunner-Munzel's p
corrected over all lines (Holm), as `compare` has them. One JSON line each.

    python benchmarks/beside_released.py laptop=laptop_runs --items test.csv
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np

from jaxeval import runs
from jaxeval.errors import DataError
from jaxeval.runs import items
from jaxeval.stats import describe, hypotheses, multiple

RELEASED = {"tdlstm": "TDLSTM", "ian": "IAN", "ae": "AE"}
NONE = "_GloVe_None_None"  # GloVe, no position, not inter-aspect
METRICS = ("accuracy", "macro_f1")


class Line(NamedTuple):
    """A model on a data set by a metric: ours and theirs."""

    dataset: str
    model: str
    metric: str
    ours: list[float]
    theirs: list[float]


def main() -> None:
    """Reads, compares, prints."""
    args = _parser().parse_args()
    folders = dict(word.split("=", 1) for word in args.runs)
    ours = {dataset: _experiments(folder) for dataset, folder in folders.items()}
    lines = [*_lines(args.items, folders, ours)]
    tests = [hypotheses.brunner_munzel(line.ours, line.theirs).p_value for line in lines]
    for line, p_value in zip(lines, multiple.adjust_p_values(tests, "holm"), strict=True):
        effect = describe.difference(line.ours, line.theirs)
        beside = {
            "dataset": line.dataset,
            "model": line.model,
            "metric": line.metric,
            "ours": _summary(line.ours),
            "released": _summary(line.theirs),
            "difference": round(effect.estimate, 4),
            "interval": [round(effect.interval.low, 4), round(effect.interval.high, 4)],
            "p_corrected": round(float(p_value), 5),
            "epochs": _epochs(folders[line.dataset], ours[line.dataset][line.model]),
        }
        common.report(benchmark="beside_released", **beside)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", metavar="DATASET=RUNS", help="runs folders of ours")
    parser.add_argument("--items", type=Path, required=True, help="the released predictions")
    return parser


def _experiments(folder: str) -> dict[str, str]:
    """Of each of the models: the experiment of its name.

    Raises:
      DataError: two experiments have one name, such as runs with other vectors.
    """
    experiments: dict[str, str] = {}
    for row in runs.load(folder):
        known = experiments.setdefault(row.name, row.experiment)
        if row.name in RELEASED and row.experiment != known:
            raise DataError(
                f"{folder}: experiments {known} and {row.experiment} are both named {row.name}; "
                "expected one: train the other into a folder of its own"
            )
    return {name: experiments[name] for name in RELEASED if name in experiments}


def _lines(
    released: Path, folders: Mapping[str, str], ours: Mapping[str, Mapping[str, str]]
) -> Iterator[Line]:
    counted = {
        (metric, data.name): data.models
        for metric in METRICS
        for data in items.read(released, metric=metric)[0].data_sets
    }
    for dataset, folder in folders.items():
        curves = [row for row in runs.load_curves(folder) if row.part == "test"]
        for model, experiment in ours[dataset].items():
            for metric in METRICS:
                scores = [
                    row.value
                    for row in curves
                    if row.experiment == experiment and row.metric == metric
                ]
                theirs = counted[metric, dataset][RELEASED[model] + NONE].scores[0, :, 0]
                yield Line(dataset, model, metric, scores, theirs.tolist())


def _summary(scores: list[float]) -> dict[str, object]:
    return {
        "mean": round(float(np.mean(scores)), 4),
        "sd": round(float(np.std(scores, ddof=1)), 4),
        "scores": [round(score, 4) for score in scores],
    }


def _epochs(folder: str, experiment: str) -> dict[str, list[int | None]]:
    """Epochs trained, and that of the best dev score, of each seed."""
    rows = [row for row in runs.load(folder) if row.experiment == experiment]
    return {"trained": [row.epochs for row in rows], "best": [row.best_epoch for row in rows]}


if __name__ == "__main__":
    main()
