"""`python -m jaxeval.compare --runs` where outcomes of items are kept: single trained models."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import runs
from jaxeval.compare import __main__ as compare
from jaxeval.stats import single_models
from tests.runs import test_store

ITEMS = 40
DEV = (0.7, 0.9, 0.8, 0.9, 0.6)  # seed 2 is the first of the best


def _runs(folder: Path, kept: dict[str, float], splits: tuple[int, ...] = (0,)) -> Path:
    """Experiments of five seeds a split, with outcomes of those with a skill above 0."""
    draw, gold = np.random.default_rng(1), np.random.default_rng(2).integers(1, 4, ITEMS)
    with runs.open_store(folder) as store:
        for name, skill in kept.items():
            experiment = dataclasses.replace(
                test_store.EXPERIMENT, id=name, name=name, config_hash=name
            )
            store.register(experiment)
            for split in splits:
                for seed, dev in enumerate(DEV, 1):
                    right = draw.binomial(gold, skill)
                    counts = np.stack([right, gold, gold], axis=1)
                    f1 = float(right.sum() / gold.sum())
                    changes: dict[str, Any] = {"experiment": name, "split": split}
                    store.record(
                        [test_store.result(seed, **changes, dev=dev, test=f1)],
                        [],
                    )
                    names = ("right_spans", "predicted_spans", "gold_spans")
                    key = {**changes, "seed": seed, "repeat": 0, "hparams": "{}"}
                    if skill:
                        store.keep_outcomes(
                            [runs.Outcomes(**key, part="test", names=names, counts=counts)]
                        )
    return folder


@pytest.fixture(autouse=True)
def few_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million takes seconds."""
    compare_all = single_models.compare
    monkeypatch.setattr(
        single_models, "compare", lambda *words: compare_all(*words, iterations=2000)
    )


def _json(capsys: pytest.CaptureFixture, *words: object) -> dict[str, Any]:
    capsys.readouterr()
    assert compare.main([*map(str, words), "--resamples", "199", "--json", "-"]) == 0
    tree: dict[str, Any] = json.loads(capsys.readouterr().out)
    return tree


def test_the_model_of_the_best_dev_score_stands_for_its_method(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if another seed's outcomes are taken, if its score is not the recorded one, or if a
    sentence does not say of what it speaks."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.5})
    tree = _json(capsys, "--runs", folder)
    (pair,) = tree["single_models"]["pairs"]
    assert (pair["a"], pair["b"], pair["seeds"], pair["items"]) == ("new", "old", [2, 2], ITEMS)
    recorded = {row.name: row.test for row in runs.load(folder) if row.seed == 2}
    assert pair["scores"] == pytest.approx([recorded["new"], recorded["old"]])
    assert pair["approximate_randomization"]["p_adjusted"] < 0.01
    assert pair["text"] in tree["verdict"]
    assert compare.main(["--runs", str(folder), "--resamples", "199", "--details"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Of these two trained models (new, seed 2, and old, seed 2," in shown
    assert "over sentences like these 40 of test: new scores higher" in shown
    assert "Which method is better over seeds" in shown
    assert "new's distribution is higher" in shown


def test_without_outcomes_one_line_says_how_to_get_them(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if items of some models only are tested, or nobody learns what is missing."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.0})
    tree = _json(capsys, "--runs", folder)
    assert tree["single_models"]["pairs"] == []
    assert compare.main(["--runs", str(folder), "--resamples", "199", "--details"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "No tests on single items: old without outcomes; train --outputs keeps them" in shown
    path = tmp_path / "scores.csv"
    path.write_text("model,seed,score\nA,1,.1\nA,2,.2\nB,1,.3\nB,2,.4\n")
    assert _json(capsys, "--table", path)["single_models"] is None


def test_both_models_are_of_one_split(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if sentences of two random splits are taken for the same ones."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.5}, splits=(1, 2))
    (pair,) = _json(capsys, "--runs", folder)["single_models"]["pairs"]
    assert pair["split"] == 1
    assert "seed 2 of split 1" in pair["text"]
    assert "Which method is better over splits" in pair["text"]


def test_other_runs_other_items_and_both(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a run's score is not the recorded one, if only the best runs are taken, or if items
    and runs of the table are those of the tests on single models."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.5})
    tree = _json(capsys, "--runs", folder)
    (pair,) = tree["items_and_runs"]["pairs"]
    assert [*pair["over"]] == ["items", "runs", "items and runs"]
    assert pair["difference"]["sizes"]["runs"] == [len(DEV)] * 2
    assert pair["difference"]["sizes"]["items"] == ITEMS
    rows = runs.load(folder)
    means = [np.mean([row.test for row in rows if row.name == name]) for name in ("new", "old")]
    assert [mean["value"] for mean in pair["means"]] == pytest.approx(means)
    assert compare.main(["--runs", str(folder), "--resamples", "199", "--details"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "All runs, item by item" in shown and "new old items and runs" in shown
    assert "Item by item, new is better than old: f1 " in shown.split("f1 (%)")[0]
    unkept = _runs(tmp_path / "unkept", {"new": 0.9, "old": 0.0})
    assert _json(capsys, "--runs", unkept)["items_and_runs"] is None


def test_models_are_compared_in_the_order_of_their_names(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if single models, or all runs item by item, keep the order in which runs ended."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.5})
    ab, ba = (
        _json(capsys, *names, "--runs", folder) for names in (("new", "old"), ("old", "new"))
    )
    for part in ("items_and_runs", "single_models"):
        (first,), (second,) = ab[part]["pairs"], ba[part]["pairs"]
        assert (first["a"], first["b"]) == (second["b"], second["a"]) == ("new", "old")
    (first,), (second,) = ab["single_models"]["pairs"], ba["single_models"]["pairs"]
    assert second["difference"]["estimate"] == pytest.approx(-first["difference"]["estimate"])
    (first,), (second,) = ab["items_and_runs"]["pairs"], ba["items_and_runs"]["pairs"]
    assert second["difference"]["value"] == pytest.approx(-first["difference"]["value"])
    assert second["difference"]["value"] * ba["pairs"][0]["difference"]["estimate"] > 0
