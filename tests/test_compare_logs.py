"""`jaxeval compare logs`: what is printed, written, returned, and what is not claimed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from jaxeval.errors import DataError
from jaxeval.report import text
from tests import comparing
from tests.runs.logs import models, writing

Shown = pytest.CaptureFixture


def _json(capsys: Shown, *words: object, status: int = 0) -> dict[str, Any]:
    return comparing.json_of(capsys, "logs", *words, status=status)


def _shown(capsys: Shown, *words: object, status: int = 0) -> str:
    return comparing.shown(capsys, "logs", *words, status=status)


def _gate(*words: object) -> int:
    return comparing.main("logs", *words, "--gate")


def _scores(folder: Path, of_models: Mapping[str, Sequence[object]], **also: object) -> Path:
    """A file of scores a model."""
    folder.mkdir(exist_ok=True)
    for name, scores in of_models.items():
        lines = [{"item": f"i{k}", "score": score, **also} for k, score in enumerate(scores)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_difference_is_that_of_the_items(tmp_path: Path, capsys: Shown) -> None:
    """Dies if the sentence names another model, mean, number of items or p-value than the JSON, or
    if the JSON's are not those of the logs."""
    folder = models.logs(tmp_path, {"new": 0.8, "old": 0.0})
    answers = models.answers({"new": 0.8, "old": 0.0}, seed=3)
    new, old = (np.mean(answers[name]) for name in ("new", "old"))
    (pair,) = _json(capsys, folder)["pairs"]
    assert [mean["value"] for mean in pair["means"]] == pytest.approx([new, old])
    assert pair["value"] == pytest.approx(new - old)
    assert pair["p_adjusted"] == pair["p_value"] < 0.001
    assert pair["tests"].keys() == {"mcnemar"}
    shown = _shown(capsys, folder)
    gap = 100 * (new - old)
    assert shown.startswith(f"new is better than old: acc {gap:.2f} points higher, 95 % CI [")
    assert "p < .001 (over other items, these runs; 120 items, 1 run each). acc (%)" in shown
    assert "this says nothing about other runs" in shown


def test_of_losses_lower_is_better(tmp_path: Path, capsys: Shown) -> None:
    """Dies if the log's own direction, or the flag, is not read, in a sentence or in the gate."""
    models.logs(tmp_path, {"new": 0.8, "old": -0.2}, metrics={"error": False})
    new, old = (f"{name}={tmp_path / name}" for name in ("new", "old"))
    tree = _json(capsys, new, old, "--gate", status=3)
    assert tree["pairs"][0]["value"] > 0 and tree["outcome"] == "worse"
    shown = _shown(capsys, new, old, "--details")
    assert shown.startswith("old is better than new: error 0.") and " lower, 95 % CI [0." in shown
    assert _json(capsys, old, new, "--gate")["outcome"] == "better"
    points = _scores(tmp_path / "points", {"a": [1.0, 2.0, 3.0] * 9, "b": [2.0, 3.0, 4.5] * 9})
    assert _shown(capsys, points, "--lower-is-better").startswith("a is better than b")


def test_runs_items_and_both(tmp_path: Path, capsys: Shown) -> None:
    """Dies if the three generalisations are one, or if the answer rests on another than the one
    that was asked for."""
    folder = models.runs(tmp_path, {"a": 0.5, "b": 0.1})
    (pair,) = _json(capsys, folder)["pairs"]
    errors = {" and ".join(of["over"]): of["se"] for of in pair["over"]}
    assert [*errors] == ["items", "runs", "items and runs"] and len({*errors.values()}) == 3
    assert errors["items and runs"] > max(errors["items"], errors["runs"])
    for over in ("items", "runs", "items,runs"):
        (pair,) = _json(capsys, folder, "--over", over)["pairs"]
        (of,) = (of for of in pair["over"] if of["over"] == over.split(","))
        assert pair["difference"] == of and of["sizes"]["runs"] == [4, 4]
    shown = _shown(capsys, folder, "--over", "runs", "--details")
    assert "over other runs, these items" in shown and "says nothing about other runs" not in shown
    assert "Scored on different items" not in shown
    (tmp_path / "one").mkdir()
    single = models.runs(tmp_path / "one", {"a": 0.5, "b": 0.1}, runs=1)
    with pytest.raises(DataError, match="over runs: expected two or more runs"):
        comparing.main("logs", single, "--over", "items,runs")


def test_several_tasks_and_models(tmp_path: Path, capsys: Shown) -> None:
    """Dies if p-values are not Holm's over pairs and tasks, if a mean over tasks does not say over
    which tasks, or if models that do not differ are told apart."""
    for task in ("arc", "boolq", "copa"):
        models.logs(tmp_path, {"a": 0.9, "b": 0.9, "c": -0.3}, task)
    tree = _json(capsys, tmp_path)
    raw = sorted(pair["p_value"] for pair in tree["pairs"])
    holm = np.maximum.accumulate([p * (9 - k) for k, p in enumerate(raw)])
    adjusted = sorted(pair["p_adjusted"] for pair in tree["pairs"])
    assert len(raw) == 9 and adjusted == pytest.approx(np.minimum(holm, 1.0))
    rows = tree["board"]["rows"]
    assert [row["rank"] for row in rows][-1] == 3
    assert {*rows[0]["groups"]} & {*rows[1]["groups"]} and rows[2]["beaten"]
    shown = _shown(capsys, tmp_path, "--details")
    assert shown.startswith(
        "a scores best in the mean over 3 tasks: it is better than c; b cannot be told apart from "
        "it. Task by task, a leads: it is better than c on all 3 tasks; elsewhere no difference "
        "was shown."
    )
    assert "a is better than c in the mean over 3 tasks: " in shown
    assert "Holm over 9 pairs and tasks, and over 3 pairs in the mean over tasks" in shown


@pytest.mark.parametrize(
    ("skills", "margin", "status"),
    [((1.0, -0.5), "", 0), ((0.0, 0.0), "", 1), ((-0.5, 1.0), "", 3), ((0.9, 0.2), "0.5", 1)],
)
def test_the_gate_has_a_code_of_its_own(
    tmp_path: Path, capsys: Shown, skills: tuple[float, float], margin: str, status: int
) -> None:
    """Dies if better, not shown and worse share an exit code, or if a margin is not kept."""
    folder = models.logs(tmp_path, dict(zip("ab", skills, strict=True)))
    words = [folder, *(("--margin", margin) if margin else ())]
    shown = _shown(capsys, *words, "--gate", status=status)
    said = {0: "a is better than b", 1: "a was not shown to be better or worse", 3: "a is worse"}
    assert f"gate: {said[status]}" in shown and shown.endswith(f"(exit code {status})")
    _shown(capsys, *words)  # without --gate the command does what it was asked for


@pytest.mark.parametrize(("margin", "status"), [("0.2", 0), ("0.5", 1)])
def test_the_gate_says_what_decides(
    margin: str, status: int, tmp_path: Path, capsys: Shown
) -> None:
    """Dies if the mean over tasks is not what decides, or its p-value is not that of the margin;
    or if a model that is worse on one task passes."""
    folder = tmp_path / "logs"
    for task in ("arc", "boolq"):
        models.logs(folder, {"a": 0.9, "b": -0.2}, task)
    words = [folder, "--gate", "--margin", margin]
    tree = _json(capsys, *words, status=status)
    outcome = (
        "a is better than b" if status == 0 else "a was not shown to be better or worse than b"
    )
    said = f"{outcome} by more than {100 * float(margin):g} points in the mean over tasks"
    assert f"gate: {said} (exit code {status})" in _shown(capsys, *words, status=status)
    (overall,) = tree["overall"]
    mean = overall["difference"]
    low, high = mean["interval"]["low"], mean["interval"]["high"]
    se = (high - low) / 2 / stats.t.ppf(0.975, mean["df"])
    p = 2 * stats.t.sf(((low + high) / 2 - float(margin)) / se, mean["df"])
    assert overall["by_margin"]["p_outcome"] == pytest.approx(min(p, 1.0))
    models.logs(folder, {"a": -0.6, "b": 1.4}, "copa")
    assert _gate(folder) == 3


def test_the_gate_needs_answers_and_tasks(tmp_path: Path, capsys: Shown) -> None:
    """Dies if a model that fails on hard items or has no log of a task passes, if the report does
    not say why, or if --missing cannot accept it."""
    easy, hard = [1.0] * 60 + [0.0] * 10, [0.0] * 30
    old = [0.0, 1.0] * 35
    failing = _scores(tmp_path / "failing", {"new": [*easy, *[None] * 30], "old": [*old, *hard]})
    shown = _shown(capsys, failing, "--gate", status=1)
    assert "30 % of new's answers failed" in shown and "30 items are left out" in shown
    assert _gate(failing, "--missing", "drop") == 0
    assert _json(capsys, failing)["outcome"] == "not shown"  # without the gate as well
    few = _scores(tmp_path / "few", {"new": [*easy, *[None] * 3], "old": [*old, *hard[:3]]})
    assert _gate(few) == 0
    assert _gate(_scores(tmp_path / "lacking", {"new": easy, "old": [*old, *hard]})) == 1
    for model, task in (("new", "easy"), ("old", "easy"), ("old", "hard")):
        (tmp_path / model).mkdir(exist_ok=True)
        _scores(tmp_path / model / task, {"scores": easy if model == "new" else old}, task=task)
    shown = _shown(capsys, *(f"{m}={tmp_path / m}" for m in ("new", "old")), "--gate", status=1)
    assert "new has no scores on hard" in shown


def test_sentences_rest_on_corrected_p_values(tmp_path: Path, capsys: Shown) -> None:
    """Dies if a difference that the correction does not leave is called one, or if it is not said
    why its interval excludes 0."""
    for task in ("arc", "boolq", "copa"):
        models.logs(tmp_path, {"a": 0.9, "b": 0.7, "c": -0.3}, task)
    pairs = _json(capsys, tmp_path)["pairs"]
    between = [p for p in pairs if p["p_value"] <= 0.05 < p["p_adjusted"]]
    shown = _shown(capsys, tmp_path, "--details")
    assert between and all(pair["shown"] == 0 for pair in between)
    for pair in between:
        reason = f"(p {text.p_value(pair['p_value'])} before the correction)"
        assert f", though the CI excludes 0 {reason}." in shown


def test_items_that_ended_in_an_error_are_tested(tmp_path: Path, capsys: Shown) -> None:
    """Dies if answers that failed leave the answer as it was, or their shares are not compared."""
    names = {"new": 12, "old": 0}
    for name, failing in names.items():
        samples = [
            {**writing.inspect_sample(k, "C" if k % 3 else "I"), **lost}
            for k in range(60)
            for lost in [{"scores": {}, "error": "out of memory"} if k < failing else {}]
        ]
        head = {**writing.inspect_head(), "model": name}
        writing.inspect_json(tmp_path / f"{name}.json", head, samples)
    tree = _json(capsys, tmp_path, "--missing", "drop")
    assert tree["data_sets"][0]["failed"] == names
    (test,) = tree["failures"]["tests"]
    assert (test["a"], test["higher"]) == ("new", 1)
    assert test["p_value"] == pytest.approx(stats.fisher_exact([(12, 48), (0, 60)]).pvalue)
    said = "12 of 60 items of new failed, none of 60 items of old; new fails more often than old"
    assert said in _shown(capsys, tmp_path, "--missing", "drop")
