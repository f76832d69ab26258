"""What a tuner knows, as plain data and back; asynchronous successive halving, by hand."""

import json
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import ConfigError, DataError
from jaxeval.tuning.history import Halving, History, Stopped


def _history(*results: Any, higher_is_better: bool = True) -> History:
    """Settings x = 0, 1, 2, 0, 1, 2 ... with two seeds each."""
    history = History((), higher_is_better)
    for number, result in enumerate(results):
        history = history.propose({"x": number % 3}, history.fresh_seeds(2))
        if result is not None:
            stopped = None if isinstance(result, str) or result[0] != 9.0 else Stopped(1, 9)
            history = history.tell(number, result, stopped)
    return history


def test_the_best_is_that_of_the_best_mean() -> None:
    """Dies if the direction is lost, one lucky seed wins, or what failed or stopped is taken."""
    results = ((5.0, 5.2), (1.0, 9.0), (4.0, 4.0))
    stopped = (*results, (9.0, 9.0), None)  # the first score of 9
    failed = "diverged"
    for history, order in (
        (_history(*results), [0, 1, 2]),
        (_history(*results, higher_is_better=False), [2, 1, 0]),
        (_history(*stopped, failed), [0, 1, 2]),
        (_history(failed, stopped[3]), [1]),
        (_history(None, failed), []),
    ):
        assert [evaluation.number for evaluation in history.ranked()] == order


def test_a_history_survives_json() -> None:
    """Dies if a number, a seed, a cause, a rung or the direction is lost on the way to disk."""
    results = ((0.1 + 0.2, 1e-300), "diverged", None)
    history = _history(*results, higher_is_better=False)
    history = history.change(2, joined=(1, 3), rungs=(0.5, 0.25))
    history = history.propose({"a": True, "b": 1, "c": 1.0, "d": "x"}, [9])
    history = history.tell(3, (1.0,), Stopped(1, 3))
    again = History.from_dict(json.loads(json.dumps(history.to_dict())))
    assert again == history
    assert [type(v) for v in again.evaluations[3].values.values()] == [bool, int, float, str]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("seeds", "12"),
        ("seeds", [1.5, 2]),
        ("seeds", [1]),
        ("number", 3),
        ("values", [["x", 1]]),
        ("joined", [0, 1, 2]),
        ("rungs", [None]),
        ("scores", "12"),
        ("scores", [True, 0.5]),
        ("scores", [0.5, "0.6"]),
        ("scores", [0.5]),
        ("failure", "diverged"),
    ],
)
def test_a_damaged_history_is_refused(field: str, wrong: Any) -> None:
    """Dies if a damaged file is read as something else."""
    tree: Any = _history((1.0, 2.0), (1.0, 2.0)).to_dict()
    tree = json.loads(json.dumps(tree))
    tree["evaluations"][1][field] = wrong
    with pytest.raises(DataError, match="not the history of a tuner"):
        History.from_dict(tree)
    for other in ([], {}, {"evaluations": 3}):
        if other != {}:
            with pytest.raises(DataError, match="not the history of a tuner"):
                History.from_dict(other)


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_result_is_of_what_runs(number: int) -> None:
    """Dies if a result is told twice, or to nobody."""
    history = _history((1.0, 2.0), None)
    with pytest.raises(DataError, match=f"evaluation {number}: was never proposed, or has"):
        history.tell(number, (1.0, 2.0))
    with pytest.raises(DataError, match="expected 2 scores, one per seed, got 1"):
        history.tell(1, (1.0,))


def _running(count: int, higher_is_better: bool = True) -> History:
    history = History((), higher_is_better)
    for number in range(count):
        values = {"x": (number + 0.5) / count, "y": "ab"[number % 2]}
        history = history.propose(values, [number + 1])
    return history


def test_rungs_are_powers_below_the_last_epoch() -> None:
    """Dies if the last epoch is a rung, or the first one is not where it was asked for."""
    assert Halving(3).rungs(30) == [1, 3, 9, 27]
    assert Halving(3).rungs(27) == [1, 3, 9]
    assert Halving(2, 5).rungs(20) == [5, 10]
    assert Halving(4, 5).rungs(5) == []
    with pytest.raises(ConfigError, match="--halving: expected a factor of at least 2"):
        Halving(1)


def test_of_a_whole_rung_the_best_third_goes_on() -> None:
    """Dies if the direction is lost, ties are broken, or the number kept is rounded up."""
    for sign, higher_is_better in ((1.0, True), (-1.0, False)):
        history = _running(7, higher_is_better)
        scores = [sign * score for score in (0.1, 0.7, 0.3, 0.7, 0.5, 0.2, 0.6)]
        reached = {number: (score, Stopped(1, 9)) for number, score in enumerate(scores)}
        history = Halving(3).judge(history, reached)
        assert [e.number for e in history.pending] == [1, 3]  # 7 // 3 = 2
        of = history.evaluations[4]
        assert (of.scores, of.stopped) == ((scores[4],), Stopped(1, 9))
        assert History.from_dict(json.loads(json.dumps(history.to_dict()))) == history


def test_who_arrives_later_is_held_against_all_before() -> None:
    """Dies if a rung forgets those that were stopped, or another rung's scores count."""
    random = np.random.default_rng(0)
    scores, history = random.random((30, 2)), _running(30)
    rungs: tuple[list[float], list[float]] = ([], [])
    for number in range(30):
        for rung in range(2):
            rungs[rung].append(scores[number, rung])
            reached = {number: (float(scores[number, rung]), Stopped(1 + rung, 9))}
            history = Halving(3).judge(history, reached)
            kept = sorted(rungs[rung])[-max(1, len(rungs[rung]) // 3) :]
            stopped = history.evaluations[number].ended
            assert stopped == (scores[number, rung] < kept[0])
            if stopped:
                break
    assert 1 < len(history.pending) < 10 < len(rungs[1]) + 5


def test_who_ends_by_itself_is_compared_with_and_not_stopped() -> None:
    """Dies if a training that ended at a rung does not count there, or is stopped beside."""
    reached = {0: (0.9, Stopped(1, 9)), 1: (0.1, Stopped(1, 9)), 2: (0.5, Stopped(1, 9))}
    history = Halving(3).judge(_running(3), reached, ended=[0])
    assert [e.number for e in history.pending] == [0]
    assert history.evaluations[0].rungs == (0.9,)


def test_reports_between_rungs_keep_the_best_so_far() -> None:
    """Dies if a report is looked at between rungs, the best score so far is forgotten, also by
    what goes on from a history, or what is stopped is judged again."""
    history, best = _running(2, higher_is_better=False), dict[int, float]()

    def report(number: int, step: int, score: float) -> bool:
        nonlocal history
        history = Halving(2).report(history, number, Stopped(step, 8), score, best)
        return history.evaluations[number].ended

    assert not report(0, 1, 1.0)
    assert report(1, 1, 2.0)  # the worse half of two
    assert report(1, 2, 0.0)  # is stopped already
    best.clear()
    assert not report(0, 3, 1.5)  # passes the rung of 2
    assert not report(0, 4, 9.0)
    assert history.evaluations[0].rungs == (1.0, 1.0, 1.0)
    assert history.evaluations[1].scores == (2.0,)


def test_scores_at_rungs_of_trainings_that_went_on() -> None:
    """Dies if a result is told twice, running or whole trainings are left out or failed ones are
    not, or a rung has the budget of another."""
    history = _running(6)
    for rung, epochs in enumerate((1, 3)):
        running = [e.number for e in history.pending]
        reached = {n: (0.1 * n + rung, Stopped(epochs, 9)) for n in running}
        history = Halving(3).judge(history, reached)
    assert [e.number for e in history.pending] == [5]
    known = history.rungs()
    # 4 was stopped at the second rung
    assert known == [(4, 0.4, 0.0), (5, 0.5, 0.0), (5, 1.5, 0.5)]
    whole = history.tell(5, (3.0,))
    assert whole.rungs() == history.rungs()
    failed = history.tell(5, "diverged")
    assert [number for number, *_ in failed.rungs()] == [4]
    assert _running(3).rungs() == []
