"""Scores of models on the same items of a task, in runs and samples."""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.runs import metrics


@dataclasses.dataclass(frozen=True)
class TaskScores:
    """The scores of models on the items of a task: NaN where there is none.

    Attributes:
      items: ids, [I].
      scores: model -> [I, R, K]: items, runs of this model, samples.
      clusters: [I] labels, None where none are known.
      left_out: how many items a model has no score of, beside these.
      failed, unscored: model -> answers that ended in an error, and that no score was given.
      lacking: model -> ids of items of the others that it has no answer to.
      copies: model -> runs left out, whose every score is that of another run.
      direction_assumed: nothing says whether higher is better.
    """

    task: str
    metric: str
    higher_is_better: bool
    items: tuple[str, ...]
    scores: Mapping[str, np.ndarray]
    clusters: np.ndarray | None = None
    left_out: int = 0
    failed: Mapping[str, int] = dataclasses.field(default_factory=dict)
    unscored: Mapping[str, int] = dataclasses.field(default_factory=dict)
    lacking: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    copies: Mapping[str, int] = dataclasses.field(default_factory=dict)
    direction_assumed: bool = False

    @property
    def stored_unit(self) -> str:
        """The unit of the scores, by the metric's name: by what stands before a slash."""
        tops = [float(np.nanmax(np.abs(cube), initial=0.0)) for cube in self.scores.values()]
        return metrics.stored_unit(self.metric.split("/")[0], max(tops, default=0.0))


class Paired(NamedTuple):
    """Tasks with scores of two or more models, and what to know of them and of the rest.

    Attributes:
      absent: model -> tasks of the others that it has no score of.
      without_metric: tasks that are left out, since not all models have a metric that is wanted.
    """

    models: tuple[str, ...]
    tasks: tuple[TaskScores, ...]
    notes: tuple[str, ...] = ()
    absent: Mapping[str, tuple[str, ...]] = {}
    without_metric: tuple[str, ...] = ()


def common(task: TaskScores) -> TaskScores:
    """The same without the items that a model has no score of: all means are of the same items."""
    kept = np.all([~np.isnan(cube).all((1, 2)) for cube in task.scores.values()], axis=0)
    return dataclasses.replace(
        task,
        items=tuple(np.array(task.items, object)[kept].tolist()),
        scores={model: cube[kept] for model, cube in task.scores.items()},
        clusters=None if task.clusters is None else task.clusters[kept],
        left_out=task.left_out + int(np.sum(~kept)),
    )


def without_copies(task: TaskScores) -> TaskScores:
    """The same with one run of those that are copies of one another (greedy decoding)."""
    scores, copies = {}, {}
    for model, cube in task.scores.items():
        first = {cube[:, run].tobytes(): run for run in reversed(range(cube.shape[1]))}
        scores[model] = cube[:, sorted(first.values())]
        copies[model] = cube.shape[1] - len(first)
    return dataclasses.replace(task, scores=scores, copies=copies)
