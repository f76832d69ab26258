"""Models over several tasks: on these very tasks, and with tasks as a sample of such tasks.

Every task weighs the same. Notation: T tasks, I items, R runs.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import cells, differences, estimates, proportions
from jaxeval.stats.items.cells import Groups, Labels, Part, Parts, RunPart, Scores, Table
from jaxeval.stats.items.differences import Gap, Pair
from jaxeval.stats.items.estimates import FACTORS, FEW_CLUSTERS, Estimate, Factor, Sizes
from jaxeval.stats.results import Interval

_OWN = "Runs differ between tasks: they are taken as a task's own"


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


def of_pairs(
    both: Sequence[Pair],
    models: tuple[str, str],
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
    clustered: bool,
) -> Estimate:
    """The same of a pair on each task, of tasks that may be averaged (`not_averaged`)."""
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
    both: Sequence[Pair],
    over: str | Collection[Factor],
    shared_runs: bool,
    confidence: float,
) -> Estimate:
    """The same of a pair on each task."""
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


def _by_run(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
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
        return cells.added([cells.scaled(part, share) for part in parts])

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
    part = cells.total(mean_parts(wider, levels), factors)
    return _stratified(estimate, part, sizes)


def _checked(task: Task, model: str) -> tuple[Table, Groups, Sizes]:
    scores = task.scores[model]
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


def aligned(tasks: Sequence[Task]) -> list[Task]:
    """The same with a run of one name in one column of all tasks, as far as there is room.

    Runs of other names share the columns that are left: what they add to each other's covariance
    is 0 on average.

    Raises:
      DataError: more or fewer names than runs.
    """
    columns: dict[str, dict[str, int]] = {}
    return [_in_columns(task, columns) for task in tasks]


def why_own(tasks: Sequence[Task]) -> str:
    """Why runs are a task's own, as a sentence; "" where run r may be one network on all tasks."""
    if len(tasks) == 1:
        return ""
    if all(_apart(tasks, model) for model in tasks[0].scores):
        return f"{_OWN}."
    counts = ({cells.array(task.scores[m]).shape[1] for task in tasks} for m in tasks[0].scores)
    if all(len(of_model) == 1 for of_model in counts):
        return ""
    return f"{_OWN}; where some are one network, the interval of the mean is too short."


def _apart(tasks: Sequence[Task], model: str) -> bool:
    """Whether all runs of a model have names, and no two tasks have one in common."""
    names = [name for task in tasks for name in task.runs.get(model, ())]
    return all(task.runs.get(model) for task in tasks) and len({*names}) == len(names)


def _in_columns(task: Task, columns: dict[str, dict[str, int]]) -> Task:
    """A task in the columns of those before it.

    Args:
      columns: model -> name of a run -> its column, to which the task's own are added.
    """
    scores, runs = {**task.scores}, {**task.runs}
    for model, names in task.runs.items():
        if not names or model not in scores:
            continue
        cube = cells.array(scores[model])
        if len(names) != cube.shape[1]:
            found = f"found {len(names)} of {cube.shape[1]} runs"
            raise DataError(f"task {task.name}: expected a name of each run of {model}, {found}")
        known = columns.setdefault(model, {})
        order = _order(names, known)
        if order != sorted(order):
            scores[model], runs[model] = cube[:, order], tuple(names[run] for run in order)
        columns[model] = {name: column for column, name in enumerate(runs[model])} | known
    return dataclasses.replace(task, scores=scores, runs=runs)


def _order(names: Sequence[str], known: Mapping[str, int]) -> list[int]:
    """The run in each column."""
    placed: dict[int, int] = {}
    for run, name in enumerate(names):
        if known.get(name, len(names)) < len(names):
            placed.setdefault(known[name], run)
    rest = (run for run in range(len(names)) if run not in placed.values())
    return [placed[column] if column in placed else next(rest) for column in range(len(names))]
