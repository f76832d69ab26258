"""Scores of any table by split and seed."""

from pathlib import Path

import pytest

from jaxeval.errors import DataError
from jaxeval.runs import cells, tables
from jaxeval.runs.flat import ScoreTable
from jaxeval.runs.layout import Layout

HEAD = "model,fold,run,score"
ROWS = ["a,1,x,0.5", "a,1,y,0.75", "a,2,x,0.25", "b,2,x,1.0", "b,1,y,0.5", "b,3,x,0.125"]


def _table(folder: Path, rows: list[str], head: str = HEAD) -> ScoreTable:
    file = folder / "scores.csv"
    file.write_text("\n".join([head, *rows]) + "\n")
    return tables.read(str(file), Layout())


def test_the_scores_of_one_model(tmp_path: Path) -> None:
    """Dies if another model's scores are among them, or a label belongs to another score."""
    read = cells.cells(_table(tmp_path, ROWS), "a")
    rows = list(zip(read.splits, read.seeds, read.scores, strict=True))
    assert rows == [("1", "x", 0.5), ("1", "y", 0.75), ("2", "x", 0.25)]
    assert cells.cells(_table(tmp_path, ROWS[:3])) == read


def test_differences_are_within_a_cell(tmp_path: Path) -> None:
    """Dies if scores of two splits or seeds are subtracted, or a lonely one counts as it is."""
    read = cells.cells(_table(tmp_path, ROWS), "a", "b")
    pairs = dict(zip(zip(read.splits, read.seeds, strict=True), read.scores, strict=True))
    lonely = {("1", "x"): None, ("3", "x"): None}
    assert pairs == {("1", "y"): 0.25, ("2", "x"): -0.75, **lonely}


@pytest.mark.parametrize(
    ("head", "rows", "error"),
    [
        (HEAD, ROWS, "expected --model with one of a, b"),
        ("model,run,score", ["a,x,0.5", "a,y,0.5"], "no column split"),
        ("model,fold,score", ["a,1,0.5", "a,2,0.5"], "no column seed"),
        (
            f"{HEAD},dataset",
            ["a,1,x,0.5,d", "a,1,x,0.5,e"],
            "several data sets .d, e.*copy its rows into a file",
        ),
    ],
)
def test_a_table_that_is_no_design(tmp_path: Path, head: str, rows: list[str], error: str) -> None:
    """Dies if models or data sets are mixed, or an axis is made up."""
    with pytest.raises(DataError, match=error):
        cells.cells(_table(tmp_path, rows, head))
