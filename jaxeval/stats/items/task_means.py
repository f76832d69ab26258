"""Models over several tasks: on these very tasks, and with tasks as a sample of such tasks.

Every task weighs the same. Notation: T tasks, I items, R runs.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs.scores import DataSetScores
from jaxeval.stats.items import cells, differences, estimates, proportions
from jaxeval.stats.items import parts as parts_of
from jaxeval.stats.items.cells import Groups, Table
from jaxeval.stats.items.differences import Gap, Matched
from jaxeval.stats.items.estimates import FACTORS, FEW_CLUSTERS, Estimate, Sizes
from jaxeval.stats.items.parts import Part, Parts, RunPart
from jaxeval.stats.results import Interval
from jaxeval.stats.rules import Factor

_OWN = "Runs differ between tasks: they are taken as a task's own"


def of_pairs(
    both: Sequence[Matched],
    models: tuple[str, str],
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
    clustered: bool,
) -> Estimate:
    """Mean over tasks of the difference A - B, of tasks that may be averaged (`not_averaged`).

    Items are independent between tasks. The variance of runs is that of a model's means over tasks
    where runs are shared, and each task's own where not.
    """
    sizes = [estimates.sizes_of((pair.a, pair.b), pair.groups, pair.dropped) for pair in both]
    whole = together(sizes)
    factors = estimates.factors_of(over, whole)
    levels = None
    if shared_runs and "runs" in factors:
        check_shared(models, sizes)
        levels = [np.stack(means) for means in zip(*map(_by_run, both), strict=True)]
    gap = _mean([differences.gap_of(pair) for pair in both], levels)
    return differences.of_gap(gap, whole, factors, confidence, clustered)


def sample_of_pairs(
    both: Sequence[Matched],
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
) -> Estimate:
    """The same mean, with tasks as a sample of such tasks: their differences are what spreads.

    The tasks' means by run stand for items in `difference`. Runs that are not shared are in the
    spread between tasks.
    """
    levels: list[list[np.ndarray]] = [[], []]
    by_run = shared_runs and "runs" in estimates.named(over)
    for pair in both:
        for mean, of_model in zip(_by_run(pair), levels, strict=True):
            of_model.append(mean if by_run else mean.mean(keepdims=True))
    factors = FACTORS if by_run else ("items",)
    estimate = differences.difference(*levels, over=factors, confidence=confidence)
    few = f"Only {len(both)} tasks: they tell little of others."
    return dataclasses.replace(
        estimate,
        over=("tasks", "runs") if by_run else ("tasks",),
        warnings=(few,) if len(both) < FEW_CLUSTERS else (),
    )


def not_averaged(tasks: Sequence[DataSetScores]) -> tuple[str, ...]:
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
    return ()


def from_0_to_1(tasks: Sequence[DataSetScores]) -> bool:
    """Whether all models' scores are; then those that are all 0 or 1 are no losses."""
    known = [task.known for task in tasks]
    return all(of.min() >= 0 and of.max() <= 1 for of in known)


def _largest(task: DataSetScores) -> float:
    return float(task.known.max())


def _scale_bound(task: DataSetScores) -> float:
    """What a score of another scale than fractions is above; losses differ more between tasks."""
    return 1.0 if task.higher_is_better else 10.0


def _by_run(pair: Matched) -> tuple[np.ndarray, np.ndarray]:
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
        return parts_of.added([parts_of.scaled(part, share) for part in parts])

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


def mean_of_model(
    tasks: Sequence[DataSetScores],
    model: str,
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
    from_0_to_1: bool,
) -> Estimate:
    """The mean over tasks of a model's scores, on these very tasks.

    Of right and wrong answers the interval is that of a stratified sample (Korn & Graubard 1998):
    Jeffreys' with as many answers as the mean's variance is worth.
    """
    each = [_checked(task, model) for task in tasks]
    sizes = [size for _, _, size in each]
    whole = together(sizes)
    factors = estimates.factors_of(over, whole)
    levels = None
    if shared_runs and "runs" in factors:
        check_shared((model,), sizes)
        levels = [np.stack([table.cells.mean(0) for table, _, _ in each])]
    parts = [estimates.parts_of_mean(table, groups) for table, groups, _ in each]
    shares = [float(table.cells.mean()) for table, _, _ in each]
    largest = max(float(np.abs(table.cells).max()) for table, _, _ in each)
    level = estimates.Level(float(np.mean(shares)), mean_parts(parts, levels), False, largest)
    clustered = any(task.clusters is not None for task in tasks)
    estimate = estimates.of_level(level, whole, factors, confidence, clustered)
    if not from_0_to_1 or not all(table.binary for table, _, _ in each):
        return estimate
    wider = [
        estimates.with_quarter(np.asarray(share), part, size.items)
        for share, part, size in zip(shares, parts, sizes, strict=True)
    ]
    part = parts_of.total(mean_parts(wider, levels), factors)
    return _stratified(estimate, part, sizes)


def _checked(task: DataSetScores, model: str) -> tuple[Table, Groups, Sizes]:
    scores = task.models[model].scores
    table = cells.table(scores, model)
    groups = cells.groups(task.clusters, table, len(scores))
    return table, groups, estimates.sizes_of([table], groups, len(scores) - len(table.kept))


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


def aligned(tasks: Sequence[DataSetScores]) -> list[DataSetScores]:
    """The same with a run of one name in one column of all tasks, as far as there is room.

    Runs of other names share the columns that are left: what they add to each other's covariance
    is 0 on average.
    """
    columns: dict[str, dict[str, int]] = {}
    return [_in_columns(task, columns) for task in tasks]


def why_own(tasks: Sequence[DataSetScores]) -> str:
    """Why runs are a task's own, as a sentence; "" where run r may be one network on all tasks."""
    if len(tasks) == 1:
        return ""
    if all(_apart(tasks, model) for model in tasks[0].models):
        return f"{_OWN}."
    if all(len({task.models[m].runs for task in tasks}) == 1 for m in tasks[0].models):
        return ""
    return f"{_OWN}; where some are one network, the interval of the mean is too short."


def _apart(tasks: Sequence[DataSetScores], model: str) -> bool:
    """Whether all runs of a model have names, and no two tasks have one in common."""
    names = [[*task.models[model].labels.get("name", ())] for task in tasks]
    every = [name for of_task in names for name in of_task]
    return all(names) and len({*every}) == len(every)


def _in_columns(task: DataSetScores, columns: dict[str, dict[str, int]]) -> DataSetScores:
    """A task in the columns of those before it.

    Args:
      columns: model -> name of a run -> its column, to which the task's own are added.
    """
    models = {**task.models}
    for model, of in task.models.items():
        names = of.labels.get("name", np.zeros(0, object)).tolist()
        if names:
            known = columns.setdefault(model, {})
            order = _order(names, known)
            if order != sorted(order):
                models[model] = of.chosen(np.array(order))
            placed = models[model].labels["name"].tolist()
            columns[model] = {name: column for column, name in enumerate(placed)} | known
    return dataclasses.replace(task, models=models)


def _order(names: Sequence[str], known: Mapping[str, int]) -> list[int]:
    """The run in each column."""
    placed: dict[int, int] = {}
    for run, name in enumerate(names):
        if known.get(name, len(names)) < len(names):
            placed.setdefault(known[name], run)
    rest = (run for run in range(len(names)) if run not in placed.values())
    return [placed[column] if column in placed else next(rest) for column in range(len(names))]
