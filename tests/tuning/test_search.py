"""Ask and tell over functions; searches as they are asked for."""

import json
import math
from typing import Any

import numpy as np
import pytest

from jaxeval import space as spaces
from jaxeval import tuning
from jaxeval.errors import ConfigError, DataError

SPACE = spaces.from_dict({"x": {"uniform": [-5.0, 5.0]}, "kind": {"choices": ["a", "b"]}})
RANDOM = tuning.Search(SPACE, "random")


def test_a_search_finds_the_low_point_of_a_function() -> None:
    """Dies if the direction is lost between ask, tell and best."""
    search, history = tuning.Search(SPACE, "sobol"), tuning.History(higher_is_better=False)
    for _ in range(16):
        history, trials = search.ask(history, 4)
        for trial in trials:
            penalty = 0.0 if trial.values["kind"] == "b" else 5.0
            history = history.tell(trial.number, (float(trial.values["x"]) - 2) ** 2 + penalty)
    best = search.best(history)
    assert best is not None
    assert best.values["kind"] == "b" and abs(float(best.values["x"]) - 2) < 0.5


def test_results_of_all_sorts() -> None:
    """Dies if a result is told to another setting, or some of several scores are left out."""
    search = tuning.Search(SPACE, "random", seeds=2)
    history, asked = search.ask(tuning.History(), 4)
    assert [trial.number for trial in asked] == [0, 1, 2, 3] and search.best(history) is None
    both: Any = np.array([0.5, 0.5])
    history = history.tell(3, both).tell(0, "out of memory").tell(1, "")
    assert history.evaluations[3].scores == (0.5, 0.5) and not history.evaluations[2].ended
    assert [e.failure for e in history.evaluations[:2]] == ["out of memory", "failed"]
    best = search.best(history)
    assert best is not None and best.number == 3
    for wrong, said in ((0.5, "expected 2 scores"), ([1.0, math.nan], "expected finite scores")):
        with pytest.raises(DataError, match=said):
            history.tell(2, wrong)
    for number in (4, -1, 3):
        with pytest.raises(DataError, match="was never proposed, or has a result"):
            history.tell(number, 0.5)


def test_numbers_that_are_none_are_refused() -> None:
    """Dies if a count, a seed or a number is used as it is: ask(1.5) would not end."""
    for count in (1.5, -1, "3", None):
        with pytest.raises(ConfigError, match="count: expected a whole number from 0"):
            RANDOM.ask(tuning.History(), count)  # type: ignore[arg-type]
    assert len(RANDOM.ask(tuning.History(), np.int64(2))[1]) == 2  # type: ignore[arg-type]
    for more in ({"seed": -1}, {"seed": "1"}, {"seed": True}, {"seeds": 2.5}):
        with pytest.raises(ConfigError, match=r"seeds?: expected a whole number from"):
            tuning.Search(SPACE, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("result", [None, [], ["a"], ["0.9"], {}, [[0.1, 0.2]], b"1", True])
def test_results_that_are_neither_numbers_nor_words_are_refused(result: object) -> None:
    """Dies if true counts as 1, or None is a bare TypeError."""
    history, _ = RANDOM.ask(tuning.History(), 1)
    with pytest.raises(DataError, match="expected one score per seed, or"):
        history.tell(0, result)  # type: ignore[arg-type]


TREE = spaces.from_dict(
    {
        "x": {"uniform": [0, 1]},
        "kind": {"choices": ["a", "b"]},
        "n": {"integer": [1, 4], "when": {"kind": ["b"]}},
    }
)


@pytest.mark.parametrize("method", ["gp", "random", "sobol"])
def test_enqueued_settings_come_first_and_once(method: Any) -> None:
    """Dies if a known setting is not asked for at once, or is proposed again."""
    first: Any = [{"kind": "b", "x": 1, "n": 3}, {"kind": "b", "x": 1.0, "n": 3}]
    search = tuning.Search(TREE, method, enqueued=[*first, {"x": 0.25, "kind": "a"}])
    history, asked = search.ask(tuning.History().propose({"x": 0.25, "kind": "a"}, [1]), 4)
    assert dict(asked[0].values) == {"x": 1.0, "kind": "b", "n": 3} and len(asked) == 4
    assert len({json.dumps(dict(e.values), sort_keys=True) for e in history.evaluations}) == 5


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"x": 0.5, "kind": "c"}, "enqueue: kind: expected a value of"),
        ({"x": 2, "kind": "a"}, "enqueue: x: expected a value of"),
        ({"x": 0.5, "kind": "b"}, "enqueue: n is missing"),
        ({"x": 0.5, "kind": "a", "n": 1}, "enqueue: n is inactive beside these others"),
        ({"x": 0.5, "knd": "a"}, r"enqueue: knd: no such hyperparameter; there are x, kind, n"),
        (None, "enqueue: expected values by name"),
    ],
)
def test_what_is_enqueued_is_checked(values: Any, said: str) -> None:
    """Dies if a setting that the space has not waits to be asked for."""
    with pytest.raises(ConfigError, match=said):
        tuning.Search(TREE, enqueued=[values])


def test_what_is_enqueued_may_be_numpys() -> None:
    """Dies if numpy's numbers or .1 + .2 are refused, or a whole number becomes another."""
    space = spaces.from_dict({"n": {"integer": [1, 9]}, "x": {"uniform": [0, 1], "step": 0.1}})
    first: Any = {"n": np.int64(3), "x": np.float64(0.1 + 0.2)}
    _, (asked,) = tuning.Search(space, enqueued=[first]).ask(tuning.History(), 1)
    assert dict(asked.values) == {"n": 3, "x": 0.3} and type(asked.values["n"]) is int
    with pytest.raises(ConfigError, match="enqueue: x"):
        tuning.Search(space, enqueued=[{"n": 3, "x": 0.31}])
