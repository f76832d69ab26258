"""The state of a selection: what it refuses, and that its file loses nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import bandits
from jaxeval.bandits import state as states
from jaxeval.errors import DataError


def test_a_state_survives_its_file(tmp_path: Path) -> None:
    """Dies if a number, a pending evaluation or a reason is lost, or another budget goes on with
    what the old one led to."""
    rule, path = bandits.TopTwoThompson().to_dict(), tmp_path / "s.json"
    fresh = states.begin(["a", "b"])
    state = fresh.tell("a", 0.1 + 0.2).start("b")[0].tell("a", 0.7, 5).exclude("a", "why")
    with states.opened(path, rule, fresh, {}) as saved:
        saved.save(state)
    with states.opened(path, rule, fresh, {}) as saved:
        assert saved.state == state and saved.score("a", 5) is None
    assert state.without_pending().pending == ((), ())
    for _ in range(2):  # the recorded scores are kept as well
        with states.opened(path, {**rule, "budget": 9}, fresh, {}) as saved:
            assert saved.state == fresh and saved.known == 2
            assert (saved.score("a", 1), saved.score("a", 5)) == (0.1 + 0.2, 0.7)
            saved.save(fresh)


def test_what_cannot_be_told_is_refused() -> None:
    """Dies if a score is overwritten, or one of no model is kept."""
    state = states.begin(["a", "b"]).tell("a", 0.5)
    with pytest.raises(DataError, match="evaluation 1 was told before"):
        state.tell("a", 0.5, 1)
    with pytest.raises(DataError, match="no such model"):
        state.tell("z", 0.5)
    with pytest.raises(DataError, match=r"^models: expected two or more"):
        states.begin(["a", "a"])


@pytest.mark.parametrize(
    "score",
    ["0.5", b"0.5", None, "x", float("nan"), [1.0], np.array(["0.5"]), np.ones(2), 10**400],
)
def test_what_is_no_score_is_refused(score: Any) -> None:
    """Dies if Python's own exception comes out, without the model's name."""
    with pytest.raises(DataError, match="a: expected a finite score, found"):
        states.begin(["a", "b"]).tell("a", score)


@pytest.mark.parametrize("score", [0.5, np.float32(0.5), np.array(0.5), np.array([[0.5]])])
@pytest.mark.filterwarnings("error")
def test_an_array_of_one_is_a_score(score: Any) -> None:
    """Dies if the score of a framework is refused, or numpy warns that it will be."""
    assert states.begin(["a", "b"]).tell("a", score).scores_of("a") == [0.5]
