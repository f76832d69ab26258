"""Where do tests over the items of one run and tests over runs disagree? Released predictions of
17 models of target-dependent sentiment, 8 runs each, on two test sets (apmoore1/tdsa_comparisons).

Reads the table of results/released_predictions.md. Over runs: Brunner-Munzel on the 8 + 8
accuracies, as in the verdict of `compare`. Over items: McNemar on a run of each. Prints the
counts of all pairs of models by data set, uncorrected at .05 on both sides, then one JSON line.

    python benchmarks/released_predictions.py --items test.csv
"""

import argparse
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np
import scipy

from jaxeval.runs import items
from jaxeval.stats import hypotheses

LEVEL = 0.05
NONE = "_GloVe_None_None"  # GloVe, no position, not inter-aspect
Runs = Sequence[np.ndarray]  # [N] right or wrong, of each run


class Pair(NamedTuple):
    """Two models on a data set.

    Attributes:
      difference: of mean accuracies, A - B.
      over_runs: p-value.
      first_runs: p-value over the items of both models' first run.
      shown, reversed: shares of the pairs of a run of A and one of B that differ over items, and
        that differ the other way than the means.
      over_items: p-value of the difference of mean accuracies over other items, these runs.
    """

    a: str
    b: str
    difference: float
    over_runs: float
    first_runs: float
    shown: float
    reversed: float
    over_items: float


def main() -> None:
    """Tests, prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=Path, required=True)
    by_dataset = {}
    for dataset, models in _read(parser.parse_args().items).items():
        by_dataset[dataset] = summary = _summary(models)
        print(f"\n{dataset}")
        for name, value in summary.items():
            print(f"  {name}: {value}")
    common.report(benchmark="released_predictions", level=LEVEL, **by_dataset)


def _read(path: Path) -> dict[str, dict[str, list[np.ndarray]]]:
    """Data set -> model -> which items each run has right."""
    return {
        data.name: {model: [*of.scores[..., 0].T] for model, of in data.models.items()}
        for data in items.read(path)[1].data_sets
    }


def _summary(models: Mapping[str, Runs]) -> dict[str, object]:
    within = [
        (hypotheses.mcnemar(x, y).p_value, float(np.mean(x != y)))
        for runs in models.values()
        for x, y in itertools.combinations(runs, 2)
    ]
    pairs = [*_pairs(models)]
    by_runs = [pair.over_runs < LEVEL for pair in pairs]
    return {
        "items": len(next(iter(models.values()))[0]),
        "run_pairs_of_one_model": len(within),
        "of_them_different_over_items": round(_share(p < LEVEL for p, _ in within), 3),
        "items_on_which_they_differ": round(_share(d for _, d in within), 3),
        "model_pairs": len(pairs),
        "different_over_runs": sum(by_runs),
        "of_these_first_runs_too": _count(pairs, by_runs, "first_runs"),
        "of_these_run_pairs_too": _mean(pairs, by_runs, "shown"),
        "of_these_over_items_too": _count(pairs, by_runs, "over_items"),
        "not_over_runs": len(pairs) - sum(by_runs),
        "of_those_first_runs": _count(pairs, _not(by_runs), "first_runs"),
        "of_those_run_pairs": _mean(pairs, _not(by_runs), "shown"),
        "of_those_run_pairs_the_other_way": _mean(pairs, _not(by_runs), "reversed"),
        "four_models": [
            [pair.a.removesuffix(NONE), pair.b.removesuffix(NONE)]
            + [round(value, 4) for value in pair[2:]]
            for pair in pairs
            if pair.a.endswith(NONE) and pair.b.endswith(NONE)
        ],
    }


def _pairs(models: Mapping[str, Runs]) -> Iterator[Pair]:
    for a, b in itertools.combinations(models, 2):
        x, y = ([float(run.mean()) for run in models[name]] for name in (a, b))
        tests = [hypotheses.mcnemar(u, v) for u, v in itertools.product(models[a], models[b])]
        gap = float(np.mean(x) - np.mean(y))
        differ = [test.direction if test.p_value < LEVEL else 0 for test in tests]
        of_item = np.mean(models[a], axis=0) - np.mean(models[b], axis=0)
        yield Pair(
            a,
            b,
            gap,
            hypotheses.brunner_munzel(x, y).p_value,
            tests[0].p_value,
            _share(sign != 0 for sign in differ),
            _share(sign == -math.copysign(1, gap) for sign in differ),
            float(scipy.stats.ttest_1samp(of_item, 0).pvalue),
        )


def _share(values: Iterator[float] | Iterator[bool]) -> float:
    return float(np.mean([*values]))


def _not(chosen: Sequence[bool]) -> list[bool]:
    return [not each for each in chosen]


def _count(pairs: Sequence[Pair], chosen: Sequence[bool], test: str) -> int:
    return sum(getattr(pair, test) < LEVEL for pair in itertools.compress(pairs, chosen))


def _mean(pairs: Sequence[Pair], chosen: Sequence[bool], share: str) -> float:
    of_pairs = (getattr(pair, share) for pair in itertools.compress(pairs, chosen))
    return round(_share(of_pairs), 3)


if __name__ == "__main__":
    main()
