"""`jaxeval select table` and arguments of all its commands; functions of Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.errors import JaxevalError
from tests.verbs import select


def _table(folder: Path) -> str:
    draw = np.random.default_rng(0)
    record = {m: draw.normal(mean, 0.02, 80).tolist() for m, mean in (("a", 0.6), ("b", 0.65))}
    path = folder / "scores.json"
    path.write_text(json.dumps(record))
    return str(path)


def _json(capsys: pytest.CaptureFixture, *words: str) -> dict[str, Any]:
    assert select([*words, "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def test_a_recorded_table_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the answer, its probability or the counts are not those of the rule, if a replay
    passes for an evaluation, or Python has another answer."""
    table = _table(tmp_path)
    tree = _json(capsys, "table", table)
    assert tree["best"] == "b" and tree["probability"] >= 0.95
    assert tree["probability_of_best"]["b"] == pytest.approx(tree["probability"])
    assert tree["evaluations"] == sum(map(len, tree["scores"].values()))
    assert sum(tree["proportions"].values()) == pytest.approx(1)
    assert tree["recorded"] == {"a": 80, "b": 80}
    assert tree == jaxeval.select_table(table).to_dict()
    assert tree != _json(capsys, "table", table, "--seed", "1")
    assert select(["table", table, "--rule", "sequential-halving", "--budget", "8"]) == 0
    answer = capsys.readouterr().out.splitlines()[0]
    assert answer == (
        "b is chosen; its probability of being the best is unknown (the budget is spent; a "
        "replay: 8 draws from 160 recorded scores)."
    )


def test_failed_runs_are_in_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if five failures in ten leave the answer as it was."""
    rows = ["model,seed,status,f1"]
    for seed in range(10):
        rows += [f"A,{seed},{'diverged,' if seed < 5 else f'finished,{0.9 + seed / 1000}'}"]
        rows += [f"B,{seed},finished,{0.84 + seed / 1000}"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    assert select(["table", str(path)]) == 0
    first, second, *_ = capsys.readouterr().out.strip().splitlines()
    assert first.startswith("Of the runs that finished, A is the best with probability ")
    assert second.startswith(
        "5 of 10 runs of A failed (5 diverged), none of 10 runs of B; A fails"
    )
    (test,) = _json(capsys, "table", str(path))["failures"]
    assert test["p_value"] == pytest.approx(0.0325, abs=1e-4)


HALVING = ["--rule", "sequential-halving"]
COMMAND = ["command", "true {model}"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "b"], "a: no such config file"),
        (["table", "T", *HALVING], "expected --budget N"),
        (["table", "T", *HALVING, "--budget", "9", "--delta", ".1"], "and no --delta"),
        (["table", "T", "--rule", "non-adaptive", "--batch", "2"], "a round is a batch"),
        (["table", "T", "--batch", "1000000"], "--batch: expected a whole number from 1 to 1000,"),
        (["table", "T", "--budget", "3"], "--budget: 2 models need at least 6, got 3"),
        (["table", "T", "a", "z"], "no model 'z'"),
        (["table", "one.csv"], "a: 1 recorded score; expected 3 or more"),
        (["command", "train.sh", "a", "b"], "expected {model}"),
        (["command", "no-such-program {model}", "a", "b"], "no such program"),
        ([*COMMAND, "a"], "two or more different names"),
        ([*COMMAND, "a", "b", "--state", "S"], "not the state of a selection"),
    ],
)
def test_bad_arguments_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    """Dies if one of these is a traceback or goes on."""
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "s.json"
    state.write_text("[]")
    (tmp_path / "one.csv").write_text("model,score\na,0.5\nb,0.6\n")
    paths = {"T": _table(tmp_path), "S": str(state)}
    with pytest.raises(JaxevalError, match=message):
        select([paths.get(word, word) for word in words])
    assert state.read_text() == "[]"
