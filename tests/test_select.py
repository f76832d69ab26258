"""`python -m jaxeval.select`: tables, commands, kill and resume, bad input."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import JaxevalError
from jaxeval.select import __main__ as select
from tests import processes

TRAIN = """\
import random, sys, time
model, split = sys.argv[1], sys.argv[2]
open("calls", "a").write(f"{model} {split}\\n")
time.sleep(float(sys.argv[3]))
if model == "broken":
    sys.exit("no such model")
random.seed(model + split)
print("training ...")
print({"good": 0.7, "fair": 0.68}[model] + random.gauss(0, 0.01))
"""


def _table(folder: Path) -> str:
    draw = np.random.default_rng(0)
    record = {m: draw.normal(mean, 0.02, 80).tolist() for m, mean in (("a", 0.6), ("b", 0.65))}
    path = folder / "scores.json"
    path.write_text(json.dumps(record))
    return str(path)


def _json(capsys: pytest.CaptureFixture, *words: str) -> dict[str, Any]:
    assert select.main([*words, "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def test_a_recorded_table_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the answer, its probability or the counts are not those of the rule."""
    tree = _json(capsys, "--table", _table(tmp_path))
    assert tree["best"] == "b" and tree["probability"] >= 0.95
    assert tree["probability_of_best"]["b"] == pytest.approx(tree["probability"])
    assert tree["evaluations"] == sum(map(len, tree["scores"].values()))
    assert sum(tree["proportions"].values()) == pytest.approx(1)
    assert tree == _json(capsys, "--table", _table(tmp_path))
    assert (
        select.main(["--table", _table(tmp_path), "--rule", "sequential-halving", "--budget", "8"])
        == 0
    )
    shown = capsys.readouterr().out
    said = "a replay: 8 draws from 160 recorded scores, without replacement"
    assert f"b (the budget is spent; {said})" in shown


def test_confidence_in_a_replay_says_so(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a replay passes for an evaluation anywhere confidence is printed."""
    words = ["--table", _table(tmp_path)]
    for replay, caveat in (("without", "without replacement"), ("with", "no new evidence")):
        for more in ([], ["--simulate", "3"]):
            assert select.main([*words, "--replay", replay, *more]) == 0
            shown = capsys.readouterr().out
            assert "confident" in shown and "160 recorded scores" in shown and caveat in shown
            tree = _json(capsys, *words, "--replay", replay, *more)
            assert tree["replay"]["replacement"] == (replay == "with")
            assert tree["replay"]["recorded"] == {"a": 80, "b": 80}
            assert caveat in tree["replay"]["sentence"]
    assert _json(capsys, *words)["replay"]["replacement"] is False


def test_one_score_a_model_is_refused(tmp_path: Path) -> None:
    """Dies if `select` is confident from one score each, however they are drawn."""
    path = tmp_path / "one.csv"
    path.write_text("model,score\na,0.5\nb,0.6\n")
    for replay in ("with", "without"):
        for more in ([], ["--simulate", "3"]):
            with pytest.raises(JaxevalError, match="a: 1 recorded scores; expected 3 or more"):
                select.main(["--table", str(path), "--replay", replay, *more])


def test_simulate_says_how_a_rule_fares(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if evaluations or correctness are reported without their error."""
    words = ["--table", _table(tmp_path), "--simulate", "20", "--rule", "batch", "--batch", "3"]
    tree = _json(capsys, *words)
    assert tree["repetitions"] == 20 and tree["best"]["b"] >= 18
    assert set(tree["evaluations"]) == {"value", "standard_error", "min", "median", "max"}
    assert tree["rule"]["batch_size"] == 3
    paired = ["--column", "split=number", "--pairing", "kept", "--replay", "without"]
    assert select.main([*words, *paired]) == 0
    assert "found the model of the highest mean" in capsys.readouterr().out


def _words(folder: Path, seconds: float, *words: str) -> list[str]:
    """Arguments of a selection among commands, which are in the folder."""
    (folder / "train.py").write_text(TRAIN)
    command = f"{sys.executable} train.py {{model}} {{split}} {seconds}"
    return ["--command", command, *words]


def _run(folder: Path, words: list[str], status: int = 0) -> subprocess.CompletedProcess[str]:
    """The verb in a process of its own, which ends with a status."""
    ended = processes.run("jaxeval.select.__main__", *words, folder=folder)
    assert ended.returncode == status, ended.stderr
    return ended


def test_a_failing_model_is_given_up_with_a_note(tmp_path: Path) -> None:
    """Dies if a broken model ends the selection, or is left out in silence."""
    words = _words(tmp_path, 0, "good", "fair", "broken", "--workers", "2", "--json", "out.json")
    ended = _run(tmp_path, words)
    tree = json.loads((tmp_path / "out.json").read_text())
    assert tree["best"] == "good" and "no such model" in tree["excluded"]["broken"]
    assert "broken was dropped" in ended.stdout and "tried again" in ended.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    again = _run(tmp_path, words)
    assert (tmp_path / "calls").read_text().splitlines() == calls  # nothing is evaluated again
    assert "evaluations are known" in again.stderr


def _told(state: Path) -> int:
    if not state.exists():
        return 0
    return sum(map(len, json.loads(state.read_text())["state"]["scores"].values()))


def test_a_killed_selection_goes_on_with_the_same_scores(tmp_path: Path) -> None:
    """Dies if kill -9 loses a score, or the same command starts anew."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
    words = ["good", "fair", "--json", "out.json"]
    _run(whole, _words(whole, 0, *words))
    slow = _words(killed, 0.15, *words)
    process = processes.start("jaxeval.select.__main__", *slow, folder=killed)
    state = killed / "selection.json"
    deadline = time.monotonic() + 60
    while _told(state) < 3:
        assert time.monotonic() < deadline and not process.ended()
        time.sleep(0.02)
    process.send(signal.SIGKILL)
    assert process.wait().returncode == -signal.SIGKILL
    assert _told(state) >= 3
    _run(killed, slow)
    a, b = (json.loads((folder / "out.json").read_text()) for folder in (whole, killed))
    assert a["scores"] == b["scores"] and a["best"] == b["best"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "b"], "a: no such config file"),
        (["a", "b", "--table", "T", "--command", "true {model}"], "at most one of --command"),
        (["--table", "T", "--rule", "sequential-halving"], "expected --budget"),
        (["--table", "T", "--budget", "3"], "need at least 6, got 3"),
        (["a", "--table", "T"], "two or more different names"),
        (["a", "z", "--table", "T"], "no model 'z'"),
        (["--table", "T", "--pairing", "kept"], "expected a seed or split"),
        (["a", "b", "--command", "true {model}", "--simulate", "3"], "--simulate"),
        (["a", "b", "--command", "train.sh"], "expected {model}"),
        (["a", "--command", "true {model}"], "two or more different names"),
        (["a", "b", "--command", "true {model}", "--state", "S"], "not the state of a selection"),
        (["--table", "T", "--min-evaluations", "2"], "needs at least 3"),
        (
            ["--table", "T", "--rule", "sequential-halving", "--budget", "9", "--delta", ".1"],
            "no --delta",
        ),
        (
            ["--table", "T", "--rule", "sequential-halving", "--budget", "9", "--batch", "2"],
            "a round is a batch",
        ),
        (["--table", "T", "--rule", "non-adaptive", "--batch", "2"], "a round is a batch"),
        (["a", "b", "--command", "true {model}", "--state", ""], "--state"),
        (["a", "b", "--command", "no-such-program {model}"], "no such program"),
    ],
)
def test_bad_arguments_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    """Dies if one of these is a traceback or goes on."""
    monkeypatch.chdir(tmp_path)
    state = tmp_path / "s.json"
    state.write_text("[]")
    paths = {"T": _table(tmp_path), "S": str(state)}
    with pytest.raises(JaxevalError, match=message):
        select.main([paths.get(word, word) for word in words])
    assert state.read_text() == "[]"


def test_another_rule_does_not_go_on_with_these_scores(tmp_path: Path) -> None:
    """Dies if a state file is continued by other rules, or by another reading of the output."""
    first = _words(tmp_path, 0, "good", "fair")
    _run(tmp_path, first)
    other = _run(tmp_path, [*first, "--epsilon", "0.2"], status=2)
    assert "epsilon 0.0, not 0.2" in other.stderr
    field = _run(tmp_path, [*first, "--json-field", "f1"], status=2)
    assert "json_field None, not f1" in field.stderr


@pytest.mark.parametrize(
    "of_one",
    [
        ["--rule", "non-adaptive", "--budget"],
        ["--rule", "sequential-halving", "--budget"],
        ["--delta", "1e-9", "--budget"],
    ],
)
def test_another_budget_goes_on_as_if_begun_with_it(tmp_path: Path, of_one: list[str]) -> None:
    """Dies if scores are evaluated again or lost, or if what the old budget led to stays."""
    names = ["good", "fair", "good2", "fair2"]
    train = TRAIN.replace('{"good": 0.7, "fair": 0.68}[model]', '{"g": 0.7, "f": 0.68}[model[0]]')
    results: dict[str, dict[str, Any]] = {}
    for folder in (tmp_path / "anew", tmp_path / "on"):
        folder.mkdir()
        words = [*names, *_words(folder, 0, "--json", "out.json"), *of_one]
        (folder / "train.py").write_text(train)
        for budget in ("16", "40", "24") if folder.name == "on" else ("40",):
            ended = _run(folder, [*words, budget])
            results[folder.name + budget] = json.loads((folder / "out.json").read_text())
    assert results["on40"] == results["anew40"]
    assert results["on16"]["evaluations"] < results["on24"]["evaluations"] <= 24
    assert "evaluations are known" in ended.stderr
    calls = (tmp_path / "on" / "calls").read_text().splitlines()
    assert len(calls) == len({*calls})  # nothing twice
    anew = (tmp_path / "anew" / "calls").read_text().splitlines()
    assert {*anew} <= {*calls} and len(calls) < 16 + 40


def test_another_delta_goes_on(tmp_path: Path) -> None:
    """Dies if a selection that was confident cannot be asked for more confidence."""
    words = _words(tmp_path, 0, "good", "fair", "--json", "out.json", "--delta")
    _run(tmp_path, [*words, "0.2"])
    early = json.loads((tmp_path / "out.json").read_text())
    _run(tmp_path, [*words, "0.0001"])
    late = json.loads((tmp_path / "out.json").read_text())
    assert late["evaluations"] > early["evaluations"] and late["probability"] >= 0.9999
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == len({*calls}) == late["evaluations"]


def test_a_model_that_never_gives_a_score_is_no_crash(tmp_path: Path) -> None:
    """Dies if giving up the first model divides by the evaluations so far."""
    words = _words(tmp_path, 0, "broken", "good", "--retries", "0", "--json", "-")
    ended = _run(tmp_path, words)
    tree = json.loads(ended.stdout)
    assert (tree["best"], tree["evaluations"]) == ("good", 1)
    assert tree["reason"] == "all other models were dropped"


def test_all_models_given_up_is_an_error(tmp_path: Path) -> None:
    """Dies if a model without a score wins, or the errors are not named."""
    words = ["bad", "nan", "--command", "false {model}", "--json", "-"]
    for _ in range(2):  # the second time from the state file
        ended = _run(tmp_path, words, status=2)
        assert ended.stdout == ""
        last = ended.stderr.splitlines()[-1]
        for part in (
            "every model was dropped",
            "(bad: evaluation 1 failed 2 times: exit code 1",
            "nan: ",
        ):
            assert part in last
        assert "delete selection.json" in last


def test_the_alpha_of_the_rule_is_used(tmp_path: Path) -> None:
    """Dies if progress is computed from three scores where the prior needs four."""
    words = _words(tmp_path, 0, "good", "fair", "--alpha", "-1", "--json", "-")
    ended = _run(tmp_path, words)
    tree = json.loads(ended.stdout)
    assert tree["best"] == "good" and min(map(len, tree["scores"].values())) >= 4
    lines = [line for line in ended.stderr.splitlines() if "best:" in line]
    assert lines and lines[0].startswith("8: ")


def test_equal_scores_are_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a command that ignores the seed passes in silence."""
    words = ["1", "2", "--command", "echo {model}", "--state", str(tmp_path / "s.json")]
    assert select.main(words) == 0
    assert "1: all 10 scores are equal" in capsys.readouterr().out


def test_unusable_and_unshared_scores_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if scores are left out of a replay in silence."""
    path = tmp_path / "s.csv"
    rows = [f"{m},{k},{0.5 + 0.1 * (m == 'b') + 0.01 * (k % 3)}" for m in "ab" for k in range(9)]
    path.write_text("model,split,score\n" + "\n".join([*rows, "a,50,0.5", "b,60,"]))
    words = ["--table", str(path), "--missing", "drop", "--pairing", "kept"]
    assert select.main(words) == 0
    shown = capsys.readouterr().out
    assert "1 unusable scores left out, the first in row 21" in shown
    assert "18 of 19 scores belong to units that all models have" in shown
    tree = _json(capsys, *words, "--simulate", "1")
    assert tree["evaluations"]["standard_error"] is None
