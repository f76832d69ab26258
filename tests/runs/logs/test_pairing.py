"""Which items of two logs are the same, and what becomes of the others."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.runs.item_scores import Paired
from jaxeval.runs.logs import finding, pairing
from jaxeval.runs.logs.records import Keys
from tests.runs.logs import writing

NAN = float("nan")
POINTS = {"points": True}  # no fractions


def _paired(*paths: Path | str, cluster: str = "", **rules: Any) -> Paired:
    table = finding.read([str(path) for path in paths], Keys(cluster))
    return pairing.paired(table, pairing.Rules(**rules))


def _predictions(folder: Path, scores: Mapping[str, Sequence[Mapping]]) -> Path:
    """A file a model."""
    for name, lines in scores.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_shuffled_documents_are_paired_by_their_content(tmp_path: Path) -> None:
    """Dies if documents are paired by doc_id where logs count them in another order."""
    by_document = {"a": [0.0, 0.1, 0.2, 0.3], "b": [1.0, 1.1, 1.2, 1.3]}
    writing.lm_eval(tmp_path, "a", {"none": by_document["a"]}, metrics=POINTS)
    writing.lm_eval(tmp_path, "b", {"none": by_document["b"]}, order=(2, 0, 3, 1), metrics=POINTS)
    (task,) = _paired(tmp_path).tasks
    assert task.scores["a"].shape == (4, 1, 1)
    assert np.allclose(task.scores["b"] - task.scores["a"], 1.0)


def test_a_subset_of_shuffled_documents(tmp_path: Path) -> None:
    """Dies if an id that stands for two documents pairs them, or if a dropped one is not named."""
    writing.lm_eval(tmp_path, "a", {"none": [0.0, 0.1, 0.2, 0.3]}, metrics=POINTS)
    writing.lm_eval(tmp_path, "b", {"none": [1.0, 1.1, 1.2, 1.3]}, order=(2, 0), metrics=POINTS)
    with pytest.raises(DataError, match=r"not the same in all logs.*--mismatched drop"):
        _paired(tmp_path)
    paired = _paired(tmp_path, mismatched="drop")
    (task,) = paired.tasks
    assert np.allclose(task.scores["b"] - task.scores["a"], 1.0) and len(task.items) == 2
    assert any("are left out" in note for note in paired.notes)


def test_another_prompt_is_refused(tmp_path: Path) -> None:
    """Dies if items of one id and other prompts are compared without being asked for."""
    writing.lm_eval(tmp_path, "a", {"none": [0.0, 1.0]})
    writing.lm_eval(tmp_path, "b", {"none": [1.0, 1.0]}, prompt_hash="other template")
    with pytest.raises(DataError, match=r"^task arc: 2 of 2 items .*content or prompt \(0, 1\)"):
        _paired(tmp_path)
    (task,) = _paired(tmp_path, mismatched="pair").tasks
    assert task.scores["b"].ravel().tolist() == [1.0, 1.0]
    with pytest.raises(DataError, match="no item that a, b all have a score of"):
        _paired(tmp_path, mismatched="drop")


def test_another_gold_is_refused(tmp_path: Path) -> None:
    """Dies if predictions of one id are compared though their gold differs."""
    lines = [{"item": k, "gold": "x", "predicted": "x"} for k in range(3)]
    other = [*lines[:2], {"item": 2, "gold": "y", "predicted": "y"}]
    folder = _predictions(tmp_path, {"a": lines, "b": other})
    with pytest.raises(DataError, match=r"1 of 3 items .*\(2\)"):
        _paired(folder)


def test_items_that_one_lacks_are_named(tmp_path: Path) -> None:
    """Dies if an item that a model has no score of stays, or goes without a word."""
    a = [{"item": f"i{k}", "score": k} for k in range(6)]
    b = [{"item": f"i{k}", "score": None if k == 1 else k} for k in (5, 1, 0, 9)]
    (task,) = _paired(_predictions(tmp_path, {"a": a, "b": b})).tasks
    assert task.items == ("i0", "i5") and task.left_out == 5
    assert task.scores["a"].ravel().tolist() == task.scores["b"].ravel().tolist() == [0.0, 5.0]
    assert task.lacking == {"a": ("i9",), "b": ("i2", "i3", "i4")}
    assert task.failed == {"a": 0, "b": 0} and task.unscored == {"a": 0, "b": 1}  # null: no error


def test_failed_items_count_as_0_where_asked(tmp_path: Path) -> None:
    """Dies if a failed item with --missing zero is left out, or is the best of losses."""
    a = [{"item": k, "score": 0.5} for k in range(2)]
    b = [{"item": 0, "score": 0.5}, {"item": 1, "score": None}]
    folder = _predictions(tmp_path, {"a": a, "b": b})
    (task,) = _paired(folder, missing="zero").tasks
    assert task.scores["b"].ravel().tolist() == [0.5, 0.0]
    with pytest.raises(DataError, match="0 would be the best"):
        _paired(folder, missing="zero", higher_is_better=False)


def test_scores_are_those_of_the_chosen_metric(tmp_path: Path) -> None:
    """Dies if another metric of the same items is taken, or counts as more answers to them."""
    both = {"acc": True, "acc_norm": True}
    for model in "ab":
        writing.lm_eval(tmp_path, model, {"none": [0.0, 1.0]}, metrics=both, acc_norm=0.25)
    for metric, expected in (("acc", [0.0, 1.0]), ("acc_norm", [0.25, 0.25])):
        (task,) = _paired(tmp_path, metrics=(metric,)).tasks
        assert (task.metric, task.scores["b"].shape) == (metric, (2, 1, 1))
        assert task.scores["b"].ravel().tolist() == expected


def test_scores_that_are_not_finite(tmp_path: Path) -> None:
    """Dies if NaN without a reason passes for a score, or is dropped in silence."""
    folder = writing.lm_eval(tmp_path, "a", {"none": [1.0, NAN, 0.5]}).parent
    writing.lm_eval(tmp_path, "b", {"none": [1.0, 1.0, float("inf")]})
    with pytest.raises(
        DataError, match="scores of a that are not finite: 1, the first nan of item 1"
    ):
        _paired(folder)
    (task,) = _paired(folder, missing="drop").tasks
    assert task.items == ("0",) and task.left_out == 2


def test_cells_by_run_and_sample(tmp_path: Path) -> None:
    """Dies if an answer lands in another item, run or sample; what lacks is NaN."""
    lines = [
        {"model": "a", "item": item, "run": run, "sample": sample}
        | {"score": item + run / 4 + sample / 100}
        for run in (1, 2)
        for item in (2, 0, 1)
        for sample in (7, 3)
        if (run, item, sample) != (2, 0, 7)
    ]
    b = [{"model": "b", "item": item, "score": item} for item in range(3)]
    (task,) = _paired(_predictions(tmp_path, {"x": [*lines, *b]}) / "x.jsonl").tasks
    assert task.items == ("2", "0", "1")
    items = np.array([2.0, 0.0, 1.0])[:, None, None]
    expected = items + np.array([0.25, 0.5])[:, None] + np.array([0.03, 0.07])
    expected[1, 1, 1] = NAN
    assert np.allclose(task.scores["a"], expected, equal_nan=True)
    assert task.scores["b"].shape == (3, 1, 1)


def test_clusters_go_with_their_items(tmp_path: Path) -> None:
    """Dies if clusters are in another order than items, or an item may be in two."""
    writing.lm_eval(tmp_path, "a", {"none": [0.0] * 5})
    writing.lm_eval(tmp_path, "b", {"none": [1.0] * 5}, order=(4, 3, 2, 1, 0))
    (task,) = _paired(tmp_path, cluster="passage").tasks
    assert task.clusters is not None and task.clusters.tolist() == ["p0"] * 3 + ["p1"] * 2
    with pytest.raises(DataError, match="no 'chapter' to cluster it by; its keys are question, p"):
        _paired(tmp_path, cluster="chapter")
    folder = tmp_path / "two"
    folder.mkdir()
    lines = [{"item": 1, "score": 1, "cluster": c} for c in "xy"]
    with pytest.raises(DataError, match=r"item 1 is in two clusters, x \(a\) and y \(b\)"):
        _paired(_predictions(folder, {"a": lines[:1], "b": lines[1:]}))
    partly = [{"item": k, "score": 1} | ({"cluster": "x"} if k else {}) for k in range(2)]
    with pytest.raises(DataError, match="item 0 is in no cluster"):
        _paired(_predictions(folder, {"a": partly, "b": partly}))
    said_once = [{"item": k, "score": 1, "cluster": "x"} for k in range(2)]
    (task,) = _paired(_predictions(folder, {"a": partly, "b": said_once})).tasks
    assert task.clusters is not None and task.clusters.tolist() == ["x", "x"]


def test_metrics_and_tasks_are_chosen(tmp_path: Path) -> None:
    """Dies if one of several metrics is taken in silence, or a task of one model is compared."""
    metrics = {"acc": True, "acc_norm": True}
    for model in "ab":
        writing.lm_eval(tmp_path, model, {"none": [1.0]}, metrics=metrics)
        writing.lm_eval(tmp_path, model, {"none": [1.0]}, task="gsm", metrics={"em": True})
    writing.lm_eval(tmp_path, "a", {"none": [1.0]}, task="own")
    with pytest.raises(DataError, match=r"^task arc: several metrics \(acc, acc_norm\); expected"):
        _paired(tmp_path)
    paired = _paired(tmp_path, metrics=("acc_norm", "em"))
    assert [(task.task, task.metric) for task in paired.tasks] == [
        ("arc", "acc_norm"),
        ("gsm", "em"),
    ]
    assert "task own: no log of b; left out" in paired.notes
    with pytest.raises(DataError, match=r"no model 'c' in the logs; expected one of a, b"):
        _paired(tmp_path, models=("a", "c"))
    with pytest.raises(DataError, match=r"no task has a metric 'ems'; .* you mean 'em'\?"):
        _paired(tmp_path, metrics=("acc", "ems"))


def test_a_metric_is_named_without_its_filter(tmp_path: Path) -> None:
    """Dies if a name does not mean the only metric of a filter, if it means another than itself,
    or if one of several filters is taken; and if what is left out is not told apart."""
    for model in "ab":
        writing.lm_eval(tmp_path, model, {"none": [0.0, 1.0]}, metrics={"em_x": True})
        writing.lm_eval(tmp_path, model, {"strict": [0.0, 1.0]}, task="g", metrics={"em": True})
    paired = _paired(tmp_path, metrics=("em", "em_x"))
    assert [task.metric for task in paired.tasks] == ["em_x", "em/strict"]
    assert paired.without_metric == ()
    assert _paired(tmp_path, metrics=("em",)).without_metric == ()  # arc is not asked for
    for model in "ab":
        both = {name: [0.0, 1.0] for name in ("strict", "flexible")}
        writing.lm_eval(tmp_path, model, both, task="g", metrics={"em": True})
    with pytest.raises(DataError, match=r"task g: several metrics \(em/strict, em/flexible\)"):
        _paired(tmp_path, metrics=("em",))


def test_random_ids_of_messages_are_no_content(tmp_path: Path) -> None:
    """Dies if Inspect's ids of messages, drawn anew in each log, make two items of one."""
    for model in "ab":
        message = {"id": f"drawn for {model}", "role": "user", "content": "question"}
        sample = writing.inspect_sample(1, "C", input=[message])
        writing.inspect_json(tmp_path / f"{model}.json", writing.inspect_head(model), [sample])
    (task,) = _paired(tmp_path).tasks
    assert task.items == ("1",)


def test_item_0_with_several_targets(tmp_path: Path) -> None:
    """Dies if id 0 is taken for none, and the line's number for it."""
    lines = [{"item": k, "gold": ["x", "y"], "predicted": ["x", "x"]} for k in (1, 0)]
    (task,) = _paired(_predictions(tmp_path, {"a": lines, "b": lines[::-1]})).tasks
    assert sorted(task.items) == ["0:0", "0:1", "1:0", "1:1"]


def test_a_direction_that_the_log_contradicts(tmp_path: Path) -> None:
    """Dies if what is asked for is passed over where the log says that higher is."""
    for name in "ab":
        writing.lm_eval(tmp_path, name, {"none": [0.0, 1.0]})
    with pytest.raises(DataError, match="--lower-is-better: the logs say that higher acc is bet"):
        _paired(tmp_path, higher_is_better=False)


def test_a_direction_for_several_metrics_is_of_those_that_are_not_known(tmp_path: Path) -> None:
    """Dies if --lower-is-better, meant for a regret, turns accuracy round beside it; or if it is
    passed over where it says nothing."""

    def better(names: Sequence[str], asked: bool) -> dict[str, bool]:
        lines = [
            {"item": k, "task": name, "metric": name, "score": k % 2}
            for k in range(3)
            for name in names
        ]
        paired = _paired(_predictions(tmp_path, {"a": lines, "b": lines}), higher_is_better=asked)
        assert not any(task.direction_assumed for task in paired.tasks)
        return {task.metric: task.higher_is_better for task in paired.tasks}

    assert better(["acc", "regret"], False) == {"acc": True, "regret": False}
    assert better(["loss", "regret"], True) == {"loss": False, "regret": True}
    assert better(["acc"], False) == {"acc": False}
    assert better(["acc", "f1"], True) == {"acc": True, "f1": True}
    with pytest.raises(DataError, match=r"^--lower-is-better: of several .* acc, f1 is; --metric"):
        better(["acc", "f1"], False)


def test_clusters_that_one_log_names(tmp_path: Path) -> None:
    """Dies if no label of a log is a label other than that of the other log."""
    plain = [{"item": k, "score": k} for k in range(3)]
    named = [line | {"cluster": c} for line, c in zip(plain, "xxy", strict=True)]
    (task,) = _paired(_predictions(tmp_path, {"a": plain, "b": named})).tasks
    assert task.clusters is not None and task.clusters.tolist() == ["x", "x", "y"]
