"""The best setting of a space by a given acquisition, over settings as they are evaluated.

All settings of a small space; otherwise Sobol points of the whole space, then mutations of the
best ones with ever smaller steps; where all of these are taken, any setting that is left. No
gradients (Golovin et al. 2017 climb so too): numbers, grids, choices and conditions are treated
alike, and each candidate is a setting as it would run.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from jaxeval.space.space import Space
from jaxeval.tuning import encoding, sampling
from jaxeval.tuning import history as histories

Acquisition = Callable[[np.ndarray], np.ndarray]  # places [m, P] -> [m]
_GLOBAL = 1024
_PARENTS, _CHILDREN = 8, 16
_STEPS = (0.2, 0.1, 0.05, 0.025, 0.012, 0.006, 0.003, 0.0015)
SAME = 1e-6  # places closer than this in every hyperparameter are one setting


def maximise(
    space: Space, acquisition: Acquisition, near: np.ndarray, taken: np.ndarray, seed: list[int]
) -> np.ndarray | None:
    """Places [P] of the best setting that is not taken; None where none is found.

    Args:
      near: [k, P] settings whose surroundings are searched too.
      taken: [t, P] settings not to be proposed.
    """
    everything = encoding.everything(space)
    if everything is not None:
        free = everything[~is_taken(everything, taken)]
        return free[int(np.argmax(acquisition(free)))] if len(free) else None
    random = np.random.default_rng(seed)
    candidates = encoding.from_quantiles(space, _sobol(len(space.parameters), _GLOBAL, random))
    candidates = candidates[~is_taken(candidates, taken)]
    population = _top(candidates, acquisition(candidates), taken)
    for step in _STEPS:
        # near, too: where the improvement is a narrow peak beside them, wide steps miss it
        children = mutate(space, np.concatenate([population[0], near]), step, random)
        rows = np.concatenate([population[0], children])
        values = np.concatenate([population[1], acquisition(children)])
        population = _top(rows, values, taken)
    return population[0][0] if len(population[0]) else _left(space, taken)


def _left(space: Space, taken: np.ndarray) -> np.ndarray | None:
    """Places [P] of a setting that is left of a finite space."""
    known = {histories.identity(values) for values in encoding.settings(space, taken)}
    rest = sampling.left(space, known, 1)
    return encoding.places(space, rest)[0] if rest else None


def sharing(
    space: Space,
    acquisition: Acquisition,
    best: np.ndarray,
    others: np.ndarray,
    columns: Sequence[int],
    taken: np.ndarray,
    lack: float,
    seed: list[int],
) -> np.ndarray:
    """The best setting that has an other's values in some hyperparameters, if it is good enough.

    Its other hyperparameters are at first those of the best, then mutated a little.

    Args:
      best: [P] places.
      others: [k, P].
      columns: in which it is to be like one of the others.
      lack: by which its acquisition may be below that of the best, 0 or less.

    Returns:
      [P] it, or the best.
    """
    values = encoding.distinct(others[:, columns])
    if not len(values):
        return best
    random = np.random.default_rng(seed)
    rows, scores = np.empty((0, len(best))), np.empty(0)
    parents = np.repeat(best[None], len(values), axis=0)
    for step in (None, *_STEPS[2:5]):
        fresh = parents if step is None else mutate(space, parents, step, random)
        fresh = _with(space, fresh, columns, values)
        fresh = fresh[~is_taken(fresh, taken)]
        if len(fresh):
            rows = np.concatenate([rows, fresh])
            scores = np.concatenate([scores, acquisition(fresh)])
            rows, scores = _top(rows, scores, taken)
            parents = rows
    enough = len(rows) and scores[0] >= float(acquisition(best[None])[0]) + lack
    return rows[0] if enough else best


def _with(
    space: Space, rows: np.ndarray, columns: Sequence[int], values: np.ndarray
) -> np.ndarray:
    """Rows [n, P] with each of some values [k, C] in columns; those that cannot have them not."""
    every = np.repeat(rows, len(values), axis=0)
    unsnapped = np.tile(values, (len(rows), 1))
    every[:, columns] = unsnapped
    middle = encoding.unconditional(space, np.full((1, rows.shape[1]), 0.5))
    # whether a hyperparameter is active is for its conditions to say
    snapped = encoding.snap(space, np.where(np.isnan(every), middle, every))
    same = np.nan_to_num(snapped[:, columns], nan=-1.0) == np.nan_to_num(unsnapped, nan=-1.0)
    return encoding.distinct(snapped[same.all(axis=1)])


def is_taken(rows: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """[n]: whether each row of places is one of the taken [t, P]."""
    if not len(taken):
        return np.zeros(len(rows), bool)
    mine, others = (np.nan_to_num(a, nan=-1.0) for a in (rows, taken))
    # most of all pairs differ where there are most values: the others need no look
    first = int(np.argmax([len(np.unique(column)) for column in others.T]))
    left, right = np.nonzero(np.abs(mine[:, first, None] - others[None, :, first]) <= SAME)
    same = (np.abs(mine[left] - others[right]) <= SAME).all(axis=1)
    found = np.zeros(len(mine), bool)
    found[left[same]] = True
    return found


def mutate(
    space: Space, parents: np.ndarray, step: float, random: np.random.Generator
) -> np.ndarray:
    """Children [_CHILDREN k, P] of parents [k, P]: some hyperparameters move by about a step.

    Grids move by a value or more, choices to any other; what becomes active is drawn evenly.
    """
    rows = np.repeat(parents, _CHILDREN, axis=0)
    count, dimensions = rows.shape
    fresh = encoding.unconditional(space, random.random(rows.shape))
    share, normal = random.random((count, 1)), random.normal(size=rows.shape)
    chance, moves = random.random(rows.shape), random.integers(dimensions, size=count)
    for k, parameter in enumerate(space.parameters):
        values = encoding.choices(parameter.distribution)
        # late, when numbers move by little, grids and choices move one at a time
        often = share[:, 0] * (step / _STEPS[0] if values else 1.0)
        moved = (chance[:, k] < often) | (moves == k)
        old = np.where(np.isnan(rows[:, k]), fresh[:, k], rows[:, k])
        if encoding.is_categorical(parameter.distribution):
            further = random.integers(1, max(2, values), size=count)
            changed: np.ndarray = (old + further) % values
        else:
            jump = step * normal[:, k]
            if values > 1:
                jump = np.copysign(np.maximum(np.abs(jump), 1.0 / (values - 1)), jump)
            changed = old + jump
        rows[:, k] = np.where(moved, changed, old)
    return encoding.snap(space, rows)


def _sobol(dimensions: int, count: int, random: np.random.Generator) -> np.ndarray:
    points: np.ndarray = stats.qmc.Sobol(dimensions, rng=random).random(count)
    return points


def _top(rows: np.ndarray, values: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best rows that are not taken, each once, with their values."""
    order = np.argsort(-values, kind="stable")
    _, first = np.unique(np.nan_to_num(rows[order], nan=-1.0), axis=0, return_index=True)
    order = order[np.sort(first)]
    best: list[int] = []
    for part in np.array_split(order, max(1, len(order) // (4 * _PARENTS))):
        best += part[~is_taken(rows[part], taken)].tolist()
        if len(best) >= _PARENTS:
            break
    return rows[best[:_PARENTS]], values[best[:_PARENTS]]
