"""Damaged files of plans and states: what the message advises trains nothing again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jaxeval
from jaxeval import errors, files
from jaxeval.studies import running
from tests import from_python
from tests.from_python import TOY

_toys = from_python.toys  # a fixture of all tests here
SPACE = {"rate": {"key": "model.rate", "uniform": [0.0, 0.9]}}
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "sweep": (lambda: jaxeval.sweep(TOY, space=SPACE, trials=3, quiet=True).rows, "sweeps"),
    "tune": (
        lambda: _timeless(
            jaxeval.tune(TOY, space=SPACE, trials=6, parallel=3, retrain=2, quiet=True)
        ),
        "tunings",
    ),
}


def _timeless(tuned: Any) -> dict[str, object]:
    tree = tuned.to_dict()
    each = [{**e, "joined": None} for e in (*tree["evaluations"], tree["best"])]
    return {**tree, "seconds": 0, "evaluations": each, "best": None}


@pytest.mark.parametrize("name", CALLS)
def test_a_damaged_file_is_deleted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the advice is another folder, where all would be trained again, or if deleting the
    file trains anything again or ends otherwise."""
    call, folder = CALLS[name]
    before = call()
    (file,) = Path("runs", folder).glob("*.json")
    whole = file.read_text()
    file.write_text(whole[:-20])
    with pytest.raises(errors.JaxevalError, match=r"delete .*: .* in the runs database"):
        call()
    file.unlink()
    trained = []
    train = running._train

    def noted(cohort: Any, waiting: Any, *more: Any) -> Any:
        trained.extend(waiting)
        return train(cohort, waiting, *more)

    monkeypatch.setattr(running, "_train", noted)
    assert call() == before and trained == []


def test_a_commands_scores_are_nowhere_else(tmp_path: Path) -> None:
    """Dies if deleting the only record of a command's scores is advised without saying so."""
    path = tmp_path / "state.json"
    path.write_text("{")
    head = {"evaluator": {"command": "./train.sh"}}
    with (
        files.open_state(path, "search", head) as file,
        pytest.raises(errors.ConfigError, match="if it was damaged: the command then runs"),
    ):
        file.read()
