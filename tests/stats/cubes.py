"""Scores of whole runs and of items, made in memory."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxeval import stats
from jaxeval.runs import scores
from jaxeval.runs.scores import DataSetScores, ModelScores, Scores
from jaxeval.stats import Rules, comparisons, estimates, power, study, tasks
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.pairs import RunScores
from jaxeval.stats.study import Study


def compare(of: Sequence[RunScores], rules: Rules, higher: bool = True) -> SimpleNamespace:
    """Pairs of whole runs, as `study.study` compares them."""
    by_ranks = power.by_ranks(of, rules.alpha)
    chosen = [dataclasses.replace(pair, by_ranks=by_ranks) for pair in of]
    data = DataSetScores("", "", higher, "recorded", {})
    pairs, families = comparisons.compare_runs(chosen, rules, Scores("scores", (), (data,)))
    return SimpleNamespace(pairs=pairs, families=families, primary=power.primary(chosen, rules))


def runs(
    of: Mapping[str, Mapping[str, Sequence[float]]], higher: bool = True, metric: str = ""
) -> Scores:
    """Data set -> model -> scores of seeds 1, 2 ...; NaN: the run failed."""
    data_sets, row = [], 0
    for name, models in of.items():
        found = {}
        for model, values in models.items():
            score = np.array(values, float)[None, :, None]
            seeds = np.array([str(k + 1) for k in range(len(values))], object)
            rows = np.arange(row + 1, row + 1 + len(values))
            row += len(values)
            status = np.where(np.isnan(score), 2, 0).astype(np.uint8)
            found[model] = ModelScores(score, status, {"seed": seeds}, rows)
        data_sets.append(DataSetScores(name, metric, higher, "recorded", found))
    names = tuple(dict.fromkeys(model for models in of.values() for model in models))
    return Scores("scores", names, tuple(data_sets))


def task(name: str, metric: str, of: Mapping[str, Any], **how: Any) -> DataSetScores:
    """Scores of items, [I], [I, R] or [I, R, K] of each model."""
    return scores.from_arrays(of, name, metric, **how)


def studied(tasks: Sequence[DataSetScores], **rules: Any) -> Study:
    """Models compared item by item."""
    how = Rules(**{"resamples": 99, **rules})
    return study.study(Scores("scores", tuple(tasks[0].models), tuple(tasks)), how)


def estimate(
    *models: Any, over: Any = None, clusters: Any = None, confidence: float = 0.95
) -> Estimate:
    """The mean of one model's scores of items, or the difference of two."""
    data = task("", "", {f"m{k}": of for k, of in enumerate(models)}, clusters=clusters)
    scored = [~np.isnan(of.scores).all((1, 2)) for of in data.models.values()]
    data = data.chosen(np.all(scored, axis=0))
    cubes = {model: of.scores for model, of in data.models.items()}
    found = [*estimates.tables(cubes, data.clusters).values()]
    factors = stats.parse_over(over) if over else tasks.default_over([of.runs for of in found])
    return estimates.estimate([found], [factors], confidence, clusters is not None)[0]
