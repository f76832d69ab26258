"""What is compared of the items: runs that are no copies, items that all models answered, tasks.

What is not answered may be hard: of too many such items no verdict is given. T tasks, R runs.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import metrics
from jaxeval.runs.columns import listed
from jaxeval.runs.scores import DataSetScores, Direction, Scores, Status

_MOST_MISSING = 0.05  # of a model's answers on a data set


@dataclasses.dataclass(frozen=True)
class DataSetCounts:
    """What is compared on a data set, and what is not; by model."""

    data_set: str
    metric: str
    higher_is_better: bool
    direction: Direction
    items: int  # of which every model has a score
    left_out: int  # the others
    clusters: int | None  # of the items compared
    runs: Mapping[str, int]
    samples: int  # the most answers of a run to an item
    failed: Mapping[str, int]  # answers that ended in an error
    unscored: Mapping[str, int]  # answers that no score was given
    failed_items: Mapping[str, int]  # items of which an answer ended in an error
    lacking: Mapping[str, tuple[str, ...]]  # ids of items of the others without an answer
    copies: Mapping[str, int]  # runs left out, whose every score is that of another run
    alike: Mapping[str, int]  # runs of which the same holds, but which have names of their own
    missing: Mapping[str, float]  # share of answers that failed, have no score or are lacking


def prepared(scores: Scores) -> tuple[list[DataSetScores], list[DataSetCounts]]:
    """The data sets without copies of runs and without items that a model has no score of."""
    if len(scores.models) < 2:
        named = "NAME=PATH names that of a file or folder of logs"
        raise DataError(f"one model ({', '.join(scores.models)}); expected two or more: {named}")
    complete = [of for of in scores.data_sets if len(of.models) == len(scores.models)]
    every = listed(scores.models)
    if not complete:
        raise DataError(f"no data set that {every} all have", scores.source)
    unique, copies, alike = without_copies(complete)
    found, counts = [], []
    for k, (before, whole) in enumerate(zip(complete, unique, strict=True)):
        data = _common(whole)
        if not data.items:
            raise DataError(f"{_of(data.name)}no item that {every} all have a score of")
        _refuse_scales(data)
        found.append(data)
        counts.append(_counts(before, whole, data, copies[k], alike[k]))
    return found, counts


def _common(data: DataSetScores) -> DataSetScores:
    """The same without the items that a model has no score of: all means are of the same items."""
    kept = np.all([~np.isnan(of.scores).all((1, 2)) for of in data.models.values()], axis=0)
    return dataclasses.replace(
        data,
        items=tuple(np.array(data.items, object)[kept].tolist()),
        clusters=None if data.clusters is None else data.clusters[kept],
        models={
            model: dataclasses.replace(of, scores=of.scores[kept], status=of.status[kept])
            for model, of in data.models.items()
        },
    )


def _counts(
    before: DataSetScores,
    whole: DataSetScores,
    data: DataSetScores,
    copies: Mapping[str, int],
    alike: Mapping[str, int],
) -> DataSetCounts:
    """Of a data set as it was read, without copies, and without items that one lacks."""
    status = {model: of.status for model, of in before.models.items()}
    return DataSetCounts(
        *(data.name, data.metric, data.higher_is_better, data.direction),
        *(len(data.items), len(before.items) - len(data.items)),
        clusters=None if data.clusters is None else len({*data.clusters.tolist()}),
        runs={model: of.runs for model, of in data.models.items()},
        samples=max(of.scores.shape[2] for of in data.models.values()),
        failed={m: int(np.sum(of == Status.FAILED)) for m, of in status.items()},
        unscored={m: int(np.sum(of == Status.UNSCORED)) for m, of in status.items()},
        failed_items={
            m: int(np.sum((of == Status.FAILED).any((1, 2)))) for m, of in status.items()
        },
        lacking={
            m: tuple(before.items[k] for k in np.flatnonzero((of == Status.ABSENT).all((1, 2))))
            for m, of in status.items()
        },
        copies=copies,
        alike=alike,
        missing={model: _missing(of.scores) for model, of in whole.models.items()},
    )


def _missing(scores: np.ndarray) -> float:
    """The share of a model's answers [I, R, K] to all items that have no score.

    Of every run as many answers to an item are expected as more than 5 % of its items have.
    """
    answered, usual = np.sum(~np.isnan(scores), 2), []
    for of_run in answered.T:
        counts = np.sort(of_run[of_run > 0])[::-1]
        usual.append(int(counts[int(_MOST_MISSING * len(counts))]) if len(counts) else 0)
    expected = np.array([each or max(usual) for each in usual])
    asked = len(scores) * int(expected.sum())
    return 1 - int(np.minimum(answered, expected).sum()) / asked if asked else 1.0


def without_copies(
    data_sets: Sequence[DataSetScores],
) -> tuple[list[DataSetScores], list[dict[str, int]], list[dict[str, int]]]:
    """The data sets with one run of those that are copies of one another (greedy decoding).

    A copy has the score of an earlier run on every item of a data set, and scores that vary. Runs
    with names stay, and are counted, unless all of a model's are alike on all data sets. Beside:
    model -> copies that were left out, and that stay, of each data set.
    """
    models = [{**data.models} for data in data_sets]
    copies: list[dict[str, int]] = [{} for _ in data_sets]
    alike: list[dict[str, int]] = [{} for _ in data_sets]
    for model in dict.fromkeys(model for data in data_sets for model in data.models):
        cubes = [of[model].scores for of in models]
        found = _copies(cubes)
        named = any("name" in of[model].labels for of in models)
        differ = any(len(of) < cube.shape[1] - 1 for of, cube in zip(found, cubes, strict=True))
        stay = named and differ
        for k, here in enumerate(found):
            (alike if stay else copies)[k][model] = len(here)
            if here and not stay:
                left = np.setdiff1d(np.arange(models[k][model].runs), here)
                models[k][model] = models[k][model].chosen(left)
    whole = [
        dataclasses.replace(data, models=of) for data, of in zip(data_sets, models, strict=True)
    ]
    return whole, copies, alike


def _copies(cubes: Sequence[np.ndarray]) -> list[list[int]]:
    """On each data set, runs of a model, of its scores [I, R, K], that are copies of earlier."""
    varying, repeated = [], []
    for cube in cubes:
        first: dict[bytes, int] = {}
        runs = range(cube.shape[1])
        lows, highs = (of(cube, axis=(0, 2)) for of in (np.fmin.reduce, np.fmax.reduce))
        varying.append({run for run in runs if lows[run] < highs[run]})
        repeated.append({r for r in runs if first.setdefault(cube[:, r].tobytes(), r) != r})
    new = set().union(*(of - again for of, again in zip(varying, repeated, strict=True)))
    copies = set().union(*varying) - new
    return [sorted(again & (of | copies)) for again, of in zip(repeated, varying, strict=True)]


def _refuse_scales(data: DataSetScores) -> None:
    """Raises DataError for fractions of one model beside percentages of another."""
    # error rates may be above 1, and so may what an item contributes to an F1
    if data.counts or metrics.unit_of(data.metric.split("/")[0]) != "fraction":
        return
    largest = {model: float(np.nanmax(of.scores)) for model, of in data.models.items()}
    above = [model for model, top in largest.items() if top > 1]
    below = [model for model, top in largest.items() if 0 < top <= 1]
    if above and below:
        raise DataError(
            f"{_of(data.name)}{data.metric} of {above[0]} is above 1, that of {below[0]} is not; "
            "expected one scale, such as fractions"
        )


def reasons(scores: Scores, counts: Sequence[DataSetCounts]) -> tuple[str, ...]:
    """Why nothing is said of the first model against the second, a sentence part each."""
    absent = scores.absent.get(scores.models[0], ())
    lines = [f"{scores.models[0]} has no scores on {name or 'a task'}" for name in absent]
    lines += [
        f"{name or 'a task'} is left out, since the models have different metrics of it"
        for name in scores.without_metric
        if name not in absent
    ]
    for of in counts:
        on_task = f" on {of.data_set}" if of.data_set else ""
        lines += [
            f"{100 * of.missing[model]:.3g} % of {model}'s answers{on_task} failed, have no score "
            f"or are lacking, more than {100 * _MOST_MISSING:g} %"
            for model in scores.models[:2]
            if of.missing[model] > _MOST_MISSING
        ]
    return tuple(lines)


def warnings(of: DataSetCounts) -> Iterator[str]:
    """What was left out of a data set, and runs that are copies of one another."""
    head = _of(of.data_set)
    if of.left_out:
        lacking = []
        for model, items in of.lacking.items():
            named = ", ".join(f"{item:.40}" for item in items[:3])
            more = " ..." if len(items) > 3 else ""
            lacking += [f"{model} lacks {len(items)} ({named}{more})"] if items else []
        yield f"{head}{of.left_out} items are left out" + (
            f": {'; '.join(lacking)}" if lacking else ""
        )
    for what, counts in (("ended in an error", of.failed), ("have no score", of.unscored)):
        if said := ", ".join(f"{n} of {model}" for model, n in counts.items() if n):
            yield f"{head}answers that {what}: {said}"
    for model, runs in of.runs.items():
        copies, alike = of.copies.get(model, 0), of.alike.get(model, 0)
        if copies or alike:
            become = "left out" if copies else "no runs of their own"
            yield (
                f"{head}runs of {model} that have the same score as another on every item: "
                f"{copies + alike} of {runs + copies}; decoding that draws nothing gives copies, "
                f"which are {become}"
            )


def _of(name: str) -> str:
    return f"task {name}: " if name else ""


_OWN = "Runs differ between tasks: they are taken as a task's own"


def not_averaged(tasks: Sequence[DataSetScores]) -> tuple[str, ...]:
    """Why no mean is taken over the tasks; () where it is."""
    metrics = dict.fromkeys(task.metric for task in tasks)
    if len(metrics) > 1 or len({task.higher_is_better for task in tasks}) > 1:
        return (
            f"No mean over tasks: their metrics differ ({', '.join(metrics)}); compare tasks of "
            "one metric.",
        )
    largest = [float(task.known.max()) for task in tasks]
    large = [score > 1 for score in largest]
    scale = 1.0 if tasks[0].higher_is_better else 10.0  # losses differ more between tasks
    if len(set(large)) > 1 and max(largest) > scale:
        above, below = tasks[large.index(True)].name, tasks[large.index(False)].name
        return (
            f"No mean over tasks: scores on {above} are above 1, those on {below} are not; bring "
            "them to one scale, such as fractions.",
        )
    return ()


def from_0_to_1(tasks: Sequence[DataSetScores]) -> bool:
    """Whether all models' scores are; then those that are all 0 or 1 are no losses."""
    return all(task.known.min() >= 0 and task.known.max() <= 1 for task in tasks)


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


def aligned(tasks: Sequence[DataSetScores]) -> list[DataSetScores]:
    """The same with a run of one name in one column of all tasks, as far as there is room."""
    columns: dict[str, dict[str, int]] = {}  # model -> name of a run -> its column
    found = []
    for task in tasks:
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
        found.append(dataclasses.replace(task, models=models))
    return found


def _order(names: Sequence[str], known: Mapping[str, int]) -> list[int]:
    """The run in each column."""
    placed: dict[int, int] = {}
    for run, name in enumerate(names):
        if known.get(name, len(names)) < len(names):
            placed.setdefault(known[name], run)
    rest = (run for run in range(len(names)) if run not in placed.values())
    return [placed[column] if column in placed else next(rest) for column in range(len(names))]
