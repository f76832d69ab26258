"""What a board says of all its pairs, against every pair alone."""

import math

import numpy as np
import pytest

from jaxeval.runs.item_scores import Paired, TaskScores
from jaxeval.stats.items import estimates, leaderboard, pairs, study, suites
from jaxeval.stats.items.study import ItemStudy, Rules
from jaxeval.stats.items.task_means import Task


def _study(models: int, runs: int, items: int = 30) -> ItemStudy:
    """Normal scores; runs of a model spread the more the later it comes."""
    draw, tasks = np.random.default_rng(4), []
    for name in "st":
        hard = draw.normal(size=(items, 1))
        scores = {
            f"m{k}": (hard + k * draw.normal(size=runs) + draw.normal(size=(items, runs)))[
                ..., None
            ]
            for k in range(models)
        }
        tasks.append(TaskScores(name, "score", True, tuple(map(str, range(items))), scores))
    names = tuple(tasks[0].scores)
    return study.study(Paired(names, tuple(tasks)), Rules(resamples=9))


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_smallest_and_largest_detectable_differences(runs: int) -> None:
    """Dies if the pair of the smallest or largest is taken for another, since only a few are
    looked at; or if one that no difference is large enough for is passed over."""
    of = _study(8, runs)
    board = leaderboard.of(of)
    assert board.overall is not None
    differences = [[p.difference for p in of.pairs if p.task.task == name] for name in "st"]
    every = [(board.tasks[k], found, len(of.pairs)) for k, found in enumerate(differences)]
    means = [pair.mean_over_tasks for pair in of.suite.overall]
    for shown, compared, tests in [*every, (board.overall, means, len(means))]:
        alone = [leaderboard.detectable(each, 0.05 / tests) for each in compared]
        known = [of_pair for of_pair in alone if of_pair is not None]
        finite = [of_pair for of_pair in known if of_pair < math.inf]
        never = len(finite) < len(known)
        largest = None if never else max(finite)
        assert shown.detectable == (min(finite, default=None), largest, never, False)


def test_few_pairs_are_searched() -> None:
    """Dies if a search is made for each of many pairs with degrees of freedom of their own."""
    of = _study(16, 3)
    assert len({pair.difference.df for pair in of.pairs}) > 200
    leaderboard._shift.cache_clear()
    leaderboard.of(of)
    assert leaderboard._shift.cache_info().misses < 100


@pytest.mark.parametrize("holes", [False, True])
def test_a_tasks_pairs_are_those_of_two_models(holes: bool) -> None:
    """Dies if what is computed once for a model is not what each pair computes: no bit differs."""
    draw = np.random.default_rng(5)
    scores = {name: draw.normal(size=(40, 3)) for name in "abc"}
    if holes:
        scores["b"][7] = np.nan
        scores["c"][3, 1] = np.nan
    clusters = np.arange(40) // 3
    suite = suites.compare([Task("t", "score", scores, clusters)])
    find = pairs.of_task(scores, clusters)
    for pair in suite.pairs:
        a, b = scores[pair.a], scores[pair.b]
        for of in pair.estimates:
            assert of == estimates.difference(a, b, over=of.over, clusters=clusters)
        found, alone = find(pair.a, pair.b), pairs.pair(a, b, clusters)
        assert (found.dropped, found.parts()) == (alone.dropped, alone.parts())
    assert [of.over for of in suite.pairs[0].estimates] == [
        ("items",),
        ("runs",),
        ("items", "runs"),
    ]


def test_progress_ends_at_the_whole() -> None:
    """Dies if a step is counted twice, or means over tasks are forgotten."""
    of = _study(4, 2)
    tasks = [study.task_of(task) for task in of.tasks]
    for few in (tasks, tasks[:1], [tasks[0], Task("u", "f1", tasks[1].scores)]):
        told: list[float] = []
        suites.compare(few, progress=told.append)
        assert told[-1] == 1.0 and told == sorted(told) and len(told) >= 6
