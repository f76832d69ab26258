"""`compare --log`: what is not claimed, and how sentences say what is."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import DataError
from jaxeval.report.comparison import progress
from tests.runs.logs import models, verb


def _scores(folder: Path, of_models: Mapping[str, Sequence[object]], **also: object) -> Path:
    """A file of scores a model."""
    folder.mkdir(exist_ok=True)
    for name, scores in of_models.items():
        lines = [{"item": f"i{k}", "score": score, **also} for k, score in enumerate(scores)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def _gated(folder: Path, *words: str) -> tuple[int, str, str]:
    """Exit code, Markdown and JUnit of the gate."""
    targets = ["--markdown", str(folder / "md"), "--junit", str(folder / "xml")]
    rest = ["--gate", "--resamples", "99", *targets, *words]
    status = compare.main(["new", "old", "--log", str(folder), *rest])
    return status, (folder / "md").read_text(), (folder / "xml").read_text()


def test_the_gate_needs_answers(tmp_path: Path) -> None:
    """Dies if a model that fails on hard items passes, if the report does not say why, or if
    --missing cannot accept it."""
    easy, hard = [1.0] * 60 + [0.0] * 10, [0.0] * 30
    failing: dict[str, Sequence] = {
        "new": [*easy, *[None] * 30],
        "old": [*([0.0, 1.0] * 35), *hard],
    }
    status, markdown, junit = _gated(_scores(tmp_path / "failing", failing))
    assert status == 1
    for said in (markdown, junit):
        assert "30 % of new's answers failed" in said and "30 items are left out" in said
    assert "skipped" in junit and "<failure" not in junit
    assert _gated(tmp_path / "failing", "--missing", "drop")[0] == 0
    few: dict[str, Sequence] = {
        "new": [*easy, *[None] * 3],
        "old": [*([0.0, 1.0] * 35), *hard[:3]],
    }
    assert _gated(_scores(tmp_path / "few", few))[0] == 0
    lacking = {"new": easy, "old": [*([0.0, 1.0] * 35), *hard]}
    assert _gated(_scores(tmp_path / "lacking", lacking))[0] == 1


def test_the_gate_needs_all_tasks_of_the_first_model(tmp_path: Path) -> None:
    """Dies if a model passes by having no log of a task."""
    scores = {"new": [1.0] * 60 + [0.0] * 10, "old": [0.0, 1.0] * 35}
    _scores(tmp_path / "easy", scores, task="easy")
    _scores(tmp_path / "hard", {"old": scores["old"]}, task="hard")
    status, markdown, _ = _gated(tmp_path)
    assert status == 1 and "new has no scores on hard" in markdown


def test_copies_are_one_run(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if copied runs count as runs, whose means do not spread."""
    new, old = [1.0] * 60 + [0.0] * 10, [0.0, 1.0] * 35
    folder = _scores(tmp_path, {"a": [[s] * 3 for s in new], "b": [[s] * 3 for s in old]})
    with pytest.raises(DataError, match="over runs: expected two or more runs"):
        compare.main(["--log", str(folder), "--over", "runs"])
    assert verb.as_json(capsys, "--log", folder)["pairs"][0]["difference"]["sizes"]["runs"] == [
        1,
        1,
    ]


def test_an_error_of_0_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a difference without any spread is shown with certainty, rounding or not; or is said
    not to be one."""
    same = _scores(tmp_path / "same", {"a": [1.3, 1.4], "b": [1.3, 1.4]})
    shown = verb.shown(capsys, "--log", same)
    assert shown.startswith("a and b score the same on all items, which says nothing of others.")
    assert "No difference" not in shown
    folder = _scores(tmp_path, {"a": [1.3, 1.4], "b": [1.1, 1.2]})
    tree = verb.as_json(capsys, "a", "b", "--log", folder, "--gate", status=1)
    (pair,) = tree["pairs"]
    assert pair["difference"]["p_value"] is pair["p_adjusted"] is None
    assert pair["difference"]["interval"]["low"] is None
    assert "its error cannot be told" in pair["text"] and "differ by the same" in pair["text"]


def test_sentences_name_the_higher_model_first(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if means, difference or interval are in another order than the models of a sentence."""
    for task in ("arc", "boolq"):
        models.logs(tmp_path, {"new": 0.8, "old": 0.0}, task)
    ab, ba = (
        verb.as_json(capsys, *names, "--log", tmp_path)
        for names in (("new", "old"), ("old", "new"))
    )
    assert [pair["text"] for pair in ab["pairs"]] == [pair["text"] for pair in ba["pairs"]]
    assert ab["headline"] == ba["headline"] and "difference -" not in ba["headline"][0]


def test_unequal_scales_have_no_mean(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if percentages and fractions are averaged."""
    for task, scale in (("arc", 1), ("boolq", 100)):
        scores = {"a": [scale, 0] * 10, "b": [0, 0, scale, 0] * 5}
        _scores(tmp_path / task, scores, task=task)
    tree = verb.as_json(capsys, "--log", tmp_path)
    assert tree["overall"] == []
    assert "scores on boolq are above 1, those on arc are not" in tree["notes"][0]


def test_no_interval_beyond_what_accuracies_can_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if an interval of points ends beyond 100, or if the test is made of the shown ends."""
    lines = {"a": [1, 1, 1, 0], "b": [0, 0, 0, 0]}
    folder = _scores(tmp_path, lines, metric="accuracy")
    (pair,) = verb.as_json(capsys, "a", "b", "--log", folder)["pairs"]
    assert pair["difference"]["interval"]["high"] > 1
    assert ", 100.00]" in pair["text"]
    assert ", 100.00], corrected p " in _gated_line(folder)


def _gated_line(folder: Path) -> str:
    compare.main(["a", "b", "--log", str(folder), "--markdown", str(folder / "md")])
    return (folder / "md").read_text()


def test_names_of_files_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if control characters of a file's name reach the terminal."""
    folder = _scores(tmp_path / "\x1b[31m", {"a\x1b[1m": [1, 0, 1], "b": [0, 0, 1]})
    with (folder / "b.jsonl").open("a") as file:
        file.write('{"item": "summary"}\n')
    (folder / "b.jsonl").rename(folder / "b\x1b[2m.jsonl")
    compare.main(["--log", str(folder), "--resamples", "99"])
    shown = capsys.readouterr().out
    assert "\\x1b[31m" in shown and "\\x1b[2m.jsonl: a line without" in shown
    assert "\x1b[" not in shown
    with pytest.raises(DataError, match=r"^\\x1b: no such file") as raised:
        compare.main(["--log", "\x1b"])
    assert "\x1b" not in str(raised.value)


def test_over_runs_says_nothing_of_other_items(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if pairing of items is praised where items are not drawn anew."""
    folder = models.runs(tmp_path, {"a": 0.5, "b": 0.1})
    assert "Scored on different items" not in verb.shown(capsys, "--log", folder, "--over", "runs")


def test_empty_paths_and_runs_are_refused(tmp_path: Path) -> None:
    """Dies if no path is the working folder, or a line without a run is passed over."""
    with pytest.raises(DataError, match="a=: expected a path"):
        compare.main(["--log", "a="])
    folder = _scores(tmp_path, {"a": [[]], "b": [[]]})
    with pytest.raises(DataError, match=r"a\.jsonl:1: score: expected one or more runs"):
        compare.main(["--log", str(folder)])


def test_what_is_too_few_is_named(tmp_path: Path) -> None:
    """Dies if the task that has one cluster, or the model and task with one run, are not named."""
    for task, clusters in (("s", 4), ("t", 1)):
        lines = [
            {"model": m, "task": task, "item": k, "cluster": k % clusters, "score": [k % 2, k % 3]}
            for m in ("a", "b")
            for k in range(12)
        ]
        if task == "t":
            lines = [{**line, "score": 1} if line["model"] == "b" else line for line in lines]
        (tmp_path / f"{task}.jsonl").write_text("".join(json.dumps(of) + "\n" for of in lines))
    with pytest.raises(DataError, match=r"^task t: clusters: expected two or more; one says"):
        compare.main(["--log", str(tmp_path)])
    said = r"^over runs: .*; b has one run on t, which says nothing of others: --over items$"
    with pytest.raises(DataError, match=said):
        compare.main(["--log", str(tmp_path), "--over", "items,runs"])


def test_no_test_stands_beside_an_error_that_is_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if p < .001 of a permutation follows "nothing is shown", or stands nowhere else."""
    scores = [0.1 * k for k in range(9)]
    above = [score + 0.001 for score in scores]
    folder = _scores(tmp_path / "a", {"a": scores, "b": above})
    shown = verb.shown(capsys, "--log", folder, "--details")
    assert "nothing is shown" in shown and "Items alone" not in shown
    above[0] += 0.5
    folder = _scores(tmp_path / "b", {"a": scores, "b": above})
    shown = verb.shown(capsys, "--log", folder, "--details")
    assert "nothing is shown" not in shown and "Items alone" in shown


def test_the_families_of_the_correction_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the mean over tasks is said to be in the family of pairs and tasks, or if a mean
    that is not taken is a family."""
    for task in ("arc", "boolq"):
        models.logs(tmp_path, {"a": 0.9, "b": 0.5, "c": 0.0}, task)
    said = verb.as_json(capsys, "--log", tmp_path)["signature"]
    assert "Holm over 6 pairs and tasks, and over 3 pairs in the mean over tasks |" in said
    said = verb.as_json(capsys, "--log", tmp_path, "--task", "arc")["signature"]
    assert "Holm over 3 pairs |" in said


def test_long_comparisons_say_how_far_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a comparison of logs is silent, or advises a control, which it does not have."""
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    folder = _scores(tmp_path, {name: [0.1 * k for k in range(9)] for name in "abc"})
    assert compare.main(["--log", str(folder), "--resamples", "9"]) == 0
    said = capsys.readouterr().err
    assert "comparing: 33% done" in said and "--control" not in said
