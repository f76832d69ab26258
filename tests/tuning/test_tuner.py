"""Ask and tell over functions; searches as they are asked for."""

import json
import math
from typing import Any

import numpy as np
import pytest

from jaxeval import tuning
from jaxeval.errors import ConfigError, DataError

SPACE = {"x": {"uniform": [-5.0, 5.0]}, "kind": {"choices": ["a", "b"]}}


NESTED = {**SPACE, "n": {"integer": [1, 9], "when": {"kind": ["a"]}}}


def test_a_tuner_finds_the_low_point_of_a_function() -> None:
    """Dies if the direction is lost between ask, tell and best."""
    tuner = tuning.Tuner(SPACE, higher_is_better=False, method="sobol")
    for _ in range(16):
        for trial in tuner.ask(4):
            penalty = 0.0 if trial.values["kind"] == "b" else 5.0
            tuner.tell(trial.number, (float(trial.values["x"]) - 2) ** 2 + penalty)
    best = tuner.best()
    assert best.values["kind"] == "b" and abs(float(best.values["x"]) - 2) < 0.5


def test_results_of_all_sorts() -> None:
    """Dies if a score that is no number ends the search, or counts as one."""
    tuner = tuning.Tuner(SPACE, seeds=2, method="random")
    numbers = [trial.number for trial in tuner.ask(4)]
    assert numbers == [0, 1, 2, 3]
    tuner.tell(3, [0.5, 0.7])
    tuner.tell(1, [0.9, math.nan])
    tuner.tell(0, "out of memory")
    ended = tuner.history.evaluations
    assert not ended[2].ended and ended[3].scores == (0.5, 0.7)
    assert [e.failure for e in ended[:2]] == ["out of memory", "the score is nan"]
    assert tuner.best().number == 3
    with pytest.raises(DataError, match="expected 2 scores"):
        tuner.tell(2, 0.5)


def test_numbers_that_are_none_are_refused() -> None:
    """Dies if a count, a seed or a number is used as it is: ask(1.5) would not end."""
    tuner = tuning.Tuner(SPACE, method="random")
    for count in (1.5, -1, "3", None):
        with pytest.raises(ConfigError, match="count: expected a whole number from 0"):
            tuner.ask(count)  # type: ignore[arg-type]
    assert len(tuner.ask(np.int64(2))) == 2 and tuner.ask(0) == []
    for number in (1.0, "0", None, -1):
        with pytest.raises(ConfigError, match="number: expected a whole number"):
            tuner.tell(number, 0.5)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="evaluation 2: was never proposed"):
        tuner.tell(2, 0.5)
    for more in ({"seed": -1}, {"seed": "1"}, {"seed": True}, {"seeds": 2.5}):
        with pytest.raises(ConfigError, match=r"seeds?: expected a whole number from"):
            tuning.Tuner(SPACE, **more)
    assert not tuner.history.ended


@pytest.mark.parametrize(
    "result",
    [None, [], ["a"], ["0.9"], {}, "0.93", " 1e3", [[0.1, 0.2]], b"1", True, [np.True_]],
)
def test_results_that_are_neither_numbers_nor_words_are_refused(result: object) -> None:
    """Dies if "0.93" counts as the cause of a failure, true as 1, or None is a bare TypeError."""
    tuner = tuning.Tuner(SPACE, method="random")
    tuner.ask()
    with pytest.raises(DataError, match="result: expected a score"):
        tuner.tell(0, result)  # type: ignore[arg-type]
    assert not tuner.history.ended


def test_a_history_keeps_its_direction_and_space() -> None:
    """Dies if a minimised history is maximised, or one of another space is gone on from."""
    first = tuning.Tuner(NESTED, higher_is_better=False, method="random")
    first.ask(20)
    assert not tuning.Tuner(NESTED, history=first.history).history.higher_is_better
    assert tuning.Tuner(NESTED, higher_is_better=False, history=first.history)
    with pytest.raises(
        DataError, match="higher_is_better: True, but that of the history is False"
    ):
        tuning.Tuner(NESTED, higher_is_better=True, history=first.history)
    others = [
        SPACE,
        {**NESTED, "more": {"uniform": [0, 1]}},
        {**NESTED, "x": {"uniform": [-0.1, 0.1]}},
        {**NESTED, "kind": {"choices": ["a", "c"]}},
        {**NESTED, "n": {"integer": [1, 9], "step": 2}},
        {**NESTED, "n": {"integer": [1, 9]}},
    ]
    for other in others:
        with pytest.raises(DataError, match=r"history: evaluation \d+ is no setting of the space"):
            tuning.Tuner(other, history=first.history)


TREE: Any = {
    "x": {"uniform": [0, 1]},
    "kind": {"choices": ["a", "b"]},
    "n": {"integer": [1, 4], "when": {"kind": ["b"]}},
}


@pytest.mark.parametrize("method", ["gp", "random", "sobol"])
def test_enqueued_settings_come_first_and_once(method: Any) -> None:
    """Dies if a known setting is not asked for at once, or is proposed again."""
    tuner = tuning.Tuner(TREE, method=method)
    (first,) = tuner.ask(1)
    tuner.tell(first.number, 0.1)
    tuner.enqueue({"kind": "b", "x": 1, "n": 3})
    tuner.enqueue({"kind": "b", "x": 1.0, "n": 3})
    tuner.enqueue({"x": 0.25, "kind": "a"})
    asked = tuner.ask(4)
    assert [dict(of.values) for of in asked[:2]] == [
        {"x": 1.0, "kind": "b", "n": 3},
        {"x": 0.25, "kind": "a"},
    ]
    assert len(asked) == 4 and len({json.dumps(dict(of.values)) for of in asked}) == 4


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"x": 0.5, "kind": "c"}, "enqueue: kind: expected a value of"),
        ({"x": 2, "kind": "a"}, "enqueue: x: expected a value of"),
        ({"x": 0.5, "kind": "b"}, "enqueue: n is missing"),
        ({"x": 0.5, "kind": "a", "n": 1}, "enqueue: n is inactive beside these others"),
        ({"x": 0.5, "knd": "a"}, r"enqueue: knd: no such hyperparameter; there are x, kind, n"),
    ],
)
def test_what_is_enqueued_is_checked(values: Any, said: str) -> None:
    """Dies if a setting that the space has not waits to be asked for."""
    with pytest.raises(ConfigError, match=said):
        tuning.Tuner(TREE).enqueue(values)


def test_what_is_enqueued_may_be_numpys() -> None:
    """Dies if numpy's numbers or .1 + .2 are refused, or a mistake is a traceback."""
    tuner = tuning.Tuner({"n": {"integer": [1, 9]}, "x": {"uniform": [0, 1], "step": 0.1}})
    tuner.enqueue({"n": np.int64(3), "x": np.float64(0.1 + 0.2)})
    (asked,) = tuner.ask(1)
    assert dict(asked.values) == {"n": 3, "x": 0.3} and type(asked.values["n"]) is int
    wrong: Any
    for wrong in (None, {1: 2}, {"n": 3, "x": 0.31}):
        with pytest.raises(ConfigError, match="enqueue: "):
            tuner.enqueue(wrong)
