"""Trained models whose outcomes were kept item by item, as scores by item and run."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.runs import counts, item_scores
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.runs.trained import TrainedModel
from jaxeval.stats import single_models

Runs = Mapping[str, Sequence[TrainedModel]]  # by model


def paired(
    trained: Sequence[TrainedModel], higher_is_better: bool, fewest: int = 2
) -> Paired | None:
    """The scores of all runs on the data sets on which every model has so many, or more.

    Of metrics that are no mean of items, such as F1, an item's value is that of
    `counts.of_items`. None: outcomes were not kept, or are of other items.
    """
    models = tuple(dict.fromkeys(of.model for of in trained))
    tasks = []
    for dataset in dict.fromkeys(of.dataset for of in trained):
        runs = {
            model: [of for of in trained if (of.model, of.dataset) == (model, dataset)]
            for model in models
        }
        if min(map(len, runs.values())) >= fewest and _same_items(runs):
            tasks.append(_task(dataset, runs, higher_is_better))
    return Paired(models, tuple(tasks)) if tasks and len(models) > 1 else None


def _same_items(runs: Runs) -> bool:
    """Whether all outcomes were kept, of the same two items or more."""
    every = list(itertools.chain.from_iterable(runs.values()))
    kept = all(of.counts is not None and len(of.counts) > 1 for of in every)
    return kept and not any(single_models.differing(every[0], of) for of in every)


def _task(dataset: str, runs: Runs, higher_is_better: bool) -> TaskScores:
    first = next(iter(runs.values()))[0]
    how = single_models.scoring(first.member.metric, first.names)
    assert how is not None  # those of the same items have one
    scores = {
        model: np.stack(
            [counts.of_items(single_models.columns(of, how.columns), how.score) for of in members],
            axis=1,
        )[..., np.newaxis]
        for model, members in runs.items()
    }
    items = tuple(map(str, range(len(next(iter(scores.values()))))))
    task = TaskScores(dataset, first.member.metric, higher_is_better, items, scores)
    return item_scores.common(task)
