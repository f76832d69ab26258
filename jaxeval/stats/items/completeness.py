"""Whether models answered enough of the items for a verdict: what is not answered may be hard."""

from collections.abc import Iterator, Sequence

import numpy as np

from jaxeval.runs.item_scores import Paired, TaskScores

MOST_MISSING = 0.05  # of a model's answers on a task


def reasons(paired: Paired) -> tuple[str, ...]:
    """Why nothing is said of the first model against the second, a sentence part each."""
    first, *_ = paired.models
    absent = paired.absent.get(first, ())
    lines = [f"{first} has no scores on {task or 'a task'}" for task in absent]
    lines += [
        f"{task or 'a task'} is left out, since the models have different metrics of it"
        for task in paired.without_metric
        if task not in absent
    ]
    for task in paired.tasks:
        lines += _too_many(task, paired.models[:2])
    return tuple(lines)


def _too_many(task: TaskScores, models: tuple[str, ...]) -> Iterator[str]:
    on_task = f" on {task.task}" if task.task else ""
    for model in models:
        share = missing(task, model)
        if share > MOST_MISSING:
            yield (
                f"{100 * share:.3g} % of {model}'s answers{on_task} failed, have no score or are "
                f"lacking, more than {100 * MOST_MISSING:g} %"
            )


def missing(task: TaskScores, model: str) -> float:
    """The share of a model's answers to all items that failed, have no score or are lacking.

    Of every run as many are expected as the model has answers to any item in any run.
    """
    cube = task.scores[model]
    _, runs, samples = cube.shape
    answered = task.answered.get(model, int(np.sum(~np.isnan(cube))))
    return 1 - answered / ((len(task.items) + task.left_out) * runs * samples)


def warnings(task: TaskScores) -> list[str]:
    """What was left out of a task, and runs that are copies of one another."""
    head = f"task {task.task}: " if task.task else ""
    lines = []
    if task.left_out:
        lacking = [f"{m} lacks {_some(items)}" for m, items in task.lacking.items() if items]
        why = f": {'; '.join(lacking)}" if lacking else ""
        lines.append(f"{head}{task.left_out} items are left out{why}")
    for what, counts in (("ended in an error", task.failed), ("have no score", task.unscored)):
        said = ", ".join(f"{n} of {model}" for model, n in counts.items() if n)
        if said:
            lines.append(f"{head}answers that {what}: {said}")
    same = "have the same score on every item: decoding that draws nothing gives copies"
    for model in task.scores:
        if task.copies.get(model):
            lines.append(f"{head}two runs of {model} {same}, which count once")
        if task.alike.get(model):
            lines.append(f"{head}two runs of {model} {same}, which are no runs of their own")
    return lines


def _some(items: Sequence[str]) -> str:
    """How many, and the first few."""
    named = ", ".join(f"{item:.40}" for item in items[:3])
    return f"{len(items)} ({named}{' ...' if len(items) > 3 else ''})"
