"""What a tuner knows: results by number, settings pooled, plain data and back."""

import json
import math

import pytest

from jaxeval.errors import DataError
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import History, Result


def _history(*results: Result | None, higher_is_better: bool = True) -> History:
    """Settings x = 0, 1, 2, 0, 1, 2 ... with two seeds each."""
    history = History((), higher_is_better)
    for number, result in enumerate(results):
        history = histories.propose(history, {"x": number % 3}, histories.fresh_seeds(history, 2))
        if result is not None:
            history = histories.tell(history, number, result)
    return history


def test_a_setting_has_the_scores_of_all_its_evaluations() -> None:
    """Dies if evaluations are pooled by order instead of by values, or a running one counts."""
    history = _history(
        Result((1.0, 2.0)),
        Result(failure="diverged"),
        Result((0.0, 9.0)),
        Result((4.0, 3.0)),
        None,
    )
    first, second, third = histories.settings(history)
    assert (first.values, first.numbers, first.scores) == ({"x": 0}, (0, 3), (1.0, 2.0, 4.0, 3.0))
    assert (second.scores, second.failures, second.running) == ((), ("diverged",), 1)
    assert third.scores == (0.0, 9.0) and not third.running
    assert [e.number for e in histories.pending(history)] == [4]
    assert [e.seeds for e in history.evaluations[:2]] == [(1, 2), (3, 4)]


def test_true_is_another_value_than_one() -> None:
    """Dies if settings are told apart by Python's equality, for which true is 1."""
    history = histories.propose(History(), {"x": True}, [1])
    history = histories.propose(history, {"x": 1}, [2])
    assert len(histories.settings(history)) == 2


def test_the_best_setting_is_that_of_the_best_mean() -> None:
    """Dies if the direction is lost, one lucky seed wins, or a failure is forgotten."""
    results = (Result((5.0, 5.2)), Result((1.0, 9.0)), Result((4.0, 4.0)))
    failed = _history(*results, Result(failure="out of memory"))
    only = _history(Result((1.0, 1.0)), None, None, Result(failure="diverged"))
    for history, x in (
        (_history(*results), 0),
        (_history(*results, higher_is_better=False), 2),
        (failed, 1),
        (only, 0),
    ):
        best = histories.best(history)
        assert best is not None and best.values == {"x": x}
    assert histories.best(_history(None, Result(failure="diverged"))) is None


def test_a_history_survives_json() -> None:
    """Dies if a number, a seed, a cause or the direction is lost on the way to disk."""
    history = _history(Result((0.1 + 0.2, 1e-300)), Result(failure="diverged"), None,
                       higher_is_better=False)  # fmt: skip
    assert histories.from_dict(json.loads(json.dumps(histories.to_dict(history)))) == history
    for damaged in ([], {}, {"higher_is_better": True, "evaluations": [{"values": {}}]}):
        with pytest.raises(DataError, match="not the history of a tuner"):
            histories.from_dict(damaged)
    entry = {"values": {"x": 1}, "seeds": [1, 2], "scores": [0.5, 0.6]}
    assert histories.from_dict({"higher_is_better": True, "evaluations": [entry]})
    for wrong in (
        {"scores": "12"},
        {"scores": [True, 0.5]},
        {"scores": [0.5, "0.6"]},
        {"seeds": "12"},
        {"seeds": [1.5, 2]},
    ):
        with pytest.raises(DataError, match="expected a list of numbers"):
            histories.from_dict({"higher_is_better": True, "evaluations": [{**entry, **wrong}]})
    with pytest.raises(DataError, match="expected true or false"):
        histories.from_dict({"higher_is_better": "false", "evaluations": [entry]})
    with pytest.raises(DataError, match="got both"):
        both = {**entry, "failure": "diverged"}
        histories.from_dict({"higher_is_better": True, "evaluations": [both]})
    entry = {"values": {"x": 1}, "seeds": [1, 2], "scores": [0.5]}
    with pytest.raises(DataError, match=r"^evaluation 0: expected 2 scores"):
        histories.from_dict({"higher_is_better": True, "evaluations": [entry]})


def test_results_that_cannot_be_are_refused() -> None:
    """Dies if a result is told twice, to nobody, or with scores that say nothing."""
    history = _history(Result((1.0, 2.0)), None)
    for number, result, message in (
        (0, Result((1.0, 2.0)), "evaluation 0: has a result"),
        (2, Result((1.0, 2.0)), "evaluation 2: was never proposed"),
        (-1, Result((1.0, 2.0)), "evaluation -1: was never proposed"),
        (1, Result((1.0,)), "expected 2 scores, one a seed, got 1"),
    ):
        with pytest.raises(DataError, match=message):
            histories.tell(history, number, result)
    for scores, failure in (((math.nan,), ""), ((), ""), ((1.0,), "diverged")):
        with pytest.raises(DataError, match="result: expected"):
            Result(scores, failure)
