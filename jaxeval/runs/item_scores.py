"""Scores of models on the same items of a task, in runs and samples."""

import dataclasses
from collections.abc import Mapping, Sequence
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
      failed_items: model -> items of which an answer ended in an error.
      lacking: model -> ids of items of the others that it has no answer to.
      copies: model -> runs left out, whose every score on the task is that of another run.
      alike: model -> runs of which the same holds, but which a user has named as runs.
      runs: model -> names of its runs, where they have names: the same on all tasks.
      answered: model -> [items, R] answers with a score, left-out items too; without it those of
        `scores`.
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
    failed_items: Mapping[str, int] = dataclasses.field(default_factory=dict)
    lacking: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    copies: Mapping[str, int] = dataclasses.field(default_factory=dict)
    alike: Mapping[str, int] = dataclasses.field(default_factory=dict)
    runs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    answered: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
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
        answered={model: np.sum(~np.isnan(cube), 2) for model, cube in task.scores.items()},
    )


def without_copies(tasks: Sequence[TaskScores]) -> list[TaskScores]:
    """The same with one run of those that are copies of one another (greedy decoding).

    A copy has the score of an earlier run on every item of a task, and scores that vary: runs that
    are right on all items of an easy task are runs, unless run r is a copy on all other tasks.
    Runs with names stay, and are counted, unless all of a model's are alike on all tasks.
    """
    whole = [dataclasses.replace(of, scores={**of.scores}, runs={**of.runs}) for of in tasks]
    copies: list[dict[str, int]] = [{} for _ in tasks]
    alike: list[dict[str, int]] = [{} for _ in tasks]
    for model in dict.fromkeys(model for task in tasks for model in task.scores):
        cubes = [task.scores[model] for task in tasks]
        found = _copies(cubes)
        named = any(task.runs.get(model) for task in tasks)
        differ = any(len(of) < cube.shape[1] - 1 for of, cube in zip(found, cubes, strict=True))
        stay = named and differ
        for of, here, counts in zip(whole, found, alike if stay else copies, strict=True):
            counts[model] = len(here)
            if here and not stay:
                _drop(of, model, here)
    return [
        dataclasses.replace(of, copies=left_out, alike=kept)
        for of, left_out, kept in zip(whole, copies, alike, strict=True)
    ]


def _drop(of: TaskScores, model: str, runs: Sequence[int]) -> None:
    """Takes runs of a model from a task's scores and names, which are dicts of its own."""
    assert isinstance(of.scores, dict) and isinstance(of.runs, dict)
    of.scores[model] = np.delete(of.scores[model], runs, axis=1)
    if of.runs.get(model):
        of.runs[model] = tuple(n for run, n in enumerate(of.runs[model]) if run not in runs)


def _copies(cubes: Sequence[np.ndarray]) -> list[list[int]]:
    """On each task, runs of a model, of its scores [I, R, K], that are copies of earlier ones."""
    varying = [{r for r in range(cube.shape[1]) if _varies(cube[:, r])} for cube in cubes]
    repeated = [_repeated(cube) for cube in cubes]
    new = set().union(*(of - again for of, again in zip(varying, repeated, strict=True)))
    copies = set().union(*varying) - new
    return [sorted(again & (of | copies)) for again, of in zip(repeated, varying, strict=True)]


def _repeated(cube: np.ndarray) -> set[int]:
    """Runs that have all scores of an earlier one."""
    first: dict[bytes, int] = {}
    runs = range(cube.shape[1])
    return {run for run in runs if first.setdefault(cube[:, run].tobytes(), run) != run}


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
