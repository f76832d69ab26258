"""Several tasks: every pair of models on each, means over tasks, ranks and ties.

Two questions are told apart. The mean over these very tasks: its error is that of the items within
tasks and of runs. The tasks as a sample of such tasks: its error is the spread between tasks.
Notation: T tasks, M models, I items, R runs, C clusters of items.
"""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.stats import multiple
from jaxeval.stats.items import estimates, pairs, places, results, run_names, tables, task_means
from jaxeval.stats.items.places import Compared, Place
from jaxeval.stats.items.results import Estimate, Factor
from jaxeval.stats.items.task_means import Task
from jaxeval.stats.results import fraction

Over = tuple[Factor, ...]
PairOf = Callable[[str, str], pairs.Pair]  # by the names of A and B
Progress = Callable[[float], None]


@dataclasses.dataclass(frozen=True)
class TaskPair:
    """Two models on a task.

    Attributes:
      p_adjusted: Holm's over all pairs and tasks.
      estimates: the difference over items, over runs and over both, as far as can be said.
    """

    task: str
    a: str
    b: str
    difference: Estimate
    p_adjusted: float
    estimates: tuple[Estimate, ...]


@dataclasses.dataclass(frozen=True)
class OverallPair:
    """Two models over all tasks.

    Attributes:
      mean_over_tasks: mean of the tasks' differences: on these very tasks.
      tasks_as_sample: the same mean, with the spread between tasks: on other such tasks; None for
        a single task.
      p_adjusted: Holm's over all pairs, of `mean_over_tasks`.
    """

    a: str
    b: str
    mean_over_tasks: Estimate
    tasks_as_sample: Estimate | None
    p_adjusted: float


@dataclasses.dataclass(frozen=True)
class Suite:
    """Everything that is said of models on several tasks.

    Attributes:
      overall, places, tie_groups: empty where tasks have several metrics, which `notes` says.
      tie_groups: of which no two models differ (`OverallPair.p_adjusted` at alpha), as of
        `multiple.tie_groups`. The intervals of `places` rest on the same pairs.
      shared_runs: whether run r of a model was taken as one network on all tasks.
    """

    pairs: tuple[TaskPair, ...]
    overall: tuple[OverallPair, ...]
    places: tuple[Place, ...]
    tie_groups: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    shared_runs: bool = True


def compare(
    tasks: Sequence[Task],
    *,
    over: str | Collection[Factor] | None = None,
    shared_runs: bool = True,
    alpha: float = 0.05,
    progress: Progress = lambda share: None,
) -> Suite:
    """Compares all pairs of models on every task and over all tasks.

    Args:
      over: None: items and, where every model has two or more runs of every task, runs.
      shared_runs: whether run r of a model is the same trained network on every task: by its name
        where runs have some. Ignored, and said in `notes`, where a model's runs differ between
        tasks in number, or in all names.
      progress: is called now and then with the share that is done.

    Raises:
      DataError: as of `estimates.difference`; no task, two of one name, or one of a single model.
    """
    alpha = fraction(alpha, "alpha")
    _check(tasks)
    tasks = run_names.aligned(tasks)
    factors, notes = _factors(tasks, over)
    not_averaged = task_means.not_averaged(tasks)
    means = len(tasks) > 1 and not not_averaged
    steps = _Steps(progress, (1 + means) * sum(map(_pairs, tasks)))
    of_tasks = {task.name: _pairs_of(task) for task in tasks}
    on_tasks = _on_tasks(tasks, of_tasks, factors, 1 - alpha, steps)
    if not_averaged:
        return Suite(on_tasks, (), (), (), notes + not_averaged)
    why_own = run_names.why_own(tasks) if shared_runs else ""
    if why_own:
        shared_runs = False
        notes += (why_own,) if "runs" in factors else ()
    overall = _overall(tasks, of_tasks, on_tasks, factors, shared_runs, 1 - alpha, steps)
    compared = (Compared(p.a, p.b, p.mean_over_tasks, p.p_adjusted) for p in overall)
    apart = places.told_apart(compared, alpha, tasks[0].higher_is_better)
    ranked = places.places(tasks, apart)
    tied = multiple.tie_groups([place.model for place in ranked], {*map(frozenset, apart)})
    return Suite(on_tasks, overall, ranked, tuple(tied), notes, shared_runs)


def _factors(
    tasks: Sequence[Task], over: str | Collection[Factor] | None
) -> tuple[tuple[Factor, ...], tuple[str, ...]]:
    """What is generalised over; a note where one task of several keeps that to items.

    Raises:
      DataError: an unknown factor, or runs of which a model has one.
    """
    runs = {
        (task.name, model): tables.array(scores).shape[1]
        for task in tasks
        for model, scores in task.scores.items()
    }
    factors = results.default_over([*runs.values()]) if over is None else results.named(over)
    single = next((where for where, count in runs.items() if count == 1), None)
    if single is None or (over is not None and "runs" not in factors):
        return factors, ()
    has_one = f"{single[1]} has one run" + (f" on {single[0]}" if single[0] else "")
    if "runs" in factors:
        raise DataError(
            f"over runs: expected two or more runs of every model; {has_one}, which says nothing "
            f"of others: {argument('over', 'items')}"
        )
    several = any(min(runs[task.name, m] for m in task.scores) > 1 for task in tasks)
    return factors, (f"Over items alone on all tasks, since {has_one}.",) if several else ()


def _check(tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if not tasks or twice is not None:
        what = "none" if twice is None else f"{twice} twice"
        raise DataError(f"tasks: expected one or more of different names, found {what}")
    alone = next((task for task in tasks if len(task.scores) < 2), None)
    if alone is not None:
        raise DataError(f"task {alone.name}: expected two or more models, found {[*alone.scores]}")


class _Steps:
    """Tells what share of so many steps is done."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, count: int) -> None:
        self._done += count
        self._progress(self._done / self._total)


def _pairs(task: Task) -> int:
    return math.comb(len(task.scores), 2)


def _pairs_of(task: Task) -> PairOf:
    with _named(task):
        return pairs.of_task(task.scores, task.clusters)


@contextlib.contextmanager
def _named(task: Task) -> Iterator[None]:
    """Names the task in what is wrong with it."""
    try:
        yield
    except DataError as error:
        if not task.name:
            raise
        raise DataError(f"task {task.name}: {error}") from None


def _on_tasks(
    tasks: Sequence[Task],
    of_tasks: Mapping[str, PairOf],
    over: Over,
    confidence: float,
    steps: _Steps,
) -> tuple[TaskPair, ...]:
    compared, found = [], list[tuple[Estimate, ...]]()
    every = ((task, a, b) for task in tasks for a, b in itertools.combinations(task.scores, 2))
    for task, a, b in every:
        with _named(task):
            pair = of_tasks[task.name](a, b)
            several = min(side.table.cells.shape[1] for side in pair.sides) > 1
            shown: list[Over] = (
                [("items",), ("runs",), results.FACTORS] if several else [("items",)]
            )
            clustered = task.clusters is not None
            found.append(estimates.by_over(pair, shown, confidence, clustered))
        compared.append((task.name, a, b, found[-1][shown.index(over)]))
        steps.add(1)
    adjusted = _holm([each[-1] for each in compared])
    return tuple(
        TaskPair(*each, p, of) for each, p, of in zip(compared, adjusted, found, strict=True)
    )


def _overall(
    tasks: Sequence[Task],
    of_tasks: Mapping[str, PairOf],
    on_tasks: Sequence[TaskPair],
    over: Over,
    shared_runs: bool,
    confidence: float,
    steps: _Steps,
) -> tuple[OverallPair, ...]:
    """Over all tasks; of a single one its own differences."""
    if len(tasks) == 1:
        return tuple(
            OverallPair(pair.a, pair.b, pair.difference, None, pair.p_adjusted)
            for pair in on_tasks
        )
    compared = []
    clustered = any(task.clusters is not None for task in tasks)
    for a, b in itertools.combinations(tasks[0].scores, 2):
        both = [of_tasks[task.name](a, b) for task in tasks]
        mean = task_means.of_pairs(both, (a, b), over, shared_runs, confidence, clustered)
        as_sample = task_means.sample_of_pairs(both, over, shared_runs, confidence)
        compared.append((a, b, mean, as_sample))
        steps.add(len(tasks))
    adjusted = _holm([mean for _, _, mean, _ in compared])
    return tuple(OverallPair(*each, p) for each, p in zip(compared, adjusted, strict=True))


def _holm(differences: Sequence[Estimate]) -> list[float]:
    """Holm's p-values; NaN where a difference has none."""
    p_values = np.array([each.p_value for each in differences], np.float64)
    return list(multiple.adjust_p_values(p_values).tolist())
