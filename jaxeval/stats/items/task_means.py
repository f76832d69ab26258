"""Two models over several tasks: on these very tasks, and with tasks as a sample of such tasks."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import errors_of_means, estimates, pairs, results
from jaxeval.stats.items.errors_of_means import Part, Parts, RunPart
from jaxeval.stats.items.estimates import Gap
from jaxeval.stats.items.results import FACTORS, FEW_CLUSTERS, Estimate, Factor, Sizes
from jaxeval.stats.items.tables import Labels, Scores


@dataclasses.dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
      metric: its name; means are taken only over tasks of one metric.
      scores: model -> [I, R] or [I, R, K], row i the same item of all models.
      clusters: [I] labels.
      runs: model -> names of its runs, where they are known: equal ones are one network.
    """

    name: str
    metric: str
    scores: Mapping[str, Scores]
    clusters: Labels | None = None
    higher_is_better: bool = True
    runs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


def mean_difference(
    tasks: Sequence[Task],
    a: str,
    b: str,
    *,
    over: str | Collection[Factor],
    shared_runs: bool = True,
    confidence: float = 0.95,
) -> Estimate:
    """Mean over tasks of the difference A - B; every task weighs the same.

    Items are independent between tasks. The variance of runs is that of a model's means over tasks
    where runs are shared, and each task's own where not.

    Raises:
      DataError: as of `estimates.difference`; no task, or tasks of several metrics.
    """
    if not tasks:
        raise DataError("tasks: expected one or more, found none")
    notes = not_averaged(tasks, (a, b))
    if notes:
        raise DataError(notes[0])
    both = [pairs.pair(task.scores[a], task.scores[b], task.clusters) for task in tasks]
    clustered = any(task.clusters is not None for task in tasks)
    return of_pairs(both, (a, b), over, shared_runs, confidence, clustered)


def of_pairs(
    both: Sequence[pairs.Pair],
    models: tuple[str, str],
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
    clustered: bool,
) -> Estimate:
    """The same of a pair on each task, of tasks that may be averaged (`not_averaged`)."""
    sizes = [results.sizes_of((pair.a, pair.b), pair.groups, pair.dropped) for pair in both]
    whole = together(sizes)
    factors = results.factors_of(over, whole)
    levels = None
    if shared_runs and "runs" in factors:
        check_shared(models, sizes)
        levels = [np.stack(means) for means in zip(*map(_by_run, both), strict=True)]
    gap = _mean([estimates.gap_of(pair) for pair in both], levels)
    return estimates.of_gap(gap, whole, factors, confidence, clustered)


def difference_over_tasks(
    tasks: Sequence[Task],
    a: str,
    b: str,
    *,
    over: str | Collection[Factor],
    shared_runs: bool = True,
    confidence: float = 0.95,
) -> Estimate:
    """The same mean, with tasks as a sample of such tasks: their differences are what spreads.

    The tasks' means by run stand for items in `estimates.difference`. Runs that are not shared are
    in the spread between tasks.

    Raises:
      DataError: as of `mean_difference`; a single task.
    """
    both = [pairs.pair(task.scores[a], task.scores[b], task.clusters) for task in tasks]
    return sample_of_pairs(both, over, shared_runs, confidence)


def sample_of_pairs(
    both: Sequence[pairs.Pair],
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
) -> Estimate:
    """The same of a pair on each task."""
    levels: list[list[np.ndarray]] = [[], []]
    by_run = shared_runs and "runs" in results.named(over)
    for pair in both:
        for mean, of_model in zip(_by_run(pair), levels, strict=True):
            of_model.append(mean if by_run else mean.mean(keepdims=True))
    factors = FACTORS if by_run else ("items",)
    estimate = estimates.difference(*levels, over=factors, confidence=confidence)
    few = f"Only {len(both)} tasks: they tell little of others."
    return dataclasses.replace(
        estimate,
        over=("tasks", "runs") if by_run else ("tasks",),
        warnings=(few,) if len(both) < FEW_CLUSTERS else (),
    )


def not_averaged(tasks: Sequence[Task], models: Collection[str] = ()) -> tuple[str, ...]:
    """Why no mean is taken over the tasks; () where it is."""
    metrics = dict.fromkeys(task.metric for task in tasks)
    if len(metrics) > 1 or len({task.higher_is_better for task in tasks}) > 1:
        return (
            f"No mean over tasks: their metrics differ ({', '.join(metrics)}); compare tasks of "
            "one metric.",
        )
    large = [_largest(task) > 1 for task in tasks]
    if len(set(large)) > 1 and max(map(_largest, tasks)) > _scale_bound(tasks[0]):
        above, below = tasks[large.index(True)].name, tasks[large.index(False)].name
        return (
            f"No mean over tasks: scores on {above} are above 1, those on {below} are not; bring "
            "them to one scale, such as fractions.",
        )
    needed = models or dict.fromkeys(model for task in tasks for model in task.scores)
    for task in tasks:
        lacking = [model for model in needed if model not in task.scores]
        if lacking:
            return (f"No mean over tasks: {lacking[0]} has no scores on {task.name}.",)
    return ()


def from_0_to_1(scores: Mapping[str, Scores]) -> bool:
    """Whether all models' scores are; then those that are all 0 or 1 are no losses."""
    arrays = [np.asarray(of_model) for of_model in scores.values()]
    return all(np.nanmin(array) >= 0 and np.nanmax(array) <= 1 for array in arrays)


def _largest(task: Task) -> float:
    return max(float(np.nanmax(np.asarray(scores))) for scores in task.scores.values())


def _scale_bound(task: Task) -> float:
    """What a score of another scale than fractions is above; losses differ more between tasks."""
    return 1.0 if task.higher_is_better else 10.0


def _by_run(pair: pairs.Pair) -> tuple[np.ndarray, np.ndarray]:
    """[R] means over items of both models."""
    a, b = pair.sides
    return a.of_runs, b.of_runs


def check_shared(models: Sequence[str], sizes: Sequence[Sizes]) -> None:
    """Raises DataError where a model's numbers of runs differ between tasks.

    Args:
      sizes: of the models on each task.
    """
    for model, counts in zip(
        models, zip(*(each.runs for each in sizes), strict=True), strict=True
    ):
        if len(set(counts)) > 1:
            raise DataError(
                f"shared runs: expected as many runs of {model} on every task, found "
                f"{', '.join(map(str, counts))}; shared_runs=False takes them as each task's own"
            )


def _mean(gaps: Sequence[Gap], levels: Sequence[np.ndarray] | None) -> Gap:
    """Of all tasks; levels: [T, R] of both models where runs are shared."""
    value, middle = (
        float(np.mean([getattr(gap, name) for gap in gaps])) for name in ("value", "middle")
    )
    parts, tested, unpaired = (
        mean_parts([getattr(gap, name) for gap in gaps], levels)
        for name in ("parts", "tested", "unpaired")
    )
    largest = max(gap.largest for gap in gaps)
    return Gap(
        value, parts, middle, tested, all(gap.binary for gap in gaps), unpaired, None, largest
    )


def mean_parts(of: Sequence[Parts], levels: Sequence[np.ndarray] | None) -> Parts:
    """Of the variance of a mean over tasks, by those of the tasks.

    Args:
      levels: means [T, R] of each model by task and run where runs are shared.
    """
    share = 1 / len(of) ** 2

    def added(parts: Sequence[Part]) -> Part:
        return errors_of_means.added([errors_of_means.scaled(part, share) for part in parts])

    items = added([parts.items for parts in of])
    if levels is None:
        each = (RunPart(*map(added, zip(run, strict=True))) for parts in of for run in parts.runs)
        return Parts(items, tuple(each))
    runs = []
    for k, level in enumerate(levels):
        means = level.mean(0)
        df = np.asarray(len(means) - 1.0)
        between = Part(np.asarray(means.var(ddof=1) / len(means)), df)
        runs.append(RunPart(between, added([parts.runs[k].interaction for parts in of])))
    return Parts(items, tuple(runs))


def together(sizes: Sequence[Sizes]) -> Sizes:
    """Of all tasks: items summed, the fewest runs."""
    return Sizes(
        sum(size.items for size in sizes),
        sum(size.dropped for size in sizes),
        sum(size.clusters for size in sizes),
        tuple(map(min, zip(*(size.runs for size in sizes), strict=True))),
        max(size.samples for size in sizes),
        sum(size.missing for size in sizes),
    )
