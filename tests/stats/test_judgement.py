"""Vectors judged by scores: relative error reduction, its limits and intervals; who is better."""

import numpy as np
import pytest
from scipy import stats

from jaxeval.report import Table, comparison, vectors
from jaxeval.stats import Rules, judgement
from jaxeval.stats.describe import Summary
from jaxeval.stats.judgement import Judgement

RULES = Rules(resamples=200)
MEANS = {"good": [0.9, 0.8], "like": [0.9, 0.8], "poor": [0.7, 0.4]}


def test_limits_of_the_reduction() -> None:
    """Dies if numerator or denominator is another: (s - b) / (1 - b)."""
    s, b = np.array([[0.7], [1.0], [0.85], [0.0]]), np.array([[0.7], [0.7], [0.7], [0.9]])
    estimates = [effect.estimate for effect in judgement.reductions(s, b)]
    np.testing.assert_allclose(estimates, [0, 1, 0.5, -9, -7.5 / 4], atol=1e-12)


def test_the_mean_over_tasks_has_no_weights() -> None:
    """Dies if tasks are weighted, or means over seeds are taken of reductions of single seeds."""
    scores = np.array([[0.8, 0.9, 0.85, 0.83, 0.87], [0.5, 0.6, 0.7, 0.55, 0.65]])
    baseline = np.array([[0.7, 0.8, 0.75, 0.76, 0.74], [0.6, 0.6, 0.6, 0.6, 0.6]])
    *each, mean = judgement.reductions(scores, baseline)
    expected = [(0.85 - 0.75) / 0.25, 0.0]
    np.testing.assert_allclose([effect.estimate for effect in each], expected, atol=1e-12)
    assert mean.estimate == pytest.approx(0.2)
    for effect in (*each, mean):
        assert effect.interval.low < effect.estimate < effect.interval.high


@pytest.mark.parametrize("seeds", [1, 4])
def test_few_seeds_have_no_interval(seeds: int) -> None:
    """Dies if so few seeds get an interval: of width zero, or one that covers too seldom."""
    scores = np.random.default_rng(0).uniform(0.6, 0.9, (2, 2, seeds))
    *each, mean = judgement.reductions(*scores)
    for effect in (*each, mean):
        assert np.isnan(effect.interval[:2]).all() and np.isfinite(effect.estimate)
        assert effect.interval.method == "none: fewer than 5 seeds"


def test_no_interval_goes_beyond_all_errors() -> None:
    """Dies if the interval is of RER itself (to 1.05 here) rather than of the logarithm of what is
    left, or a task without errors breaks the mean, or has an interval of width zero."""
    baseline = np.full((2, 8), 0.7) + np.linspace(-0.1, 0.1, 8)
    scores = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 0.95, 1.0, 0.8], [1.0] * 8])
    *each, mean = judgement.reductions(scores, baseline)
    for effect in (each[0], mean):
        assert effect.interval.low < effect.estimate < effect.interval.high < 1
    assert each[1].estimate == 1 and np.isnan(each[1].interval[:2]).all()
    assert each[1].interval.absent == "no error is left"


def test_standard_errors_are_those_of_leaving_seeds_out() -> None:
    """Dies if an influence has another sign or scale: against the jackknife of many seeds."""
    generator = np.random.default_rng(4)
    common = generator.normal(size=400)
    s = np.array([[0.8], [0.95]]) + 0.01 * (generator.normal(size=(2, 400)) + common)
    b = np.array([[0.7], [0.9]]) + 0.02 * (generator.normal(size=(2, 400)) + common)

    def logarithms(s: np.ndarray, b: np.ndarray) -> np.ndarray:
        left = (1 - s.mean(axis=1)) / (1 - b.mean(axis=1))
        return np.log([*left, left.mean()])

    without = np.array(
        [logarithms(np.delete(s, k, axis=1), np.delete(b, k, axis=1)) for k in range(400)]
    )
    jackknife = np.sqrt(399 / 400 * np.sum((without - without.mean(axis=0)) ** 2, axis=0))
    *each, mean = judgement.reductions(s, b)
    ends = np.array([effect.interval[:2] for effect in (*each, mean)])
    halves = np.log((1 - ends[:, 0]) / (1 - ends[:, 1])) / 2
    np.testing.assert_allclose(halves / stats.t.ppf(0.975, 399), jackknife, rtol=0.01)


def _judge(changes: dict[str, np.ndarray] | None = None, perfect: int | None = None) -> Judgement:
    """Three files on two tasks with eight seeds, against "poor".

    Args:
      changes: file -> what is added to its scores, [2, 8] or such.
      perfect: task in which the baseline makes no error.
    """
    draw = np.random.default_rng(3)
    scores = {
        name: np.array([[of + 0.005 * draw.normal() for _ in range(8)] for of in means])
        for name, means in MEANS.items()
    }
    for name, change in (changes or {}).items():
        scores[name] = scores[name] + change
    if perfect is not None:
        scores["poor"][perfect] = 1.0
    return judgement.judge("fixed", ["ner", "pos"], range(1, 9), scores, "poor", RULES)


def _better(judged: Judgement, task: str) -> set[tuple[str, str]]:
    assert judged.study is not None
    every = (*judged.study.overall, *judged.study.pairs)
    pairs = [pair for pair in every if (pair.data_set or judgement.MEAN) == task and pair.better]
    return {pair.names if pair.better > 0 else pair.names[::-1] for pair in pairs}


def test_who_is_better_by_the_mean_and_by_each_task() -> None:
    """Dies if a verdict points the wrong way, or a task's verdict is that of the mean."""
    judged = _judge({"like": np.array([[0.05], [-0.05]])})
    assert [*judged.scores][2] == "poor" and judged.tasks == ("ner", "pos")
    assert _better(judged, judgement.MEAN) == {("good", "poor"), ("like", "poor")}
    assert ("like", "good") in _better(judged, "ner")
    assert ("good", "like") in _better(judged, "pos")
    reduced = judged.reductions["good"]
    assert [*reduced] == ["ner", "pos", "mean"] and {*judged.reductions} == {"good", "like"}
    estimates = [effect.estimate for effect in reduced.values()]
    np.testing.assert_allclose(estimates, [2 / 3, 2 / 3, 2 / 3], atol=0.05)
    assert estimates[2] == pytest.approx((estimates[0] + estimates[1]) / 2)


def test_trainings_that_failed_are_counted() -> None:
    """Dies if a failure goes unsaid, tasks are called data sets, a mean over tasks is of fewer of
    them, or a reduction is of other seeds for a file than for the baseline."""
    failed = np.zeros((2, 8))
    failed[1, 2:5] = np.nan
    judged, whole = _judge({"good": failed}), _judge()
    study = judged.study
    assert study is not None and study.failures is not None
    assert study.failures.of("good", "pos") == (3, 5)
    on_pos = next(board for board in study.boards if board.data_set == "pos")
    for board in (on_pos, study.main):
        assert board is not None
        (of_good,) = (row.mean for row in board.rows if row.model == "good")
        assert isinstance(of_good, Summary) and of_good.n == 5
    assert judged.reductions["like"]["ner"].n == (5,)
    b, like = (whole.scores[name][0, [0, 1, 5, 6, 7]].mean() for name in ("poor", "like"))
    assert judged.reductions["like"]["ner"].estimate == pytest.approx((like - b) / (1 - b))
    assert whole.study is not None
    compared = comparison.Comparison(whole.study)
    page = str([*vectors._judgement(whole), *compared.document().blocks, *compared.details()])
    assert "in the mean over 2 tasks" in page and "Task by task" in page
    assert "data set" not in page.lower()
    every = _judge({"good": np.full((2, 8), np.nan)})
    (none,) = vectors._judgement(every)
    assert "fixed: good has fewer than two scores of a task; none is compared" in none
    assert every.study is None and every.reductions == {} and [*every.scores][2] == "good"


def test_a_task_without_errors_has_no_reduction() -> None:
    """Dies if one task without errors takes the reductions of the others."""
    reduced = _judge(perfect=1).reductions["good"]
    assert [*reduced] == ["ner", "mean"] and reduced["ner"] == _judge().reductions["good"]["ner"]
    assert reduced["mean"].estimate == reduced["ner"].estimate


def test_the_interval_is_the_t_interval_of_the_error_left() -> None:
    """Dies if the standard error has n degrees of freedom, or is not of the logarithm."""
    scores = np.array([[0.8, 0.9, 0.85, 0.83, 0.87]])
    effect, _ = judgement.reductions(scores, np.full((1, 5), 0.7))
    few = judgement.judge("fixed", ["a"], [1, 2], {"x": scores[:, :2], "y": scores[:, 1:3]}, "y")
    (note,) = vectors.JudgedVectors({}, {"a": "f1"}, {}, [few, few], []).document().notes
    assert note.endswith("fewer than 5 seeds")  # once for both modes
    left = (1 - scores[0]) / 0.3
    half = stats.t.ppf(0.975, 4) * stats.sem(left) / left.mean()
    low, high = 1 - left.mean() * np.exp(half), 1 - left.mean() * np.exp(-half)
    np.testing.assert_allclose(effect.interval[:2], [low, high], rtol=1e-12)


def test_a_leaderboard_shows_only_what_was_shown() -> None:
    """Dies if a file has a rank below one that it was not told apart from, two that differ share a
    letter, or the printed table has another interval than the mean over tasks."""
    judged = _judge({"like": np.full((2, 1), 1e-4)})
    assert judged.study is not None and judged.study.main is not None
    places = {row.model: row for row in judged.study.main.rows}
    assert [(place.rank, place.low, place.high) for place in places.values()] == [
        (1, 1, 2),
        (2, 1, 2),
        (3, 3, 3),
    ]
    assert places["like"].groups == places["good"].groups != places["poor"].groups
    metrics = dict.fromkeys(judged.tasks, "f1")
    table = vectors.JudgedVectors({}, metrics, {}, [judged], []).document().blocks[1]
    assert isinstance(table, Table) and [*table.columns[2:5]] == ["95 % CI", "rank", "tied"]
    assert [(row[0], *row[3:5]) for row in table.rows] == [
        ("like", "1 [1, 2]", "a"),
        ("good", "2 [1, 2]", "a"),
        ("poor", "3", "b"),
    ]
    mean = 100 * judged.scores["poor"].mean(axis=0)
    half = stats.t.ppf(0.975, 7) * stats.sem(mean)
    assert table.rows[2][2] == f"[{mean.mean() - half:.2f}, {mean.mean() + half:.2f}]"
