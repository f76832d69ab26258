"""All pairs of models item by item: on each data set (task), and in the mean over all."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs.scores import DataSetScores
from jaxeval.stats import examples, multiple, permutation
from jaxeval.stats.items import (
    differences,
    estimates,
    task_means,
)
from jaxeval.stats.items.differences import Matched
from jaxeval.stats.items.estimates import FACTORS, Estimate
from jaxeval.stats.pairs import Pair, by_margin
from jaxeval.stats.results import HypothesisTest
from jaxeval.stats.rules import Factor, Rules

_MOST_TESTED = 12  # pairs on data sets of which tests are made beside their intervals
Progress = Callable[[float], None]
Over = tuple[Factor, ...]
_MatchedOf = Callable[[str, str], Matched]  # by the names of A and B


class Steps:
    """Tells what share of so many steps is done."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, count: int) -> None:
        self._done += count
        self._progress(self._done / self._total)


@contextlib.contextmanager
def _named(task: DataSetScores) -> Iterator[None]:
    """Names the data set in what is wrong with it."""
    try:
        yield
    except DataError as error:
        if not task.name:
            raise
        raise DataError(f"task {task.name}: {error}") from None


def matched_of(task: DataSetScores) -> _MatchedOf:
    with _named(task):
        scores = {model: of.scores for model, of in task.models.items()}
        return differences.of_models(scores, task.clusters)


def on_data_sets(
    tasks: Sequence[DataSetScores],
    matched: Mapping[str, _MatchedOf],
    over: Over,
    rules: Rules,
    steps: Steps,
) -> list[Pair]:
    """All pairs on each data set, with their means and tests."""
    found: list[Pair] = []
    each = [(task, *ab) for task in tasks for ab in itertools.combinations(task.models, 2)]
    means = _means(tasks, rules)
    for task, a, b in each:
        with _named(task):
            both, clustered = matched[task.name](a, b), task.clusters is not None
            several = min(side.table.cells.shape[1] for side in both.sides) > 1
            every: list[Over] = [("items",), ("runs",), FACTORS] if several else [("items",)]
            of_all = differences.by_over(both, every, rules.confidence, clustered)
        pair = _pair(a, b, task, task.name, of_all[every.index(over)])
        tests = _tests(task, a, b, rules) if len(each) <= _MOST_TESTED else {}
        found.append(
            dataclasses.replace(
                pair, over=of_all, tests=tests, means=(means[task.name, a], means[task.name, b])
            )
        )
        steps.add(1)
    p_values = [
        {name: test.p_value for name, test in pair.tests.items()}
        | {" and ".join(of.over): float(of.p_value) for of in pair.over if of.p_value is not None}
        for pair in found
    ]
    adjusted = multiple.adjust_by_name(p_values)
    found = [dataclasses.replace(p, adjusted=of) for p, of in zip(found, adjusted, strict=True)]
    return _corrected(found, rules)


def _pair(a: str, b: str, task: DataSetScores, name: str | None, difference: Estimate) -> Pair:
    """Before the correction."""
    assert difference.p_value is not None
    return Pair(
        *(a, b, name, task.metric, task.higher_is_better, difference.value),
        interval=difference.possible,
        primary=" and ".join(difference.over),
        p_value=difference.p_value,
        p_adjusted=math.nan,
        n=(difference.sizes.items,) * 2,
        pairs=difference.sizes.items,
        difference=difference,
    )


def _corrected(pairs: Sequence[Pair], rules: Rules) -> list[Pair]:
    """The pairs of a family with Holm's p-values, and what they show."""
    adjusted = multiple.adjust_p_values(np.array([pair.p_value for pair in pairs], np.float64))
    beside = by_margin(
        [pair.difference for pair in pairs if pair.difference],
        [pair.higher_is_better for pair in pairs],
        rules.margin or 0.0,
        rules.alpha,
    )
    return [
        dataclasses.replace(
            pair,
            p_adjusted=p,
            shown=(pair.value > 0) - (pair.value < 0) if p <= rules.alpha else 0,
            by_margin=of,
            equivalent=of.equivalent,
        )
        for pair, p, of in zip(pairs, adjusted.tolist(), beside, strict=True)
    ]


def _means(tasks: Sequence[DataSetScores], rules: Rules) -> dict[tuple[str, str], Estimate]:
    """Of each model on each data set; of one run what can be said of it."""
    found = {}
    for task in tasks:
        from_0_to_1 = task_means.from_0_to_1([task])
        for model, of in task.models.items():
            over = rules.over
            if over is not None and of.runs == 1:
                over = tuple(factor for factor in over if factor != "runs") or None
            found[task.name, model] = estimates.mean(
                of.scores,
                over=over,
                clusters=task.clusters,
                confidence=rules.confidence,
                from_0_to_1=from_0_to_1,
            )
    return found


def _tests(task: DataSetScores, a: str, b: str, rules: Rules) -> dict[str, HypothesisTest]:
    """Of items alone: permutation and, of one run each of right and wrong answers, McNemar's.

    They speak of other items and these runs: an item's score is the mean of its runs.
    """
    first, second = (task.models[model].scores for model in (a, b))
    both = differences.pair(first, second, task.clusters)
    sums = both.groups.sums(both.gaps[:, np.newaxis])[:, 0]
    flips = permutation.sign_flips(sums, permutations=rules.resamples, seed=rules.seed)
    tests = {"sign_flips": flips}
    single = both.a.cells.shape[1] == both.b.cells.shape[1] == 1
    if task.clusters is None and single and both.binary and both.a.samples == both.b.samples == 1:
        tests["mcnemar"] = examples.mcnemar(both.a.cells[:, 0], both.b.cells[:, 0])
    return tests


def over_data_sets(
    tasks: Sequence[DataSetScores],
    matched: Mapping[str, _MatchedOf],
    over: Over,
    shared_runs: bool,
    rules: Rules,
    steps: Steps,
) -> list[Pair]:
    """All pairs in the mean over data sets."""
    found = []
    clustered = any(task.clusters is not None for task in tasks)
    for a, b in itertools.combinations(tasks[0].models, 2):
        both = [matched[task.name](a, b) for task in tasks]
        how = over, shared_runs, rules.confidence
        mean = task_means.of_pairs(both, (a, b), *how, clustered)
        as_sample = task_means.sample_of_pairs(both, *how)
        pair = _pair(a, b, tasks[0], None, mean)
        found.append(dataclasses.replace(pair, as_sample=as_sample))
        steps.add(len(tasks))
    return _corrected(found, rules)
