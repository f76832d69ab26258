"""`python -m jaxeval.compare --log --gate`: exit codes, JUnit XML and Markdown."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import scipy.stats

from jaxeval.compare import __main__ as compare
from jaxeval.errors import ConfigError, DataError
from jaxeval.report import text
from tests.runs.logs import models


def _run(*words: object) -> int:
    return compare.main([*map(str, words), "--resamples", "99"])


@pytest.mark.parametrize(
    ("skills", "margin", "status"),
    [((1.0, -0.5), "", 0), ((0.0, 0.0), "", 1), ((-0.5, 1.0), "", 3), ((0.9, 0.2), "0.5", 1)],
)
def test_the_gate_has_a_code_of_its_own(
    tmp_path: Path, skills: tuple[float, float], margin: str, status: int
) -> None:
    """Dies if better, not shown and worse share an exit code, if a margin is not kept, or if the
    files for CI say something else."""
    folder = models.logs(tmp_path, dict(zip("ab", skills, strict=True)))
    words = ["--log", folder, "--gate", *(("--margin", margin) if margin else ())]
    junit, line = tmp_path / "junit.xml", tmp_path / "line.md"
    assert _run(*words, "--junit", junit, "--markdown", line) == status
    suite = ElementTree.parse(junit).getroot()
    counts = {key: int(suite.attrib[key]) for key in ("tests", "failures", "skipped", "errors")}
    expected = {0: (1, 0, 0, 0), 1: (1, 0, 1, 0), 3: (1, 1, 0, 0)}[status]
    assert tuple(counts.values()) == expected
    (case,) = suite.findall("testcase")
    assert (case.get("classname"), case.get("name")) == ("a against b", "arc acc")
    direction, gate = (suite.findtext("system-out") or "").splitlines()
    assert direction == "acc: higher is better" and gate.endswith(f"(exit code {status})")
    (text,) = line.read_text().splitlines()
    said = {0: "a is better than b", 1: "a was not shown to be better or worse", 3: "a is worse"}
    assert text.startswith(f"**{said[status]}") and "arc acc" in text
    assert _run(*words[:2]) == 0  # without --gate the command does what it was asked for


def test_the_gate_refuses_bad_input(tmp_path: Path) -> None:
    """Dies if a gate could pass on what it cannot read, or on three models."""
    with pytest.raises(DataError, match="no such file"):
        compare.main(["--log", str(tmp_path / "nothing"), "--gate"])
    folder = models.logs(tmp_path, dict.fromkeys("abc", 0.0))
    with pytest.raises(ConfigError, match="--gate: expected two models, found 3; name them"):
        compare.main(["--log", str(folder), "--gate"])
    with pytest.raises(DataError, match=r"one model \(a\); expected logs of two or more"):
        compare.main(["a", "--log", str(folder)])


def test_names_are_escaped(tmp_path: Path) -> None:
    """Dies if a model's name breaks the XML or the Markdown."""
    for name, scores in models.answers({"<a|b>": 1.0, "c&*": -0.5}).items():
        lines = [{"model": name, "item": k, "score": s} for k, s in enumerate(scores)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{len(name)}.jsonl").write_text(text)
    junit, line = tmp_path / "out" / "junit.xml", tmp_path / "out" / "line.md"
    files = [f"--log={path}" for path in sorted(tmp_path.glob("*.jsonl"))]
    _run(*files, "--junit", junit, "--markdown", line)
    cases = ElementTree.parse(junit).getroot().findall("testcase")
    assert {case.get("classname") for case in cases} <= {"<a|b> against c&*", "c&* against <a|b>"}
    assert "\\<a\\|b>" in line.read_text() and "c\\&\\*" in line.read_text()


def test_several_tasks_in_continuous_integration(tmp_path: Path) -> None:
    """Dies if JUnit or Markdown leave out a task or the mean over tasks, or if a model that is
    worse on one task passes the gate."""
    folder = tmp_path / "logs"
    for task in ("arc", "boolq"):
        models.logs(folder, {"a": 1.4, "b": -0.6}, task)
    junit, line = tmp_path / "junit.xml", tmp_path / "line.md"
    words: list[Any] = ["--log", folder, "--junit", junit, "--markdown", line, "--gate"]
    assert _run(*words) == 0
    cases = ElementTree.parse(junit).getroot().findall("testcase")
    names = ["mean over tasks", "arc acc", "boolq acc"]
    assert [case.get("name") for case in cases] == names
    assert (cases[0].findtext("system-out") or "").startswith("Mean over these 2 tasks: a scores")
    (text,) = line.read_text().splitlines()
    assert all(name in text for name in names)
    models.logs(folder, {"a": -0.6, "b": 1.4}, "copa")
    assert _run(*words) == 3
    cases = ElementTree.parse(junit).getroot().findall("testcase")
    failed = [case.get("name") for case in cases if case.find("failure") is not None]
    assert failed == ["copa acc"]


def test_a_task_that_is_left_out_does_not_pass(tmp_path: Path, capsys: Any) -> None:
    """Dies if the gate passes where one model lacks the metric that is asked for, if it does not
    where that is accepted or no model has it, or if a misspelt metric drops its task."""
    folder = models.logs(tmp_path, {"a": 1.4, "b": -0.6})
    models.logs(folder, {"a": -0.6, "b": 1.4}, "gsm", metrics={"em": True})
    words = ["--log", folder, "--gate", "--metric"]
    assert _run(*words, "acc") == 0  # gsm is not asked for
    assert _run(*words, "acc,em") == 3
    with pytest.raises(DataError, match="--metric: no task has a metric 'emm'"):
        _run(*words, "acc,emm")
    models.logs(folder, {"a": 1.4}, "nq", metrics={"em": True})
    models.logs(folder, {"b": 1.4}, "nq", metrics={"f1": True})
    capsys.readouterr()
    assert _run(*words, "acc,f1") == 1
    assert "nq is left out, since the models have different metrics" in capsys.readouterr().out
    assert _run(*words, "acc,f1", "--missing", "drop") == 0


def test_missing_answers_withhold_the_outcome_without_the_gate(
    tmp_path: Path, capsys: Any
) -> None:
    """Dies if JSON has an outcome that the gate withholds, or withholds what is accepted, or if
    the line for a pull request has a p-value of an outcome that nothing is said of."""
    folder = models.logs(tmp_path, {"a": 1.4, "b": -0.6})
    models.logs(folder, {"b": 1.4}, "nq")
    words = ["--log", folder, "--margin", "0.01"]
    told = {}
    for more in ((), ("--gate",), ("--missing", "drop"), ("--missing", "drop", "--gate")):
        capsys.readouterr()
        _run(*words, *more, "--json", "-")
        tree = json.loads(capsys.readouterr().out)
        told[more] = tree["outcome"], tree["outcome_text"]
    (plain, gated, *accepted) = told.values()
    assert plain == gated and plain[0] == "not shown" and "tasks are missing" in plain[1]
    assert accepted[0] == accepted[1] and accepted[0][0] == "better"
    for more, shown in (((), True), (("--gate",), False)):
        capsys.readouterr()
        _run(*words, *more, "--markdown", "-")
        assert ("(beyond the margin)" in capsys.readouterr().out) is shown


def test_of_three_models_markdown_is_their_leaderboard(tmp_path: Path, capsys: Any) -> None:
    """Dies if Markdown or JSON of many models silently speaks of the first two."""
    for task in ("arc", "boolq"):
        models.logs(tmp_path, {"a": 0.0, "b": -0.1, "c": 1.4}, task)
    assert _run("--log", tmp_path, "--markdown", "-") == 0
    table, said, _ = capsys.readouterr().out.split("\n\n")
    head, _, *rows = table.splitlines()
    assert _run("--log", tmp_path, "--json", "-") == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["outcome"] is tree["outcome_text"] is None
    assert [column in head for column in ("Mean over tasks", "arc", "boolq")] == [True] * 3
    board = tree["leaderboard"]["overall"]["rows"]
    for line, row in zip(rows, board, strict=True):
        assert line.startswith(f"| {row['model']} | {row['place']['rank']}")
        assert f"{100 * row['mean']['value']:.2f} [" in line
    assert "* acc: higher is better." in said and "c scores higher than a" in said


@pytest.mark.parametrize(("margin", "status"), [("0.2", 0), ("0.5", 1)])
def test_the_gate_says_what_decides(margin: str, status: int, tmp_path: Path, capsys: Any) -> None:
    """Dies if the sentence on the mean over tasks does not speak of the margin, with the p-value
    of the gate's own test, or if an output does not end with what the gate says."""
    folder = tmp_path / "logs"
    for task in ("arc", "boolq"):
        models.logs(folder, {"a": 0.9, "b": -0.2}, task)
    words = ["--log", folder, "--gate", "--margin", margin]
    junit, page, as_json, line = (
        tmp_path / name for name in ("x.xml", "p.html", "j.json", "m.md")
    )
    files = ["--junit", junit, "--html", page, "--json", as_json, "--markdown", line]
    assert _run(*words, *files) == status
    shown = capsys.readouterr().out
    by = f"by more than {100 * float(margin):g} points"
    outcome = {
        0: f"a is better than b {by}",
        1: f"a was not shown to be better or worse than b {by}",
    }
    said = f"{outcome[status]} in the mean over tasks"
    gate = f"gate: {said} (exit code {status})"
    assert " ".join(shown.split()).endswith(gate)
    assert ElementTree.parse(junit).getroot().findtext("system-out", "").endswith(gate)
    assert (
        "(95 % CIs of differences by t, Satterthwaite, two items added; over" in line.read_text()
    )
    assert gate in page.read_text() and line.read_text().startswith(f"**{said}**")
    result = json.loads(as_json.read_text())
    assert result["outcome_text"] == said
    (overall,) = result["overall"]
    low, high = (overall["mean_over_tasks"]["interval"][end] for end in ("low", "high"))
    mean = overall["mean_over_tasks"]
    se = (high - low) / 2 / scipy.stats.t.ppf(0.975, mean["df"])
    p = 2 * scipy.stats.t.sf(((low + high) / 2 - float(margin)) / se, mean["df"])
    assert overall["p_outcome"] == pytest.approx(min(p, 1.0))
    judged = {0: f"a is better than b {by} (corrected p", 1: "Equivalent within 50 points"}
    assert judged[status] in result["headline"][0]
    beyond = text.p_value(overall["p_outcome"])
    assert (
        f"corrected p < .001 (of a difference), {beyond} (beyond the margin)" in line.read_text()
    )
