"""The state of a selection: what it refuses, and that its file loses nothing."""

from pathlib import Path

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
