"""What a tuner knows: results by number, settings pooled, plain data and back."""

import json
import math
from typing import Any

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
    with pytest.raises(DataError, match="expected true or false"):
        histories.from_dict({"higher_is_better": "false", "evaluations": [entry]})
    with pytest.raises(DataError, match=r"^evaluation 0: result: .* got both"):
        both = {**entry, "failure": "diverged"}
        histories.from_dict({"higher_is_better": True, "evaluations": [both]})
    entry = {"values": {"x": 1}, "seeds": [1, 2], "scores": [0.5]}
    with pytest.raises(DataError, match=r"^evaluation 0: expected 2 scores"):
        histories.from_dict({"higher_is_better": True, "evaluations": [entry]})


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"scores": "12"}, "a list of numbers, got '12'"),
        ({"scores": [True, 0.5]}, "a list of numbers"),
        ({"scores": [0.5, "0.6"]}, "a list of numbers"),
        ({"scores": [0.5, 10**400]}, "a list of numbers"),
        ({"rungs": [math.nan]}, "a list of numbers"),
        ({"seeds": "12"}, "a list of whole numbers"),
        ({"seeds": [1.5, 2]}, "a list of whole numbers"),
        ({"joined": [0, 1, 2]}, "two whole numbers"),
        ({"own_size": "false"}, "true or false, got 'false'"),
        ({"failure": None}, "a text"),
        ({"stopped": [3, 2]}, "epochs, and all epochs, got \\[3, 2\\]"),
        ({"stopped": [0, 2]}, "epochs, and all epochs"),
        ({"values": [["x", 1]]}, "a setting"),
    ],
)
def test_a_field_of_another_type_is_refused_by_its_name(
    wrong: dict[str, Any], expected: str
) -> None:
    """Dies if a damaged file is read as something else, or no one is told where it is damaged."""
    entry = {"values": {"x": 1}, "seeds": [1, 2], "scores": [0.5, 0.6]}
    (field,) = wrong
    with pytest.raises(DataError, match=rf"^evaluation 1\.{field}: expected {expected}"):
        histories.from_dict({"higher_is_better": True, "evaluations": [entry, entry | wrong]})


def test_whole_numbers_may_be_written_as_floats() -> None:
    """Dies if the seeds of a program that writes 1 as 1.0 are refused, or stay floats."""
    entry = {"values": {"x": 1}, "seeds": [1.0, 2], "scores": [1, 0.6]}
    history = histories.from_dict({"higher_is_better": True, "evaluations": [entry]})
    (seeds,) = [e.seeds for e in history.evaluations]
    assert seeds == (1, 2) and all(isinstance(seed, int) for seed in seeds)


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
