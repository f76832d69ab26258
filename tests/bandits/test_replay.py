"""Replays of recorded scores: what is drawn, and that many at once equal one by one."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import Replay, simulate, trials
from jaxeval.bandits import replay as replaying
from jaxeval.errors import DataError

RECORD = {
    name: (0.6 + 0.01 * k + 0.03 * np.random.default_rng(k).normal(size=60)).tolist()
    for k, name in enumerate("abcd")
}

COARSE = {name: np.round(scores, 1).tolist() for name, scores in RECORD.items()}  # many equal
NORMAL = np.random.default_rng(7).normal(size=(800, 5))


def test_without_replacement_every_score_comes_once() -> None:
    """Dies if a recorded score is drawn twice, or that is not the default."""
    replay = Replay({"a": [1, 2, 3, 4, 5]})
    drawn = [replay("a", k) for k in range(1, 6)]
    assert sorted(drawn) == [1, 2, 3, 4, 5]
    assert [replay("a", k) for k in (3, 1, 2)] == [drawn[2], drawn[0], drawn[1]]
    with pytest.raises(DataError, match="evaluation 6 of 5 recorded scores"):
        replay("a", 6)
    many = Replay({"a": list(range(50))}, replacement=True)
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
@pytest.mark.parametrize(
    ("record", "replacement"), [(RECORD, False), (COARSE, False), (COARSE, True)]
)
def test_many_at_once_equal_one_by_one(
    rule: Any, record: dict[str, list[float]], replacement: bool
) -> None:
    """Dies if the vectorised simulation is another algorithm than the state machine."""
    if isinstance(rule, bandits.TopTwoThompson) and record is COARSE:
        rule = dataclasses.replace(rule, budget=90)  # else until all 240 scores are spent
    repetitions = 2
    simulated = simulate(
        rule, record, repetitions=repetitions, replacement=replacement, pairing="broken", seed=11
    )
    for r in range(repetitions):
        mine = dataclasses.replace(rule, seed=11 + r)
        state, answer = replaying.select(mine, Replay(record, replacement, seed=11 + r))
        assert state.evaluations == answer.evaluations
        assert (simulated.best[r], simulated.evaluations[r]) == (answer.best, answer.evaluations)
        assert simulated.reasons[r] == answer.reason


def test_a_replay_ends_with_its_record() -> None:
    """Dies if recorded scores are drawn again unasked, if another model is said to have none left,
    or if fewer than three pass for evidence."""
    equal = {"a": NORMAL[0, :5].tolist(), "b": NORMAL[1, :6].tolist()}
    rule = bandits.TopTwoThompson(delta=1e-6)
    state, answer = replaying.select(rule, Replay(equal))
    (spent,) = (name for name in "ab" if f" scores of {name} are asked for" in answer.reason)
    assert answer.reason.startswith(f"more than the {len(equal[spent])} recorded scores")
    assert len(state.scores_of(spent)) == len(equal[spent]) and answer.probability is not None
    for name in "ab":
        drawn = state.scores_of(name)
        assert len(set(drawn)) == len(drawn) and set(drawn) <= set(equal[name])
    with pytest.raises(DataError, match="b: 2 recorded scores; expected 3 or more"):
        replaying.select(rule, Replay({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2]}))
    with pytest.raises(DataError, match="b: its 3 recorded scores are equal"):
        replaying.select(rule, Replay({"a": [0.1, 0.2, 0.3], "b": [0.1] * 3}, replacement=True))
    for fixed in (
        bandits.SequentialHalving(budget=14),
        bandits.NonAdaptive(delta=None, budget=14),
    ):
        with pytest.raises(DataError, match=r"more scores of [ab] are asked for than there are"):
            replaying.select(fixed, Replay(equal))


def test_confidence_of_a_record_is_called_so() -> None:
    """Dies if draws with replacement from five scores count as confidence about the models."""
    record = {name: draw.tolist() for name, draw in zip("ab", NORMAL[:2, :5], strict=True)}
    simulated = simulate(bandits.TopTwoThompson(), record, repetitions=20, replacement=True)
    assert "confident" not in simulated.reasons
    assert simulated.reasons.count("confident of the recorded scores alone") > 10


def test_equal_models_with_five_scores_are_hardly_told_apart() -> None:
    """Dies if few scores make confident: two equal models, five new scores each, 400 times.

    A rule that keeps its word would be confident in 2 delta of them, an error to either side.
    """
    records = [dict(zip("ab", scores, strict=True)) for scores in NORMAL.reshape(400, 2, 5)]
    for rule in (bandits.TopTwoThompson(), bandits.NonAdaptive(), bandits.BatchThompson()):
        replays = [Replay(record, seed=k) for k, record in enumerate(records)]
        answers = trials(rule, ["a", "b"], replays, range(400), [5, 5])
        assert np.mean([answer.reason == "confident" for answer in answers]) <= 2 * rule.delta


def test_the_truth_is_the_highest_mean() -> None:
    """Dies if correctness is judged in the wrong direction."""
    record = {"low": [0.1] * 5 + [0.11], "high": [0.9] * 5 + [0.91]}
    for higher, name in ((True, "high"), (False, "low")):
        simulated = simulate(
            bandits.TopTwoThompson(higher_is_better=higher), record, repetitions=5
        )
        assert simulated.best == (name,) * 5
        assert (simulated.share_correct.value, simulated.share_correct.standard_error) == (
            1.0,
            0.0,
        )


def test_bad_records_are_refused() -> None:
    """Dies if a NaN is replayed, or one model is selected from."""
    with pytest.raises(DataError, match="finite"):
        Replay({"a": [1, float("nan")]})
    with pytest.raises(DataError, match="two or more different names"):
        simulate(bandits.TopTwoThompson(), {"a": [1, 2, 3]})
    with pytest.raises(DataError, match="repetitions"):
        simulate(bandits.TopTwoThompson(), RECORD, repetitions=0)
