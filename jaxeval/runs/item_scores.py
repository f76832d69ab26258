"""Scores of models on the same items of a task, in runs and samples."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
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
      alike: model -> runs of which the same holds, but which a user has named as runs.
      runs: model -> names of its runs, where they have names: the same on all tasks.
      answered: model -> answers with a score, to left-out items too; without it those of `scores`.
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
    alike: Mapping[str, int] = dataclasses.field(default_factory=dict)
    runs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    answered: Mapping[str, int] = dataclasses.field(default_factory=dict)
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
        answered={model: int(np.sum(~np.isnan(cube))) for model, cube in task.scores.items()},
    )


def without_copies(tasks: Sequence[TaskScores], named: Collection[str] = ()) -> list[TaskScores]:
    """The same with one run of those that are copies of one another (greedy decoding).

    A copy has the score of an earlier run on every item of all tasks, and scores that vary: runs
    that are right on all items of an easy task are runs. Run r is taken to be one on all tasks.

    Args:
      named: models whose runs a user has named as runs: their copies stay, and are counted.
    """
    scores: list[dict[str, np.ndarray]] = [{**task.scores} for task in tasks]
    copies: list[dict[str, int]] = [{} for _ in tasks]
    alike: list[dict[str, int]] = [{} for _ in tasks]
    for model in dict.fromkeys(model for task in tasks for model in task.scores):
        found = _copies([of[model] for of in scores])
        stay = model in named or any(task.runs.get(model) for task in tasks)
        for of, counts in zip(scores, alike if stay else copies, strict=True):
            here = [run for run in found if run < of[model].shape[1]]
            counts[model] = len(here)
            if here and not stay:
                of[model] = np.delete(of[model], here, axis=1)
    return [
        dataclasses.replace(task, scores=of, copies=left_out, alike=kept)
        for task, of, left_out, kept in zip(tasks, scores, copies, alike, strict=True)
    ]


def _copies(cubes: Sequence[np.ndarray]) -> list[int]:
    """Runs of a model, of its scores [I, R, K] on each task, that are copies of earlier ones."""
    first: dict[tuple[int, ...], int] = {}
    found = []
    for run in range(max(cube.shape[1] for cube in cubes)):
        of_tasks = [cube[:, run] if run < cube.shape[1] else np.zeros(0) for cube in cubes]
        key = tuple(hash(of.tobytes()) for of in of_tasks)
        if first.setdefault(key, run) != run and any(map(_varies, of_tasks)):
            found.append(run)
    return found


def _varies(scores: np.ndarray) -> bool:
    known = scores[~np.isnan(scores)]
    return bool(known.size and known.min() < known.max())


def zero_is_best(known: np.ndarray, higher_is_better: bool) -> bool:
    """Whether a 0 for what has no score would be the best of the known scores, as of losses."""
    negative = bool(known.size and known.min() < 0)
    return not higher_is_better or (negative and known.max() <= 0)


def refuse_scales(task: TaskScores) -> None:
    """Refuses fractions of one model beside percentages of another.

    Raises:
      DataError: naming both.
    """
    if metrics.unit_of(task.metric.split("/")[0]) != "fraction":  # error rates may be above 1
        return
    largest = {model: float(np.nanmax(cube)) for model, cube in task.scores.items()}
    above = [model for model, top in largest.items() if top > 1]
    below = [model for model, top in largest.items() if 0 < top <= 1]
    if above and below:
        head = f"task {task.task}: " if task.task else ""
        raise DataError(
            f"{head}{task.metric} of {above[0]} is above 1, that of {below[0]} is not; expected "
            "one scale, such as fractions"
        )
