"""`python -m jaxeval.select`: recorded tables, simulation, bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import JaxevalError
from jaxeval.select import __main__ as select


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
    answer = shown.splitlines()[1]
    assert answer.startswith("b is chosen; how probably it is the best is not known (the budget")
    assert answer.endswith(f"is spent; {said}).")


def test_what_is_shown_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a column is named that the file has not, fractions are not in percent as those of
    configs are, or equal scores have a spread."""
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"a": [0.7] * 11, "b": [0.6] * 11}))
    assert select.main(["--table", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "not read" not in shown
    cells = [line.split() for line in shown.splitlines()[2:] if line[:2] in ("a ", "b ")]
    assert [row[2:4] for row in cells] == [["0.7", "0"], ["0.6", "0"]]
    f1 = [{"model": m, "f1": f + k / 1000} for m, f in (("a", 0.7), ("b", 0.6)) for k in range(9)]
    path.write_text(json.dumps(f1))
    assert select.main(["--table", str(path), "--score", "f1"]) == 0
    shown = capsys.readouterr().out
    assert "mean (%)" in shown and " 70." in shown
    assert _json(capsys, "--table", str(path), "--score", "f1")["unit"] == "fraction"


def test_simulated_ties_are_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if nothing says that two models share the highest mean, or that one stands for both."""
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"a": [0.5, 0.6, 0.7, 0.4], "b": [0.6, 0.5, 0.4, 0.7]}))
    words = ["--table", str(path), "--rule", "sequential-halving", "--budget", "8"]
    assert select.main([*words, "--simulate", "5"]) == 0
    said = "found one of the 2 models that share the highest mean in 100.0%"
    assert said in capsys.readouterr().out
    assert _json(capsys, *words, "--simulate", "5")["recorded_best"] == ["a", "b"]
    assert select.main(words) == 0
    assert "\nNothing decides between a and b; a is named (" in capsys.readouterr().out
    assert _json(capsys, *words)["level"] == ["a", "b"]


def test_scores_that_have_no_logit_are_told(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if scores of 0 or 1 decide by their logits without a word, or any other is said to."""
    path, words = tmp_path / "scores.json", ["--table", str(tmp_path / "scores.json"), "--logit"]
    record = {"a": [0.96, 0.94, 0.98, 0.92] * 5, "b": [0.9, 1.0, 0.88, 1.0, 0.92] * 4}
    path.write_text(json.dumps(record))
    result = _json(capsys, *words)
    reached = sum(score == 1.0 for score in result["scores"]["b"])
    assert result["guarded"] == reached > 0
    for chosen, of in (([], sum(map(len, result["scores"].values()))), (["--simulate", "2"], 40)):
        assert select.main([*words, *chosen]) == 0
        said = f"{8 if chosen else reached} of {of} scores lie within 1e-06 of 0 or 1"
        assert said in capsys.readouterr().out
    assert _json(capsys, *words[:-1])["guarded"] == 0
    path.write_text(json.dumps(record | {"b": [0.9, 0.999, 0.88, 0.001, 0.92] * 4}))
    assert select.main(words) == 0
    assert "of 0 or 1" not in capsys.readouterr().out


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
        (
            ["a", "b", "--command", "true {model}", "--seconds", "0.5", "--splits", "own"],
            "--splits, --seconds: expected with configs",
        ),
        (
            ["a", "b", "--command", "true {model}", "--replay", "with", "--pairing", "kept"],
            "--replay, --pairing: expected with --table FILE or --runs DIR",
        ),
        (["a", "b", "--score", "f1"], "--score: expected with --table FILE or --runs DIR"),
        (["a", "b", "--retries", "2"], "--retries: expected with --command TEXT"),
        (["--table", "T", "--workers", "2"], "--workers: expected with --command TEXT"),
        (["--table", "T", "--time-limit", "2"], "--time-limit: expected with --command TEXT"),
        (["--table", "T", "--state", "S"], "--state: expected with configs or --command TEXT"),
        (["--table", "T", "--part", "dev"], "--part: expected with configs"),
        (["--table", "T", "--data", "S"], "--data: expected with configs"),
        (
            ["--table", "T", "--rule", "non-adaptive", "--budget", "7", "--epsilon", ".01"],
            "epsilon: expected a delta beside it",
        ),
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


def test_failed_runs_are_in_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if five failures in ten leave the answer as it was."""
    rows = ["model,seed,status,f1"]
    for seed in range(10):
        rows += [f"A,{seed},{'diverged,' if seed < 5 else f'finished,{0.9 + seed / 1000}'}"]
        rows += [f"B,{seed},finished,{0.84 + seed / 1000}"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    assert select.main(["--table", str(path)]) == 0
    first, second, *_ = capsys.readouterr().out.strip().splitlines()
    assert first.startswith("Of the runs that finished, A is the best with probability ")
    assert second.startswith(
        "5 of 10 runs of A failed (5 diverged), none of 10 of B; A fails more"
    )
    (test,) = _json(capsys, "--table", str(path))["failures"]
    assert test["p_value"] == pytest.approx(0.0325, abs=1e-4)
