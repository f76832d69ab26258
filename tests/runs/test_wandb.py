"""Exports of Weights & Biases: charts and tables of runs are read with a score a run."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxeval.errors import DataError
from jaxeval.runs import tables
from jaxeval.runs.layout import Layout
from tests.runs.reading import by_model, labels


def _chart(folder: Path, runs: Sequence[str], metrics: Sequence[str] = ("val/acc",)) -> str:
    """Ten steps in falling order; the metrics are logged at every fifth, the last is at 10."""
    path = folder / "chart.csv"
    lines = [(run, metric) for metric in ("_step", *metrics) for run in runs]
    with path.open("w", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_ALL)
        ends = ("", "__MIN", "__MAX")
        table.writerow(["Step", *(f"{run} - {of}{end}" for run, of in lines for end in ends)])
        for step in range(11, 0, -1):
            row: list[object] = [step]
            for run, of in lines:
                value = step if of == "_step" else "" if step % 5 else step + runs.index(run) / 100
                row += [value] * 3
            table.writerow(row)
    return str(path)


@pytest.mark.parametrize(
    ("runs", "models", "seeds"),
    [
        (["lstm-seed1", "lstm-seed2", "cnn-seed1"], ("lstm", "cnn"), ["1", "2", "1"]),
        (["seed_7/a - b", "seed_8/a - b", "seed_7/c"], ("a - b", "c"), ["7", "8", "7"]),
    ],
)
def test_a_chart_is_read_by_the_names_of_its_runs(
    tmp_path: Path, runs: list[str], models: tuple[str, ...], seeds: list[str]
) -> None:
    """Dies if steps are runs, __MIN and __MAX models, or the last value is not that of a run."""
    table = tables.read(_chart(tmp_path, runs), Layout())
    assert table.models == models and labels(table, "seed") == seeds
    assert sorted(table.known.tolist()) == [10 + k / 100 for k in range(len(runs))]
    assert table.metric == "val/acc"
    assert "the last val/acc of each run (Step 10 ...)" in table.warnings[0]


def test_runs_of_a_chart_belong_to_the_models_that_are_named(tmp_path: Path) -> None:
    """Dies if names that tell no seeds cannot be grouped, or other runs are read or refused."""
    runs = ["lstm_big x", "lstm y", "lstm z", "cnn q", "lstm2 p"]
    table = tables.read(_chart(tmp_path, runs), Layout(models=["lstm", "cnn", "lstm_big"]))
    counts = [len(table.scores_of(model)) for model in ("lstm", "cnn", "lstm_big")]
    assert counts == [2, 1, 1]
    assert "not read: runs of other models (lstm2 p)" in table.warnings
    listing = tables.read(_runs_table(tmp_path, runs, []), Layout(models=["lstm", "lstm_big"]))
    assert by_model(listing) == {"lstm": [0.51], "lstm_big": [0.5]}
    assert "not read: runs of other models (cnn q, lstm2 p)" in listing.warnings


@pytest.mark.parametrize(
    ("runs", "metrics", "message"),
    [
        (["playful-sun-17", "true-pond-16"], ["acc"], "names of runs .* neither model nor seed"),
        (["lstm", "cnn"], ["acc"], "neither model nor seed"),
        (["arch: lstm", "arch: cnn"], ["acc"], "a chart of groups of runs .* are means"),
        (
            ["a-seed1"],
            ["train/loss", "val/acc"],
            "a chart of val/acc, train/loss; --column score=v",
        ),
    ],
)
def test_charts_that_do_not_say_it_are_refused(
    tmp_path: Path, runs: list[str], metrics: list[str], message: str
) -> None:
    """Dies if a guess is made, the means of groups are runs, or a training loss is advised."""
    with pytest.raises(DataError, match=message):
        tables.read(_chart(tmp_path, runs, metrics), Layout())


def _runs_table(folder: Path, names: Sequence[str], config: Sequence[str]) -> str:
    path = folder / "runs.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file, quoting=csv.QUOTE_ALL)
        head = ["Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep"]
        table.writerow([*head, *config, "lr", "epoch", "_step", "train/loss", "val/acc"])
        for k, name in enumerate(names):
            crashed = k == 2
            values = [("lstm", "cnn")[k % 2] if of == "arch" else k // 2 for of in config]
            head = [name, "crashed" if crashed else "finished", "-", "me", "", "2025", "99", ""]
            acc = "" if crashed else 0.5 + k / 100
            table.writerow([*head, *values, 0.1, 10 + k, 100, 0.3 + k / 10, acc])
    return str(path)


@pytest.mark.parametrize(
    ("names", "config", "seeds"),
    [
        (["a-b-1", "c-d-2", "e-f-3", "g-h-4"], ["arch", "seed"], ["0", "0", "1"]),
        (["lstm-s1", "cnn-s1", "lstm-s2", "cnn-s2"], [], ["1", "1", "2"]),
    ],
)
def test_a_table_of_runs_is_read_with_its_states(
    tmp_path: Path, names: list[str], config: list[str], seeds: list[str]
) -> None:
    """Dies if the names of runs are models, a crashed run is an error, or vanishes."""
    table = tables.read(_runs_table(tmp_path, names, config), Layout())
    assert table.models == ("lstm", "cnn") and table.metric == "val/acc"
    assert (
        by_model(table) == {"lstm": [0.5], "cnn": [0.51, 0.53]} and labels(table, "seed") == seeds
    )
    assert table.statuses["lstm"] == {"crashed": 1, "finished": 1}
