"""Suites of tasks: means, ranks, ties, refusals."""

import dataclasses

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.stats import items, multiple
from jaxeval.stats.items import task_means

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
        ranked = items.compare_tasks(tasks, over=["items"]).places
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


def test_ranks_know_that_models_answer_the_same_items() -> None:
    """Dies if what items have in common blurs the ranks: gaps hardly spread."""
    generator = np.random.default_rng(2)
    item = generator.normal(size=(50, 1))
    small = [item + 0.01 * (k + 0.1 * generator.normal(size=(50, 1))) for k in range(3)]
    task = items.Task("t", "points", {f"m{k}": scores for k, scores in enumerate(small)})
    ranked = items.compare_tasks([task]).places
    assert [(place.low, place.high) for place in ranked] == [(1, 1), (2, 2), (3, 3)]


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
        ranked = items.compare_tasks([items.Task("t", "points", scores)]).places
        held += all((place.low, place.high) == (1, 4) for place in ranked)
    assert held >= 68


def test_ranks_and_ties_rest_on_the_corrected_p_values() -> None:
    """Dies if the intervals of ranks separate models that are not told apart, or the other way, or
    if a group of ties is only of neighbours: the noisiest of five is like models that differ."""
    generator = np.random.default_rng(6)
    spreads = (0.1, 0.1, 3.0, 0.1, 0.1)
    scores = {
        f"m{k}": generator.normal(-0.05 * k, spread, size=(60, 1))
        for k, spread in enumerate(spreads)
    }
    suite = items.compare_tasks([items.Task("t", "points", scores)])
    alike = {f"m{k}": {f"m{k}"} for k in range(5)}
    better = dict.fromkeys(alike, 0)
    for pair in suite.overall:
        if pair.p_adjusted > 0.05:
            alike[pair.a].add(pair.b)
            alike[pair.b].add(pair.a)
        else:
            better[pair.b if pair.mean_over_tasks.value > 0 else pair.a] += 1
    assert alike["m2"] == set(alike) and len(alike["m0"]) == 2  # m0 and m4 are like m2 alone
    for place in suite.places:
        worse = 5 - len(alike[place.model]) - better[place.model]
        assert (place.low, place.high) == (1 + better[place.model], 5 - worse)
        tied = {model for group in suite.tie_groups if place.model in group for model in group}
        assert tied == alike[place.model]


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


def test_runs_with_some_names_in_common() -> None:
    """Dies if one replaced run makes all runs a task's own, or equal names are taken apart by
    where they stand; the expected covariance is that of the names in common."""
    tasks, names = _tasks(), ({}, {"m0": "yxw"}, {"m0": "wyz"})
    models = ("m0", "m1", "m2", "m3")
    named = [
        dataclasses.replace(
            t, runs=dict.fromkeys(models, tuple("xyz")) | {m: tuple(n) for m, n in of.items()}
        )
        for t, of in zip(tasks, names, strict=True)
    ]
    result = items.compare_tasks(named, over="runs")
    of_m0 = [t.scores["m0"].mean(0) for t in tasks]
    effects = [mean - mean.mean() for mean in of_m0]
    columns = (effects[0], effects[1][[1, 0, 2]], effects[2][[2, 1, 0]])  # x y z, x y w, z y w
    expected = np.sum(np.sum(columns, 0) ** 2) / 9 / 6
    of_m1 = np.mean([t.scores["m1"].mean(0) for t in tasks], axis=0).var(ddof=1) / 3
    assert result.shared_runs and not result.notes
    assert result.overall[0].mean_over_tasks.se == pytest.approx(np.sqrt(expected + of_m1))


def test_other_numbers_of_runs_are_said_to_be_too_sure() -> None:
    """Dies if a run that one task lacks halves the interval without a word."""
    short, *rest = _tasks()
    short = dataclasses.replace(short, scores={m: of[:, :2] for m, of in short.scores.items()})
    (note,) = items.compare_tasks([short, *rest]).notes
    assert note.endswith("the interval of the mean is too short.")
    with pytest.raises(DataError, match="expected a name of each run of m0, found 2 of 3 runs"):
        items.compare_tasks([dataclasses.replace(rest[0], runs={"m0": ("x", "y")})])
