"""Which items of two logs are the same, which metrics are compared, which runs are one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.runs.scores import DataSetScores
from tests.runs.logs import writing
from tests.runs.logs.reading import lines, read

NAN = float("nan")
POINTS = {"points": True}  # no fractions


def _one(*paths: Path | str, **layout: Any) -> DataSetScores:
    """The only task."""
    (data,) = read(*paths, **layout).data_sets
    return data


def _predictions(folder: Path, of: Mapping[str, Sequence[Mapping]]) -> Path:
    """A file a model."""
    folder.mkdir(exist_ok=True)
    for name, content in of.items():
        lines(folder / f"{name}.jsonl", content)
    return folder


def test_other_documents_of_equal_ids_are_no_pairs(tmp_path: Path) -> None:
    """Dies if an id that stands for two documents pairs them, a dropped one is not named, or a
    cluster goes to another item."""
    scores = {"a": [0.0, 0.1, 0.2, 0.3], "b": [1.0, 1.1, 1.2, 1.3]}
    writing.lm_eval(tmp_path, "a", {"none": scores["a"]}, metrics=POINTS)
    writing.lm_eval(tmp_path, "b", {"none": scores["b"]}, order=(0, 1, 3, 2), metrics=POINTS)
    with pytest.raises(DataError, match=r"2 of 4 items are not the same .*--mismatched drop"):
        read(tmp_path)
    found = read(tmp_path, mismatched="drop", cluster="passage")
    (data,) = found.data_sets
    assert data.items == ("0", "1") and data.clusters is not None
    assert data.clusters.tolist() == ["p0", "p0"] and "are left out" in found.warnings[0]
    assert np.allclose(data.models["b"].scores - data.models["a"].scores, 1.0)


def test_another_prompt_or_gold_is_refused(tmp_path: Path) -> None:
    """Dies if items of one id and other prompts or golds are compared without being asked for;
    or if 1 in one log and "1" in the other, or keys in another order, are two golds."""
    writing.lm_eval(tmp_path / "p", "a", {"none": [0.0, 1.0]})
    writing.lm_eval(tmp_path / "p", "b", {"none": [1.0, 1.0]}, prompt_hash="other template")
    with pytest.raises(DataError, match=r"^task arc: 2 of 2 items .*content or prompt \(0, 1\)"):
        read(tmp_path / "p")
    data = _one(tmp_path / "p", mismatched="pair")
    assert data.models["b"].scores.ravel().tolist() == [1.0, 1.0]
    with pytest.raises(DataError, match="a, b have no scored item in common"):
        read(tmp_path / "p", mismatched="drop")
    golds = [1, {"x": 1, "y": 2}, "x"]
    others = ["1", {"y": 2, "x": 1}, "y"]
    of = {
        name: [{"item": k, "gold": g, "predicted": g} for k, g in enumerate(every)]
        for name, every in (("a", golds), ("b", others))
    }
    with pytest.raises(DataError, match=r"1 of 3 items .*\(2\)"):
        read(_predictions(tmp_path / "g", of))


def test_all_that_a_model_lacks_stays_and_is_marked(tmp_path: Path) -> None:
    """Dies if an answer lands in another item, run or sample, or what lacks gets a score."""
    content = [
        {"model": "a", "item": item, "run": run, "sample": sample}
        | {"score": item + run / 4 + sample / 100}
        for run in (2, 1)
        for item in (2, 0, 1)
        for sample in (7, 3)
        if (run, item, sample) != (2, 0, 7)
    ]
    b = [{"model": "b", "item": item, "score": None if item else 5.0} for item in range(4)]
    data = _one(_predictions(tmp_path, {"x": [*content, *b]}) / "x.jsonl")
    assert data.items == ("2", "0", "1", "3")
    items = np.array([2.0, 0.0, 1.0])[:, None, None]
    expected = items + np.array([0.25, 0.5])[:, None] + np.array([0.03, 0.07])
    expected[1, 1, 1] = NAN
    of = data.models["a"]
    assert np.allclose(of.scores[:3], expected, equal_nan=True)
    assert of.status[3].tolist() == [[3, 3]] * 2 and of.status[1].tolist() == [[0, 0], [0, 3]]
    assert of.labels["name"].tolist() == ["1", "2"]
    assert data.models["b"].status.ravel().tolist() == [1, 0, 1, 1]


def test_scores_that_are_not_finite(tmp_path: Path) -> None:
    """Dies if NaN without a reason is a score, or a failed answer is 0 where 0 is the best."""
    folder = writing.lm_eval(tmp_path, "a", {"none": [1.0, NAN, 0.5]}).parent
    writing.lm_eval(tmp_path, "b", {"none": [1.0, 1.0, float("inf")]})
    with pytest.raises(DataError, match="2 scores not finite, the first nan of a,"):
        read(folder)
    known = {
        m: of.scores.ravel().tolist() for m, of in _one(folder, missing="drop").models.items()
    }
    assert repr(known) == repr({"a": [1.0, NAN, 0.5], "b": [1.0, 1.0, NAN]})
    zero = _one(folder, missing="zero").models["a"].scores.ravel().tolist()
    assert zero == [1.0, 0.0, 0.5]
    for scores, better, refused in (
        ((0.5, None), False, True), ((-0.5, None), None, True), ((-0.5, 1.0, None), None, False)
    ):  # fmt: skip
        of = [{"item": k, "score": score} for k, score in enumerate(scores)]
        path = lines(tmp_path / "a.jsonl", of)
        if refused:
            with pytest.raises(DataError, match=r"--missing zero: .* 0 would be the best"):
                read(path, missing="zero", higher_is_better=better)
        else:
            assert 0.0 in read(path, missing="zero").known


def test_clusters_go_with_their_items(tmp_path: Path) -> None:
    """Dies if an item may be in two clusters, or no label of a log is a label of its own."""

    def of(*labels: str | None) -> list[dict]:
        return [{"item": k, "score": k, "cluster": c} for k, c in enumerate(labels)]

    with pytest.raises(DataError, match=r"item 1 is in two clusters, [xy] and [xy]"):
        read(_predictions(tmp_path, {"a": of("x", "x"), "b": of("x", "y")}))
    with pytest.raises(DataError, match="item 0 is in no cluster"):
        read(_predictions(tmp_path, {"a": of(None, "x"), "b": of(None, "x")}))
    data = _one(_predictions(tmp_path, {"a": of(None, None), "b": of("x", "y")}))
    assert data.clusters is not None and data.clusters.tolist() == ["x", "y"]
    with pytest.raises(DataError, match="no column 'c'; expected one of item, score"):
        read(tmp_path, cluster="c")


def test_metrics_and_tasks_are_chosen(tmp_path: Path) -> None:
    """Dies if one of several metrics is taken in silence, if a task of one model is compared, if a
    name does not mean the only metric of a filter, or a misspelt one passes."""
    metrics = {"acc": True, "acc_norm": True}
    for model in "ab":
        writing.lm_eval(tmp_path, model, {"none": [0.0, 1.0]}, metrics=metrics, acc_norm=0.25)
        writing.lm_eval(tmp_path, model, {"strict": [1.0]}, task="gsm", metrics={"em": True})
    writing.lm_eval(tmp_path, "a", {"none": [1.0]}, task="own")
    with pytest.raises(DataError, match=r"^task arc: several metrics \(acc, acc_norm\); expected"):
        read(tmp_path)
    found = read(tmp_path, metric="acc_norm,em")
    assert [(data.name, data.metric) for data in found.data_sets] == [
        *(("arc", "acc_norm"), ("gsm", "em/strict"))
    ]
    assert found.data_sets[0].known.tolist() == [0.25] * 4
    assert "task own: no log of b; left out" in found.warnings and found.absent["b"] == ("own",)
    assert [data.name for data in read(tmp_path, metric="em", tasks=["g*"]).data_sets] == ["gsm"]
    for layout, said in (
        ({"models": ["a", "c"]}, r"no model 'c'; expected one of a, b"),
        ({"metric": "acc,ems"}, "no task has a metric 'ems'; expected one of acc"),
        ({"tasks": ["gs"]}, r"--task: no task 'gs' in the logs; expected one of arc, gsm, own"),
    ):
        with pytest.raises(DataError, match=said):
            read(tmp_path, **layout)


def test_a_direction_is_of_its_metric(tmp_path: Path) -> None:
    """Dies if --lower-is-better, meant for a oddity, turns accuracy round beside it; if it is
    passed over where it says nothing, or where the log says that higher is."""

    def better(names: Sequence[str], asked: bool) -> dict[str, bool]:
        of = [
            {"item": k, "task": name, "metric": name, "score": k % 2}
            for k in range(3)
            for name in names
        ]
        found = read(_predictions(tmp_path / "d", {"a": of, "b": of}), higher_is_better=asked)
        return {data.metric: data.higher_is_better for data in found.data_sets}

    assert better(["acc", "oddity"], False) == {"acc": True, "oddity": False}
    assert better(["loss", "oddity"], True) == {"loss": False, "oddity": True}
    assert better(["acc"], False) == {"acc": False}
    with pytest.raises(DataError, match=r"^--lower-is-better: with .* acc, f1 is known; --metric"):
        better(["acc", "f1"], False)
    writing.lm_eval(tmp_path / "l", "a", {"none": [0.0, 1.0]})
    with pytest.raises(DataError, match="--lower-is-better: the logs say that higher acc is bet"):
        read(tmp_path / "l", higher_is_better=False)


def _of_a(path: Path, items: range, **keys: Any) -> Path:
    return lines(
        path, [{"item": f"i{k}", "score": k % 3 / 2, "model": "a", **keys} for k in items]
    )


def test_parts_of_a_run_are_refused(tmp_path: Path) -> None:
    """Dies if halves of a run pass for two runs, or two runs with a common item are one."""
    first = _of_a(tmp_path / "a1.jsonl", range(3), run="r")
    second = _of_a(tmp_path / "a2.jsonl", range(2, 6), run="r")
    assert _one(first, second).models["a"].runs == 2
    for keys in ({}, {"run": "r"}):
        _of_a(first, range(3), **keys)
        _of_a(second, range(3, 6))
        with pytest.raises(DataError, match="a run of a has no item in common with its other"):
            read(f"a={first}", f"a={second}")
