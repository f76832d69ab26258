"""A cube of items as what verbs read until they take `Scores`."""

from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import item_scores
from jaxeval.runs.flat import ScoreTable, table
from jaxeval.runs.imported import listed
from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.runs.items import PART, Answers
from jaxeval.runs.scores import DataSetScores, Scores, Status
from jaxeval.runs.trained import Run, TrainedModel


def paired(scores: Scores) -> Paired:
    """The scores of models on their common tasks.

    Raises:
      DataError: no item that all models have.
    """
    whole = [_task(data) for data in scores.data_sets]
    tasks = tuple(map(item_scores.common, item_scores.without_copies(whole)))
    for task in tasks:
        if not task.items:
            head = f"task {task.task}: " if task.task else ""
            raise DataError(f"{head}no item that {listed(scores.models)} all have a score of")
    return Paired(scores.models, tasks, scores.warnings, scores.absent, scores.without_metric)


def _task(data: DataSetScores) -> TaskScores:
    failed = {m: of.status == Status.FAILED for m, of in data.models.items()}
    asked = {m: (of.status != Status.ABSENT).any((1, 2)) for m, of in data.models.items()}
    return TaskScores(
        data.name,
        data.metric,
        data.higher_is_better,
        data.items,
        {m: of.scores for m, of in data.models.items()},
        data.clusters,
        failed={m: int(of.sum()) for m, of in failed.items()},
        failed_items={m: int(of.any((1, 2)).sum()) for m, of in failed.items()},
        unscored={m: int(np.sum(of.status == Status.UNSCORED)) for m, of in data.models.items()},
        lacking={m: tuple(data.items[k] for k in np.flatnonzero(~of)) for m, of in asked.items()},
        runs={m: tuple(of.labels.get("name", ())) for m, of in data.models.items()},
        direction_assumed=data.direction == "assumed",
    )


def trained(answers: Answers) -> tuple[ScoreTable, list[TrainedModel]]:
    """The score table of runs, and the items of each run."""
    found: Sequence[TrainedModel] = [
        TrainedModel(
            model,
            data.name,
            Run(str(of.labels["seed"][run]), 0, data.metric, "", data.name),
            PART,
            data.counts,
            of.counts[:, run],
            "its model's first run",
        )
        for data in answers.items.data_sets
        for model, of in data.models.items()
        for run in range(of.runs)
        if of.counts is not None
    ]
    return table(answers.runs), list(found)
