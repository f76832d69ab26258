"""`python -m jaxeval.compare --log`: what is printed, written and returned."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import ConfigError, DataError
from tests.runs.logs import writing

ITEMS = 120


def _scores(skill: Mapping[str, float], items: int = ITEMS, seed: int = 1) -> dict[str, list[int]]:
    """Right and wrong answers: an item is as hard for all models."""
    draw = np.random.default_rng(seed)
    hardness = draw.normal(size=items)
    return {
        name: (hardness + draw.normal(scale=0.7, size=items) < mean).astype(int).tolist()
        for name, mean in skill.items()
    }


def _logs(folder: Path, skill: Mapping[str, float], task: str = "arc", **changes: Any) -> Path:
    for name, scores in _scores(skill, seed=len(task)).items():
        writing.lm_eval(folder, name, {"none": scores}, task=task, **changes)
    return folder


def _runs(folder: Path, skill: Mapping[str, float], runs: int = 4, items: int = ITEMS) -> Path:
    """Predictions of several runs of a model."""
    for k, (name, mean) in enumerate(skill.items()):
        scores = _scores({f"{name}{r}": mean for r in range(runs)}, items)
        draw = np.random.default_rng(k)
        lines = [
            {"item": f"i{i}", "score": [scores[f"{name}{r}"][i] for r in range(runs)]}
            for i in draw.permutation(items).tolist()
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text)
    return folder


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
    folder = _logs(tmp_path, {"new": 0.8, "old": 0.0})
    means = {name: np.mean(s) for name, s in _scores({"new": 0.8, "old": 0.0}, seed=3).items()}
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
    folder = _logs(tmp_path, {"new": 0.4, "old": 0.0})
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
    folder = _logs(tmp_path, {"new": 0.8, "old": -0.2}, metrics={"error": False})
    words = ("new", "old", "--log", folder, "--gate")
    tree = _json(capsys, *words, status=3)
    assert tree["pairs"][0]["difference"]["value"] > 0 and tree["outcome"] == "worse"
    assert tree["pairs"][0]["text"].startswith(
        "new scores higher than old, and so old is the better one: "
    )
    assert _json(capsys, "old", "new", "--log", folder, "--gate")["outcome"] == "better"


@pytest.mark.parametrize(
    ("skills", "margin", "status"),
    [((1.0, -0.5), "", 0), ((0.0, 0.0), "", 1), ((-0.5, 1.0), "", 3), ((0.9, 0.2), "0.5", 1)],
)
def test_the_gate_has_a_code_of_its_own(
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    skills: tuple[float, float],
    margin: str,
    status: int,
) -> None:
    """Dies if better, not shown and worse share an exit code, if a margin is not kept, or if the
    files for CI say something else."""
    folder = _logs(tmp_path, dict(zip("ab", skills, strict=True)))
    words = ["--log", folder, "--gate", *(("--margin", margin) if margin else ())]
    junit, line = tmp_path / "junit.xml", tmp_path / "line.md"
    _shown(capsys, *words, "--junit", junit, "--markdown", line, status=status)
    suite = ElementTree.parse(junit).getroot()
    counts = {key: int(suite.attrib[key]) for key in ("tests", "failures", "skipped", "errors")}
    expected = {0: (1, 0, 0, 0), 1: (1, 0, 1, 0), 3: (1, 1, 0, 0)}[status]
    assert tuple(counts.values()) == expected
    (case,) = suite.findall("testcase")
    assert (case.get("classname"), case.get("name")) == ("a against b", "arc acc")
    (text,) = line.read_text().splitlines()
    said = {0: "a is better than b", 1: "a was not shown to be better or worse", 3: "a is worse"}
    assert text.startswith(f"**{said[status]}") and "arc acc" in text
    # without --gate the command does what it was asked for
    assert "scores" in _shown(capsys, *words[:2]) or status == 1


def test_the_gate_refuses_bad_input(tmp_path: Path) -> None:
    """Dies if a gate could pass on what it cannot read, or on three models."""
    with pytest.raises(DataError, match="no such file"):
        compare.main(["--log", str(tmp_path / "nothing"), "--gate"])
    folder = _logs(tmp_path, dict.fromkeys("abc", 0.0))
    with pytest.raises(ConfigError, match="--gate: expected two models, found 3; name them"):
        compare.main(["--log", str(folder), "--gate"])
    with pytest.raises(DataError, match=r"one model \(a\); expected logs of two or more"):
        compare.main(["a", "--log", str(folder)])


def test_runs_items_and_both(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the three generalisations are one, or if the verdict rests on another than the one
    that was asked for."""
    folder = _runs(tmp_path, {"a": 0.5, "b": 0.1})
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
    one = _runs(tmp_path / "one", {"a": 0.5, "b": 0.1}, runs=1)
    with pytest.raises(DataError, match="over runs: expected two or more runs"):
        compare.main(["--log", str(one), "--over", "items,runs"])


def test_few_items_and_copies_are_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if ten items pass without a warning, or two copies of a run for two runs."""
    (tmp_path / "few").mkdir()
    few = _runs(tmp_path / "few", {"a": 0.5, "b": 0.0}, runs=2, items=10)
    assert "Only 10 items" in _shown(capsys, "--log", few)
    for model in "ab":
        scores = {"none": [1.0, 0.0, 0.0, 1.0]}
        writing.lm_eval(tmp_path / "greedy", model, scores)
        writing.lm_eval(tmp_path / "greedy", model, scores, date="2026-04-01T00-00-00.1")
    shown = _shown(capsys, "--log", tmp_path / "greedy")
    assert "warning: task arc: two runs of a have the same score on every item" in shown


def test_clusters(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if --cluster changes nothing."""
    folder = _logs(tmp_path, {"a": 0.5, "b": 0.0})
    alone = _json(capsys, "--log", folder)["pairs"][0]["difference"]
    clustered = _json(capsys, "--log", folder, "--cluster", "passage")["pairs"][0]["difference"]
    assert (alone["sizes"]["clusters"], clustered["sizes"]["clusters"]) == (ITEMS, ITEMS // 3)
    assert alone["value"] == clustered["value"] and alone["se"] != clustered["se"]


def test_several_tasks_and_models(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if p-values are not Holm's over pairs and tasks, if a mean over tasks does not say over
    which tasks, or if models that do not differ are told apart."""
    for task in ("arc", "boolq", "copa"):
        _logs(tmp_path, {"a": 0.9, "b": 0.9, "c": -0.3}, task)
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
    _logs(tmp_path, {"a": 1.0, "b": -0.5})
    _logs(tmp_path, {"a": 1.0, "b": -0.5}, "gsm8k", metrics={"exact_match": True})
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


def test_names_are_escaped(tmp_path: Path) -> None:
    """Dies if a model's name breaks the XML or the Markdown."""
    for name, scores in _scores({"<a|b>": 1.0, "c&*": -0.5}).items():
        lines = [{"model": name, "item": k, "score": s} for k, s in enumerate(scores)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{len(name)}.jsonl").write_text(text)
    junit, line = tmp_path / "out" / "junit.xml", tmp_path / "out" / "line.md"
    files = [f"--log={path}" for path in sorted(tmp_path.glob("*.jsonl"))]
    compare.main([*files, "--junit", str(junit), "--markdown", str(line), "--resamples", "99"])
    cases = ElementTree.parse(junit).getroot().findall("testcase")
    assert {case.get("classname") for case in cases} <= {"<a|b> against c&*", "c&* against <a|b>"}
    assert "\\<a\\|b>" in line.read_text() and "c&\\*" in line.read_text()


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


def test_several_tasks_in_continuous_integration(tmp_path: Path) -> None:
    """Dies if JUnit or Markdown leave out a task or the mean over tasks, or if a model that is
    worse on one task passes the gate."""
    folder = tmp_path / "logs"
    for task in ("arc", "boolq"):
        _logs(folder, {"a": 1.4, "b": -0.6}, task)
    junit, line = tmp_path / "junit.xml", tmp_path / "line.md"
    words = ["--log", str(folder), "--junit", str(junit), "--markdown", str(line), "--gate"]
    assert compare.main([*words, "--resamples", "99"]) == 0
    cases = ElementTree.parse(junit).getroot().findall("testcase")
    names = ["mean over tasks", "arc acc", "boolq acc"]
    assert [case.get("name") for case in cases] == names
    assert (cases[0].findtext("system-out") or "").startswith("Mean over these 2 tasks: a scores")
    (text,) = line.read_text().splitlines()
    assert all(name in text for name in names)
    _logs(folder, {"a": -0.6, "b": 1.4}, "copa")
    assert compare.main([*words, "--resamples", "99"]) == 3
    cases = ElementTree.parse(junit).getroot().findall("testcase")
    failed = [case.get("name") for case in cases if case.find("failure") is not None]
    assert failed == ["copa acc"]


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
        _logs(tmp_path, {"a": 0.9, "b": 0.7, "c": -0.3}, task)
    pairs = _json(capsys, "--log", tmp_path)["pairs"]
    between = [p for p in pairs if p["difference"]["p_value"] <= 0.05 < p["p_adjusted"]]
    assert between
    assert all(pair["text"].startswith("No difference between a and b") for pair in between)
