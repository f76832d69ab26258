"""Models of one run each, beside what is known of their other runs."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import DataError
from jaxeval.runs import arguments, flat_items, items


def _items(folder: Path, runs: Mapping[str, int]) -> Path:
    """A file of 60 items, right or wrong, of so many runs of each model."""
    draw = np.random.default_rng(0)
    lines = [
        f"{model},{seed},i{k},{int(draw.random() < 0.7)}"
        for model, many in runs.items()
        for seed in range(many)
        for k in range(60)
    ]
    path = folder / "items.csv"
    path.write_text("\n".join(["model,seed,item,correct", *lines]) + "\n")
    return path


def _main_with_statuses(
    path: Path,
    statuses: Mapping[str, Mapping[str, int]],
    monkeypatch: pytest.MonkeyPatch,
    words: Sequence[str],
) -> int:
    """Compares the items of a file as those of a runs folder in which runs ended so."""
    table, trained = flat_items.trained(items.read(path))
    known = dataclasses.replace(table, statuses=statuses, notes=("A and B differ in x: 1, 2",))
    monkeypatch.setattr(arguments, "scores_and_items", lambda *_: (known, trained))
    return compare.main(["--items", str(path), *words])


def test_one_run_is_told_with_what_is_known_of_the_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if failed runs or notes of the table are lost, or who has one run is not said."""
    path = _items(tmp_path, {"A": 3, "B": 1})
    statuses = {"A": {"diverged": 4, "finished": 3}, "B": {"finished": 1}}
    expected = [
        "A and B differ in x: 1, 2",
        "A: 4 diverged, 3 finished",
        "B has one run: all models are compared over items alone",
    ]
    assert _main_with_statuses(path, statuses, monkeypatch, ["--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == expected
    assert _main_with_statuses(path, statuses, monkeypatch, []) == 0
    shown = capsys.readouterr().out
    assert all(line in shown for line in expected)


def test_what_failed_runs_left_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the one run that did not diverge stands for its model."""
    path = _items(tmp_path, {"A": 1, "B": 1})
    statuses = {"A": {"finished": 1}, "B": {"diverged": 5, "finished": 1}}
    with pytest.raises(DataError, match=r"B: 1 score, .* \(5 diverged, 1 finished\), which is no"):
        _main_with_statuses(path, statuses, monkeypatch, [])
