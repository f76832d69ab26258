"""How often do tests find a difference between two groups of runs of one and the same model?

Reads the table that results/released_predictions.md makes of the predictions of 17 models, 8 runs
each, on two test sets (apmoore1/tdsa_comparisons). A model and two groups of 1, 2 or 4 of its runs
are drawn 2,000 times; a test that speaks of models must find them different in 5 % at most. Or the
same of runs of our own, whose outcomes were kept (Reimers & Gurevych 2017, table 2). Of F1 an item
has the value of the delta method, and approximate randomisation exchanges the counts of items: of
the first runs, and of all runs of a group together. Prints the shares of p-values below .05, then
one JSON line.

    python benchmarks/item_type_one.py --items test.csv
    jaxeval train reimers2017/wnut17_ner --seeds 40 --outputs --out tagger ...
    python benchmarks/item_type_one.py --runs tagger --groups 1 5 20
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np
import scipy

from jaxeval import runs, stats
from jaxeval.runs import items as predictions
from jaxeval.runs import metrics as counted
from jaxeval.runs import store
from jaxeval.runs.metrics import Score
from jaxeval.stats import estimates, hypotheses, single_models

LEVEL = 0.05
SHUFFLES = 399


class Answers(NamedTuple):
    """Of a model's runs.

    Attributes:
      values: [I, R] of items, whose mean is the run's score.
      counts: [I, K, R] additive ones that the score is computed from; None: values are 0 or 1.
    """

    values: np.ndarray
    counts: np.ndarray | None = None
    score: Score = counted.f1

    def of(self, runs: np.ndarray) -> "Answers":
        """Of some of the runs."""
        chosen = None if self.counts is None else self.counts[..., runs]
        return self._replace(values=self.values[:, runs], counts=chosen)


Models = Mapping[str, Answers]


def main() -> None:
    """Tests, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--items", type=Path)
    source.add_argument("--runs", type=Path, help="folder of runs with outcomes")
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 2, 4], help="runs of each")
    parser.add_argument("--draws", type=int, default=2_000)
    args = parser.parse_args()
    rows = []
    read = {args.runs.name: _trained(args.runs)} if args.runs else _read(args.items)
    for dataset, models in read.items():
        for group in args.groups:
            rows.append({"dataset": dataset, "runs": group, **_shares(models, group, args.draws)})
    names = list(dict.fromkeys(name for row in rows for name in row))
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for row in rows:
        cells = (row.get(name, "-") for name in names)
        print(
            "| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells), "|"
        )
    common.report(
        benchmark="item_type_one",
        level=LEVEL,
        draws=args.draws,
        seed=0,
        rows=rows,
        numpy=np.__version__,
        scipy=scipy.__version__,
    )


def _read(path: Path) -> dict[str, Models]:
    """Data set -> model -> [I, R]."""
    return {
        data.name: {model: Answers(of.scores[..., 0]) for model, of in data.models.items()}
        for data in predictions.read(path)[1].data_sets
    }


def _trained(folder: Path) -> Models:
    """Experiment -> outcomes of test."""
    metrics = {row.experiment: row.metric for row in runs.load(str(folder))}
    models = {}
    with store.open_existing(str(folder)) as opened:
        for name, metric in metrics.items():
            kept = opened.outcomes(name, "test")
            how = counted.scoring(metric, kept[0].names)
            assert how is not None, metric
            columns = [kept[0].names.index(column) for column in how.columns]
            counts = np.stack([run.counts[:, columns] for run in kept], axis=2)
            of_runs = [counted._delta_values(counts[..., k], how.score) for k in range(len(kept))]
            models[name] = Answers(np.stack(of_runs, axis=1), counts, how.score)
            scores = models[name].values.mean(0)
            print(
                f"{name}: {len(kept)} runs, mean {scores.mean():.4f}, sd {scores.std(ddof=1):.4f}"
            )
    return models


def _shares(models: Models, group: int, draws: int) -> dict[str, float]:
    """Test -> share of p-values below the level."""
    generator = np.random.default_rng(0)
    names, p_values = list(models), []
    for _ in range(draws):
        answers = models[names[generator.integers(len(names))]]
        order = generator.permutation(answers.values.shape[1])
        halves = order[:group], order[group : 2 * group]
        p_values.append(_p_values(*(answers.of(half) for half in halves)))
    return {test: float(np.mean([p[test] < LEVEL for p in p_values])) for test in p_values[0]}


def _p_values(of_a: Answers, of_b: Answers) -> dict[str, float]:
    a, b = of_a.values, of_b.values
    p_values = {}
    if of_a.counts is None or of_b.counts is None:
        p_values["McNemar, first runs"] = hypotheses.mcnemar(a[:, 0], b[:, 0]).p_value
    else:
        pairs = {"first runs": (of_a.counts[..., 0], of_b.counts[..., 0])}
        if a.shape[1] > 1:
            pairs["all runs"] = (of_a.counts.sum(2), of_b.counts.sum(2))
        for which, counts in pairs.items():
            test = single_models._approximate_randomization(
                *(of.astype(float) for of in counts), of_a.score, SHUFFLES
            )
            p_values[f"randomisation, {which}"] = test.p_value
    p_values["paired t over items"] = (
        float(scipy.stats.ttest_rel(a.mean(1), b.mean(1)).pvalue)
        if np.any(a.mean(1) != b.mean(1))
        else 1.0
    )
    p_values["unpaired z over items"] = _unpaired(a.mean(1), b.mean(1))
    overs: list[tuple[stats.Factor, ...]] = [("items",)]
    if a.shape[1] > 1:
        p_values["Welch over runs"] = hypotheses.welch_t(a.mean(0), b.mean(0)).p_value
        overs += [("runs",), stats.FACTORS]
    both = estimates.tables({"a": a[..., None], "b": b[..., None]})
    for found in estimates.estimate([[*both.values()]], overs):
        p_values[f"ours, {' and '.join(found.over)}"] = found.p_value or 0.0
    return p_values


def _unpaired(a: np.ndarray, b: np.ndarray) -> float:
    error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / len(a))
    return float(2 * scipy.stats.norm.sf(abs(a.mean() - b.mean()) / error))


if __name__ == "__main__":
    main()
