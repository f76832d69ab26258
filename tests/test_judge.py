"""`jaxeval vectors judge` end to end, on tiny corpora of its tasks."""

import functools
import gc
import json
import re
import signal
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxeval import observe, runs
from jaxeval.errors import ConfigError, DataError
from jaxeval.judge import judging
from jaxeval.studies import cohorts
from jaxeval.studies.cohorts import Cohort
from jaxeval.vectors import judge_options
from jaxeval.vectors.__main__ import main as vectors_main
from tests import comparing, processes, test_train, tiny_corpora
from tests.data.test_word_tables import vectors

QUICK = ["training.epochs=2", "data.max_widths=1", "training.evaluation_batch_size=16"]
QUICK += ["training.lanes=4"]  # for any number of seeds, so that one width is compiled
WORDS = [
    "ann",
    "bo",
    "zoe",
    "saw",
    "met",
    "left",
    "in",
    "rome",
    "oslo",
    "good",
    "bad",
    "so",
    "day",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora of two tasks in folders of their names, and files of vectors."""
    folder = tmp_path_factory.mktemp("judge")
    ner = tiny_corpora.tags(folder / "data" / "ner") / "test"
    first, *others = ner.read_text().split("\n\n")  # which nobody gets right
    ner.write_text("\n\n".join([first.replace("B-LOC", "O"), *others]))
    for part, days in (("train", range(40)), ("dev", range(40, 60)), ("test", range(60, 90))):
        words = ("good" if d % 7 % 2 else "bad" for d in days)  # of the wrong class now and then
        lines = (f"{d % 2} so {word} on day {d}\n" for d, word in zip(days, words, strict=True))
        tiny_corpora.write(folder / "data" / "sentiment" / f"sst.{part}", "".join(lines))
    vectors(folder / "a.txt", WORDS, 1, 4)
    vectors(folder / "b.txt", [*WORDS[3:], "on"], 2, 4)
    return folder


def _judge(folder: Path, out: Path, *words: str) -> dict[str, Any]:
    files = [str(folder / name) for name in ("a.txt", "b.txt")]
    options = ["--data", str(folder / "data"), "--out", str(out), "--json", str(out / "j.json")]
    assert vectors_main(["judge", *files, *QUICK, *options, *words]) == 0
    tree: dict[str, Any] = json.loads((out / "j.json").read_text())
    return tree


def test_judged_resumed_and_told(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dies if a file's scores are another's, a further seed trains again what has ended, an output
    lacks a part, the page asks the network for anything, or word tables outlive their program."""
    tables = _recorded_tables(monkeypatch)
    first = _judge(folder, tmp_path, "--seeds", "1", "--modes", "fixed", "--tasks", "sentiment")
    before = runs.load(tmp_path)
    assert len(before) == 2 and first["modes"][0]["comparison_of_means"] is None
    page, table = tmp_path / "page.html", tmp_path / "scores.csv"
    tree = _judge(
        folder,
        tmp_path,
        *("--seeds", "5", "--baseline", str(folder / "b.txt"), "--resamples", "200"),
        *("--html", str(page), "--csv", str(table), "--latex", str(tmp_path / "t.tex")),
    )
    shown = capsys.readouterr().out
    assert tables == [1] * (1 + 4)
    members = runs.load(tmp_path)
    assert [row for row in members if row in before] == before and len(members) == 2 * 2 * 2 * 5
    names = {f"{file} {mode}" for file in "ab" for mode in ("fixed", "tuned")}
    assert {row.name for row in members} == names
    recorded = {(row.name, row.metric, row.seed): row.test for row in members}
    for mode in tree["modes"]:
        assert mode["tasks"] == ["ner", "sentiment"] and mode["baseline"] == "b"
        for name, of_tasks in mode["scores"].items():
            for metric, by_seed in zip(("f1", "accuracy"), of_tasks, strict=True):
                expected = [recorded[f"{name} {mode['mode']}", metric, s] for s in mode["seeds"]]
                assert by_seed == expected
        assert {*mode["relative_error_reduction"]["a"]} == {"ner", "sentiment", "mean"}
    assert "vectors fine-tuned" in shown and "shown to differ" in shown and "tied" in shown
    html = page.read_text()
    assert html.count("<svg") == 4
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html) and "<script" not in html
    assert r"\toprule" in (tmp_path / "t.tex").read_text()
    assert comparing.main(table, "--json", tmp_path / "c.json") == 0
    compared = json.loads((tmp_path / "c.json").read_text())
    assert {described["data_set"] for described in compared["models"]} == {"ner", "sentiment"}
    assert {described["model"] for described in compared["models"]} == names


def _recorded_tables(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many stacks of word tables there are at the begin of each program's training."""
    alive: list[int] = []
    stacks: list[weakref.ref] = []
    train = observe.train_cohorts

    def recorded(planned: Sequence[Cohort], *rest: Any, **options: Any) -> Any:
        stacks.extend(weakref.ref(c.problem.corpus.shared["vectors"]) for c in planned)
        gc.collect()
        alive.append(sum(stack() is not None for stack in stacks))
        return train(planned, *rest, **options)

    monkeypatch.setattr(observe, "train_cohorts", recorded)
    return alive


def test_a_training_that_failed_is_told(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """Dies if a member without a score is left out without a word."""
    train = observe.train_cohorts

    def failing(*arguments: Any) -> list[runs.MemberRow]:
        rows = train(*arguments)
        failed = {"status": "diverged", "test": None}
        return [
            row._replace(**failed) if (row.name, row.seed) == ("b fixed", 2) else row
            for row in rows
        ]

    monkeypatch.setattr(observe, "train_cohorts", failing)
    words = ["--seeds", "2", "--modes", "fixed", "--tasks", "sentiment"]
    [mode] = _judge(folder, tmp_path, *words)["modes"]
    assert mode["failed"] == {"b": {"sentiment": 1}} and mode["seeds"] == [1]
    shown = " ".join(capsys.readouterr().out.split())
    assert "b: trainings without a score, as they diverged or failed: 1 of 2 on sent" in shown


def test_killed_and_judged_again(folder: Path, tmp_path: Path) -> None:
    """Dies if the same command after `kill -9` gives other scores, or begins anew."""
    words = ["--seeds", "2", "--modes", "fixed", "--tasks", "sentiment"]
    files = [str(folder / name) for name in ("a.txt", "b.txt")]
    given = [*files, *QUICK, "--data", str(folder / "data"), "--out", str(tmp_path / "killed")]
    dies = functools.partial(test_train.die, "recorded", 1)
    killed = processes.run("jaxeval.vectors.__main__", "judge", *given, *words, before=dies)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert {curve.epoch for curve in runs.load_curves(tmp_path / "killed")} == {1}
    trees = [_judge(folder, tmp_path / name, *words) for name in ("killed", "whole")]
    scores = [tree["modes"][0]["scores"] for tree in trees]
    assert scores[0] == scores[1] and len(scores[0]) == 2
    curves = [
        {(c.experiment, c.seed, c.epoch, c.part, c.metric, c.value) for c in runs.load_curves(out)}
        for out in (tmp_path / "killed", tmp_path / "whole")
    ]
    assert curves[0] == curves[1]


def test_a_file_that_is_added_trains_alone(folder: Path, tmp_path: Path) -> None:
    """Dies if a further file trains the others again or changes what they are called, or has
    other scores than in one command with them; in lock step too, where words are trained."""
    words = ["--seeds", "2", "--modes", "tuned", "--tasks", "ner", *QUICK]
    given = ["--data", str(folder / "data"), *words, "training.lane_mode=vmap"]
    first, out = str(folder / "a.txt"), tmp_path / "runs"
    assert vectors_main(["judge", first, *given, "--out", str(out)]) == 0
    before = runs.load(out)
    second = tmp_path / "a.txt"  # called as the first is, until both are asked for
    second.write_bytes((folder / "b.txt").read_bytes())
    both = ["judge", str(second), first, *given]
    assert vectors_main([*both, "--out", str(out), "--csv", str(tmp_path / "added.csv")]) == 0
    after = runs.load(out)
    assert [row for row in after if row in before] == before and len(before) == 2
    assert len({row.experiment for row in after}) == 2 and len(after) == 4
    assert vectors_main([*both, "--out", str(tmp_path), "--csv", str(tmp_path / "all.csv")]) == 0
    each = [
        sorted((tmp_path / f"{name}.csv").read_text().splitlines()) for name in ("added", "all")
    ]
    assert each[0] == each[1] and len(each[0]) == 1 + 4


def test_tables_of_one_program_are_stacked_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a plan, or its description, holds a program's word tables beside the next one's."""
    alive: list[int] = []
    stacks: list[weakref.ref] = []
    by_program = cohorts.by_program

    def recorded(entries: Sequence[cohorts.Entry]) -> list[Cohort]:
        gc.collect()
        alive.append(sum(stack() is not None for stack in stacks))
        planned = by_program(entries)
        stacks.extend(weakref.ref(c.problem.corpus.shared["vectors"]) for c in planned)
        return planned

    monkeypatch.setattr(cohorts, "by_program", recorded)
    data = judge_options.data_of([str(folder / "data")], None)
    files = [str(folder / name) for name in ("a.txt", "b.txt")]
    judging.describe(judging.plan(files, data, ["fixed"], [1], QUICK))
    assert alive == [0] * 4


def test_one_program_a_task_and_mode(folder: Path) -> None:
    """Dies if each file compiles its own program."""
    data = judge_options.data_of([str(folder / "data")], None)
    assert list(data) == ["ner", "sentiment"]
    files = [str(folder / name) for name in ("a.txt", "b.txt")]
    plan = judging.plan(files, data, ["fixed", "tuned"], [1, 2], QUICK)
    assert [len(cohort.members) for cohort in plan.cohorts()] == [4] * 4
    assert judging.describe(plan)["compiled programs"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "pos"], "--data: expected TASK=PATH with one of pos, chunk"),
        (
            ["--tasks", "nli"],
            r"no corpus of nli: expected --data nli=PATH; \S+data: no folder nli",
        ),
        (["--baseline", "c.txt"], r"--baseline c.txt: expected one of"),
        (["--json", "-", "--csv", "-"], "at most one to go to stdout"),
        (["model.words.trained=true"], "model.words.trained cannot be changed: .* by --modes"),
        (["model.words={trained=true}"], "model.words.trained cannot be changed"),
        (["ner:data.vectors=c.txt"], "data.vectors cannot be changed: .* by the files"),
        (["name=x"], "name cannot be changed"),
        (["--data", "nli=x", "--data", "nli=y"], "--data: nli has two corpora, x and y"),
        (["nli:training.epochs=2"], "nli is not judged; expected one of ner, sentiment"),
    ],
)
def test_what_cannot_be_done_is_told_before_training(
    folder: Path, words: list[str], message: str, tmp_path: Path
) -> None:
    """Dies if a mistake is seen after the training."""
    files = [str(folder / "a.txt"), str(folder / "b.txt")]
    options = [*files, "--out", str(tmp_path / "runs"), "--data", str(folder / "data")]
    with pytest.raises(ConfigError, match=message):
        vectors_main(["judge", *options, *words])
    empty = ["--data", str(tmp_path)]
    with pytest.raises(ConfigError, match=r"no corpus of any task: .*: no folder pos or chunk"):
        vectors_main(["judge", *files, *empty])
    with pytest.raises(DataError, match="no such file"):
        vectors_main(["judge", str(folder / "none.txt"), "--data", str(folder / "data")])
    assert not (tmp_path / "runs").exists()


def test_changes_after_options_and_of_a_task(
    folder: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if files and changes must stand before options, a task's change is one of another's,
    or a misspelt option is taken for a file."""
    plans: list[judging.Plan] = []
    planned = judging.plan

    def plan(*arguments: Any) -> judging.Plan:
        plans.append(planned(*arguments))
        return plans[-1]

    monkeypatch.setattr(judging, "plan", plan)
    words = [str(folder / "a.txt"), "--data", str(folder / "data"), "--dry-run", "--seeds", "2"]
    words += [str(folder / "b.txt"), *QUICK, "--modes", "fixed", "ner:training.epochs=3"]
    assert vectors_main(["judge", *words]) == 0
    assert [*plans[0].files] == ["a", "b"]
    epochs = {e.trial.labels["task"]: e.prepared.config.training.epochs for e in plans[0].entries}
    assert epochs == {"ner": 3, "sentiment": 2}
    assert "8 trainings in 2 programs" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        vectors_main(["judge", *words, "--sedes", "2"])
    assert "unrecognized arguments: --sedes 2" in capsys.readouterr().err
