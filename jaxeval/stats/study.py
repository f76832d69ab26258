"""A score table studied: every model described, every pair compared, data sets summed up."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import units
from jaxeval.runs.tables import ScoreTable
from jaxeval.runs.units import Samples, Unit
from jaxeval.stats import comparison, datasets, describe, nested
from jaxeval.stats.comparison import Comparison
from jaxeval.stats.datasets import Ranking
from jaxeval.stats.describe import Summary
from jaxeval.stats.nested import Components
from jaxeval.stats.pairwise import FEW, Rules, Scores
from jaxeval.stats.results import Effect, HypothesisTest

_FEW_FOR_BOOTSTRAP = 10
_MOST_FOR_BUDGET = 2000  # the curve of the expected best has as many points as there are scores


@dataclasses.dataclass(frozen=True)
class Described:
    """One model on one data set.

    Attributes:
      components: variance of splits and of seeds within them, where the table has both.
      dev_test: Spearman's rho between dev and test scores, or None and the reason.
      expected_best: of n draws, n = 1 .. N, without and with replacement.
    """

    model: str
    dataset: str
    summary: Summary
    components: Components | None
    dev_test: tuple[float | None, str] | None
    expected_best: tuple[np.ndarray, np.ndarray] | None


@dataclasses.dataclass(frozen=True)
class Across:
    """Models compared over the data sets that have scores of all of them.

    Attributes:
      interquartile_mean: model -> of all its scores on these data sets.
      improvement: (A, B) -> P(a run of A is better), averaged over data sets.
      friedman, ranking: on mean scores; for three or more models on two or more data sets.
    """

    datasets: tuple[str, ...]
    interquartile_mean: Mapping[str, Effect]
    improvement: Mapping[tuple[str, str], Effect]
    friedman: HypothesisTest | None
    ranking: Ranking | None


@dataclasses.dataclass(frozen=True)
class Study:
    """Everything that is said of a score table."""

    table: ScoreTable
    samples: Samples
    described: tuple[Described, ...]
    comparison: Comparison
    across: Across | None
    warnings: tuple[str, ...]


def study(table: ScoreTable, rules: Rules, unit: Unit | None = None) -> Study:
    """Describes and compares all models of a score table.

    Raises:
      DataError: fewer than two models on every data set, or a model with one score.
    """
    samples = units.samples(table, unit)
    rules = dataclasses.replace(rules, higher_is_better=table.higher_is_better)
    pairs = list(_pairs(table, samples))
    if not pairs:
        raise DataError(
            "expected two or more models with scores on the same data set, found "
            + ", ".join(table.models),
            table.source,
        )
    compared = comparison.compare(pairs, rules)
    described = tuple(
        _describe(table, samples, model, dataset, rules)
        for dataset in samples.datasets
        for model in samples.by_dataset[dataset]
    )
    across = _across(samples, rules)
    warnings = (*table.warnings, *_warnings(table, samples, compared))
    return Study(table, samples, described, compared, across, warnings)


def _pairs(table: ScoreTable, samples: Samples) -> Iterator[Scores]:
    """Each data set's pairs of models, in the order of the table."""
    shared = samples.unit in ("split", "dataset")  # a split or data set moves all models
    for dataset in samples.datasets:
        cell = samples.by_dataset[dataset]
        for a, b in itertools.combinations([m for m in table.models if m in cell], 2):
            x, y = units.paired(cell[a], cell[b])
            paired = (x, y) if samples.unit != "row" and len(x) >= 2 else None
            enough = 2 * len(x) >= max(len(cell[a].scores), len(cell[b].scores))
            yield Scores(
                a,
                b,
                dataset,
                cell[a].scores,
                cell[b].scores,
                paired,
                by_pairs=shared and enough and paired is not None,
                unit=_named(samples),
            )


def _named(samples: Samples) -> str:
    """What one score stands for, in the words of a sentence."""
    if samples.unit in ("row", "seed") and samples.averaged[1] == 1:
        return "run"
    return "data set" if samples.unit == "dataset" else samples.unit


def _describe(
    table: ScoreTable, samples: Samples, model: str, dataset: str, rules: Rules
) -> Described:
    scores = samples.by_dataset[dataset][model].scores
    mine = table.model == table.models.index(model)
    if "dataset" in table.axes and samples.unit != "dataset":
        mine = mine & (table.axes["dataset"] == dataset)
    expected = None
    if len(scores) <= _MOST_FOR_BUDGET:
        without, having = (
            describe.expected_validation_performance(
                scores, replacement=r, higher_is_better=rules.higher_is_better
            )
            for r in (False, True)
        )
        expected = (without, having)
    return Described(
        model,
        dataset,
        describe.summarize(scores, confidence=rules.confidence),
        _components(table, mine),
        _dev_test(table, mine),
        expected,
    )


def _components(table: ScoreTable, mine: np.ndarray) -> Components | None:
    """Splits and seeds within them, where some split has several scores."""
    if "split" not in table.axes:
        return None
    by_split: dict[str, list[float]] = {}
    for split, score in zip(table.axes["split"][mine], table.score[mine], strict=True):
        by_split.setdefault(split, []).append(float(score))
    if len(by_split) < 2 or max(map(len, by_split.values())) < 2:
        return None
    return nested.variance_components(list(by_split.values()))


def _dev_test(table: ScoreTable, mine: np.ndarray) -> tuple[float | None, str] | None:
    if table.dev is None:
        return None
    known = mine & np.isfinite(table.dev)
    return describe.spearman(table.dev[known], table.score[known])


def _across(samples: Samples, rules: Rules) -> Across | None:
    """None where fewer than two data sets have all models."""
    models = list(dict.fromkeys(m for cell in samples.by_dataset.values() for m in cell))
    common = tuple(d for d in samples.datasets if len(samples.by_dataset[d]) == len(models))
    if len(common) < 2 or len(models) < 2:
        return None
    runs = {m: [samples.by_dataset[d][m].scores for d in common] for m in models}
    drawn: dict[str, Any] = {"confidence": rules.confidence, "seed": rules.seed}
    sign = 1 if rules.higher_is_better else -1
    means = {m: np.array([scores.mean() for scores in runs[m]]) for m in models}
    ranking = (
        datasets.nemenyi(means, alpha=rules.alpha, higher_is_better=rules.higher_is_better)
        if len(models) > 2
        else None
    )
    return Across(
        common,
        {m: datasets.stratified_bootstrap(runs[m], **drawn) for m in models},
        {
            (a, b): datasets.average_probability_of_improvement(
                [sign * s for s in runs[a]], [sign * s for s in runs[b]], **drawn
            )
            for a, b in itertools.combinations(models, 2)
        },
        ranking.friedman if ranking else None,
        ranking,
    )


def _warnings(table: ScoreTable, samples: Samples, compared: Comparison) -> Iterator[str]:
    for dataset in samples.datasets:
        absent = [m for m in table.models if m not in samples.by_dataset[dataset]]
        if absent:
            where = f" on {dataset}" if dataset else ""
            yield f"{', '.join(absent)}: no scores{where}; not compared there"
    if samples.unit == "row" and {"seed", "split"} & set(table.axes):
        yield "every row counts as independent, though rows share seeds or splits (--unit row)"
    if samples.unit == "seed" and len(set(table.axes.get("split", ()))) > 1:
        yield "seeds were trained on several splits: --unit split is the careful choice"
    scarce = min(len(one.labels) for c in samples.by_dataset.values() for one in c.values())
    if scarce < _FEW_FOR_BOOTSTRAP and len(samples.datasets) > 1:
        yield (
            f"bootstrap intervals over data sets: fewer than {_FEW_FOR_BOOTSTRAP} scores of a "
            "model make them too narrow"
        )
    for pair in compared.pairs:
        one = pair.scores
        if one.paired is not None and len(one.paired[0]) < max(one.n):
            yield (
                f"{one.a}, {one.b}{' on ' + one.dataset if one.dataset else ''}: paired tests use "
                f"the {len(one.paired[0])} units that both have, of {one.n[0]} and {one.n[1]}"
            )
    few = sorted({n for pair in compared.pairs for n in pair.scores.n if n < FEW})
    if few:
        yield (
            f"models with {few[0]} scores: fewer than {FEW} carry no verdict: "
            "whatever the difference, the power left is 0"
        )
