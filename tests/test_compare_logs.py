"""`python -m jaxeval.compare --log`: what is printed, written and returned."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import ConfigError, DataError
from tests.runs.logs import models, writing


def _json(capsys: pytest.CaptureFixture, *words: object, status: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert compare.main([*map(str, words), "--resamples", "199", "--json", "-"]) == status
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def _shown(capsys: pytest.CaptureFixture, *words: object, status: int = 0) -> str:
    capsys.readouterr()
    assert compare.main([*map(str, words), "--resamples", "199"]) == status
    return " ".join(capsys.readouterr().out.split())


def test_the_difference_is_that_of_the_items(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the sentence names another model, mean, number of items or p-value than the JSON, or
    if the JSON's are not those of the logs."""
    folder = models.logs(tmp_path, {"new": 0.8, "old": 0.0})
    means = {
        name: np.mean(s) for name, s in models.answers({"new": 0.8, "old": 0.0}, seed=3).items()
    }
    tree = _json(capsys, "--log", folder)
    (pair,) = tree["pairs"]
    assert [mean["value"] for mean in pair["means"]] == pytest.approx([*means.values()])
    assert pair["difference"]["value"] == pytest.approx(means["new"] - means["old"])
    assert pair["p_adjusted"] == pair["difference"]["p_value"] < 0.001
    assert pair["tests"].keys() == {"sign_flips", "mcnemar"}
    shown = _shown(capsys, "--log", folder)
    assert (
        f"new scores higher than old: {100 * means['new']:.2f} (new) and "
        f"{100 * means['old']:.2f} (old), difference {100 * (means['new'] - means['old']):.2f} "
        "points, 95 % CI ["
    ) in shown
    assert "corrected p < .001, over other items, these runs (120 items)." in shown
    assert "this says nothing of other runs" in shown
    assert pair["text"] in " ".join(tree["verdict"])


def test_swapped_models_mirror_everything(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a direction, an outcome or an interval rests on the order of models."""
    folder = models.logs(tmp_path, {"new": 0.4, "old": 0.0})
    ab = _json(capsys, "new", "old", "--log", folder, "--margin", "0.01")
    ba = _json(capsys, "old", "new", "--log", folder, "--margin", "0.01")
    (first,), (second,) = ab["pairs"], ba["pairs"]
    low, high = first["difference"]["interval"]["low"], first["difference"]["interval"]["high"]
    assert second["difference"]["value"] == pytest.approx(-first["difference"]["value"])
    assert second["difference"]["interval"]["low"] == pytest.approx(-high)
    assert second["difference"]["interval"]["high"] == pytest.approx(-low)
    assert {first["outcome"], second["outcome"]} in ({"better", "worse"}, {"not shown"})
    begin = first["text"].split(":")[0]
    assert begin in ("new scores higher than old", "No difference between new and old was shown")
    if begin.startswith("new"):
        assert second["text"].startswith(begin)


def test_of_losses_lower_is_better(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the log's own direction is not read, in a sentence or in the gate."""
    folder = models.logs(tmp_path, {"new": 0.8, "old": -0.2}, metrics={"error": False})
    words = ("new", "old", "--log", folder, "--gate")
    tree = _json(capsys, *words, status=3)
    assert tree["pairs"][0]["difference"]["value"] > 0 and tree["outcome"] == "worse"
    assert tree["pairs"][0]["text"].startswith(
        "new scores higher than old, and so old is the better one: "
    )
    assert _json(capsys, "old", "new", "--log", folder, "--gate")["outcome"] == "better"


def test_runs_items_and_both(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the three generalisations are one, or if the verdict rests on another than the one
    that was asked for."""
    folder = models.runs(tmp_path, {"a": 0.5, "b": 0.1})
    tree = _json(capsys, "--log", folder)
    (pair,) = tree["pairs"]
    assert [*pair["over"]] == ["items", "runs", "items and runs"]
    errors = {name: estimate["se"] for name, estimate in pair["over"].items()}
    assert errors["items and runs"] > max(errors["items"], errors["runs"])
    assert len({*errors.values()}) == 3
    for over in ("items", "runs", "items,runs"):
        (pair,) = _json(capsys, "--log", folder, "--over", over)["pairs"]
        name = over.replace(",", " and ")
        assert pair["difference"] == pair["over"][name]
        assert pair["difference"]["sizes"]["runs"] == [4, 4]
    shown = _shown(capsys, "--log", folder, "--over", "runs")
    assert "over other runs, these items" in shown and "says nothing of other runs" not in shown
    (tmp_path / "one").mkdir()
    one = models.runs(tmp_path / "one", {"a": 0.5, "b": 0.1}, runs=1)
    with pytest.raises(DataError, match="over runs: expected two or more runs"):
        compare.main(["--log", str(one), "--over", "items,runs"])


def test_few_items_and_copies_are_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if ten items pass without a warning, or two copies of a run for two runs."""
    (tmp_path / "few").mkdir()
    few = models.runs(tmp_path / "few", {"a": 0.5, "b": 0.0}, runs=2, items=10)
    assert "Only 10 items" in _shown(capsys, "--log", few)
    for model in "ab":
        scores = {"none": [1.0, 0.0, 0.0, 1.0]}
        writing.lm_eval(tmp_path / "greedy", model, scores)
        writing.lm_eval(tmp_path / "greedy", model, scores, date="2026-04-01T00-00-00.1")
    shown = _shown(capsys, "--log", tmp_path / "greedy")
    assert "warning: task arc: two runs of a have the same score on every item" in shown


def test_clusters(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if --cluster changes nothing."""
    folder = models.logs(tmp_path, {"a": 0.5, "b": 0.0})
    alone = _json(capsys, "--log", folder)["pairs"][0]["difference"]
    clustered = _json(capsys, "--log", folder, "--cluster", "passage")["pairs"][0]["difference"]
    assert (alone["sizes"]["clusters"], clustered["sizes"]["clusters"]) == (
        models.ITEMS,
        models.ITEMS // 3,
    )
    assert alone["value"] == clustered["value"] and alone["se"] != clustered["se"]


def test_several_tasks_and_models(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if p-values are not Holm's over pairs and tasks, if a mean over tasks does not say over
    which tasks, or if models that do not differ are told apart."""
    for task in ("arc", "boolq", "copa"):
        models.logs(tmp_path, {"a": 0.9, "b": 0.9, "c": -0.3}, task)
    tree = _json(capsys, "--log", tmp_path)
    raw = sorted(pair["difference"]["p_value"] for pair in tree["pairs"])
    assert len(raw) == 9
    holm = np.maximum.accumulate([p * (9 - k) for k, p in enumerate(raw)])
    adjusted = sorted(pair["p_adjusted"] for pair in tree["pairs"])
    assert adjusted == pytest.approx(np.minimum(holm, 1.0))
    assert [place["rank"] for place in tree["places"]][-1] == 3
    assert sorted(tree["tie_groups"][0]) == ["a", "b"]
    shown = _shown(capsys, "--log", tmp_path)
    assert "Mean over these 3 tasks: a scores higher than c" in shown
    assert "No difference in the mean over tasks was shown between " in shown
    assert "Tasks as a sample of such tasks: 95 % CI [" in shown


def test_unequal_metrics_have_no_mean(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if tasks of two metrics are averaged in silence."""
    models.logs(tmp_path, {"a": 1.0, "b": -0.5})
    models.logs(tmp_path, {"a": 1.0, "b": -0.5}, "gsm8k", metrics={"exact_match": True})
    tree = _json(capsys, "--log", tmp_path, "--gate")
    assert tree["overall"] == [] and tree["notes"]
    assert "acc" in tree["notes"][0] and "exact_match" in tree["notes"][0]
    assert tree["outcome"] == "better"  # on each of them


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--log", "x", "--table", "y"], "--log with --table: expected logs alone"),
        (["--log", "x", "--control", "a"], "--log with --control"),
        (["--log", "x", "--correction", "bonferroni"], "corrected by Holm"),
        (["--table", "x", "--over", "items"], "--over: expected with --log"),
        (["--runs", "x", "--gate"], "--gate: expected with --log"),
        (["--log", "x", "--json", "-", "--junit", "-"], "at most one to go to stdout"),
    ],
)
def test_what_does_not_go_together_is_refused(words: Sequence[str], said: str) -> None:
    """Dies if an argument is passed over in silence."""
    with pytest.raises(ConfigError, match=re.escape(said)):
        compare.main(words)


def test_over_is_checked(capsys: pytest.CaptureFixture) -> None:
    """Dies if a misspelt factor is passed over."""
    with pytest.raises(SystemExit):
        compare.main(["--log", "x", "--over", "item"])
    assert "expected items, runs or items,runs, got 'item'" in capsys.readouterr().err


def test_the_example_of_the_docs(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the page shows another output than the command prints."""
    page = (Path(__file__).parents[1] / "docs" / "evaluation_logs.md").read_text()
    example = page.split("## An example")[1]
    monkeypatch.chdir(tmp_path)
    exec(example.split("```python\n")[1].split("```")[0], {})
    (command,) = re.findall("^    jaxeval compare (.*)$", example.split("```text")[0], re.M)
    compare.main(command.split())
    shown = capsys.readouterr().out.strip().split("\n\njaxeval 0")[0]
    expected = example.split("```text\n")[1].split("```")[0].strip()
    assert [line.rstrip() for line in shown.splitlines()] == [
        line.rstrip() for line in expected.splitlines()
    ]


def test_items_that_are_left_out_are_named(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if an unmatched or a failed item is dropped without a word."""
    lines = {name: [{"item": f"i{k}", "score": k % 2} for k in range(40)] for name in "ab"}
    lines["b"] = [{"item": "i0", "score": None}, *lines["b"][1:33]]
    for name, of_model in lines.items():
        text = "".join(json.dumps(line) + "\n" for line in of_model)
        (tmp_path / f"{name}.jsonl").write_text(text)
    shown = _shown(capsys, "--log", tmp_path)
    assert "warning: 8 items are left out: b lacks 7 (i33, i34, i35 ...)" in shown
    assert "warning: answers that ended in an error: 1 of b" in shown
    assert "(32 items)" in shown


def test_sentences_rest_on_corrected_p_values(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a difference that the correction does not leave is called one."""
    for task in ("arc", "boolq", "copa"):
        models.logs(tmp_path, {"a": 0.9, "b": 0.7, "c": -0.3}, task)
    pairs = _json(capsys, "--log", tmp_path)["pairs"]
    between = [p for p in pairs if p["difference"]["p_value"] <= 0.05 < p["p_adjusted"]]
    assert between
    assert all(pair["text"].startswith("No difference between a and b") for pair in between)


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
    failing = {"new": [*easy, *[None] * 30], "old": [*([0.0, 1.0] * 35), *hard]}
    status, markdown, junit = _gated(_scores(tmp_path / "failing", failing))
    assert status == 1
    for said in (markdown, junit):
        assert "30 % of new's answers failed" in said and "30 items are left out" in said
    assert "skipped" in junit and "<failure" not in junit
    assert _gated(tmp_path / "failing", "--missing", "drop")[0] == 0
    few = {"new": [*easy, *[None] * 3], "old": [*([0.0, 1.0] * 35), *hard[:3]]}
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
    assert _json(capsys, "--log", folder)["pairs"][0]["difference"]["sizes"]["runs"] == [1, 1]


def test_an_error_of_0_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a difference without any spread is shown with certainty, rounding or not."""
    folder = _scores(tmp_path, {"a": [1.3, 1.4], "b": [1.1, 1.2]})
    tree = _json(capsys, "a", "b", "--log", folder, "--gate", status=1)
    (pair,) = tree["pairs"]
    assert pair["difference"]["p_value"] is pair["p_adjusted"] is None
    assert pair["difference"]["interval"]["low"] is None
    assert "its error cannot be told" in pair["text"]


def test_sentences_name_the_higher_model_first(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if means, difference or interval are in another order than the models of a sentence."""
    for task in ("arc", "boolq"):
        models.logs(tmp_path, {"new": 0.8, "old": 0.0}, task)
    ab, ba = (
        _json(capsys, *names, "--log", tmp_path) for names in (("new", "old"), ("old", "new"))
    )
    assert [pair["text"] for pair in ab["pairs"]] == [pair["text"] for pair in ba["pairs"]]
    assert ab["headline"] == ba["headline"] and "difference -" not in ba["headline"][0]


def test_unequal_scales_have_no_mean(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if percentages and fractions are averaged."""
    for task, scale in (("arc", 1), ("boolq", 100)):
        scores = {"a": [scale, 0] * 10, "b": [0, 0, scale, 0] * 5}
        _scores(tmp_path / task, scores, task=task)
    tree = _json(capsys, "--log", tmp_path)
    assert tree["overall"] == []
    assert "scores on boolq are above 1, those on arc are not" in tree["notes"][0]


def test_no_interval_beyond_what_accuracies_can_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if an interval of points ends beyond 100, or if the test is made of the shown ends."""
    lines = {"a": [1, 1, 1, 0], "b": [0, 0, 0, 0]}
    folder = _scores(tmp_path, lines, metric="accuracy")
    (pair,) = _json(capsys, "a", "b", "--log", folder)["pairs"]
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
    assert "Scored on different items" not in _shown(capsys, "--log", folder, "--over", "runs")


def test_empty_paths_and_runs_are_refused(tmp_path: Path) -> None:
    """Dies if no path is the working folder, or a line without a run is passed over."""
    with pytest.raises(DataError, match="--log a=: expected a path"):
        compare.main(["--log", "a="])
    folder = _scores(tmp_path, {"a": [[]], "b": [[]]})
    with pytest.raises(DataError, match=r"a\.jsonl:1: score: expected one or more runs"):
        compare.main(["--log", str(folder)])
