"""Tables of runs of Weights & Biases are read with a score a run; charts are refused."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxeval import sources
from jaxeval.errors import DataError
from jaxeval.runs.layout import Layout
from tests.runs.reading import by_model, labels, read


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


def test_runs_belong_to_the_models_that_are_named(tmp_path: Path) -> None:
    """Dies if names that tell no seeds cannot be grouped, or other runs are read or refused."""
    runs = ["lstm_big x", "lstm y", "lstm z", "cnn q", "lstm2 p"]
    listing = sources.read(_runs_table(tmp_path, runs, []), Layout(models=["lstm", "lstm_big"]))
    assert by_model(listing) == {"lstm": [0.51], "lstm_big": [0.5]}
    assert "not read: runs of other models (cnn q, lstm2 p)" in listing.warnings


def test_names_that_do_not_say_it_are_refused(tmp_path: Path) -> None:
    """Dies if a guess is made of the names of runs."""
    with pytest.raises(DataError, match="that say neither model nor seed"):
        sources.read(_runs_table(tmp_path, ["playful-sun-17", "true-pond-16"], []), Layout())


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
    table = sources.read(_runs_table(tmp_path, names, config), Layout())
    assert table.models == ("lstm", "cnn") and table.metric == "val/acc"
    assert (
        by_model(table) == {"lstm": [0.5], "cnn": [0.51, 0.53]} and labels(table, "seed") == seeds
    )
    assert table.statuses["lstm"] == {"crashed": 1, "finished": 1}


@pytest.mark.parametrize("column", ["name", "run_name", "Name"])
def test_names_of_runs_in_any_table(tmp_path: Path, column: str) -> None:
    """Dies if a table without other columns of trackers is refused, or a request is unheard."""
    rows = "cnn-seed1,8,1\ncnn-seed2,9,2\nlstm-seed1,7,3\n"
    found = read(tmp_path, f"{column},f1,B\n{rows}", metric="f1")
    assert by_model(found) == {"cnn": [8, 9], "lstm": [7]} and labels(found, "seed")[:2] == [
        "1",
        "2",
    ]
    assert "not read: B;" in found.warnings[-1]
    with pytest.raises(DataError, match=f"the columns are {column}, f1, acc: "):
        read(tmp_path, f"{column},f1,acc\n{rows}")
    with pytest.raises(DataError, match=r"looks like text \(cnn-s16\)"):  # a size
        read(tmp_path, f"{column},f1\ncnn-s16,8\ncnn-s32,9\n")
    wide = read(tmp_path, f"{column},f1,B\n{rows}", models=["f1", "B"])
    named = read(tmp_path, f"{column},f1\ncnn-seed1,8\n", columns={"model": column})
    assert (wide.models, named.models) == (("f1", "B"), ("cnn-seed1",))
    nested = read(tmp_path, f"{column},f1,config.model\n{rows}")
    assert nested.models == ("cnn", "lstm")
