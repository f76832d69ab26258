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

    Of every run as many answers to an item are expected as more than 5 % of its items have; of a
    run without any as many as of the others.
    """
    answered = task.answered.get(model)
    if answered is None:
        answered = np.sum(~np.isnan(task.scores[model]), 2)
    usual = np.array([_usual(of_run) for of_run in answered.T])
    expected = np.where(usual > 0, usual, usual.max())
    asked = (len(task.items) + task.left_out) * int(expected.sum())
    return 1 - int(np.minimum(answered, expected).sum()) / asked if asked else 1.0


def _usual(answers: np.ndarray) -> int:
    """The most answers to an item, of [items] of a run, that more than 5 % of these have."""
    counts = np.sort(answers[answers > 0])[::-1]
    return int(counts[int(MOST_MISSING * len(counts))]) if len(counts) else 0


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
    for model, cube in task.scores.items():
        copies, alike = task.copies.get(model, 0), task.alike.get(model, 0)
        if copies or alike:
            count = f"{copies + alike} of {cube.shape[1] + copies}"
            become = "left out" if copies else "no runs of their own"
            lines.append(
                f"{head}runs of {model} that have the same score as another on every item: "
                f"{count}; decoding that draws nothing gives copies, which are {become}"
            )
    return lines


def _some(items: Sequence[str]) -> str:
    """How many, and the first few."""
    named = ", ".join(f"{item:.40}" for item in items[:3])
    return f"{len(items)} ({named}{' ...' if len(items) > 3 else ''})"
