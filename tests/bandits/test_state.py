"""The state of a selection: what it refuses, and that its file loses nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.bandits import evaluate
from jaxeval.bandits import state as states
from jaxeval.errors import ConfigError, DataError, RunError


def test_scores_survive_their_file(tmp_path: Path) -> None:
    """Dies if a digit is lost, scores of another source are taken, or a damaged file is."""
    path = tmp_path / "s.json"
    with evaluate.recorded(path, {"command": "x"}) as first:
        first.add("a", 1, 0.1 + 0.2)
        first.add("a", 5, 0.7)
    with evaluate.recorded(path, {"command": "x"}) as again:
        assert again.scores == {"a": {1: 0.1 + 0.2, 5: 0.7}}
        assert again.has("a", 5) and not again.has("a", 2) and not again.has("b", 1)
        with pytest.raises(RunError, match="another process works on this selection"):
            evaluate.recorded(path, {"command": "x"}).__enter__()
    with pytest.raises(ConfigError, match="command x, not y"):
        evaluate.recorded(path, {"command": "y"}).__enter__()
    path.write_text(path.read_text().replace("0.7", "NaN"))
    with pytest.raises(ConfigError, match=r"not the state of a selection \(expected finite"):
        evaluate.recorded(path, {"command": "x"}).__enter__()


def test_what_cannot_be_told_is_refused() -> None:
    """Dies if a score is overwritten, or one of no model is kept."""
    state = states.begin(["a", "b"]).tell("a", 0.5)
    with pytest.raises(DataError, match="evaluation 1 has a score already"):
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
