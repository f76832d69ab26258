"""Replays of recorded scores: what is drawn, and that many at once equal one by one."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import Replay, simulate
from jaxeval.errors import DataError

RECORD = {
    name: (0.6 + 0.01 * k + 0.03 * np.random.default_rng(k).normal(size=60)).tolist()
    for k, name in enumerate("abcd")
}


def test_without_replacement_every_score_comes_once_before_any_again() -> None:
    """Dies if a recorded score is drawn twice in one pass."""
    replay = Replay({"a": [1, 2, 3, 4, 5]}, replacement=False)
    drawn = [replay("a", k) for k in range(1, 11)]
    assert sorted(drawn[:5]) == sorted(drawn[5:]) == [1, 2, 3, 4, 5]
    assert [replay("a", k) for k in (3, 1, 2)] == [drawn[2], drawn[0], drawn[1]]
    many = Replay({"a": list(range(50))})
    assert len({many("a", k) for k in range(1, 51)}) < 50


def test_pairing_is_kept_or_broken() -> None:
    """Dies if the k-th evaluations of two models use different splits though paired."""
    record = {"a": list(range(100)), "b": list(range(100))}
    for replacement in (True, False):
        kept = Replay(record, replacement, "kept", 3)
        assert all(kept("a", k) == kept("b", k) for k in range(1, 90))
        broken = Replay(record, replacement, "broken", 3)
        assert any(broken("a", k) != broken("b", k) for k in range(1, 20))
    with pytest.raises(DataError, match="as many scores of every model"):
        Replay({"a": [1, 2], "b": [1]}, pairing="kept")


@pytest.mark.parametrize(
    "rule",
    [
        bandits.TopTwoThompson(delta=0.1),
        bandits.TopTwoThompson(delta=0.1, batch_size=3, epsilon=0.005),
        bandits.BatchThompson(delta=0.1, budget=41),
        bandits.NonAdaptive(delta=0.1, budget=60),
        bandits.NonAdaptive(delta=None, budget=18),
        bandits.SequentialHalving(budget=30),
        bandits.TopTwoThompson(delta=0.1, higher_is_better=False, logit=True),
    ],
    ids=str,
)
def test_many_at_once_equal_one_by_one(rule: Any) -> None:
    """Dies if the vectorised simulation is another algorithm than the state machine."""
    found = simulate(rule, RECORD, repetitions=6, seed=11)
    for r in range(6):
        mine = dataclasses.replace(rule, seed=11 + r)
        state = mine.begin(list(RECORD))
        replay = Replay(RECORD, seed=11 + r)
        while models := mine.ask(state):
            for model in models:
                number = state.next_number(model)
                state = mine.tell(state, model, replay(model, number), number)
        answer = mine.answer(state)
        assert answer is not None
        assert (found.best[r], found.evaluations[r]) == (answer.best, answer.evaluations)
        assert found.reasons[r] == answer.reason


def test_the_truth_is_the_highest_mean() -> None:
    """Dies if correctness is judged in the wrong direction."""
    record = {"low": [0.1] * 5 + [0.11], "high": [0.9] * 5 + [0.91]}
    for higher, name in ((True, "high"), (False, "low")):
        found = simulate(bandits.TopTwoThompson(higher_is_better=higher), record, repetitions=5)
        assert found.best == (name,) * 5
        assert (found.share_correct.value, found.share_correct.standard_error) == (1.0, 0.0)


def test_bad_records_are_refused() -> None:
    """Dies if a NaN is replayed, or one model is selected from."""
    with pytest.raises(DataError, match="finite"):
        Replay({"a": [1, float("nan")]})
    with pytest.raises(DataError, match="two or more different names"):
        simulate(bandits.TopTwoThompson(), {"a": [1, 2]})
    with pytest.raises(DataError, match="repetitions"):
        simulate(bandits.TopTwoThompson(), RECORD, repetitions=0)
