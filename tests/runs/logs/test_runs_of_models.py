"""Which runs of a model are one on all tasks, and which are copies."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from jaxeval.runs.item_scores import Paired
from jaxeval.runs.logs import finding, pairing
from jaxeval.stats.items import study
from jaxeval.stats.items.study import ItemStudy, Rules

Runs = Mapping[str, Sequence[float]]  # name -> scores of items


def _task(folder: Path, task: str, by_model: Mapping[str, Runs], named: bool = True) -> None:
    """A file of a task; runs without names stand in lists."""
    folder.mkdir(exist_ok=True)
    lines: list[dict] = []
    for model, runs in by_model.items():
        if named:
            lines += [
                {"model": model, "task": task, "run": run, "item": k, "score": score}
                for run, scores in runs.items()
                for k, score in enumerate(scores)
            ]
        else:
            lines += [
                {"model": model, "task": task, "item": k, "score": scores}
                for k, scores in enumerate(zip(*runs.values(), strict=True))
            ]
    (folder / f"{task}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _paired(*paths: Path | str) -> Paired:
    return pairing.paired(finding.read([*map(str, paths)]))


def _studied(folder: Path) -> ItemStudy:
    return study.study(_paired(folder), Rules(resamples=9))


def _of_networks(order: str, draw: np.random.Generator) -> dict[str, dict[str, list[float]]]:
    """Scores of networks of both models, whose effect is that of their name on every task."""
    return {
        model: {run: (2 * "vwxyz".index(run) + draw.normal(size=30)).tolist() for run in order}
        for model in "ab"
    }


def test_runs_are_one_on_all_tasks_by_their_names(tmp_path: Path) -> None:
    """Dies if run r of a file is taken for run r of another that has them in another order."""
    found = []
    for folder, order in (("same", "vwxyz"), ("turned", "zyxwv")):
        by_task = {t: _of_networks("vwxyz", np.random.default_rng(k)) for k, t in enumerate("st")}
        for task, by_model in by_task.items():
            turned = order if task == "t" else "vwxyz"
            in_order = {m: {run: runs[run] for run in turned} for m, runs in by_model.items()}
            _task(tmp_path / folder, task, in_order)
        found.append(_studied(tmp_path / folder).suite)
    assert found[0].shared_runs and found[0].overall == found[1].overall
    assert found[0].overall[0].mean_over_tasks.se > 1  # that of networks: 2 sqrt(2 2.5 / 5) = 2.8


def test_other_runs_on_another_task_are_not_shared(tmp_path: Path) -> None:
    """Dies if three runs of a task are those of another task by their number."""
    draw = np.random.default_rng(0)
    _task(tmp_path, "s", _of_networks("vwx", draw))
    _task(tmp_path, "t", _of_networks("xyz", draw))
    suite = _studied(tmp_path).suite
    assert not suite.shared_runs and suite.notes == (
        "Runs differ between tasks: they are taken as a task's own.",
    )


def test_runs_that_are_all_right_are_no_copies(tmp_path: Path) -> None:
    """Dies if runs without an error become one, and their model's mean another."""
    draw = np.random.default_rng(1)
    right = {str(k): [1.0] * 20 for k in range(3)} | {"3": [0.0, 1.0] * 10}
    other = {str(k): draw.integers(2, size=20).astype(float).tolist() for k in range(4)}
    _task(tmp_path, "t", {"a": right, "b": other}, named=False)
    paired = _paired(tmp_path)
    assert paired.tasks[0].scores["a"].shape == (20, 4, 1)
    assert not any("copies" in line for line in _studied(tmp_path).warnings)


def test_runs_that_are_equal_on_one_task_are_no_copies(tmp_path: Path) -> None:
    """Dies if an easy task makes copies of runs that differ on a hard one, or copies stay."""
    draw = np.random.default_rng(2)
    easy = {str(k): [0.0] + [1.0] * 19 for k in range(3)}
    hard = {str(k): draw.integers(2, size=20).astype(float).tolist() for k in range(3)}
    for folder, of_hard in (("runs", hard), ("copies", dict.fromkeys(hard, hard["0"]))):
        _task(tmp_path / folder, "easy", {"a": easy, "b": hard}, named=False)
        _task(tmp_path / folder, "hard", {"a": of_hard, "b": hard}, named=False)
    runs, copies = (_paired(tmp_path / folder).tasks for folder in ("runs", "copies"))
    assert [task.scores["a"].shape[1] for task in runs] == [3, 3]
    assert [task.scores["a"].shape[1] for task in copies] == [1, 1]
    assert [task.copies["a"] for task in copies] == [2, 2]
    assert _studied(tmp_path / "copies").suite.notes == ()  # b is not kept from runs by one task


@pytest.mark.parametrize("named", [True, False])
def test_runs_that_a_user_names_stay(tmp_path: Path, named: bool) -> None:
    """Dies if runs that have names, or are named by --log NAME=PATH, are dropped as copies; or if
    nothing is said of them."""
    same = {run: [0.0, 1.0, 1.0] for run in "xy"}
    other = {"x": [0.0, 1.0, 0.0], "y": [1.0, 0.0, 0.0]}
    for model, runs in {"a": same, "b": other}.items():
        _task(tmp_path / model, "t", {"m": runs}, named)
    (task,) = _paired(f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}").tasks
    assert task.scores["a"].shape[1] == 2 and task.alike["a"] == 1
    result = study.study(_paired(f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}"), Rules(resamples=9))
    assert "two runs of a have the same score on every item" in result.warnings[0]


def test_a_task_of_one_run_that_changes_the_claim_is_said(tmp_path: Path) -> None:
    """Dies if all tasks fall back to items, since one has a single run, without a word."""
    draw = np.random.default_rng(3)
    _task(tmp_path, "s", _of_networks("vwx", draw))
    _task(tmp_path, "t", _of_networks("v", draw))
    assert _studied(tmp_path).suite.notes[0] == (
        "Over items alone on all tasks, since a has one run on t."
    )
    one = tmp_path / "one"
    _task(one, "t", _of_networks("v", draw))
    assert _studied(one).suite.notes == ()
