"""Readers of evaluation logs: every format against what was written into it."""

import json
from pathlib import Path
from typing import Any

import pytest

from jaxeval.errors import DataError
from jaxeval.runs import logs
from jaxeval.runs.layout import Layout
from tests.runs.logs import reading, writing
from tests.runs.logs.reading import Row, lines, read, rows

LATER = "2026-04-01T00-00-00.1"


def test_lm_evaluation_harness(tmp_path: Path) -> None:
    """Dies if a filter's scores are another's, if the model is its folder's name, if a metric's
    direction is lost, or if what is not a number of an item becomes a score."""
    scores = {"strict-match": [1.0, 0.0, 1.0], "none": [0.0, 0.0, 1.0]}
    metrics = {"exact_match": True, "loss": False}
    writing.lm_eval(tmp_path, "org/model-1b", scores, metrics=metrics, pair=[1, 2])
    for path in tmp_path.rglob("samples_*"):
        path.write_text(path.read_text().replace('"loss"]', '"loss", "pair"]'))
    for filtered, ending in (("strict-match", "/strict-match"), ("none", "")):
        for metric, higher in metrics.items():
            table = read(tmp_path, metric=metric + ending, cluster="passage")
            assert rows(table) == [
                ("org/model-1b", "arc", metric + ending, str(k), "p0", 0, 0, "scored", score)
                for k, score in enumerate(scores[filtered])
            ]
            assert table.higher_is_better is higher and table.direction == "recorded"
    assert "task arc: pair is not one number per item and is left out (3 times)" in table.warnings
    (samples,) = tmp_path.rglob("samples_*")
    samples.write_text('{"doc_id": 1, "acc": 1.0}\n')
    with pytest.raises(DataError, match=r":1: metrics: expected a list .* from 0\.4\.7 on"):
        read(tmp_path)


def test_logs_that_contradict_one_another(tmp_path: Path) -> None:
    """Dies if one direction of two wins, or a note on a task that is not wanted is told."""
    scores, metrics = {"none": [1.0, 0.0]}, {"acc": True, "pair": True}
    writing.lm_eval(tmp_path / "a", "a", scores)
    writing.lm_eval(tmp_path / "a", "a", scores, task="other", metrics=metrics, pair=[1, 2])
    assert not read(tmp_path / "a", tasks=["arc"]).warnings
    assert "pair is not one number" in read(tmp_path / "a").warnings[0]
    writing.lm_eval(tmp_path / "b", "b", scores, metrics={"acc": False})
    with pytest.raises(DataError, match="arc, acc: logs differ in whether higher is better"):
        read(tmp_path)


def test_a_perplexity_of_an_item_is_a_log_likelihood(tmp_path: Path) -> None:
    """Dies if the likelier text is the worse one, since the perplexity of all is lower; or if
    what is no log-likelihood changes its sign."""
    metrics = {"perplexity": False}
    writing.lm_eval(tmp_path / "a", "a", {"none": [-0.5, 0.0, -1.0]}, metrics=metrics)
    (data,) = read(tmp_path / "a").data_sets
    assert (data.metric, data.higher_is_better, data.stored_unit) == ("nll", False, "nats")
    assert data.known.tolist() == [0.5, 0, 1]
    with pytest.raises(DataError, match=r"no task has a metric 'perplexity'; expected one of nll"):
        read(tmp_path / "a", metric="perplexity")
    writing.lm_eval(tmp_path / "b", "b", {"none": [2.0, 9.0]}, metrics=metrics)
    assert read(tmp_path / "b").metric == "perplexity"


def test_logs_of_one_name_are_runs(tmp_path: Path) -> None:
    """Dies if two logs of a model become one run, if checkpoints that NAME= puts together keep
    their own names, or if a log that is named twice counts twice, or under two names."""
    first = writing.lm_eval(tmp_path / "1", "seed1", {"none": [1.0, 0.0]})
    writing.lm_eval(tmp_path / "2", "seed2", {"none": [0.0, 0.0]})
    writing.lm_eval(tmp_path / "2", "seed2", {"none": [1.0, 1.0]}, date=LATER)
    table = read(f"ours={tmp_path}", first, tmp_path / "1")
    assert [(row[0], row[3], row[5], row[-1]) for row in rows(table)] == [
        *(("ours", "0", 0, 1.0), ("ours", "0", 1, 0.0), ("ours", "0", 2, 1.0)),
        *(("ours", "1", 0, 0.0), ("ours", "1", 1, 0.0), ("ours", "1", 2, 1.0)),
    ]
    assert table.source.startswith("3 logs: ours=")
    assert {row[0] for row in rows(read(first, f"ours={first}"))} == {"ours"}
    with pytest.raises(DataError, match="named as a run of x and of y"):
        read(f"x={first}", f"y={first}")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("revision=step1", "revision=step9", "(revision=step1; revision=step9)"),
        ({"seed": 1, "k": 5}, {"seed": 2, "k": 5}, None),
        ({"stop": ["a", "b"]}, {"stop": ["a", "c"]}, "(stop=['a', 'b']; stop=['a', 'c'])"),
    ],
)
def test_networks_of_one_name_are_told(tmp_path: Path, first: Any, second: Any, said: Any) -> None:
    """Dies if two checkpoints of a name become runs in silence, or seeds are warned of."""
    for given, date in ((first, writing.DATE), (second, LATER)):
        folder = writing.lm_eval(tmp_path, "m", {"none": [0.0, 1.0]}, date=date)
        path = folder / f"results_{date}.json"
        path.write_text(
            json.dumps(json.loads(path.read_text()) | {"config": {"model_args": given}})
        )
    told = [line for line in read(tmp_path).warnings if "in their settings" in line]
    assert len(told) == (said is not None) and all(said in line for line in told)
    assert not read(f"ours={tmp_path}").warnings


def test_helm(tmp_path: Path) -> None:
    """Dies if a statistic is not its mean, if trials are one run, if perturbed instances, those of
    other splits, or the number of prompt tokens count."""
    scores = {("id1", 0): 1.0, ("id2", 0): 0.5, ("id1", 1): 0.0, ("id2", 1): 1.0}
    run = writing.helm(tmp_path, "openai/gpt2", scores, "mmlu:subject=anatomy")
    path = run / "per_instance_stats.json"
    instances = json.loads(path.read_text())
    instances[0]["stats"].append({"name": {"name": "num_prompt_tokens"}, "count": 1, "sum": 3})
    path.write_text(json.dumps(instances))
    table = read(tmp_path)
    task = ("openai/gpt2", "mmlu:subject=anatomy", "exact_match")
    assert rows(table) == sorted(
        (*task, item, "", trial, 0, "scored", score) for (item, trial), score in scores.items()
    )
    assert table.warnings == (f"task {task[1]}: perturbed instances are left out (4 times)",)
    assert not table.labels  # trials have no names that runs of other models share
    path.write_text(path.read_text().replace('"test"', '"valid"', 8))
    assert [data.name for data in read(tmp_path).data_sets] == [f"{task[1]} (valid)", task[1]]


def test_openai_evals(tmp_path: Path) -> None:
    """Dies if an event is lost, if a sample with an error alone goes uncounted, if a log that was
    cut off passes for a whole one."""
    events: list[tuple[str, str, dict]] = [
        ("dev.0", "sampling", {"prompt": "q0", "sampled": "a"}),
        ("dev.0", "match", {"correct": True, "expected": "a", "picked": "a"}),
        ("dev.1", "match", {"correct": False, "expected": "b", "picked": "a"}),
        ("dev.1", "metrics", {"f1": 0.25, "note": "text"}),
        ("dev.2", "error", {"type": "Timeout", "message": ""}),
        ("dev.3", "match", {"expected": "c"}),
    ]
    path = writing.evals(tmp_path / "log.jsonl", "gpt-4", events)
    assert [(row[3], row[-2]) for row in rows(read(path, metric="accuracy"))] == [
        *(("dev.0", "scored"), ("dev.1", "scored"), ("dev.2", "failed"), ("dev.3", "unscored"))
    ]
    assert read(path, metric="f1").known.tolist() == [0.25]
    writing.evals(path, "gpt-4", events[:3], done=False)
    assert read(path).warnings == ("log.jsonl: no final report: other samples may be missing",)


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        (  # runs in a list
            [{"id": "s1", "gold": "p", "target": "t1", "said": ["p", "n"]}],
            {"predicted": "said", "item": "target", "cluster": "id"},
            [("log", "", "t1", "s1", 0, 1.0), ("log", "", "t1", "s1", 1, 0.0)],
        ),
        (  # a line an item of a run
            [{"model": "A", "task": "x", "run": seed, "item": k, "score": k + seed / 4}
             for seed in (1, 2) for k in (0, 1)],
            {},
            [
                *(("A", "x", "0", "", 0, 0.25), ("A", "x", "0", "", 1, 0.5)),
                *(("A", "x", "1", "", 0, 1.25), ("A", "x", "1", "", 1, 1.5)),
            ],
        ),
        (  # model by the file's name, items by the line's number
            [{"correct": True}, {"correct": [0]}],
            {},
            [("log", "", "1", "", 0, 1.0), ("log", "", "2", "", 0, 0.0)],
        ),
        (  # id 0 is an id
            [{"item": 0, "gold": "x", "predicted": "x"}],
            {},
            [("log", "", "0", "", 0, 1.0)],
        ),
    ],
)  # fmt: skip
def test_predictions(
    tmp_path: Path, content: list[dict], columns: dict[str, str], expected: list[Row]
) -> None:
    """Dies if runs, models or the items of a line are mixed up."""
    table = read(lines(tmp_path / "log.jsonl", content), columns=columns)
    assert [(*row[:2], *row[3:6], row[-1]) for row in rows(table)] == expected


@pytest.mark.parametrize(
    ("gold", "predicted", "right"),
    [
        *((1, "1", 1.0), ("1", 1.0, 1.0), (True, "true", 1.0), (True, True, 1.0)),
        *(({"x": 1, "y": [2]}, {"y": [2], "x": 1}, 1.0), ({"x": [1]}, {"x": [2]}, 0.0)),
        *((True, 1, None), (0.0, True, None)),
    ],
)
def test_labels_of_several_types(tmp_path: Path, gold: Any, predicted: Any, right: Any) -> None:
    """Dies if a label that JSON writes as another type is wrong, or true against 1 is counted."""
    path = lines(tmp_path / "a.jsonl", [{"item": 1, "gold": gold, "predicted": predicted}])
    if right is None:
        with pytest.raises(DataError, match=r"a\.jsonl:1: gold .*; expected both true or"):
            read(path)
    else:
        assert read(path).known.tolist() == [right]


def test_nested_keys_of_answers(tmp_path: Path) -> None:
    """Dies if a nested score is lost behind the first line, or a label is taken apart."""
    labels = {"right": {"is": 1}, "said": {"is": 1}}
    every = [{"item": k, "on": {"f1": k / 4}, **labels} for k in range(4)]
    path = lines(tmp_path / "a.jsonl", every)
    nested = read(path, columns={"score": "on.f1"})
    assert nested.known.tolist() == [0.0, 0.25, 0.5, 0.75]
    assert read(path, columns={"gold": "right", "predicted": "said"}).known.tolist() == [1] * 4


@pytest.mark.parametrize(
    "answers",
    [
        {"score": [0.1, 0.2, 0.3, 0.4]},
        {"correct": [True, False, True, True]},
        {"gold": ["01", "1", "NA", "x"], "predicted": ["1", "1", "NA", "y"]},
    ],
)
def test_a_table_is_read_as_the_same_lines(tmp_path: Path, answers: dict[str, list]) -> None:
    """Dies if a column is another role, text becomes a number, or true is none; or if the rows of
    a table of runs are taken for items."""
    every = [
        {"model": model, "run": run, "item": k, "task": "t"}
        | {r: of[k] for r, of in answers.items()}
        for model in "AB"
        for run in ("x", "yy")
        for k in range(4)
    ]
    same = rows(read(lines(tmp_path / "a.jsonl", every)))
    for renamed in ({}, {"item": "doc_id", "run": "seed", "task": "dataset"}):
        head = [renamed.get(name, name) for name in every[0]]
        text = "\n".join(",".join(map(str, of)) for of in [head, *(row.values() for row in every)])
        (tmp_path / "b.csv").write_text(text)
        assert rows(read(tmp_path / "b.csv")) == same
    (tmp_path / "runs.csv").write_text("model,seed,score\nA,1,.5\n")
    with pytest.raises(DataError, match="no column 'item'; expected one of model, seed"):
        read(tmp_path / "runs.csv")
    assert [of.path.name for of in logs._find(str(tmp_path), Layout())] == ["a.jsonl", "b.csv"]


def test_folders_are_searched(tmp_path: Path) -> None:
    """Dies if a format in a folder is passed over, or a file that is no log is read as one."""
    writing.lm_eval(tmp_path, "a", {"none": [1.0]})
    writing.helm(tmp_path / "suite", "b", {("id1", 0): 1.0}, "boolq:")
    writing.inspect_eval(tmp_path / "c.eval", writing.inspect_head("c"), reading.SAMPLES[:1])
    writing.evals(tmp_path / "d.jsonl", "d", [("1", "match", {"correct": True})])
    (tmp_path / "e.jsonl").write_text('{"item": 1, "correct": true}\n')
    (tmp_path / "notes.jsonl").write_text('{"remark": "none of ours"}\n')
    (tmp_path / "picture.csv").write_bytes(b"\0\xff")
    (tmp_path / "samples_10.json").write_text('{"batch": 10}')
    (tmp_path / ".hidden").mkdir()
    writing.lm_eval(tmp_path / ".hidden", "z", {"none": [1.0]})
    assert len(logs._find(str(tmp_path), Layout())) == 5
    assert {of.path.name for of in logs._find(str(tmp_path), Layout())} >= {
        "c.eval",
        "d.jsonl",
        "e.jsonl",
    }


def test_files_of_one_model_say_what_they_are(tmp_path: Path) -> None:
    """Dies if two tasks pass for two runs, or files of two models for two tasks."""
    of = {m: [{"item": k, "score": k, "model": m} for k in range(3)] for m in ("good", "bad")}
    for model, content in of.items():
        lines(tmp_path / f"{model}.jsonl", content)
    (data,) = read(tmp_path).data_sets
    assert data.name == "" and {*data.models} == {"good", "bad"}
    lines(tmp_path / "z.jsonl", of["good"])
    with pytest.raises(
        DataError, match=r"z\.jsonl: model good is in good\.jsonl too; expected a key"
    ):
        read(tmp_path)
    assert read(f"a={tmp_path}").data_sets[0].models["a"].runs == 3
