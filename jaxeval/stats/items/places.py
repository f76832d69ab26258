"""Models ranked by their mean over tasks, with intervals of the ranks, and groups of ties."""

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import tables
from jaxeval.stats.items.results import Estimate
from jaxeval.stats.items.tables import Groups
from jaxeval.stats.items.task_means import Task
from jaxeval.stats.results import count

_MOST_DRAWN = 4_000_000  # numbers at a time
Differences = Mapping[frozenset[str], Estimate]  # by the two models


@dataclasses.dataclass(frozen=True)
class Place:
    """A model's rank by its mean over tasks, 1 the best; models of equal means share it.

    Attributes:
      low, high: ranks that the bootstrap leaves open, for all models at once.
    """

    model: str
    mean: float
    rank: int
    low: int
    high: int


def places(
    tasks: Sequence[Task],
    differences: Differences,
    over: Collection[str],
    shared_runs: bool,
    alpha: float = 0.05,
    resamples: int = 2_000,
    seed: int = 0,
) -> tuple[Place, ...]:
    """All models by rank, best first.

    A model's interval excludes the places of those that are better, or worse, than it by their
    difference's own test, at a level that holds for all pairs at once (Mogstad, Romano, Shaikh &
    Wilhelm 2024, section 3.3): that of the largest studentised deviation among all pairs that
    1 - alpha of the resamples stay below. Items (clusters) are drawn anew within tasks, the same
    for all models, and runs within models. A percentile interval of ranks would be too short where
    models are close.

    Args:
      tasks: the same models on all; items that one lacks are left out for all.
      differences: of all pairs over these tasks.
      over, shared_runs: as of `suites.compare`.
    """
    count(resamples, "resamples")
    models, sign = list(tasks[0].scores), 1 if tasks[0].higher_is_better else -1
    means, drawn = _means(tasks, models, over, shared_runs, resamples, seed)
    order = np.argsort(-sign * means, kind="stable")
    gaps = means[:, np.newaxis] - means
    shown = _shown(models, differences, _level(drawn, alpha))
    better, worse = (np.sum(shown & (sign * side > 0), axis=1) for side in (-gaps, gaps))
    return tuple(
        Place(
            models[k],
            float(means[k]),
            1 + int(np.sum(sign * means > sign * means[k])),
            1 + int(better[k]),
            len(models) - int(worse[k]),
        )
        for k in order.tolist()
    )


def tie_groups(
    ordered: Sequence[str], differ: Collection[frozenset[str]]
) -> tuple[tuple[str, ...], ...]:
    """The widest stretches of neighbours of which no two differ; one model alone is one too.

    Args:
      ordered: models, best first.
      differ: the pairs that do.
    """
    groups: list[tuple[str, ...]] = []
    reached = 0
    for begin in range(len(ordered)):
        end = begin + 1
        while end < len(ordered) and not any(
            frozenset((ordered[end], other)) in differ for other in ordered[begin:end]
        ):
            end += 1
        if end > reached:
            groups.append(tuple(ordered[begin:end]))
            reached = end
    return tuple(groups)


def _shown(models: Sequence[str], differences: Differences, level: float) -> np.ndarray:
    """[M, M] whether two models differ at a level; one whose error is not known does not."""
    shown = np.zeros((len(models), len(models)), bool)
    for a, b in itertools.combinations(range(len(models)), 2):
        p_value = differences[frozenset((models[a], models[b]))].p_value
        shown[a, b] = shown[b, a] = p_value is not None and p_value <= level
    return shown


def _level(drawn: np.ndarray, alpha: float) -> float:
    """Of each pair, so that all hold at once: from alpha over the number of pairs to alpha.

    Resamples [B, M] say how far the pairs move together; what a single one is worth with few items
    or runs is for its own test.
    """
    from scipy import special

    first, second = np.triu_indices(drawn.shape[1], 1)
    apart = drawn[:, first] - drawn[:, second]
    errors = apart.std(axis=0)
    known = errors > 0
    if not known.any():
        return alpha / len(first)
    largest = (np.abs(apart - apart.mean(axis=0))[:, known] / errors[known]).max(axis=1)
    level = 2 * float(special.ndtr(-np.quantile(largest, 1 - alpha)))
    return min(max(level, alpha / len(first)), alpha)


def _means(
    tasks: Sequence[Task],
    models: Sequence[str],
    over: Collection[str],
    shared_runs: bool,
    resamples: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Means over tasks [M], and of all resamples [B, M]."""
    generator = np.random.default_rng(seed)
    means, drawn = np.zeros(len(models)), np.zeros((resamples, len(models)))
    weights: list[np.ndarray] = []
    for task in tasks:
        cells, groups = _complete(task, models)
        means += [each.mean() for each in cells]
        if not weights or not shared_runs:
            counts = [each.shape[1] for each in cells]
            weights = [_weights(generator, n, resamples, "runs" in over) for n in counts]
        sums = np.concatenate([groups.sums(each) for each in cells], axis=1)  # [C, sum of R]
        starts = np.cumsum([0, *(each.shape[1] for each in cells)])
        block = max(1, _MOST_DRAWN // len(groups.sizes))
        for rows in _blocks(resamples, block):
            size = rows.stop - rows.start
            of_clusters = _weights(generator, len(groups.sizes), size, "items" in over)
            of_runs = of_clusters @ sums / (of_clusters @ groups.sizes)[:, np.newaxis]
            for k, weight in enumerate(weights):
                part = of_runs[:, starts[k] : starts[k + 1]]
                drawn[rows, k] += np.sum(part * weight[rows], axis=1)
    return means / len(tasks), drawn / len(tasks)


def _complete(task: Task, models: Sequence[str]) -> tuple[list[np.ndarray], Groups]:
    """Cells [I, R] of every model, of the items that all have."""
    present = [~np.isnan(tables.array(task.scores[model])).all((1, 2)) for model in models]
    keep = np.all(present, axis=0)
    if not keep.any():
        raise DataError(f"task {task.name}: no item has a score of every model")
    complete = [tables.table(task.scores[model], model, keep) for model in models]
    return [t.cells for t in complete], tables.groups(task.clusters, complete[0], len(keep))


def _weights(
    generator: np.random.Generator, number: int, resamples: int, drawn: bool
) -> np.ndarray:
    """[resamples, number] shares: of n units n - 1 are drawn (Rao & Wu 1988), or all once."""
    equal = np.full(number, 1 / number)
    if not drawn or number == 1:
        return np.broadcast_to(equal, (resamples, number))
    return generator.multinomial(number - 1, equal, resamples) / (number - 1)


def _blocks(total: int, size: int) -> Iterator[slice]:
    return (slice(begin, min(begin + size, total)) for begin in range(0, total, size))
