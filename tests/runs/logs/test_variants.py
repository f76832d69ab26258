"""Logs as older versions and real leaderboards have them, and runs that lie in several files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jaxeval.errors import DataError
from jaxeval.runs.logs import finding, pairing
from tests.runs.logs import writing

SAMPLES = "samples_arc_2024-06-17T16-12-47.023639"


def _old(folder: Path, array: bool, ending: str) -> Path:
    """A model's samples as of 2024: no line says which keys are metrics."""
    run = writing.lm_eval(folder, "m", {"none": [1.0, 0.0, 1.0]}, f1=[1, 0])
    (path,) = run.glob("samples_*")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["metrics"], line["filter"]
    text = json.dumps(lines, indent=2) if array else "".join(json.dumps(x) + "\n" for x in lines)
    (folder / f"{SAMPLES}{ending}").write_text(text)
    path.unlink()
    return folder


@pytest.mark.parametrize(
    ("array", "ending"), [(False, ".jsonl"), (False, ".json"), (True, ".json")]
)
def test_lm_evaluation_harness_of_2024(tmp_path: Path, array: bool, ending: str) -> None:
    """Dies if logs of 0.4.3 to 0.4.6, which do not name their metrics, hold no score, or if a
    document counts as one."""
    table = finding.read([str(_old(tmp_path, array, ending))])
    assert table.names["metric"] == ("acc",) and table.score.tolist() == [1.0, 0.0, 1.0]
    assert dict(table.notes) == {"task arc: f1 is no number of each item, and is left out": 3}


def _unnamed_filters(folder: Path, results: bool, times: int = 1) -> Path:
    """Two filters, of which no line says which it is; the results have them in the same order."""
    scores = {"strict-match": [1.0, 0.0, 0.0], "flexible-extract": [1.0, 1.0, 0.0]}
    run = writing.lm_eval(folder, "m", scores, metrics={"exact_match": True})
    (path,) = run.glob("samples_*")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        del line["metrics"], line["filter"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines * times))
    (of_all,) = run.glob("results_*")
    tree = json.loads(of_all.read_text())
    keys = (f"exact_match{kind},{name}" for name in scores for kind in ("", "_stderr"))
    tree["results"]["arc"] = {"alias": "arc", **dict.fromkeys(keys, 0.5)}
    of_all.write_text(json.dumps(tree))
    if not results:
        of_all.unlink()
    return folder


def test_filters_that_no_line_names(tmp_path: Path) -> None:
    """Dies if the second filter of logs of 0.4.3 to 0.4.6 is refused as a copy of the first, or if
    the two are exchanged."""
    table = finding.read([str(_unnamed_filters(tmp_path, True))])
    names = [table.names["metric"][code] for code in table.metric.tolist()]
    strict, flexible = "exact_match/strict-match", "exact_match/flexible-extract"
    assert names == [strict] * 3 + [flexible] * 3
    assert table.score.tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert table.higher_is_better[("arc", flexible)] is True


@pytest.mark.parametrize(
    ("results", "times", "said"), [(True, 2, "there twice"), (False, 1, "results_DATE.json")]
)
def test_filters_that_cannot_be_told(tmp_path: Path, results: bool, times: int, said: str) -> None:
    """Dies if documents that are there once more than there are filters pass, or if filters that
    nothing names count as one."""
    with pytest.raises(DataError, match=said):
        finding.read([str(_unnamed_filters(tmp_path, results, times))])


def test_other_json_is_no_log(tmp_path: Path) -> None:
    """Dies if any samples_*.json is taken for one of lm-evaluation-harness."""
    writing.lm_eval(tmp_path, "m", {"none": [1.0]})
    (tmp_path / "samples_10.json").write_text('{"batch": 10}')
    assert finding.read([str(tmp_path)]).logs == 1


def test_helm_without_what_is_said_of_requests(tmp_path: Path) -> None:
    """Dies if the number of prompt tokens is a metric that has to be ruled out."""
    run = writing.helm(tmp_path, "org/m", {("id1", 0): 1.0}, "mmlu:subject=art")
    path = run / "per_instance_stats.json"
    instances = json.loads(path.read_text())
    names = ["num_references", "num_prompt_tokens", "training_co2_cost", "finish_reason_stop"]
    instances[0]["stats"] += [{"name": {"name": name}, "count": 1, "sum": 3} for name in names]
    path.write_text(json.dumps(instances))
    assert finding.read([str(tmp_path)]).names["metric"] == ("exact_match",)


def _predictions(path: Path, items: range, **keys: Any) -> Path:
    lines = [{"item": f"i{k}", "score": k % 3 / 2, "model": "a", **keys} for k in items]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _runs(folder: Path) -> int:
    """Of model a, beside a model that has answered all six items."""
    _predictions(folder / "b.jsonl", range(6), model="b")
    logs = [str(path) for path in sorted(folder.glob("*.jsonl"))]
    task, *_ = pairing.paired(finding.read(logs)).tasks
    assert len(task.items) == 6
    return task.scores["a"].shape[1]


def test_parts_of_a_run_are_one_run(tmp_path: Path) -> None:
    """Dies if two files with one id of a run and no item in common are two runs, or if two with an
    item in common, such as seed 0 of two checkpoints, are one."""
    _predictions(tmp_path / "a1.jsonl", range(3), run="r")
    _predictions(tmp_path / "a2.jsonl", range(3, 6), run="r")
    assert _runs(tmp_path) == 1
    lines = (tmp_path / "a1.jsonl").read_text().replace('"score": 0.0', '"score": 0.2')
    (tmp_path / "a1.jsonl").write_text(lines + (tmp_path / "a2.jsonl").read_text())
    _predictions(tmp_path / "a2.jsonl", range(6), run="r")
    assert _runs(tmp_path) == 2


@pytest.mark.parametrize("keys", [{}, {"run": "r1"}])
def test_parts_that_nothing_joins_are_refused(tmp_path: Path, keys: Mapping[str, str]) -> None:
    """Dies if halves of the items pass for two runs of all of them."""
    _predictions(tmp_path / "a1.jsonl", range(3), **keys)
    _predictions(tmp_path / "a2.jsonl", range(3, 6))
    with pytest.raises(DataError, match="a run of a has no item in common with its other runs"):
        _runs(tmp_path)


def test_parts_of_openai_evals(tmp_path: Path) -> None:
    """Dies if the id of the run in a log's head is not read."""
    for model in "ab":
        for part, items in enumerate((range(2), range(2, 4))):
            events = [(f"s{k}", "match", {"correct": k % 2 == 0}) for k in items]
            writing.evals(tmp_path / f"{model}{part}.jsonl", model, events)
    (task,) = pairing.paired(finding.read([str(tmp_path)])).tasks
    assert [cube.shape for cube in task.scores.values()] == [(4, 1, 1)] * 2


def test_a_log_under_two_names_is_refused(tmp_path: Path) -> None:
    """Dies if the second name is dropped in silence, and one model is left."""
    path = _predictions(tmp_path / "a.jsonl", range(3))
    with pytest.raises(DataError, match="named as a run of x and of y"):
        finding.read([f"x={path}", f"y={path}"])
    assert finding.read([str(path), str(path)]).logs == 1


def test_a_file_a_model_is_one_task(tmp_path: Path) -> None:
    """Dies if a key model turns the names of files into tasks that no two models share, or if
    files of tasks are joined."""
    models, tasks, both = (tmp_path / name for name in ("models", "tasks", "both"))
    for folder in (models, tasks, both):
        folder.mkdir()
    for task in ("arc", "boolq"):
        of_model = [
            _predictions(both / f"{name}_{task}.jsonl", range(6), model=name).read_text()
            for name in ("good", "bad")
        ]
        (tasks / f"{task}.jsonl").write_text("".join(of_model))
    for name in ("good", "bad"):
        _predictions(models / f"{name}.jsonl", range(6), model=name)
    (task_of_models,) = pairing.paired(finding.read([str(models)])).tasks
    assert task_of_models.task == "" and len(task_of_models.items) == 6
    assert {*task_of_models.scores} == {"good", "bad"}
    assert [task.task for task in pairing.paired(finding.read([str(tasks)])).tasks] == [
        *("arc", "boolq")
    ]
    with pytest.raises(DataError, match="a file's name is the task; a key task says it"):
        pairing.paired(finding.read([str(both)]))
    other = _predictions(tmp_path / "c.jsonl", range(6), model="c", task="good")
    named = finding.read([str(models), str(other)])
    assert [named.names["task"][k] for k in sorted({*named.task.tolist()})] == ["bad", "good"]
