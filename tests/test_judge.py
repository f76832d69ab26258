"""`jaxeval vectors judge` end to end, on tiny corpora of its tasks."""

import functools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxeval import judge, runs, studies
from jaxeval.__main__ import main
from jaxeval.config import reading
from jaxeval.errors import ConfigError, DataError
from jaxeval.judge import vectors_judge
from jaxeval.studies import cohorts
from tests import tiny_corpora
from tests.data.test_word_tables import vectors

QUICK = ["training.epochs=2", "data.max_widths=1", "training.evaluation_batch_size=16"]
QUICK += ["training.lanes=4"]  # for any number of seeds, so that one width is compiled
WORDS = ["ann", "bo", "zoe", *("saw", "met", "left", "in"), "rome", "oslo"]
WORDS += ["good", "bad", "so", "day"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpora of two tasks in folders of their names, and files of vectors."""
    folder = tmp_path_factory.mktemp("judge")
    ner = tiny_corpora.tags(folder / "ner") / "test"
    first, *others = ner.read_text().split("\n\n")  # which nobody gets right
    ner.write_text("\n\n".join([first.replace("B-LOC", "O"), *others]))
    for part, days in (("train", range(40)), ("dev", range(40, 60)), ("test", range(60, 90))):
        words = ("good" if d % 7 % 2 else "bad" for d in days)  # of the wrong class now and then
        lines = (f"{d % 2} so {word} on day {d}\n" for d, word in zip(days, words, strict=True))
        tiny_corpora.write(folder / "sentiment" / f"sst.{part}", "".join(lines))
    vectors(folder / "a.txt", WORDS, 1, 4)
    vectors(folder / "b.txt", [*WORDS[3:], "on"], 2, 4)
    return folder


def _words(folder: Path, out: Path, *tasks: str) -> list[str]:
    data = [word for task in tasks for word in ("--data", f"{task}={folder / task}")]
    files = [str(folder / name) for name in ("a.txt", "b.txt")]
    return ["judge", *files, *QUICK, *data, "--out", str(out)]


def _judge(folder: Path, out: Path, tasks: Sequence[str], *words: str) -> dict[str, Any]:
    given = [*_words(folder, out, *tasks), "--json", str(out / "j.json"), *words]
    assert main(["vectors", *given]) == 0
    tree: dict[str, Any] = json.loads((out / "j.json").read_text())
    return tree


def test_judged_resumed_and_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a file's scores are another's, a further seed trains again what has ended, an output
    lacks a part, or the page asks the network for anything."""
    out = tmp_path
    for seeds in (1, 2):
        tree = _judge(folder, out, ["sentiment"], "--seeds", str(seeds), "--modes", "fixed")
        assert (tree["modes"][0]["study"] is None) == (seeds == 1)
    before = runs.load(out)
    page, latex = tmp_path / "page.html", tmp_path / "t.tex"
    words = ["--seeds", "5", "--modes", "fixed", "--baseline", str(folder / "b.txt")]
    words += ["--save", str(page), "--save", str(latex)]
    tree = _judge(folder, out, ["ner", "sentiment"], *words)
    members = runs.load(out)
    assert [row for row in members if row in before] == before and len(members) == 2 * 2 * 5
    assert {row.name for row in members} == {"a fixed", "b fixed"}
    recorded = {(row.name, row.metric, row.seed): row.test for row in members}
    for mode in tree["modes"]:
        assert mode["tasks"] == ["ner", "sentiment"] and mode["baseline"] == "b"
        for name, of_tasks in mode["scores"].items():
            for metric, by_seed in zip(("f1", "accuracy"), of_tasks, strict=True):
                expected = [recorded[f"{name} {mode['mode']}", metric, s] for s in mode["seeds"]]
                assert by_seed == expected
        assert {*mode["reductions"]["a"]} == {"ner", "sentiment", "mean"}
        assert mode["study"]["overall"][0]["data_set"] is None
    assert tree["coverage"]["a"]["ner"]["train"]["tokens"] == 1 and len(tree["trainings"]) == 20
    shown = capsys.readouterr().out
    assert "Vectors fixed: Task by task, " in shown and "reduction against b" in shown
    html = page.read_text()
    assert "<svg" in html and "Tokens (types) of test" in html
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html) and "<script" not in html
    assert latex.read_text().count(r"\toprule") == 2


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"data": {}}, "data: expected TASK=PATH with one of pos, chunk"),
        ({"data": {"tags": "x"}}, "data: expected TASK=PATH .*, got tags"),
        ({"baseline": "c.txt"}, "baseline='c.txt': expected one of"),
        ({"changes": ["model.words.trained=true"]}, "trained cannot be changed: .* by the modes"),
        ({"changes": ["model.words={trained=true}"]}, "model.words.trained cannot be changed"),
        ({"changes": ["ner:data.vectors=c.txt"]}, "data.vectors cannot be .* by the files"),
        ({"changes": {"name": "x"}}, "name cannot be changed"),
        ({"changes": ["nli:training.epochs=2"]}, "nli:training"),
    ],
)
def test_what_cannot_be_done_is_told_before_training(
    folder: Path, named: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """Dies if a mistake is seen after the training."""
    files = [folder / "a.txt", folder / "b.txt"]
    named = {"data": {"ner": folder / "ner"}, "out": tmp_path / "runs", "modes": "fixed"} | named
    with pytest.raises(ConfigError, match=message):
        vectors_judge(*files, **named)
    with pytest.raises(DataError, match="no such file"):
        vectors_judge(folder / "none.txt", data={"ner": folder / "ner"})
    assert not (tmp_path / "runs").exists()


def test_the_plan(folder: Path) -> None:
    """Dies if a task's change is one of another's, or each file compiles its own program."""
    named = {name: str(folder / f"{name}.txt") for name in "ab"}
    data = {task: folder / task for task in ("sentiment", "ner")}
    groups = judge.plan(named, data, judge.MODES["both"], (1, 2), ["ner:training.epochs=3"])
    assert [len(group) for group in groups] == [4, 4, 4, 4]
    assert all(len(cohorts.by_program(group)) == 1 for group in groups)
    assert [group[0].trial.labels["task"] for group in groups] == ["ner"] * 2 + ["sentiment"] * 2
    tasks = {"ner": "", "pos": ""}
    of = judge._task_changes(["ner:training.epochs=3", "a=1", "pos:b=x:y"], tasks)
    assert of == {"ner": ["training.epochs=3", "a=1"], "pos": ["a=1", "b=x:y"]}


def test_the_six_tasks_have_two_configs_each() -> None:
    """Dies if a mode trains the vectors that it should keep, or a setting of the code is lost."""
    names = {name for name in reading.shipped_names() if name.startswith("nayak2016/")}
    assert names == {
        f"nayak2016/{task}_{mode}" for task in judge._TASKS for mode in judge.MODES["both"]
    }
    rates = {"window": (0.01, 0.3), "sequence": (0.03, 0.001)}  # fixed, fine-tuned
    for name in names:
        config: Any = studies.read(name)
        tuned = name.endswith("tuned")
        assert config.model.words.trained == tuned
        assert config.data.without_vector == "mean" and config.training.optimiser.clip == "none"
        kind = "window" if config.task == "tagging" else "sequence"
        rate = config.training.optimiser.hyperparameters["learning_rate"]
        assert rate == rates[kind][tuned] and config.model.dropout.output == 0.5
        assert config.training.patience == (10 if "pos" in name else 15)


def test_a_file_that_is_added_trains_alone(folder: Path, tmp_path: Path) -> None:
    """Dies if a further file trains the others again, or has other scores than in one command
    with them; or if the second mode is lost."""
    judged = functools.partial(
        vectors_judge, data={"ner": folder / "ner"}, changes=QUICK, modes="tuned", seeds=2
    )
    first, out = folder / "a.txt", tmp_path / "runs"
    assert "mean of tasks" in repr(judged(first, out=out))
    before = runs.load(out)
    second = tmp_path / "a.txt"  # called as the first is, until both are asked for
    second.write_bytes((folder / "b.txt").read_bytes())
    added = judged(second, first, out=out)
    after = runs.load(out)
    assert {*before} <= {row._replace(name="a tuned") for row in after} and len(before) == 2
    assert len({row.experiment for row in after}) == 2 and len(after) == 4
    whole = judged(second, first, out=tmp_path, modes="both")
    tests = [
        [(t["vectors"], t["test"]) for t in of.trainings if t["mode"] == "tuned"]
        for of in (added, whole)
    ]
    assert tests[0] == tests[1] and {name for name, _ in tests[0]} == {str(first), str(second)}
    assert "Vectors fixed: " in repr(whole) and "Vectors fine-tuned: " in repr(whole)
