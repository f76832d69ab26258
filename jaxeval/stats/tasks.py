"""The slice of the cube over items: data sets with the items that all models have.

Copies of runs and items that a model lacks are left out. Items without an answer may be the hard
ones: if too many are missing, no verdict is given. Notation: I items, R runs, K samples.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs.columns import listed
from jaxeval.runs.metrics import Direction
from jaxeval.runs.scores import DataSetScores, Scores, Status
from jaxeval.stats import FACTORS, Factor, estimates, on
from jaxeval.stats.estimates import ScoreTable

_MOST_MISSING = 0.05  # of a model's answers on a data set


class Counts(NamedTuple):
    """Counts of items that are compared on a data set or left out; mappings are by model."""

    data_set: str
    metric: str
    higher_is_better: bool
    direction: Direction
    items: int  # with a score of every model
    left_out: int  # items without
    clusters: int | None  # of the items compared
    runs: Mapping[str, int]
    samples: int  # the largest number of answers to an item in a run
    failed: Mapping[str, int]  # answers that ended in an error
    unscored: Mapping[str, int]  # answers without a score
    failed_items: Mapping[str, int]  # items with a failed answer
    copies: Mapping[str, int]  # runs left out as copies of others
    missing: Mapping[str, float]  # share of answers that failed, have no score or are lacking

    def warnings(self) -> Iterator[str]:
        """Yields what was left out: items, answers and copies of runs."""
        head = _head(self.data_set)
        if self.left_out:
            yield f"{head}{self.left_out} items are left out, since a model has no score for them"
        for what, of in (("ended in an error", self.failed), ("have no score", self.unscored)):
            if said := ", ".join(f"{n} of {model}" for model, n in of.items() if n):
                yield f"{head}answers that {what}: {said}"
        for model, copies in self.copies.items():
            if copies:
                yield (
                    f"{head}{copies} of {copies + self.runs[model]} runs of {model} have the same "
                    "score as another run on every item and are left out; greedy decoding gives "
                    "such copies"
                )


class Task(NamedTuple):
    """A data set, ready to be compared."""

    data: DataSetScores
    counts: Counts
    tables: Mapping[str, ScoreTable]  # by model

    @property
    def from_0_to_1(self) -> bool:
        """True if all scores are: then scores of 0 and 1 are right and wrong answers."""
        return bool(self.data.known.min() >= 0 and self.data.known.max() <= 1)


def tasks(scores: Scores) -> list[Task]:
    """Returns the data sets that all models have; runs of one name are in the same columns.

    Raises:
      DataError: one model, no common data set or item, too few items, runs without common items.
    """
    if len(scores.models) < 2:
        named = "NAME=PATH sets the model of a file or folder of logs"
        raise DataError(f"one model ({', '.join(scores.models)}); expected two or more: {named}")
    complete = [of for of in scores.data_sets if len(of.models) == len(scores.models)]
    every = listed(scores.models)
    if not complete:
        raise DataError(f"{every} have no data set in common", scores.source)
    found, columns = [], dict[str, dict[str, int]]()
    for before, (unique, copies) in zip(complete, _drop_copies(complete), strict=True):
        lacking = [np.isnan(of.scores).all((1, 2)) for of in unique.models.values()]
        kept = ~np.any(lacking, axis=0)
        if not kept.any():
            raise DataError(f"{_head(before.name)}{every} have no scored item in common")
        data = _aligned(unique.chosen(kept), columns)
        try:
            of_models = estimates.tables(
                {m: of.scores for m, of in data.models.items()}, data.clusters
            )
        except DataError as error:
            raise DataError(f"{_head(data.name)}{error}") from None
        failed = {model: of.status == Status.FAILED for model, of in before.models.items()}
        unscored = {m: of.status == Status.UNSCORED for m, of in before.models.items()}
        counts = Counts(
            data_set=data.name,
            metric=data.metric,
            higher_is_better=data.higher_is_better,
            direction=data.direction,
            items=len(data.items),
            left_out=len(before.items) - len(data.items),
            clusters=None if data.clusters is None else len({*data.clusters.tolist()}),
            runs={model: of.runs for model, of in data.models.items()},
            samples=max(of.scores.shape[2] for of in data.models.values()),
            failed={model: int(of.sum()) for model, of in failed.items()},
            unscored={model: int(of.sum()) for model, of in unscored.items()},
            failed_items={model: int(of.any((1, 2)).sum()) for model, of in failed.items()},
            copies=copies,
            missing={model: _missing(of.scores) for model, of in unique.models.items()},
        )
        found.append(Task(data, counts, of_models))
    return found


def _missing(scores: np.ndarray) -> float:
    """Share of a model's answers [I, R, K] to all items that have no score.

    A run is expected to have as many answers to an item as more than 5 % of its items have.
    """
    answered = np.sum(~np.isnan(scores), 2)
    usual = []
    for of_run in answered.T:
        counts = np.sort(of_run[of_run > 0])[::-1]
        usual.append(int(counts[int(_MOST_MISSING * len(counts))]) if len(counts) else 0)
    expected = np.array([each or max(usual) for each in usual])
    asked = len(scores) * int(expected.sum())
    return 1 - int(np.minimum(answered, expected).sum()) / asked if asked else 1.0


def _drop_copies(data_sets: Sequence[DataSetScores]) -> list[tuple[DataSetScores, dict[str, int]]]:
    """Drops runs that are copies of an earlier run, as greedy decoding makes them.

    A copy has the score of an earlier run on every item of a data set, and these scores vary. Runs
    with names stay unless all runs of the model are alike on all data sets. Returns each data set
    with the number of dropped runs by model.
    """
    models = [{**data.models} for data in data_sets]
    dropped: list[dict[str, int]] = [{} for _ in data_sets]
    for model in data_sets[0].models:
        runs = [of[model] for of in models]
        found = _copies([of.scores for of in runs])
        named = any("name" in of.labels for of in runs)
        differ = any(len(copies) < of.runs - 1 for copies, of in zip(found, runs, strict=True))
        found = [[] for _ in runs] if named and differ else found
        for k, copies in enumerate(found):
            dropped[k][model] = len(copies)
            if copies:
                models[k][model] = runs[k].chosen(np.setdiff1d(np.arange(runs[k].runs), copies))
    unique = map(lambda data, of: dataclasses.replace(data, models=of), data_sets, models)
    return [*zip(unique, dropped, strict=True)]


def _copies(cubes: Sequence[np.ndarray]) -> list[list[int]]:
    """Runs of a model that are copies of earlier ones, for each data set's scores [I, R, K]."""
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


def _aligned(data: DataSetScores, columns: dict[str, dict[str, int]]) -> DataSetScores:
    """Puts runs of one name in the same column of all data sets, as far as there is room.

    `columns`: model -> name -> column, of the data sets before; receives those of this one.
    """
    models = {**data.models}
    for model, of in data.models.items():
        names = of.labels.get("name", np.zeros(0, object)).tolist()
        known = columns.setdefault(model, {})
        at: dict[int, int] = {}  # column -> run
        for run, name in enumerate(names):
            if known.get(name, len(names)) < len(names):
                at.setdefault(known[name], run)
        rest = iter(sorted({*range(len(names))} - {*at.values()}))
        order = [at[k] if k in at else next(rest) for k in range(len(names))]
        if order != sorted(order):
            models[model] = of.chosen(np.array(order))
        for column, run in enumerate(order):
            known.setdefault(names[run], column)
    return dataclasses.replace(data, models=models)


def _head(name: str) -> str:
    return f"task {name}: " if name else ""


def reasons(scores: Scores, found: Sequence[Task]) -> tuple[str, ...]:
    """Returns why the first two models cannot be compared fairly: too many scores are missing."""
    absent = scores.absent.get(scores.models[0], ())
    lines = [f"{scores.models[0]} has no scores on {name or 'a task'}" for name in absent]
    why = "is left out, since the models have different metrics of it"
    lines += [f"{name or 'a task'} {why}" for name in scores.without_metric if name not in absent]
    most = f"failed, have no score or are missing, more than {100 * _MOST_MISSING:g} %"
    for (_, of, _), model in itertools.product(found, scores.models[:2]):
        if (share := of.missing[model]) > _MOST_MISSING:
            lines.append(f"{100 * share:.3g} % of {model}'s answers{on(of.data_set)} {most}")
    return tuple(lines)


def choose_factors(
    found: Sequence[Task], asked: tuple[Factor, ...] | None
) -> tuple[tuple[Factor, ...], tuple[str, ...]]:
    """Returns what errors generalise over, and a note if a single run limits them to items."""
    runs = {
        (of.data.name, model): table.runs for of in found for model, table in of.tables.items()
    }
    over = default_over([*runs.values()]) if asked is None else asked
    single = next((where for where, count in runs.items() if count == 1), None)
    if single is None or asked == ("items",):
        return over, ()
    has_one = f"{single[1]} has one run{on(single[0])}"
    if "runs" in over:
        raise DataError(
            f"over runs: expected two or more runs of every model; {has_one}, which says nothing "
            f"about others: {argument('over', 'items')}"
        )
    several = any(min(table.runs for table in of.tables.values()) > 1 for of in found)
    return over, (f"Over items alone on all tasks, since {has_one}.",) if several else ()


def default_over(runs: Sequence[int]) -> tuple[Factor, ...]:
    """Returns items, and runs too if every model has two or more."""
    return FACTORS if min(runs) > 1 else ("items",)


def not_averaged(found: Sequence[Task]) -> tuple[str, ...]:
    """Returns why no mean is taken over the tasks, or () if it is taken."""
    every = [of.data for of in found]
    why = ""
    metrics = dict.fromkeys(data.metric for data in every)
    largest = [float(data.known.max()) for data in every]
    large = [score > 1 for score in largest]
    scale = 1.0 if every[0].higher_is_better else 10.0  # losses differ more between tasks
    if len(metrics) > 1 or len({data.higher_is_better for data in every}) > 1:
        why = f"their metrics differ ({', '.join(metrics)}); compare tasks of one metric"
    elif len(set(large)) > 1 and max(largest) > scale:
        above, below = every[large.index(True)].name, every[large.index(False)].name
        why = f"scores on {above} are above 1, those on {below} are not; bring them to one scale"
    return (f"No mean over tasks: {why}.",) if why else ()


def why_own(found: Sequence[Task]) -> str:
    """Returns why runs of different tasks are not shared, or "" if run r may be one network."""
    own = "Runs differ between tasks and count as different networks"
    models = [[of.data.models[model] for of in found] for model in found[0].data.models]
    names = [[[*of.labels.get("name", ())] for of in model] for model in models]
    if len(found) == 1:
        return ""
    if all(all(of) and len({*itertools.chain(*of)}) == sum(map(len, of)) for of in names):
        return f"{own}."  # no two tasks have a name in common
    if all(len({of.runs for of in model}) == 1 for model in models):
        return ""
    return f"{own}; if some are the same network, the interval of the mean is too narrow."
