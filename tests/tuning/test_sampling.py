"""Proposals without learning: the same for ever, never twice, even."""

import warnings
from typing import Any

import numpy as np
import pytest

from jaxeval.space import space as spaces
from jaxeval.space.space import Space
from jaxeval.tuning import encoding, maximising, methods, sampling
from jaxeval.tuning import history as histories
from jaxeval.tuning.history import Evaluation, History, Result

SPACE = spaces.from_dict(
    {
        "rate": {"log_uniform": [1e-4, 1e-1]},
        "cell": {"choices": ["lstm", "gru"]},
        "layers": {"integer": [1, 4], "when": {"cell": ["lstm"]}},
        "clip": {"uniform": [0.0, 1.0], "when": {"layers": [2, 3]}},
    }
)
NAMES = ("random", "sobol")


def _proposed(method: str, steps: list[int], seed: int = 3, score: float = 1.0) -> list[Any]:
    """All proposals of batches of these sizes."""
    history = History()
    for count in steps:
        for values in methods.method(method).propose(SPACE, history, count, seed):
            history = histories.propose(history, values, [1])
        for evaluation in histories.pending(history)[::2]:  # some run on
            history = histories.tell(history, evaluation.number, Result((score,)))
    return [evaluation.values for evaluation in history.evaluations]


@pytest.mark.parametrize("method", NAMES)
def test_batches_and_results_change_nothing(method: str) -> None:
    """Dies if what is proposed depends on the size of batches, on scores, or not on the seed."""
    whole = _proposed(method, [32])
    assert whole == _proposed(method, [1, 5, 2, 7, 1, 16], score=-9.0)
    assert whole != _proposed(method, [32], seed=4)


@pytest.mark.parametrize("method", NAMES)
def test_inactive_hyperparameters_are_absent(method: str) -> None:
    """Dies if a proposal has a value whose condition does not hold, or lacks one that does."""
    for values in _proposed(method, [64]):
        assert ("layers" in values) == (values["cell"] == "lstm")
        assert ("clip" in values) == (values.get("layers") in (2, 3))


@pytest.mark.parametrize("method", NAMES)
def test_no_point_comes_twice_while_there_are_others(method: str) -> None:
    """Dies if a batch or a later one repeats a point, or the search for others has no end."""
    few = spaces.from_dict({"a": {"integer": [1, 4]}, "b": {"choices": [True, False]}})
    history = History()
    for count in (3, 5):
        for values in methods.method(method).propose(few, history, count, 0):
            history = histories.propose(history, values, [1])
    assert len(histories.settings(history)) == 8
    assert methods.method(method).propose(few, history, 2, 0) == []
    single = spaces.from_dict({"a": {"choices": ["only"]}})
    assert methods.method(method).propose(single, History(), 2, 0) == [{"a": "only"}]


def test_sobol_points_are_even() -> None:
    """Dies if points are drawn independently: 64 would not hit all 64 cells of an 8 x 8 grid."""
    square = spaces.from_dict({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = methods.method("sobol").propose(square, History(), 64, 1)
    cells = {(int(8 * p["x"]), int(8 * p["y"])) for p in points}  # type: ignore[operator]
    assert len(cells) == 64


def test_random_points_are_those_of_a_sweep() -> None:
    """Dies if a sweep and a random search of one seed differ: a tuner can go on from a sweep."""
    assert _proposed("random", [20], seed=1) == [spaces.draw(SPACE, 1, run) for run in range(20)]
    rates = np.log10([values["rate"] for values in _proposed("random", [200])])
    assert -4 <= rates.min() < -3.8 and -1.2 < rates.max() <= -1


def _all_but(tables: dict[str, Any], left: list[dict[str, Any]]) -> tuple[Space, History]:
    """A grid of a and b, and a history of all of its settings but some."""
    space, history = spaces.from_dict(tables), []
    for a in range(45):
        for b in range(45):
            if {"a": a, "b": b} not in left:
                values, number = {"a": a, "b": b}, len(history)
                history.append(Evaluation(number, values, (1,), Result((-float(a + b),))))
    return space, History(tuple(history))


def test_the_last_setting_of_a_large_grid_maximises() -> None:
    """Dies if a setting that neither Sobol points nor mutations meet is not found."""
    left = [{"a": 7, "b": 31}]
    space, history = _all_but({"a": {"integer": [0, 44]}, "b": {"integer": [0, 44]}}, left)
    taken = encoding.places(space, [e.values for e in history.evaluations])
    for seed in range(6):
        row = maximising.maximise(space, lambda rows: rows[:, 0], taken[:1], taken, [seed])
        assert row is not None and encoding.settings(space, row[None]) == left
        none = np.vstack([taken, row])
        assert maximising.maximise(space, lambda rows: rows[:, 0], taken[:1], none, [seed]) is None


@pytest.mark.parametrize("method", NAMES)
def test_the_last_settings_of_a_large_grid_are_found(method: methods.Name) -> None:
    """Dies if a finite space that is too large to enumerate ends with what samples do not meet."""
    left = [{"a": a, "b": b} for a, b in ((0, 44), (7, 7), (20, 31), (44, 0))]
    space, history = _all_but({"a": {"integer": [0, 44]}, "b": {"integer": [0, 44]}}, left)
    proposed = methods.method(method).propose(space, history, 6, 0)
    assert sorted(map(str, proposed)) == sorted(map(str, left))


def test_what_is_left_of_a_space_with_conditions() -> None:
    """Dies if a condition is lost, a setting comes twice, or a continuous range is counted out."""
    tables = {
        "n": {"choices": [4, 2], "when": {"kind": ["a"]}},
        "kind": {"choices": ["a", "b"]},
        "m": {"integer": [1, 5], "step": 2, "when": {"n": [4]}},
    }
    space = spaces.from_dict(tables)
    expected = [
        {"kind": "a", "n": 2},
        {"kind": "b"},
        *({"kind": "a", "n": 4, "m": m} for m in (1, 3, 5)),
    ]
    whole = sampling.left(space, set(), 9)
    assert len(whole) == 5 and all(values in whole for values in expected)
    assert [*whole[-2]] == ["n", "kind", "m"]
    known = {histories.identity(values) for values in whole[:3]}
    assert sampling.left(space, known, 9) == whole[3:]
    assert sampling.left(space, set(), 2) == whole[:2]
    assert sampling.left(SPACE, set(), 9) == []
