"""Tables of items in place of logs: the same as JSON lines; scores of runs are refused."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from jaxeval.errors import DataError
from jaxeval.runs.logs import finding
from jaxeval.runs.logs.records import Keys

ROWS: list[dict[str, Any]] = [
    {"model": model, "run": run, "item": f"i{k}", "task": "t", "score": (k + len(run)) / 10}
    for model in "AB"
    for run in ("x", "yy")
    for k in range(4)
]


def _csv(path: Path, rows: list[dict[str, Any]]) -> str:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, [*rows[0]])
        table.writeheader()
        table.writerows(rows)
    return str(path)


def _lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"correct": [True, False, True, True]},
        {"gold": ["01", "1", "NA", "x"], "predicted": ["1", "1", "NA", "y"]},
    ],
)
def test_a_table_is_read_as_the_same_lines(tmp_path: Path, answers: dict[str, list]) -> None:
    """Dies if a column is another role, text becomes a number, or true is none."""
    rows = [dict(row) for row in ROWS]
    for row in rows if answers else ():
        place = int(row.pop("item")[1:])
        row |= {"item": place, **{role: values[place] for role, values in answers.items()}}
        del row["score"]
    read = finding.read([_csv(tmp_path / "a.csv", rows)])
    same = finding.read([_lines(tmp_path / "a.jsonl", rows)])
    assert read.score.tolist() == same.score.tolist()
    for row in rows:
        if "item" in row:
            row["doc_id"], row["seed"] = row.pop("item"), row.pop("run")
    renamed = finding.read([_csv(tmp_path / "b.csv", rows)])
    assert renamed.score.tolist() == same.score.tolist()
    assert renamed.names["model"] == ("A", "B") and len(set(renamed.run.tolist())) == 2


def test_scores_of_runs_are_no_items(tmp_path: Path) -> None:
    """Dies if the rows of a table of runs are taken for items by their numbers."""
    runs = _csv(tmp_path / "runs.csv", [{"model": "A", "seed": 1, "score": 0.5}])
    with pytest.raises(DataError, match=r"no column item \(.*of scores of runs: --table .*runs"):
        finding.read([runs])
    _csv(tmp_path / "items.csv", ROWS)
    assert [path.name for path in finding.files([str(tmp_path)])] == ["items.csv"]
    named = finding.read([runs], Keys("", {"item": "seed"}))
    assert named.score.tolist() == [0.5]
