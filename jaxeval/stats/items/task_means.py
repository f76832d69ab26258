"""Whether tasks may be averaged, and which of their runs are one network. T tasks, R runs."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.runs.scores import DataSetScores

_OWN = "Runs differ between tasks: they are taken as a task's own"


def not_averaged(tasks: Sequence[DataSetScores]) -> tuple[str, ...]:
    """Why no mean is taken over the tasks; () where it is."""
    metrics = dict.fromkeys(task.metric for task in tasks)
    if len(metrics) > 1 or len({task.higher_is_better for task in tasks}) > 1:
        return (
            f"No mean over tasks: their metrics differ ({', '.join(metrics)}); compare tasks of "
            "one metric.",
        )
    largest = [float(task.known.max()) for task in tasks]
    large = [score > 1 for score in largest]
    scale = 1.0 if tasks[0].higher_is_better else 10.0  # losses differ more between tasks
    if len(set(large)) > 1 and max(largest) > scale:
        above, below = tasks[large.index(True)].name, tasks[large.index(False)].name
        return (
            f"No mean over tasks: scores on {above} are above 1, those on {below} are not; bring "
            "them to one scale, such as fractions.",
        )
    return ()


def from_0_to_1(tasks: Sequence[DataSetScores]) -> bool:
    """Whether all models' scores are; then those that are all 0 or 1 are no losses."""
    return all(task.known.min() >= 0 and task.known.max() <= 1 for task in tasks)


def why_own(tasks: Sequence[DataSetScores]) -> str:
    """Why runs are a task's own, as a sentence; "" where run r may be one network on all tasks."""
    if len(tasks) == 1:
        return ""
    if all(_apart(tasks, model) for model in tasks[0].models):
        return f"{_OWN}."
    if all(len({task.models[m].runs for task in tasks}) == 1 for m in tasks[0].models):
        return ""
    return f"{_OWN}; where some are one network, the interval of the mean is too short."


def _apart(tasks: Sequence[DataSetScores], model: str) -> bool:
    """Whether all runs of a model have names, and no two tasks have one in common."""
    names = [[*task.models[model].labels.get("name", ())] for task in tasks]
    every = [name for of_task in names for name in of_task]
    return all(names) and len({*every}) == len(every)


def aligned(tasks: Sequence[DataSetScores]) -> list[DataSetScores]:
    """The same with a run of one name in one column of all tasks, as far as there is room.

    Runs of other names share the columns that are left: what they add to each other's covariance
    is 0 on average.
    """
    columns: dict[str, dict[str, int]] = {}  # model -> name of a run -> its column
    found = []
    for task in tasks:
        models = {**task.models}
        for model, of in task.models.items():
            names = of.labels.get("name", np.zeros(0, object)).tolist()
            if names:
                known = columns.setdefault(model, {})
                order = _order(names, known)
                if order != sorted(order):
                    models[model] = of.chosen(np.array(order))
                placed = models[model].labels["name"].tolist()
                columns[model] = {name: column for column, name in enumerate(placed)} | known
        found.append(dataclasses.replace(task, models=models))
    return found


def _order(names: Sequence[str], known: Mapping[str, int]) -> list[int]:
    """The run in each column."""
    placed: dict[int, int] = {}
    for run, name in enumerate(names):
        if known.get(name, len(names)) < len(names):
            placed.setdefault(known[name], run)
    rest = (run for run in range(len(names)) if run not in placed.values())
    return [placed[column] if column in placed else next(rest) for column in range(len(names))]
