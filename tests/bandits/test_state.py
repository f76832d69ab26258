"""The state of a selection: what it refuses, and that JSON loses nothing."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import saved
from jaxeval.bandits import state as states
from jaxeval.errors import DataError


def test_state_survives_json() -> None:
    """Dies if a number, a pending evaluation or a reason is lost."""
    rule = bandits.TopTwoThompson()
    state, _ = states.start(rule.tell(rule.begin(["a", "b"]), "a", 0.1 + 0.2), "b")
    state = states.exclude(rule.tell(state, "a", 0.7, 5), "a", "why")
    assert states.from_dict(states.to_dict(state)) == state
    assert states.forget_pending(state).pending == ((), ())
    with pytest.raises(DataError, match="not the state of a selection"):
        states.from_dict({"models": ["a", "b"], "scores": 3})
    with pytest.raises(DataError, match=r"^models: expected two or more"):
        states.from_dict({"models": ["a"], "scores": {}})
    for wrong in ("NaN", float("inf")):  # JSON of Python has both
        with pytest.raises(DataError, match=r"^a: expected a finite score, found (nan|inf)$"):
            states.numbered_from_dict({"a": {"1": 0.5, "2": wrong}})
    with pytest.raises(DataError, match="evaluation 1 was told before"):
        states.tell(state, "a", 0.5, 1)
    with pytest.raises(DataError, match="no such model"):
        states.tell(state, "z", 0.5)


@pytest.mark.parametrize(
    "score",
    ["0.5", b"0.5", None, "x", float("nan"), [1.0], np.array(["0.5"]), np.ones(2), 10**400],
)
def test_what_is_no_score_is_refused(score: object) -> None:
    """Dies if Python's own exception comes out, without the model's name."""
    rule = bandits.TopTwoThompson()
    with pytest.raises(DataError, match="a: expected a finite score, found"):
        rule.tell(rule.begin(["a", "b"]), "a", score)  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [0.5, np.float32(0.5), np.array(0.5), np.array([[0.5]])])
@pytest.mark.filterwarnings("error")
def test_an_array_of_one_is_a_score(score: object) -> None:
    """Dies if the score of a framework is refused, or numpy warns that it will be."""
    rule = bandits.TopTwoThompson()
    state = rule.tell(rule.begin(["a", "b"]), "a", score)  # type: ignore[arg-type]
    assert state.scores_of("a") == [0.5]


def test_a_state_of_another_guard_keeps_its_scores(tmp_path: Path) -> None:
    """Dies if a selection saved with the wider guard of earlier versions is refused, or ends by
    what that guard led to."""
    path, names = tmp_path / "s.json", ["a", "b"]
    before, rule = (bandits.TopTwoThompson(logit=True, logit_guard=g) for g in (1e-3, 1e-6))
    with saved.opened(path, before, names, {}) as selection:
        selection.save(before.tell(selection.state, "a", 0.9999))
    with saved.opened(path, rule, names, {}) as selection:
        assert (selection.known, selection.score("a", 1)) == (1, 0.9999)
        assert selection.state == rule.begin(names)
