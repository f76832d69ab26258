"""A model's mean over several tasks, each of which weighs the same."""

import dataclasses
from collections.abc import Collection, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import (
    errors_of_means,
    estimates,
    proportions,
    results,
    tables,
    task_means,
)
from jaxeval.stats.items.errors_of_means import Part
from jaxeval.stats.items.results import Estimate, Factor, Sizes
from jaxeval.stats.items.tables import Groups, Table
from jaxeval.stats.items.task_means import Task
from jaxeval.stats.results import Interval


def mean(
    tasks: Sequence[Task],
    model: str,
    *,
    over: str | Collection[Factor],
    shared_runs: bool = True,
    confidence: float = 0.95,
) -> Estimate:
    """The mean over tasks of a model's scores, on these very tasks.

    Of right and wrong answers the interval is that of a stratified sample (Korn & Graubard 1998):
    Jeffreys' with as many answers as the mean's variance is worth.

    Args:
      over, shared_runs: as of `task_means.mean_difference`.

    Raises:
      DataError: as of `estimates.mean`; tasks of several metrics.
    """
    notes = task_means.not_averaged(tasks, (model,))
    if notes:
        raise DataError(notes[0])
    binary = from_0_to_1(tasks)
    return of_tasks(tasks, model, over, shared_runs, confidence, binary)


def from_0_to_1(tasks: Sequence[Task]) -> bool:
    """Whether all scores on all tasks are (`task_means.from_0_to_1`)."""
    return all(task_means.from_0_to_1(task.scores) for task in tasks)


def of_tasks(
    tasks: Sequence[Task],
    model: str,
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
    from_0_to_1: bool,
) -> Estimate:
    """The same on tasks that may be averaged, with what is known of all models' scores."""
    each = [_checked(task, model) for task in tasks]
    sizes = [size for _, _, size in each]
    whole = task_means.together(sizes)
    factors = results.factors_of(over, whole)
    levels = None
    if shared_runs and "runs" in factors:
        task_means.check_shared((model,), sizes)
        levels = [np.stack([table.cells.mean(0) for table, _, _ in each])]
    parts = [estimates.parts_of_mean(table, groups) for table, groups, _ in each]
    shares = [float(table.cells.mean()) for table, _, _ in each]
    largest = max(float(np.abs(table.cells).max()) for table, _, _ in each)
    level = estimates.Level(
        float(np.mean(shares)), task_means.mean_parts(parts, levels), False, largest
    )
    clustered = any(task.clusters is not None for task in tasks)
    estimate = estimates.of_level(level, whole, factors, confidence, clustered)
    if not from_0_to_1 or not all(table.binary for table, _, _ in each):
        return estimate
    wider = [
        estimates.with_quarter(np.asarray(share), part, size.items)
        for share, part, size in zip(shares, parts, sizes, strict=True)
    ]
    part = errors_of_means.total(task_means.mean_parts(wider, levels), factors)
    return _stratified(estimate, part, sizes)


def _checked(task: Task, model: str) -> tuple[Table, Groups, Sizes]:
    scores = task.scores[model]
    table = tables.table(scores, model)
    groups = tables.groups(task.clusters, table, len(scores))
    return table, groups, results.sizes_of([table], groups, len(scores) - len(table.kept))


def _stratified(estimate: Estimate, part: Part, sizes: Sequence[Sizes]) -> Estimate:
    """The same with Jeffreys' interval."""
    confidence, share = estimate.interval.confidence, np.asarray(estimate.value)
    units = len(sizes) ** 2 / sum(1 / size.clusters for size in sizes)  # of a mean of means
    n = proportions.effective(share, part.variance, part.df, units, np.inf, confidence)
    low, high = proportions.limits(share, n, confidence)
    method = "Jeffreys, effective number of answers"
    return dataclasses.replace(
        estimate,
        interval=Interval(float(low), float(high), confidence, method),
        warnings=tuple(line for line in estimate.warnings if not line.startswith("The score is")),
    )
