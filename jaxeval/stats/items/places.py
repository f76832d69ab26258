"""Models ranked by their mean over tasks, and which of them were told apart."""

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import tables
from jaxeval.stats.items.results import Estimate
from jaxeval.stats.items.task_means import Task


class Compared(NamedTuple):
    """Two models, their difference and its corrected p-value."""

    a: str
    b: str
    difference: Estimate
    p_adjusted: float


@dataclasses.dataclass(frozen=True)
class Place:
    """A model's rank by its mean over tasks, 1 the best; models of equal means share it.

    Attributes:
      low, high: ranks that are left open, for all models at once.
    """

    model: str
    mean: float
    rank: int
    low: int
    high: int


def told_apart(
    compared: Iterable[Compared], alpha: float, higher_is_better: bool
) -> tuple[tuple[str, str], ...]:
    """(better, worse) of the pairs that differ at the level."""
    return tuple(
        (pair.a, pair.b) if (pair.difference.value > 0) == higher_is_better else (pair.b, pair.a)
        for pair in compared
        if pair.p_adjusted <= alpha
    )


def places(tasks: Sequence[Task], apart: Collection[tuple[str, str]]) -> tuple[Place, ...]:
    """All models by rank, best first.

    A model's interval leaves out the places of those that were shown to be better, or worse, than
    it, and holds its own rank (with items that only some models have, pairs may contradict it).
    Where the tests of all pairs are wrong on none in 1 - alpha of experiments, as after Holm's
    correction, all intervals hold in as many (Mogstad, Romano, Shaikh & Wilhelm 2024).

    Args:
      tasks: the same models on all; items that one lacks are left out for all.
      apart: (better, worse) pairs over these tasks, as of `told_apart`.
    """
    models, sign = list(tasks[0].scores), 1 if tasks[0].higher_is_better else -1
    means = np.mean([_means(task, models) for task in tasks], axis=0)
    better, worse = (
        [sum(pair[side] == model for pair in apart) for model in models] for side in (1, 0)
    )
    ranks = [1 + int(np.sum(sign * means > sign * mean)) for mean in means]
    return tuple(
        Place(
            models[k],
            float(means[k]),
            ranks[k],
            min(ranks[k], 1 + better[k]),
            max(ranks[k], len(models) - worse[k]),
        )
        for k in np.argsort(-sign * means, kind="stable").tolist()
    )


def _means(task: Task, models: Sequence[str]) -> list[float]:
    """Of every model, over the items that all have."""
    present = [~np.isnan(tables.array(task.scores[model])).all((1, 2)) for model in models]
    keep = np.all(present, axis=0)
    if not keep.any():
        raise DataError(f"task {task.name}: no item has a score of every model")
    return [float(tables.table(task.scores[model], model, keep).cells.mean()) for model in models]
