"""`python -m jaxeval.compare --log`: what is printed, written and returned."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from jaxeval.compare import __main__ as compare
from jaxeval.errors import ConfigError, DataError
from tests.runs.logs import models, verb, writing


def test_the_difference_is_that_of_the_items(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if the sentence names another model, mean, number of items or p-value than the JSON, or
    if the JSON's are not those of the logs."""
    folder = models.logs(tmp_path, {"new": 0.8, "old": 0.0})
    means = {
        name: np.mean(s) for name, s in models.answers({"new": 0.8, "old": 0.0}, seed=3).items()
    }
    tree = verb.as_json(capsys, "--log", folder)
    (pair,) = tree["pairs"]
    assert [mean["value"] for mean in pair["means"]] == pytest.approx([*means.values()])
    assert pair["difference"]["value"] == pytest.approx(means["new"] - means["old"])
    assert pair["p_adjusted"] == pair["difference"]["p_value"] < 0.001
    assert pair["tests"].keys() == {"sign_flips", "mcnemar"}
    shown = verb.shown(capsys, "--log", folder)
    gap = 100 * (means["new"] - means["old"])
    assert shown.startswith(f"new is better than old: acc {gap:.2f} points higher, 95 % CI [")
    assert "p < .001 (over other items, these runs; 120 items, 1 run each). acc (%)" in shown
    assert "this says nothing of other runs" in shown
    assert tree["answer"][0] in shown
    told = verb.shown(capsys, "--log", folder, "--details")
    assert f"{100 * means['new']:.2f} (new) and {100 * means['old']:.2f} (old)" in told
    assert pair["text"] in " ".join(tree["verdict"])


def test_swapped_models_mirror_everything(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a direction, an outcome or an interval rests on the order of models."""
    folder = models.logs(tmp_path, {"new": 0.4, "old": 0.0})
    ab = verb.as_json(capsys, "new", "old", "--log", folder, "--margin", "0.01")
    ba = verb.as_json(capsys, "old", "new", "--log", folder, "--margin", "0.01")
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
    tree = verb.as_json(capsys, *words, status=3)
    assert tree["pairs"][0]["difference"]["value"] > 0 and tree["outcome"] == "worse"
    assert tree["pairs"][0]["text"].startswith(
        "new scores higher than old, and so old is the better one: "
    )
    assert verb.as_json(capsys, "old", "new", "--log", folder, "--gate")["outcome"] == "better"


def test_runs_items_and_both(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the three generalisations are one, or if the verdict rests on another than the one
    that was asked for."""
    folder = models.runs(tmp_path, {"a": 0.5, "b": 0.1})
    tree = verb.as_json(capsys, "--log", folder)
    (pair,) = tree["pairs"]
    assert [*pair["over"]] == ["items", "runs", "items and runs"]
    errors = {name: estimate["se"] for name, estimate in pair["over"].items()}
    assert errors["items and runs"] > max(errors["items"], errors["runs"])
    assert len({*errors.values()}) == 3
    for over in ("items", "runs", "items,runs"):
        (pair,) = verb.as_json(capsys, "--log", folder, "--over", over)["pairs"]
        name = over.replace(",", " and ")
        assert pair["over"][name].pop("p_adjusted") == pair["difference"]["p_value"]  # one pair
        assert pair["difference"] == pair["over"][name]
        assert pair["difference"]["sizes"]["runs"] == [4, 4]
    shown = verb.shown(capsys, "--log", folder, "--over", "runs")
    assert "over other runs, these items" in shown and "says nothing of other runs" not in shown
    (tmp_path / "one").mkdir()
    single = models.runs(tmp_path / "one", {"a": 0.5, "b": 0.1}, runs=1)
    with pytest.raises(DataError, match="over runs: expected two or more runs"):
        compare.main(["--log", str(single), "--over", "items,runs"])


def test_few_items_and_copies_are_said(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if ten items pass without a warning, or two copies of a run for two runs."""
    (tmp_path / "few").mkdir()
    few = models.runs(tmp_path / "few", {"a": 0.5, "b": 0.0}, runs=2, items=10)
    assert "Only 10 items" in verb.shown(capsys, "--log", few)
    for model in "ab":
        scores = {"none": [1.0, 0.0, 0.0, 1.0]}
        writing.lm_eval(tmp_path / "greedy", model, scores)
        writing.lm_eval(tmp_path / "greedy", model, scores, date="2026-04-01T00-00-00.1")
    shown = verb.shown(capsys, "--log", tmp_path / "greedy")
    assert "as another on every item: 1 of 2; decoding that draws nothing gives" in shown


def test_clusters(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if --cluster changes nothing."""
    folder = models.logs(tmp_path, {"a": 0.5, "b": 0.0})
    alone = verb.as_json(capsys, "--log", folder)["pairs"][0]["difference"]
    clustered = verb.as_json(capsys, "--log", folder, "--cluster", "passage")["pairs"][0][
        "difference"
    ]
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
    tree = verb.as_json(capsys, "--log", tmp_path)
    raw = sorted(pair["difference"]["p_value"] for pair in tree["pairs"])
    assert len(raw) == 9
    holm = np.maximum.accumulate([p * (9 - k) for k, p in enumerate(raw)])
    adjusted = sorted(pair["p_adjusted"] for pair in tree["pairs"])
    assert adjusted == pytest.approx(np.minimum(holm, 1.0))
    assert [place["rank"] for place in tree["places"]][-1] == 3
    assert sorted(tree["tie_groups"][0]) == ["a", "b"]
    shown = verb.shown(capsys, "--log", tmp_path)
    assert shown.startswith(
        "a scores best in the mean over 3 tasks; b cannot be told from it; c is worse. Task by "
        "task, a leads: it is better than c on all 3 tasks; elsewhere no difference was shown."
    )
    told = verb.shown(capsys, "--log", tmp_path, "--details")
    assert "Mean over these 3 tasks: a scores higher than c" in told
    assert "No difference in the mean over tasks was shown between " in told
    assert "Tasks as a sample of such tasks: 95 % CI [" in told
    assert (
        "95 % CIs of means by Jeffreys, effective number of answers; of differences by t, "
        "Satterthwaite, two items added; of tasks as a sample by t, Satterthwaite; of ranks by "
        "Holm's tests of all pairs"
    ) in tree["signature"]


def test_only_some_tasks(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if p-values are corrected for other tasks, or a misspelt one passes."""
    for task, right in (("mmlu_law", 4), ("mmlu_art", 5), ("arc", 6)):
        for model, more in (("a", 1), ("b", 0)):
            lines = [
                {"model": model, "task": task, "item": k, "correct": k % 9 < right + more}
                for k in range(90)
            ]
            with (tmp_path / f"{model}.jsonl").open("a") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
    logs = ("a", "b", "--log", tmp_path)
    one, fitting = (verb.as_json(capsys, *logs, "--task", t) for t in ("arc", "mmlu_*"))
    assert [task["task"] for task in one["tasks"]] == ["arc"]
    assert [task["task"] for task in fitting["tasks"]] == ["mmlu_law", "mmlu_art"]
    whole = {pair["task"]: pair for pair in verb.as_json(capsys, *logs)["pairs"]}
    (alone,) = one["pairs"]
    assert alone["difference"]["p_value"] == whole["arc"]["difference"]["p_value"]
    assert alone["p_adjusted"] == alone["difference"]["p_value"] < whole["arc"]["p_adjusted"]
    assert len(verb.as_json(capsys, *logs, "--task", "arc", "--task", "mmlu_*")["tasks"]) == 3
    with pytest.raises(DataError, match=r"--task: no task 'mmlu' in the logs; .*mmlu_law"):
        compare.main([*map(str, logs), "--task", "mmlu"])


def test_unequal_metrics_have_no_mean(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if tasks of two metrics are averaged in silence."""
    models.logs(tmp_path, {"a": 1.0, "b": -0.5})
    models.logs(tmp_path, {"a": 1.0, "b": -0.5}, "gsm8k", metrics={"exact_match": True})
    tree = verb.as_json(capsys, "--log", tmp_path, "--gate")
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
    shown = capsys.readouterr().out.strip()
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
    shown = verb.shown(capsys, "--log", tmp_path)
    assert "8 items are left out: b lacks 7 (i33, i34, i35 ...)" in shown
    assert "answers that have no score: 1 of b" in shown
    assert "; 32 items, 1 run each" in shown


def test_sentences_rest_on_corrected_p_values(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a difference that the correction does not leave is called one, or if it is not said
    why its interval excludes 0."""
    for task in ("arc", "boolq", "copa"):
        models.logs(tmp_path, {"a": 0.9, "b": 0.7, "c": -0.3}, task)
    pairs = verb.as_json(capsys, "--log", tmp_path)["pairs"]
    between = [p for p in pairs if p["difference"]["p_value"] <= 0.05 < p["p_adjusted"]]
    assert between
    for pair in pairs:
        uncorrected, interval = pair["difference"]["p_value"], pair["difference"]["interval"]
        reason = f"after the correction (p = {uncorrected:.3f} without it)".replace("0.", ".")
        assert (reason + ", though the CI excludes 0: " in pair["text"]) is (pair in between)
        assert (interval["low"] > 0 or interval["high"] < 0) is (uncorrected <= 0.05)
    assert all(pair["text"].startswith("No difference between a and b") for pair in between)


@pytest.mark.parametrize("tasks", [("arc",), ("arc", "boolq")])
def test_ranks_are_headed_by_what_they_are_of(
    tmp_path: Path, tasks: tuple[str, ...], capsys: pytest.CaptureFixture
) -> None:
    """Dies if the ranks on one task are said to be by a mean over tasks."""
    for task in tasks:
        models.logs(tmp_path, {"a": 1.0, "b": 0.0, "c": -1.0}, task)
    assert compare.main(["--log", str(tmp_path), "--resamples", "99"]) == 0
    first, *lines = filter(None, capsys.readouterr().out.splitlines())
    assert ("in the mean over 2 tasks" in first) is (len(tasks) > 1)
    head = next(line.split() for line in lines if "rank" in line)
    assert head[:4] == ["acc", "(%)", "items", "runs"]
    (of_c,) = (line.split() for line in lines if line.startswith("c  "))
    assert of_c[1] == str(len(tasks) * models.ITEMS)  # else those of one task


def test_notes_are_of_what_is_compared_and_folded(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if --task X warns of other tasks, a model without the metric ends the comparison, or
    twelve tasks that lack a metric take twelve lines."""
    skills = {"a": 0.9, "b": 0.0}
    models.logs(tmp_path, skills, "arc", metrics={"acc": True, "f1": True})
    for k in range(12):
        models.logs(tmp_path, skills, f"other{k}", metrics={"acc": True})
    models.logs(tmp_path, {"c": 0.5}, "arc")
    models.logs(tmp_path, {"a": 0.9}, "cut")
    (cut,) = tmp_path.glob("a/samples_cut_*")
    cut.write_text("".join(cut.read_text().splitlines(keepends=True)[:9]))
    shown = verb.shown(capsys, "--log", tmp_path, "--metric", "f1")
    assert "c has no metric f1; left out" in shown
    several = "12 tasks (other0, other10, other11 ...): no metric f1 of all models"
    assert f"{several} (it has acc); left out" in shown
    assert "holds 9 of the 120 answers" in shown and "cut: no log of b; left out" in shown
    told = verb.shown(capsys, "--log", tmp_path, "--metric", "f1", "--details")
    assert told.count("no metric f1 of all models (it has acc); left out") == 12
    one = verb.as_json(capsys, "--log", tmp_path, "--metric", "f1", "--task", "arc")
    assert one["warnings"] == ["c has no metric f1; left out"]
    assert one["models"] == ["a", "b"]
    with pytest.raises(DataError, match="task arc: no metric f1 of all models"):
        compare.main(["a", "c", "--log", str(tmp_path), "--metric", "f1", "--task", "arc"])


def test_many_tasks_fit_a_screen(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if three models on twenty tasks take more than 45 lines, two on one more than 12, or a
    table is wider than 100 columns."""
    skills = {"org/large-7b": 0.9, "org/medium-3b": 0.3, "org/small-1b": 0.0}
    for k in range(20):
        models.logs(tmp_path, skills, f"mmlu_task_{k}")
    for words, most in (([], 45), (["--task", "mmlu_task_1", *[*skills][:2]], 12)):
        words = ["--log", str(tmp_path), "--resamples", "99", *words]
        assert compare.main([*words[4:], *words[:4]] if len(words) > 4 else words) == 0
        lines = capsys.readouterr().out.splitlines()
        assert sum(1 + (len(line) - 1) // 100 for line in lines) <= most
        tables = [line for line in lines if re.search(r"\d  +\d", line)]
        assert len(tables) >= 2 and max(map(len, tables)) <= 100


def test_items_that_ended_in_an_error_are_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
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
    tree = verb.as_json(capsys, "--log", tmp_path, "--missing", "drop")
    assert tree["tasks"][0]["failed_items"] == names
    (test,) = tree["failures"]
    assert (test["a"], test["higher"]) == ("new", 1)
    assert test["p_value"] == pytest.approx(stats.fisher_exact([(12, 48), (0, 60)]).pvalue)
    said = "12 of 60 items of new failed, none of 60 of old; new fails more often than old"
    assert said in tree["answer"][-1]
    assert said in verb.shown(capsys, "--log", tmp_path, "--missing", "drop")
