"""Searches over functions: workers, failures, retries, what was proposed before."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from jaxeval.bandits.commands import EvaluationFailed
from jaxeval.errors import DataError
from jaxeval.space import space as spaces
from jaxeval.tuning import history as histories
from jaxeval.tuning import running, search
from jaxeval.tuning.history import History, Result
from jaxeval.tuning.search import Search

SPACE = spaces.from_dict({"x": {"uniform": [0.0, 1.0]}})
SEARCH = Search(SPACE, "random", 1, seeds=2)


def _score(values: Mapping[str, Any], seed: int) -> float:
    return float(values["x"]) + seed / 1000


def _end(evaluate: Any = _score, history: History | None = None, **more: Any) -> History:
    steps = list(running.run(SEARCH, history or History(), evaluate, **{"trials": 6, **more}))
    return steps[-1].history


def test_results_are_told_to_their_own_setting_and_seed() -> None:
    """Dies if a result that overtakes another is told to the wrong setting, or seeds are mixed."""

    def slow(values: Mapping[str, Any], seed: int) -> float:
        time.sleep(0.002 * (seed * 3 % 4))
        return _score(values, seed)

    history = _end(slow, workers=4)
    assert not histories.pending(history) and len(history.evaluations) == 6
    for evaluation in history.evaluations:
        expected = tuple(_score(evaluation.values, seed) for seed in evaluation.seeds)
        assert evaluation.result == Result(expected)
    assert history == _end(workers=1)


def test_proposals_are_told_before_they_run() -> None:
    """Dies if a proposal runs before it can be saved, or a free worker waits for the others."""
    saved: set[int] = set()
    unsaved: list[int] = []
    barrier = threading.Barrier(4, timeout=10)

    def watched(values: Mapping[str, Any], seed: int) -> float:
        if seed not in saved:
            unsaved.append(seed)
        if seed <= 4:
            barrier.wait()  # passes only if four are here at once: two settings, two seeds each
        return _score(values, seed)

    for step in running.run(SEARCH, History(), watched, trials=5, workers=4):
        saved |= {seed for e in step.history.evaluations for seed in e.seeds}
    assert not unsaved and len(saved) == 10


def test_failures_are_results() -> None:
    """Dies if a failure ends the search, is retried for ever, or its other seeds still count."""
    calls: list[tuple[float, int]] = []

    def broken(values: Mapping[str, Any], seed: int) -> float:
        calls.append((float(values["x"]), seed))
        if seed == 3:
            raise EvaluationFailed("exit code 1 (out of memory)")
        if seed == 6 and calls.count((float(values["x"]), 6)) == 1:
            raise EvaluationFailed("a hiccup")
        return float("nan") if seed == 7 else _score(values, seed)

    history = _end(broken, retries=1)
    results = [e.result for e in history.evaluations]
    assert [r.failure for r in results if r] == [
        "", "exit code 1 (out of memory)", "", "the score is nan", "", "",
    ]  # fmt: skip
    assert [seed for _, seed in calls].count(3) == 2
    assert 4 not in [seed for _, seed in calls]  # of the setting that has failed already


def test_what_was_proposed_before_is_finished_first() -> None:
    """Dies if a search that was killed proposes again what still ran, or forgets it."""
    whole = _end()
    cut = None
    for step in running.run(SEARCH, History(), _score, trials=6):
        ended = histories.ended(step.history)
        if len(ended) == 3 and histories.pending(step.history):
            cut = step.history
            break
    assert cut is not None
    assert _end(history=cut) == whole


def test_a_process_goes_on_as_if_nothing_had_happened() -> None:
    """Dies if what `gp` proposes depends on more than what was told."""
    of = Search(SPACE, "gp", 3)
    *_, whole = running.run(of, History(), _score, trials=11)
    history = History()
    for stop in (3, 8, 9, 10, 99):
        for step in running.run(of, history, _score, trials=11):
            history = step.history
            if len(history.evaluations) == stop and histories.pending(history):
                break
    assert history == whole.history


def test_a_search_stops_when_it_is_told_to() -> None:
    """Dies if something is proposed after the stop, or what runs is lost."""
    stop = {"stop": lambda history: "enough" if len(history.evaluations) >= 2 else ""}
    assert len(_end(workers=4, **stop).evaluations) == 2
    few = Search(spaces.from_dict({"x": {"choices": [1, 2, 3]}}), "sobol")
    *_, last = running.run(few, History(), _score, trials=9)
    assert len(histories.ended(last.history)) == 3
    assert list(running.run(few, last.history, _score, trials=3)) == []
    with pytest.raises(DataError, match="workers, retries"):
        _end(workers=0)


def test_a_setting_is_evaluated_again_with_other_seeds() -> None:
    """Dies if a fresh seed is lost, or a failing one is no result."""

    def broken(values: Mapping[str, Any], seed: int) -> float:
        if seed == 8:
            raise EvaluationFailed("boom")
        return _score(values, seed)

    known = dict(running.again(broken, {"x": 0.5}, [7, 8, 9], workers=2))
    assert known == {7: 0.507, 8: "boom", 9: 0.509}
    assert search.best(SEARCH, History()) is None


def test_a_fresh_seed_that_fails_is_tried_again() -> None:
    """Dies if retries end with the search, or one that fails for good is tried for ever."""
    calls: list[int] = []

    def unsure(values: Mapping[str, Any], seed: int) -> float:
        calls.append(seed)
        if seed == 8 or calls.count(seed) == 1:
            raise EvaluationFailed("a hiccup")
        return _score(values, seed)

    known = dict(running.again(unsure, {"x": 0.5}, [7, 8], retries=2))
    assert known == {7: 0.507, 8: "a hiccup"}
    assert (calls.count(7), calls.count(8)) == (2, 3)
