"""Which scores of logs are of one run of a model, and what its runs are called.

Notation: N scores; names of models, tasks, runs and items are whole numbers from 0, -1 unknown.
"""

from collections.abc import Mapping, Sequence

import numpy as np

UNKNOWN = -1


def merged(cells: Mapping[str, np.ndarray], run_id: np.ndarray) -> np.ndarray:
    """[N] in which log each score is; several that are parts of one run count as the first.

    Parts have the run's id in common and no item: two logs with an item in common are two runs,
    whatever their ids.

    Args:
      cells: "run" (the log), "model", "task" and "item" of each score, [N].
    """
    log, known = cells["run"].copy(), np.flatnonzero(run_id != UNKNOWN)
    whole = np.stack([cells["model"][known], cells["task"][known], run_id[known]])
    _, inverse = np.unique(whole, axis=1, return_inverse=True)
    pairs = np.unique(np.stack([inverse.ravel(), log[known]]), axis=1)
    of_run, logs = np.unique(pairs[0], return_counts=True)
    for run in of_run[logs > 1].tolist():
        rows = known[inverse.ravel() == run]
        parts = np.unique(np.stack([log[rows], cells["item"][rows]]), axis=1)
        if len(np.unique(parts[1])) == parts.shape[1]:
            log[rows] = log[rows].min()
    return log


def numbers(model: np.ndarray, task: np.ndarray, log: np.ndarray) -> np.ndarray:
    """[N] the number, from 0, of each score's run among those of its model on its task."""
    pair = _pairs(model, task)
    logs = int(log.max(initial=0)) + 1
    triples, inverse = np.unique(pair * logs + log, return_inverse=True)
    _, starts, counts = np.unique(triples // logs, return_index=True, return_counts=True)
    within = np.arange(len(triples)) - np.repeat(starts, counts)
    return np.asarray(within[inverse])


def names(
    cells: Mapping[str, np.ndarray], run_name: np.ndarray, texts: Sequence[str]
) -> dict[tuple[int, int], tuple[str, ...]]:
    """(model, task) -> what its runs are called, by number, where each has a name of its own.

    Args:
      cells: "model", "task" and "run" of each score, [N].
      run_name: [N] places in `texts`.
    """
    if not np.any(run_name != UNKNOWN):
        return {}
    runs = int(cells["run"].max()) + 1
    whole = _pairs(cells["model"], cells["task"]) * runs + cells["run"]
    found: dict[tuple[int, int], list[int]] = {}
    for row in np.unique(whole, return_index=True)[1].tolist():
        key = int(cells["model"][row]), int(cells["task"][row])
        found.setdefault(key, []).append(int(run_name[row]))
    return {
        key: tuple(texts[name] for name in of)
        for key, of in found.items()
        if UNKNOWN not in of and len({*of}) == len(of)
    }


def in_order(run: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """[N] the place, from 0, of each score's run of a model on a task, and the runs' names.

    Runs with names stand in the order of these, and so in the same one on all tasks.

    Args:
      run: [N] numbers, of which some may lack.
      names: by number; none where they have none.
    """
    known, place = np.unique(run, return_inverse=True)
    if not names:
        return place, ()
    of_known = np.array([names[number] for number in known.tolist()])
    order = np.argsort(of_known)
    return np.argsort(order)[place], tuple(of_known[order].tolist())


def any_apart(present: np.ndarray) -> bool:
    """Whether one of several runs, [I, R] by item, has no item in common with any other."""
    answers = present[:, present.any(0)].astype(np.float64)
    shared = answers.T @ answers
    np.fill_diagonal(shared, 0)
    return len(shared) > 1 and not bool(shared.any(0).all())


def _pairs(model: np.ndarray, task: np.ndarray) -> np.ndarray:
    """[N] a number of each model and task."""
    return model.astype(np.int64) * (int(task.max(initial=0)) + 1) + task
