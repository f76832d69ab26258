"""Suites of tasks: means, ranks, ties, refusals."""

import dataclasses

import numpy as np
import pytest
from scipy import special

from jaxeval.errors import DataError
from jaxeval.stats import items, multiple
from jaxeval.stats.items import places, task_means

BOTH = ("items", "runs")


def _tasks(
    counts: tuple[int, ...] = (40, 60, 80), models: int = 4, runs: int = 3, gap: float = 0.5
) -> list[items.Task]:
    """Model k is better by k gaps; runs of a model are shared by its tasks."""
    generator = np.random.default_rng(0)
    of_run = 0.2 * generator.normal(size=(models, runs))
    tasks = []
    for number, count in enumerate(counts):
        item = generator.normal(size=(count, 1))
        scores = {
            f"m{k}": gap * k + item + of_run[k] + 0.5 * generator.normal(size=(count, runs))
            for k in range(models)
        }
        tasks.append(items.Task(f"t{number}", "points", scores))
    return tasks


def test_one_task_is_the_difference_itself() -> None:
    """Dies if the mean over a single task is not its own difference."""
    (task,) = _tasks((30,))
    estimate = items.mean_difference([task], "m0", "m1", over=BOTH)
    expected = items.difference(task.scores["m0"], task.scores["m1"])
    assert (estimate.se, estimate.df) == pytest.approx((expected.se, expected.df))
    assert dataclasses.replace(estimate, correlation=expected.correlation, se=0, df=0) == (
        dataclasses.replace(expected, se=0, df=0)
    )


def test_runs_of_their_own_add_up_and_shared_runs_do_not_average_out() -> None:
    """Dies if the run that all tasks share is taken as another one on each task."""
    tasks = _tasks()
    apart = items.mean_difference(tasks, "m0", "m1", over=BOTH, shared_runs=False)
    each = [items.difference(t.scores["m0"], t.scores["m1"]).se for t in tasks]
    assert apart.se == pytest.approx(np.sqrt(np.sum(np.square(each))) / 3, rel=0.05)
    assert items.mean_difference(tasks, "m0", "m1", over=BOTH).se > 1.2 * apart.se


def test_over_runs_is_the_spread_of_the_runs_means_over_tasks() -> None:
    """Dies if tasks are weighted by their items."""
    tasks = _tasks()
    means = [np.mean([t.scores[m].mean(0) for t in tasks], axis=0) for m in ("m0", "m1")]
    estimate = items.mean_difference(tasks, "m0", "m1", over=["runs"])
    assert estimate.value == pytest.approx(means[0].mean() - means[1].mean())
    each = [m.var(ddof=1) / 3 for m in means]
    assert estimate.se == pytest.approx(np.sqrt(sum(each)))
    assert estimate.df == pytest.approx(2 * sum(each) ** 2 / sum(v**2 for v in each))  # Welch's


def test_tasks_as_a_sample_is_the_t_test_of_their_differences() -> None:
    """Dies if items' errors take the place of the spread between tasks."""
    tasks = _tasks(runs=1)
    gaps = [float(np.mean(t.scores["m0"] - t.scores["m1"])) for t in tasks]
    estimate = items.difference_over_tasks(tasks, "m0", "m1", over=["items"])
    assert (estimate.value, estimate.se) == pytest.approx(
        (np.mean(gaps), np.std(gaps, ddof=1) / 3**0.5)
    )
    assert (
        estimate.df == 2 and estimate.over == ("tasks",) and "Only 3 tasks" in estimate.warnings[0]
    )


@pytest.mark.parametrize("shared", [True, False])
def test_tasks_as_a_sample_with_runs(shared: bool) -> None:
    """Dies if shared runs are averaged before they are compared, or a task's own runs are not."""
    tasks = _tasks()
    means = [np.stack([t.scores[m].mean(0) for t in tasks]) for m in ("m0", "m1")]  # [T, R]
    of_tasks = means if shared else [mean.mean(1) for mean in means]
    expected = items.difference(*of_tasks, over=BOTH if shared else ["items"])
    estimate = items.difference_over_tasks(tasks, "m0", "m1", over=BOTH, shared_runs=shared)
    assert estimate.over == (("tasks", "runs") if shared else ("tasks",))
    assert (estimate.value, estimate.se, estimate.df, estimate.interval) == (
        expected.value,
        expected.se,
        expected.df,
        expected.interval,
    )


def test_suite_compares_all_pairs_and_corrects() -> None:
    """Dies if a pair or a task is left out, or p-values are not Holm's over all."""
    suite = items.compare_tasks(_tasks())
    assert len(suite.pairs) == 18 and len(suite.overall) == 6 and not suite.notes
    for tested, p_values in (
        (suite.pairs, [p.difference.p_value for p in suite.pairs]),
        (suite.overall, [p.mean_over_tasks.p_value for p in suite.overall]),
    ):
        adjusted = [pair.p_adjusted for pair in tested]
        assert adjusted == pytest.approx(list(multiple.adjust_p_values(p_values, "holm")))
    assert [place.model for place in suite.places] == ["m3", "m2", "m1", "m0"]
    assert [place.rank for place in suite.places] == [1, 2, 3, 4]


def test_metrics_that_differ_are_not_averaged() -> None:
    """Dies if accuracy and F1 are averaged in silence, or a model that lacks a task."""
    first, second, third = _tasks()
    mixed = [first, dataclasses.replace(second, metric="f1"), third]
    suite = items.compare_tasks(mixed)
    assert len(suite.pairs) == 18 and suite.overall == suite.places == suite.tie_groups == ()
    assert "metrics differ (points, f1)" in suite.notes[0]
    with pytest.raises(DataError, match="metrics differ"):
        items.mean_difference(mixed, "m0", "m1", over=BOTH)
    less = dataclasses.replace(second, scores={m: second.scores[m] for m in ("m0", "m1")})
    suite = items.compare_tasks([first, less])
    assert suite.notes == ("No mean over tasks: m2 has no scores on t1.",)


def test_numbers_of_runs_that_differ_are_not_shared() -> None:
    """Dies if runs of unequal number are matched by their position."""
    first, second, _ = _tasks()
    fewer = {model: scores[:, :2] for model, scores in second.scores.items()}
    suite = items.compare_tasks([first, dataclasses.replace(second, scores=fewer)])
    assert "differ between tasks" in suite.notes[0] and len(suite.overall) == 6
    with pytest.raises(DataError, match="as many runs of m0 on every task, found 3, 2"):
        items.mean_difference(
            [first, dataclasses.replace(second, scores=fewer)], "m0", "m1", over=BOTH
        )


def test_rank_intervals_hold_all_ranks_at_once() -> None:
    """Dies if equal models get ranks of their own: 60 suites of three equal models and a better
    one, whose true ranks are 1 and 2 to 4."""
    generator, held = np.random.default_rng(1), 0
    for _ in range(60):
        tasks = [
            items.Task(
                str(t),
                "accuracy",
                {
                    f"m{k}": (generator.random((80, 1)) < 0.5 + 0.3 * (k == 0)).astype(float)
                    for k in range(4)
                },
            )
            for t in range(2)
        ]
        ranked = items.compare_tasks(tasks, over=["items"], resamples=200).places
        ends = {place.model: (place.low, place.high) for place in ranked}
        held += ends["m0"][0] == 1 and all(ends[f"m{k}"][1] == 4 for k in (1, 2, 3))
    assert held >= 54


def test_ranks_of_models_far_apart_are_sure_and_of_losses_turned() -> None:
    """Dies if the interval is wider than the ranks can be told, or losses rank as gains."""
    tasks = _tasks(gap=3.0)
    for task in (tasks, [dataclasses.replace(t, higher_is_better=False) for t in tasks]):
        compared = items.compare_tasks(task)
        assert [(p.rank, p.low, p.high) for p in compared.places] == [
            (k, k, k) for k in range(1, 5)
        ]
        assert len(compared.tie_groups) == 4
    assert [place.model for place in compared.places] == ["m0", "m1", "m2", "m3"]


def test_joint_bootstrap_keeps_models_on_the_same_items() -> None:
    """Dies if items are drawn anew for every model: gaps hardly spread."""
    generator = np.random.default_rng(2)
    item = generator.normal(size=(50, 1))
    small = [item + 0.01 * (k + 0.1 * generator.normal(size=(50, 1))) for k in range(3)]
    task = items.Task("t", "points", {f"m{k}": scores for k, scores in enumerate(small)})
    ranked = items.compare_tasks([task]).places
    assert [(place.low, place.high) for place in ranked] == [(1, 1), (2, 2), (3, 3)]
    _, drawn = places._means([task], list(task.scores), ["items"], True, 500, 0)
    assert (drawn[:, 1] - drawn[:, 0]).std() < 0.01 < drawn[:, 0].std()


def test_ranks_are_open_where_nothing_is_shown() -> None:
    """Dies if a difference whose error is not known, or that its own test does not show, sets
    models apart: constant gaps, and two answers, one model right and the other wrong in both."""
    item = np.random.default_rng(2).normal(size=(50, 1))
    constant = {f"m{k}": item + 0.01 * k for k in range(2)}
    two = {"m0": np.zeros((2, 1)), "m1": np.ones((2, 1))}
    for scores in (constant, two):
        suite = items.compare_tasks([items.Task("t", "points", scores)])
        assert [(place.low, place.high) for place in suite.places] == [(1, 2), (1, 2)]


def test_rank_intervals_of_few_items() -> None:
    """Dies if few items count as many (quantiles of the normal distribution instead of t): of 80
    experiments with 4 equal models and 5 items no two may be set apart in 95 %."""
    generator, held = np.random.default_rng(4), 0
    for _ in range(80):
        scores = {f"m{k}": generator.normal(size=(5, 1)) for k in range(4)}
        ranked = items.compare_tasks([items.Task("t", "points", scores)], resamples=200).places
        held += all((place.low, place.high) == (1, 4) for place in ranked)
    assert held >= 68


def test_the_level_of_all_pairs_is_that_of_the_largest_deviation() -> None:
    """Dies if the level is Bonferroni's where pairs move together, or is above alpha for two:
    against Tukey's studentised range of independent models."""
    drawn = np.random.default_rng(5).normal(size=(20_000, 5))
    tukey = 3.858 / 2**0.5  # scipy.stats.studentized_range.ppf(0.95, 5, inf)
    assert places._level(drawn, 0.05) == pytest.approx(2 * special.ndtr(-tukey), rel=0.1)
    assert places._level(drawn[:, :2], 0.05) == pytest.approx(0.05, abs=0.003)
    assert places._level(np.zeros((9, 5)), 0.05) == 0.05 / 10


def test_tie_groups_are_the_widest_stretches() -> None:
    """Dies if a group holds two that differ, or is part of another."""
    differ = {frozenset("ac"), frozenset("ad"), frozenset("bd"), frozenset("ae"), frozenset("be")}
    assert places.tie_groups("abcde", differ) == (("a", "b"), ("b", "c"), ("c", "d", "e"))
    assert places.tie_groups("abc", set()) == (("a", "b", "c"),)


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([], "found none"),
        ([*_tasks((5,)), *_tasks((5,))], "t0 twice"),
        (_tasks((5,), models=1), "two or more models"),
    ],
)
def test_no_suite_is_an_error(tasks: list[items.Task], words: str) -> None:
    """Dies if a check is lost."""
    with pytest.raises(DataError, match=words):
        items.compare_tasks(tasks)


def test_sizes_are_of_all_tasks() -> None:
    """Dies if items of a task are not counted."""
    estimate = task_means.mean_difference(_tasks(), "m0", "m1", over=BOTH)
    assert (estimate.sizes.items, estimate.sizes.runs) == (180, (3, 3))


@pytest.mark.parametrize("shared", [True, False])
def test_bootstrap_has_the_variance_of_runs(shared: bool) -> None:
    """Dies if runs are drawn anew on each task where they are shared, or n of n are drawn."""
    tasks = _tasks()
    _, drawn = places._means(tasks, list(tasks[0].scores), ["runs"], shared, 20_000, 0)
    levels = np.stack([[s.mean(0) for s in task.scores.values()] for task in tasks])  # [T, M, R]
    whole = levels.mean(0).var(-1, ddof=1) / 3
    apart = levels.var(-1, ddof=1).sum(0) / 3 / 9
    assert drawn.var(0) == pytest.approx(whole if shared else apart, rel=0.1)
