"""Tests on the items of a part, of one trained model a method: their population is the items.

Beside tests over seeds, which speak of the methods: two networks of one method can differ by these
tests as surely as two of different methods (Reimers & Gurevych 2017, 2018).
"""

import dataclasses
import itertools
from collections.abc import Mapping

import numpy as np

from jaxeval.runs import counts as counted
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores
from jaxeval.stats import examples, multiple
from jaxeval.stats.results import Effect, HypothesisTest
from jaxeval.stats.rules import Rules

ITERATIONS = 1_000_000  # as Reimers & Gurevych (2017)


@dataclasses.dataclass(frozen=True)
class SinglePair:
    """Two trained models on the items that both were scored on.

    Attributes:
      part, items: of which data, and how many.
      seeds: of both; `best_dev`: whether they are those of the best dev scores.
      scores: of both, from the items' counts.
      tests: function name -> test; McNemar's where each item is right or wrong.
      adjusted: function name -> p-value corrected over all pairs.
      difference: A - B, with the interval of a paired bootstrap over items.
    """

    a: str
    b: str
    data_set: str
    part: str
    items: int
    seeds: tuple[str, str]
    split: str
    best_dev: bool
    scores: tuple[float, float]
    tests: Mapping[str, HypothesisTest]
    adjusted: Mapping[str, float]
    difference: Effect


@dataclasses.dataclass(frozen=True)
class SingleModels:
    """All pairs, and why others are not tested."""

    pairs: tuple[SinglePair, ...]
    notes: tuple[str, ...]


def compare(
    items: Scores, rules: Rules, control: str | None = None, iterations: int = ITERATIONS
) -> SingleModels:
    """Tests all pairs of models on the same data, one trained model of each.

    Args:
      items: with counts; the run of the best dev score, else the first, stands for its model.
      control: only pairs with this model.
      iterations: shuffles of approximate randomisation.
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


def _chosen(of: ModelScores, higher_is_better: bool) -> int:
    """The run that stands for its model."""
    if of.dev is None or np.isnan(of.dev).all():
        return 0
    return int(np.nanargmax(of.dev) if higher_is_better else np.nanargmin(of.dev))


def _pair(data: DataSetScores, a: str, b: str, rules: Rules, iterations: int) -> SinglePair:
    how = counted.scoring(data.metric, data.counts)
    assert how is not None  # a reader gives counts of metrics that follow from them
    columns = [data.counts.index(name) for name in how.columns]
    models = [data.models[a], data.models[b]]
    runs = [_chosen(of, data.higher_is_better) for of in models]
    first, second = (
        of.counts[:, run][:, columns].astype(np.float64)
        for of, run in zip(models, runs, strict=True)
        if of.counts is not None
    )
    tests = {
        "approximate_randomization": examples.approximate_randomization(
            first, second, score=how.score, iterations=iterations, seed=rules.seed
        )
    }
    if how.score is counted.ratio and np.all(first[:, 1] == 1):
        tests["mcnemar"] = examples.mcnemar(first[:, 0], second[:, 0])
    both = [*zip(models, runs, strict=True)]
    seeds, splits = (
        [str(of.labels[name][run]) if name in of.labels else "" for of, run in both]
        for name in ("seed", "split")
    )
    return SinglePair(
        *(a, b, data.name, data.part, len(first), (seeds[0], seeds[1]), splits[0]),
        best_dev=models[0].dev is not None,
        scores=(float(how.score(first.sum(0))), float(how.score(second.sum(0)))),
        tests=tests,
        adjusted={},
        difference=examples.paired_bootstrap(
            *(first, second),
            score=how.score,
            confidence=rules.confidence,
            resamples=rules.resamples,
            seed=rules.seed,
        ),
    )
