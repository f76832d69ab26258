"""Scores of any table by split and seed."""

from pathlib import Path

import pytest

from jaxeval.errors import DataError
from jaxeval.runs import cells
from tests.runs.reading import read

HEAD = "model,fold,run,score"
ROWS = ["a,1,x,0.5", "a,1,y,0.75", "a,2,x,0.25", "b,2,x,1.0", "b,1,y,0.5", "b,3,x,0.125"]


def test_scores_and_differences_are_of_their_cell(tmp_path: Path) -> None:
    """Dies if a label belongs to another score, scores of two splits or seeds are subtracted, or a
    lonely one counts as it is."""
    table = read(tmp_path, "\n".join([HEAD, *ROWS]))
    rows = list(zip(*cells.cells(table, "a"), strict=True))
    assert rows == [("1", "x", 0.5), ("1", "y", 0.75), ("2", "x", 0.25)]
    apart = cells.cells(table, "a", "b")
    pairs = dict(zip(zip(apart.splits, apart.seeds, strict=True), apart.scores, strict=True))
    lonely = {("1", "x"): None, ("3", "x"): None}
    assert pairs == {("1", "y"): 0.25, ("2", "x"): -0.75, **lonely}


@pytest.mark.parametrize(
    ("head", "rows", "error"),
    [
        (HEAD, ROWS, "expected --model with one of a, b"),
        ("model,run,score", ["a,x,0.5", "a,y,0.5"], "no column split"),
        (f"{HEAD},dataset", ["a,1,x,0.5,d", "a,1,x,0.5,e"], "data sets"),
    ],
)
def test_a_table_that_is_no_design(tmp_path: Path, head: str, rows: list[str], error: str) -> None:
    """Dies if models or data sets are mixed, or an axis is made up."""
    with pytest.raises(DataError, match=error):
        cells.cells(read(tmp_path, "\n".join([head, *rows])))
