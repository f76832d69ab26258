"""Which scores are better: what a table or runs record, what is asked for, and what is assumed."""

from pathlib import Path

import pytest

import jaxeval
from jaxeval.errors import DataError
from tests import from_python
from tests.from_python import TOY, compare

_toys = from_python.toys  # a fixture of all tests here
_LOW = [0.10, 0.101, 0.102, 0.099, 0.098, 0.1005]
_HIGH = [0.20, 0.201, 0.202, 0.199, 0.198, 0.2005]


def _tidy(folder: Path, head: str, *cells: str) -> Path:
    """Of A the lower scores; the same cells in every row after model and score."""
    path = folder / "tidy.csv"
    rows = [[m, str(s), *cells] for m, of in (("A", _LOW), ("B", _HIGH)) for s in of]
    path.write_text("\n".join([head, *map(",".join, rows)]) + "\n")
    return path


def test_tables_that_were_read_before(tmp_path: Path) -> None:
    """Dies if a direction that is asked for is not heard, or contradicts what is recorded."""
    path = _tidy(tmp_path, "model,score")
    read = jaxeval.read_scores(path)
    for source in (path, read):
        lower = compare("A", "B", table=source, higher_is_better=False)
        assert "score: lower is better." in str(lower)
        won = lower.to_dict()["pairs"][0]["probability_of_improvement"]["estimate"]
        assert won == 1.0  # A has the lower scores
        assert "score: higher is better." in str(
            compare("A", "B", table=source, higher_is_better=True)
        )
    assert "assumed" in str(compare("A", "B", table=read))  # what was read stays as it is
    path = _tidy(tmp_path, "model,score,higher_is_better", "false")
    read = jaxeval.read_scores(path)
    for source in (path, read):
        assert "lower is better." in str(compare(table=source, higher_is_better=False))
        with pytest.raises(DataError, match="says that lower score is better"):
            compare(table=source, higher_is_better=True)


def test_runs_know_their_direction() -> None:
    """Dies if runs of an accuracy are compared as losses."""
    a = jaxeval.train(TOY, seeds=3, quiet=True)
    b = jaxeval.train(TOY, seeds=3, quiet=True, changes={"name": "b", "model.width": 3})
    assert "higher is better." in str(compare(a, b, higher_is_better=True))
    for models, table in (((a, b), None), ((), "runs"), ((), jaxeval.load("runs"))):
        with pytest.raises(DataError, match="that higher .* is better"):
            compare(*models, table=table, higher_is_better=False)
