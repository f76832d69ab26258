"""Which runs of a model are one on all tasks, and which are copies."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from jaxeval.runs import logs
from jaxeval.stats import Rules, study
from jaxeval.stats.study import Study

LATER = "2026-04-01T00-00-00.1"
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


def _studied(*paths: Path | str) -> Study:
    return study.study(logs.read([*map(str, paths)]), Rules(resamples=9))


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
        found.append(_studied(tmp_path / folder).overall[0].difference)
    assert found[0] is not None and found[0] == found[1]
    assert found[0].se > 1  # that of networks: 2 sqrt(2 2.5 / 5) = 2.8


def test_other_runs_on_another_task_are_not_shared(tmp_path: Path) -> None:
    """Dies if two runs of a task are those of another task by their number."""
    draw = np.random.default_rng(0)
    _task(tmp_path, "s", _of_networks("vw", draw))
    _task(tmp_path, "t", _of_networks("xy", draw))
    assert _studied(tmp_path).notes == (
        "Runs differ between tasks and count as different networks.",
    )
