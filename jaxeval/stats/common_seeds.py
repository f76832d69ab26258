"""Seeds with which all word vectors have a score of all tasks; which trainings have none."""

import itertools
from collections.abc import Mapping, Sequence

from jaxeval.errors import DataError
from jaxeval.runs import imported

# vectors -> task -> seed -> score, None of a training that failed
Scores = Mapping[str, Mapping[str, Mapping[int, float | None]]]
Failures = Mapping[str, Mapping[str, int]]  # vectors -> task -> trainings without a score, if any


def common(scores: Scores) -> tuple[tuple[int, ...], Failures, list[str]]:
    """Seeds of which all have scores, which trainings have none, and lines on these.

    Raises:
      DataError: no seed of which all have scores.
    """
    each = [by_seed for of in scores.values() for by_seed in of.values()]
    every = sorted({*itertools.chain.from_iterable(each)})
    seeds = tuple(seed for seed in every if all(of.get(seed) is not None for of in each))
    failed = _failed(scores, every)
    notes = [
        f"{name}: trainings without a score, as they diverged or failed: "
        f"{imported.listed([f'{n} of {len(every)} on {task}' for task, n in tasks.items()])}"
        for name, tasks in failed.items()
    ]
    if not seeds:
        message = "; ".join(["no seed with which all vectors have a score", *notes])
        advice = "leave out the file, or the task with --tasks"
        raise DataError(f"{message}; {advice}" if notes else message)
    if len(scores) > 1:
        notes = [
            f"{note}; it is not called better there or by the mean of tasks" for note in notes
        ]
    if left_out := [str(seed) for seed in every if seed not in seeds]:
        notes.append(f"seeds left out of all files, as one has no score: {', '.join(left_out)}")
    return seeds, failed, notes


def _failed(scores: Scores, every: Sequence[int]) -> dict[str, dict[str, int]]:
    failed = {}
    for name, of in scores.items():
        lacking = {task: sum(by.get(seed) is None for seed in every) for task, by in of.items()}
        if any(lacking.values()):
            failed[name] = {task: n for task, n in lacking.items() if n}
    return failed
