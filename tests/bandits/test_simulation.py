"""Replays of recorded scores: what is drawn, and that many at once equal one by one."""

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import Replay
from jaxeval.errors import DataError

RECORD = {
    name: (0.6 + 0.01 * k + 0.03 * np.random.default_rng(k).normal(size=60)).tolist()
    for k, name in enumerate("abcd")
}
COARSE = {name: np.round(scores, 1).tolist() for name, scores in RECORD.items()}  # many equal


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    return importlib.import_module("simulated_selections")


def test_every_score_comes_once() -> None:
    """Dies if a recorded score is drawn twice, or models share an order."""
    replay = Replay({"a": range(50), "b": range(50)}, seed=3)
    a, b = ([replay(name, k) for k in range(1, 51)] for name in "ab")
    assert sorted(a) == sorted(b) == [*range(50)] and a != b
    assert [replay("a", k) for k in (3, 1, 2)] == [a[2], a[0], a[1]]


@pytest.mark.parametrize(
    "rule",
    [
        bandits.TopTwoThompson(delta=0.1, batch_size=3),
        bandits.BatchThompson(delta=0.1, budget=41),
        bandits.NonAdaptive(delta=0.1, budget=60),
        bandits.NonAdaptive(delta=None, budget=18),
        bandits.TopTwoThompson(delta=0.1, higher_is_better=False),
    ],
    ids=str,
)
@pytest.mark.parametrize("record", [RECORD, COARSE], ids=["normal", "coarse"])
def test_many_at_once_equal_one_by_one(rule: Any, record: dict, simulated: Any) -> None:
    """Dies if the vectorised simulation is another algorithm than the state machine."""
    if isinstance(rule, bandits.TopTwoThompson) and record is COARSE:
        rule = dataclasses.replace(rule, budget=90)  # else until all 240 scores are spent
    found = simulated.simulate(rule, record, repetitions=2, seed=11)
    for r in range(2):
        mine = dataclasses.replace(rule, seed=11 + r)
        state, answer = bandits.select(mine, Replay(record, seed=11 + r))
        assert state.evaluations == answer.evaluations
        assert (found.best[r], found.evaluations[r]) == (answer.best, answer.evaluations)
        assert found.reasons[r] == answer.reason


def test_claimed_confidence_holds(simulated: Any) -> None:
    """Dies if a selection that claims 95 % is right less often (unequal variances, 200 trials)."""
    means, sds = np.array([0.60, 0.61, 0.63]), np.array([0.02, 0.03, 0.01])
    scores = means + sds * np.random.default_rng(0).normal(size=(200, 500, 3))
    evaluators = [lambda name, k, own=own: own[k - 1, "abc".index(name)] for own in scores]
    for make in (bandits.NonAdaptive, bandits.TopTwoThompson, bandits.BatchThompson):
        answers = simulated.trials(make(delta=0.05), list("abc"), evaluators, range(200))
        assert {answer.reason for answer in answers} == {"confident"}
        right = [answer.best == "c" for answer in answers]
        assert np.mean(right) >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / 200)


def test_a_replay_ends_with_its_record() -> None:
    """Dies if another model is said to have none left, or fewer than three are evidence."""
    a, b = np.random.default_rng(7).normal(size=(2, 6)).tolist()
    record = {"a": a[:5], "b": b}
    rule = bandits.TopTwoThompson(delta=1e-6)
    state, answer = bandits.select(rule, Replay(record))
    (spent,) = (name for name in "ab" if f" scores of {name} than" in answer.reason)
    assert answer.reason.endswith(f"than the {len(record[spent])} recorded")
    assert len(state.scores_of(spent)) == len(record[spent]) and answer.probability is not None
    with pytest.raises(DataError, match="b: 2 recorded scores; expected 3 or more"):
        bandits.select(rule, Replay({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2]}))
    for fixed in (
        bandits.SequentialHalving(budget=14),
        bandits.NonAdaptive(delta=None, budget=14),
    ):
        with pytest.raises(DataError, match=r"needs more scores of [ab] than there are"):
            bandits.select(fixed, Replay(record))
    with pytest.raises(DataError, match="finite"):
        Replay({"a": [1, float("nan")]})


@pytest.mark.parametrize(
    "rule",
    [
        bandits.SequentialHalving(budget=8),
        bandits.NonAdaptive(delta=None, budget=8),
        bandits.TopTwoThompson(budget=40),
    ],
    ids=str,
)
def test_equal_models_are_undecided(rule: bandits.Rule) -> None:
    """Dies if the order of the models decides and the answer does not say so."""
    for order in ("ab", "ba"):
        _, answer = bandits.select(rule, Replay({name: [0.5] * 20 for name in order}))
        assert (answer.best, answer.undecided) == (order[0], tuple(order))
    apart = {"a": [0.4, 0.5, 0.6, 0.7] * 5, "b": [1.0, 0.9, 0.8, 0.7] * 5}
    _, answer = bandits.select(rule, Replay(apart))
    assert (answer.best, answer.undecided) == ("b", ())
