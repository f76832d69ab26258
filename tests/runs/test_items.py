"""Tables of predictions: scores against definitions, items in one order, what is refused."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.runs import items
from jaxeval.runs.scores import Scores
from tests.runs.reading import by_model

LABELS = ("negative", "neutral", "positive")
Row = dict[str, Any]


def _rows(skill: dict[str, float], runs: int = 5, n: int = 90, dataset: str = "") -> list[Row]:
    """Runs of models that guess right with a probability; the classes are not balanced."""
    draw = np.random.default_rng(len(dataset))
    gold = draw.choice(LABELS, n, p=(0.2, 0.2, 0.6))
    return [
        {"dataset": dataset, "model": model, "seed": seed, "item": f"i{k}", "gold": str(gold[k])}
        | {"predicted": str(gold[k] if draw.random() < p else draw.choice(LABELS))}
        for model, p in skill.items()
        for seed in range(runs)
        for k in range(n)
    ]


def _write(folder: Path, rows: list[Row], name: str = "items.csv") -> Path:
    path = folder / name
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _macro_f1(rows: list[Row]) -> float:
    """By counting pairs of labels; of classes that are gold."""
    pairs = [(row["gold"], row["predicted"]) for row in rows]
    f1 = []
    for label in {gold for gold, _ in pairs}:
        right = pairs.count((label, label))
        wrong = sum((gold == label) != (said == label) for gold, said in pairs)
        f1.append(2 * right / (2 * right + wrong))
    return sum(f1) / len(f1)


def _named(found: Scores) -> dict[tuple[str, str, str], float]:
    """(model, data set, seed) -> score."""
    return {
        (model, data.name, seed): score
        for data in found.data_sets
        for model, of in data.models.items()
        for seed, score in zip(of.labels["seed"], of.scores[0, :, 0].tolist(), strict=True)
    }


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_scores_are_those_of_the_predictions(tmp_path: Path, metric: str) -> None:
    """Dies if runs, items or data sets are mixed, if a class is left out of macro-F1, or if the
    order of the rows matters."""
    rows = _rows({"A": 0.8, "B": 0.5}) + _rows({"A": 0.7, "B": 0.7}, n=40, dataset="more")
    for row in rows:
        row["dataset"] = row["dataset"] or "first"
    rows[3]["predicted"] = "none of them"
    for order in (rows, random.Random(1).sample(rows, len(rows))):
        runs, of_items = items.read(_write(tmp_path, order), metric=metric)
        for (model, dataset, seed), score in _named(runs).items():
            mine = {
                r["item"]: r for r in rows
                if (r["model"], r["dataset"], str(r["seed"])) == (model, dataset, seed)
            }  # fmt: skip
            right = {item: float(r["gold"] == r["predicted"]) for item, r in mine.items()}
            expected = np.mean([*right.values()])
            expected = expected if metric == "accuracy" else _macro_f1([*mine.values()])
            assert score == pytest.approx(expected, abs=1e-12)
            (data,) = (data for data in of_items.data_sets if data.name == dataset)
            of, run = data.models[model], int(seed)
            place = [*of.labels["seed"]].index(seed)
            assert of.counts is not None and run in range(5)
            assert dict(zip(data.items, of.counts[:, place, 0].tolist(), strict=True)) == right
            assert of.scores[:, place, 0].mean() == pytest.approx(expected, abs=1e-12)


def test_right_or_wrong_is_enough(tmp_path: Path) -> None:
    """Dies if 1 and true, 0 and false are not the same, or other names of columns are not read."""
    said = {True: ["1", "true", "True", "1.0"], False: ["0", "false", "False", "0.0"]}
    rows = _rows({"A": 0.8, "B": 0.5})
    marked = [
        {"system": r["model"], "run": r["seed"], "docId": r["item"]}
        | {"right": said[r["gold"] == r["predicted"]][k % 4]}
        for k, r in enumerate(rows)
    ]
    path, (whole, _) = _write(tmp_path, marked), items.read(_write(tmp_path, rows, "whole.csv"))
    assert by_model(items.read(path)[0]) == by_model(whole)
    named = {"model": "system", "seed": "run", "item": "docId", "correct": "right"}
    assert by_model(items.read(path, ["B"], columns=named)[0]) == {"B": by_model(whole)["B"]}
    with pytest.raises(DataError, match="macro_f1 needs columns gold and predicted"):
        items.read(path, metric="macro_f1")


def _change(rows: list[Row], **values: Any) -> None:
    rows[100] |= values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(100), r"model A, seed 1: no row for 1 of 90 items \(i10\)"),
        (
            lambda rows: rows.append(rows[100]),
            "rows 102 and 902 are both model A, seed 1, item i10",
        ),
        (
            lambda rows: _change(rows, gold="other"),
            r"1 of 90 items have several gold answers \(i10\)",
        ),
        (lambda rows: [row.pop("item") for row in rows], "no column 'item'"),
        (
            lambda rows: [row.pop("gold") and row.pop("predicted") for row in rows],
            "no column correct or gold or predicted; .*correct=NAME; jaxeval compare logs reads",
        ),
        (
            lambda rows: [row.update(correct=0.5) or row.pop("gold") for row in rows],
            "row 2, column correct: expected 1 or 0, found '0.5'",
        ),
        (lambda rows: rows[7].update(predicted=""), "row 9: an answer is empty; expected a word"),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path: Path, change: Any, message: str) -> None:
    """Dies if a run with other items, or items with two golds, gets a score in silence."""
    rows = _rows({"A": 0.8, "B": 0.5})
    change(rows)
    with pytest.raises(DataError, match=message):
        items.read(_write(tmp_path, rows))


def test_runs_that_failed_need_no_answers(tmp_path: Path) -> None:
    """Dies if a crashed run must have all items, its answers count, or it is not counted."""
    rows = ["model,seed,item,correct,status"]
    for model in "AB":
        for run in range(6):
            crashed = model == "A" and run > 2
            for k in range(5 if crashed else 50):
                answer = "" if crashed else f"{k % 2}"
                rows.append(f"{model},{run},i{k},{answer},{'crashed' if crashed else 'finished'}")
    path = tmp_path / "items.csv"
    path.write_text("\n".join(rows))
    runs, of_items = items.read(path)
    assert by_model(runs) == {"A": [0.5] * 3, "B": [0.5] * 6}
    assert runs.statuses["A"] == {"crashed": 3, "finished": 3}
    assert of_items.data_sets[0].models["A"].runs == 3
    path.write_text("\n".join(rows[:1] + [row for row in rows if "crashed" in row]))
    with pytest.raises(DataError, match="all runs failed, by the column status"):
        items.read(path)
