"""Tests on the items of a part, of one trained model a method: their population is the items.

Two networks of one method can differ by these as surely as two of different methods.
"""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxeval.runs import counts as counted
from jaxeval.runs.scores import DataSetScores, Scores
from jaxeval.stats import hypotheses, multiple, permutation
from jaxeval.stats.results import Effect, HypothesisTest
from jaxeval.stats.rules import Rules


@dataclasses.dataclass(frozen=True)
class SinglePair:
    """Two trained models on the items that both were scored on."""

    a: str
    b: str
    data_set: str
    part: str  # of the data
    items: int
    seeds: tuple[str, str]
    split: str
    best_dev: bool  # they are those of the best dev scores
    scores: tuple[float, float]  # from the items' counts
    tests: Mapping[str, HypothesisTest]  # McNemar's where each item is right or wrong
    adjusted: Mapping[str, float]  # test -> p-value corrected over all pairs
    difference: Effect  # A - B, with the interval of a paired bootstrap over items


class SingleModels(NamedTuple):
    """All pairs, and why others are not tested."""

    pairs: tuple[SinglePair, ...]
    notes: tuple[str, ...]


def compare(
    items: Scores, rules: Rules, control: str | None = None, iterations: int = 1_000_000
) -> SingleModels:
    """Tests all pairs of models (with the control) on the same data, one trained model of each.

    The run of the best dev score, else the first, stands for its model.
    """
    pairs = [
        _pair(data, a, b, rules, iterations)
        for data in items.data_sets
        if data.counts
        for a, b in itertools.combinations(data.models, 2)
        if control in (None, a, b)
    ]
    p_values = [{name: test.p_value for name, test in pair.tests.items()} for pair in pairs]
    adjusted = multiple.adjust_by_name(p_values, rules.correction)
    corrected = (
        dataclasses.replace(pair, adjusted=of) for pair, of in zip(pairs, adjusted, strict=True)
    )
    return SingleModels(tuple(corrected), items.notes)


def _pair(data: DataSetScores, a: str, b: str, rules: Rules, iterations: int) -> SinglePair:
    how = counted.scoring(data.metric, data.counts)
    assert how is not None  # a reader gives counts of metrics that follow from them
    columns = [data.counts.index(name) for name in how.columns]
    best = np.nanargmax if data.higher_is_better else np.nanargmin
    counts, labels = [], []
    for of in (data.models[a], data.models[b]):
        run = 0 if of.dev is None or np.isnan(of.dev).all() else int(best(of.dev))
        assert of.counts is not None
        counts.append(of.counts[:, run][:, columns].astype(np.float64))
        labels.append({name: str(values[run]) for name, values in of.labels.items()})
    (first, second), score = counts, how.score
    drawn: dict[str, Any] = {"score": score, "seed": rules.seed}
    tests = {
        "approximate_randomization": permutation.approximate_randomization(
            first, second, iterations=iterations, **drawn
        )
    }
    if score is counted.ratio and np.all(first[:, 1] == 1):
        tests["mcnemar"] = hypotheses.mcnemar(first[:, 0], second[:, 0])
    drawn |= {"confidence": rules.confidence, "resamples": rules.resamples}
    return SinglePair(
        *(a, b, data.name, data.part, len(first)),
        seeds=(labels[0].get("seed", ""), labels[1].get("seed", "")),
        split=labels[0].get("split", ""),
        best_dev=data.models[a].dev is not None,
        scores=(float(score(first.sum(0))), float(score(second.sum(0)))),
        tests=tests,
        adjusted={},
        difference=permutation.paired_bootstrap(first, second, **drawn),
    )
