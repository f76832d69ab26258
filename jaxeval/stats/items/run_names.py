"""Runs of a model that are one trained network on several tasks, by their names."""

import dataclasses
from collections.abc import Mapping, Sequence

from jaxeval.errors import DataError
from jaxeval.stats.items import tables
from jaxeval.stats.items.task_means import Task

_OWN = "Runs differ between tasks: they are taken as a task's own"


def aligned(tasks: Sequence[Task]) -> list[Task]:
    """The same with a run of one name in one column of all tasks, as far as there is room.

    Runs of other names share the columns that are left: what they add to each other's covariance
    is 0 on average.

    Raises:
      DataError: more or fewer names than runs.
    """
    columns: dict[str, dict[str, int]] = {}
    return [_in_columns(task, columns) for task in tasks]


def why_own(tasks: Sequence[Task]) -> str:
    """Why runs are a task's own, as a sentence; "" where run r may be one network on all tasks."""
    if len(tasks) == 1:
        return ""
    if all(_apart(tasks, model) for model in tasks[0].scores):
        return f"{_OWN}."
    counts = ({tables.array(task.scores[m]).shape[1] for task in tasks} for m in tasks[0].scores)
    if all(len(of_model) == 1 for of_model in counts):
        return ""
    return f"{_OWN}; where some are one network, the interval of the mean is too short."


def _apart(tasks: Sequence[Task], model: str) -> bool:
    """Whether all runs of a model have names, and no two tasks have one in common."""
    names = [name for task in tasks for name in task.runs.get(model, ())]
    return all(task.runs.get(model) for task in tasks) and len({*names}) == len(names)


def _in_columns(task: Task, columns: dict[str, dict[str, int]]) -> Task:
    """A task in the columns of those before it.

    Args:
      columns: model -> name of a run -> its column, to which the task's own are added.
    """
    scores, runs = {**task.scores}, {**task.runs}
    for model, names in task.runs.items():
        if not names or model not in scores:
            continue
        cube = tables.array(scores[model])
        if len(names) != cube.shape[1]:
            found = f"found {len(names)} of {cube.shape[1]} runs"
            raise DataError(f"task {task.name}: expected a name of each run of {model}, {found}")
        known = columns.setdefault(model, {})
        order = _order(names, known)
        if order != sorted(order):
            scores[model], runs[model] = cube[:, order], tuple(names[run] for run in order)
        columns[model] = {name: column for column, name in enumerate(runs[model])} | known
    return dataclasses.replace(task, scores=scores, runs=runs)


def _order(names: Sequence[str], known: Mapping[str, int]) -> list[int]:
    """The run in each column."""
    placed: dict[int, int] = {}
    for run, name in enumerate(names):
        if known.get(name, len(names)) < len(names):
            placed.setdefault(known[name], run)
    rest = (run for run in range(len(names)) if run not in placed.values())
    return [placed[column] if column in placed else next(rest) for column in range(len(names))]
