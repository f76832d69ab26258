"""Tables of predictions: scores against definitions, items in one order, what is refused."""

import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.errors import ConfigError, DataError
from jaxeval.runs import items
from jaxeval.stats import single_models
from jaxeval.stats.pairwise import Rules

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


def test_scores_are_those_of_the_predictions(tmp_path: Path) -> None:
    """Dies if runs or data sets are mixed, if a class is left out of macro-F1, or if the order of
    the rows matters."""
    rows = _rows({"A": 0.8, "B": 0.5}) + _rows({"A": 0.7, "B": 0.7}, n=40, dataset="more")
    for row in rows:
        row["dataset"] = row["dataset"] or "first"
    rows[3]["predicted"] = "none of them"
    shuffled = random.Random(1).sample(rows, len(rows))
    for order in (rows, shuffled):
        path = _write(tmp_path, order)
        for metric in items.METRICS:
            table, _ = items.read(path, metric=metric)
            assert table.metric == metric and len(table.score) == 20
            for k, score in enumerate(table.score.tolist()):
                model, dataset = table.models[table.model[k]], table.axes["dataset"][k]
                where = model, dataset, table.axes["seed"][k]
                mine = [r for r in rows if (r["model"], r["dataset"], str(r["seed"])) == where]
                right = np.mean([r["gold"] == r["predicted"] for r in mine])
                expected = right if metric == "accuracy" else _macro_f1(mine)
                assert score == pytest.approx(expected, abs=1e-12)


def test_items_of_two_models_are_the_same(tmp_path: Path) -> None:
    """Dies if items are paired by their rows: the models' rows stand in different orders."""
    rows = _rows({"A": 0.9, "B": 0.6})
    b = [row for row in rows if row["model"] == "B"]
    path = _write(tmp_path, [row for row in rows if row["model"] == "A"] + b[::-1])
    for metric in items.METRICS:
        _, trained = items.read(path, metric=metric)
        first, second = trained[0], trained[5]
        assert (first.model, first.member.seed, second.member.seed) == ("A", "0", "4")
        (pair,) = single_models.compare(trained, Rules(resamples=99), iterations=99).pairs
        assert pair.items == 90 and ("mcnemar" in pair.tests) == (metric == "accuracy")
        mine = [
            [r for r in rows if (r["model"], r["seed"]) == who] for who in (("A", 0), ("B", 4))
        ]
        expected = [
            _macro_f1(of)
            if metric == "macro_f1"
            else np.mean([r["gold"] == r["predicted"] for r in of])
            for of in mine
        ]
        assert pair.scores == pytest.approx(expected)
        only = [
            sum(x > y for x, y in itertools.starmap(_right, zip(*o, strict=True)))
            for o in (mine, mine[::-1])
        ]
        if metric == "accuracy":
            assert f"{only[0]} and {only[1]} answers" in pair.tests["mcnemar"].method


def _right(a: Row, b: Row) -> tuple[bool, bool]:
    return a["gold"] == a["predicted"], b["gold"] == b["predicted"]


def test_right_or_wrong_is_enough(tmp_path: Path) -> None:
    """Dies if 1 and true, 0 and false are not the same, or other names of columns are not read."""
    said = {True: ["1", "true", "True", "1.0"], False: ["0", "false", "False", "0.0"]}
    rows = _rows({"A": 0.8, "B": 0.5})
    right = [row["gold"] == row["predicted"] for row in rows]
    marked = [
        {"arch": r["model"], "run": r["seed"], "item": r["item"], "correct": said[ok][k % 4]}
        for k, (r, ok) in enumerate(zip(rows, right, strict=True))
    ]
    path = _write(tmp_path, marked)
    table, _ = items.read(path, columns={"model": "arch", "seed": "run"})
    whole, _ = items.read(_write(tmp_path, rows, "whole.csv"))
    assert table.score.tolist() == whole.score.tolist()
    with pytest.raises(DataError, match="macro_f1 needs columns gold and predicted"):
        items.read(path, metric="macro_f1", columns={"model": "arch", "seed": "run"})


def _change(rows: list[Row], **values: Any) -> None:
    rows[100] |= values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(100), r"model A, seed 1: no row for 1 of 90 items \(i10\)"),
        (
            lambda rows: _change(rows, item="i11"),
            r"rows 102 and 103 are both model A, seed 1, item i11",
        ),
        (
            lambda rows: _change(rows, gold="other"),
            r"row 102: gold 'other' of an item that is '\w+' in row 12",
        ),
        (lambda rows: [row.pop("item") for row in rows], "no column 'item'"),
        (lambda rows: [row.pop("predicted") for row in rows], "no column 'predicted'"),
        (
            lambda rows: [
                row.update(corect=row.pop("gold") == row.pop("predicted")) for row in rows
            ],
            "no column correct, or gold and predicted; --column correct=corect reads 'corect'",
        ),
        (
            lambda rows: [row.pop("gold") and row.pop("predicted") for row in rows],
            "no column correct, or gold and predicted; its columns are dataset, model, seed, item",
        ),
        (
            lambda rows: [row.update(correct=0.5) or row.pop("gold") for row in rows],
            "row 2, column correct: expected 1 or 0, found '0.5'",
        ),
        (lambda rows: rows[7].update(gold=""), "row 9, column gold: empty; expected a class"),
        (lambda rows: rows[7].update(predicted=""), "row 9, column predicted: empty; expected"),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path: Path, change: Any, message: str) -> None:
    """Dies if a run with other items, or items with two golds, gets a score in silence."""
    rows = _rows({"A": 0.8, "B": 0.5})
    change(rows)
    with pytest.raises(DataError, match=message):
        items.read(_write(tmp_path, rows))


def test_compare_tests_runs_and_items(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a verdict over runs or the sentence on two of them is missing, or other sources of
    scores are taken beside."""
    every = single_models.compare
    monkeypatch.setattr(single_models, "compare", lambda *words: every(*words, iterations=999))
    path = _write(tmp_path, _rows({"A": 0.9, "B": 0.5, "C": 0.5}))
    words = ["A", "B", "--items", str(path), "--metric", "macro_f1", "--resamples", "99"]
    assert compare.main([*words, "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert (tree["metric"], tree["metric_unit"], tree["unit"]) == ("macro_f1", "fraction", "seed")
    assert [model["summarize"]["n"] for model in tree["models"]] == [5, 5]
    (pair,) = tree["single_models"]["pairs"]
    assert pair["seeds"] == ["0", "0"] and pair["items"] == 90
    assert "seed 0, each its model's first run), over items like these 90" in pair["text"]
    assert tree["pairs"][0]["verdict"]["higher"] == "a"
    for more in (
        ["--table", "x.csv"],
        ["--runs", "runs"],
        ["--score", "f1"],
        ["--lower-is-better"],
    ):
        with pytest.raises(ConfigError, match=f"--items with {more[0]}"):
            compare.main([*words, *more])


def test_one_run_each_is_compared_over_items(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if one run of each model is refused, passes for more than it is, or gets other numbers
    than a paired t interval of its items."""
    rows = _rows({"A": 0.9, "B": 0.5}, runs=1)
    words = ["--items", str(_write(tmp_path, rows))]
    assert compare.main([*words, "--json", "-"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    right = np.array([row["gold"] == row["predicted"] for row in rows], float).reshape(2, 90)
    apart = right[0] - right[1]
    found = pair["difference"]
    assert found["value"] == pytest.approx(apart.mean())
    assert found["se"] == pytest.approx(apart.std(ddof=1) / 90**0.5)
    assert pair["difference"]["sizes"]["runs"] == [1, 1]
    assert compare.main(words) == 0
    shown = capsys.readouterr().out
    assert "A is better than B: accuracy" in shown and "over other items, these runs" in shown
    assert "One run of a model: this says nothing of other runs." in shown
    for more in (["--control", "A"], ["--figures", "f"], ["--correction", "bonferroni"]):
        with pytest.raises(ConfigError, match=f"one run of a model with {more[0]}"):
            compare.main([*words, *more])


def test_one_run_beside_several(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a single run of one model ends the comparison though its items are known."""
    rows = _rows({"A": 0.9}, runs=3) + _rows({"B": 0.5}, runs=1)
    assert compare.main(["--items", str(_write(tmp_path, rows)), "--json", "-"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert pair["difference"]["sizes"]["runs"] == [3, 1] and [*pair["over"]] == ["items"]


def test_the_page_converts_released_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if the block of docs/released_predictions.md mixes runs, targets or data sets, or the
    line of metadata at a file's end stops it."""
    page = (Path(__file__).parents[2] / "docs/released_predictions.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    monkeypatch.chdir(tmp_path)
    key = "predicted_target_sentiment_AE_GloVe_None_None"
    texts = {
        "laptop": [(["n", "p"], [["n", "n"], ["n", "p"]]), (["p"], [["n"], ["p"]])],
        "restaurant": [(["p"], [["p"], ["n"]])],
    }
    for dataset, of_dataset in texts.items():
        lines = [
            {"target_id": [f"{t}::{k}" for k in range(len(gold))], "target_sentiments": gold}
            | {key: runs, "tokenized_text": ["x"]}
            for t, (gold, runs) in enumerate(of_dataset)
        ]
        path = tmp_path / f"saved_results/main/{dataset}_dataset/test.json"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(map(json.dumps, [*lines, {"metadata": {key: {}}}])))
    exec(compile(block, "page", "exec"), {"__name__": "page"})
    scores = {(run.dataset, run.seed): run.score("accuracy") for run in items.counted("test.csv")}
    assert scores == {
        ("laptop", "0"): pytest.approx(1 / 3),
        ("laptop", "1"): 1.0,
        ("restaurant", "0"): 1.0,
        ("restaurant", "1"): 0.0,
    }
    assert {run.model for run in items.counted("test.csv")} == {"AE_GloVe_None_None"}


def test_answers_have_one_interval_in_all_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a table of answers and a log of them give other intervals, or if the table of all
    runs shows a difference that no sentence names."""
    draw = np.random.default_rng(5)
    hard, rows = draw.normal(size=60), ["model,seed,item,correct"]
    for model, skill in (("A", 1.2), ("B", -0.4)):
        right = hard[:, None] + draw.normal(size=(60, 4)) < skill
        rows += [f"{model},{r},i{k},{right[k, r]:d}" for r in range(4) for k in range(60)]
        lines = (json.dumps({"item": f"i{k}", "correct": right[k].tolist()}) for k in range(60))
        (tmp_path / f"{model}.jsonl").write_text("\n".join(lines))
    (tmp_path / "items.csv").write_text("\n".join(rows))
    words = ["A", "B", "--resamples", "199", "--json", "-"]
    logs = [word for name in "AB" for word in ("--log", str(tmp_path / f"{name}.jsonl"))]
    trees = []
    for source in (["--items", str(tmp_path / "items.csv")], logs):
        capsys.readouterr()
        assert compare.main([*source, *words]) == 0
        trees.append(json.loads(capsys.readouterr().out))
    (table,), (log,) = trees[0]["items_and_runs"]["pairs"], trees[1]["pairs"]
    for over in log["over"]:
        assert table["over"][over]["interval"] == pytest.approx(log["over"][over]["interval"])
    for first, second in zip(table["means"], log["means"], strict=True):
        assert first["interval"] == pytest.approx(second["interval"])
    assert log["text"].startswith("A scores higher than B")
    said = log["text"].split(" Scored on")[0]
    assert trees[0]["verdict"][-1] == f"All runs, item by item: {said}"
    assert "Welch's t, corrected p" in trees[0]["verdict"][0]  # four runs: too few for ranks
    assert compare.main(["--items", str(tmp_path / "items.csv"), *words[:4]]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Item by item, A is better than B: " in shown and "[31.13, 47.91]" in shown
    assert compare.main(["--items", str(tmp_path / "items.csv"), *words[:4], "--details"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_runs_that_failed_need_no_answers(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a crashed run must have all items, its answers count, or it is not counted."""
    rows = ["model,seed,item,correct,status"]
    for model, right in (("A", 0.9), ("B", 0.6)):
        draw = np.random.default_rng(len(rows))
        for run in range(6):
            crashed = model == "A" and run > 2
            for k in range(5 if crashed else 50):
                answer = "" if crashed else f"{draw.random() < right:d}"
                rows.append(f"{model},{run},i{k},{answer},{'crashed' if crashed else 'finished'}")
    path = tmp_path / "items.csv"
    path.write_text("\n".join(rows))
    assert compare.main(["--items", str(path), "--resamples", "99", "--json", "-"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert [of["n_failed"] for of in tree["failures"]["counts"]] == [3, 0]
    assert [of["summarize"]["n"] for of in tree["models"]] == [3, 6]
    (pair,) = tree["pairs"]
    assert pair["probability_of_improvement"]["estimate"] == pytest.approx(0.5)
    assert (
        "3 of 6 runs of A failed (3 crashed), none of 6 of B; no difference" in tree["answer"][2]
    )
    path.write_text("\n".join(row.replace("finished", "failed") for row in rows))
    with pytest.raises(DataError, match="all runs failed, by the column status"):
        compare.main(["--items", str(path)])
