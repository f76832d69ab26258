"""`jaxeval compare` of a runs folder where outcomes of items are kept: single trained models."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxeval import runs
from jaxeval.stats import single_models
from tests import comparing
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
                    store.record([test_store.result(seed, **changes, dev=dev, test=f1)], [])
                    names = ("right_spans", "predicted_spans", "gold_spans")
                    key = {**changes, "seed": seed, "repeat": 0, "hparams": "{}"}
                    if skill:
                        store.record_outcomes(
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
    return comparing.json_of(capsys, *words, "--resamples", "199")


def test_the_model_of_the_best_dev_score_stands_for_its_method(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if another seed's outcomes are taken, if its score is not the recorded one, if a
    sentence does not say of what it speaks, or if models are in the order in which runs ended."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.5})
    tree = _json(capsys, folder)
    (pair,) = tree["single"]["pairs"]
    assert (pair["a"], pair["b"], pair["seeds"], pair["items"]) == (
        *("new", "old"), ["2", "2"], ITEMS,
    )  # fmt: skip
    recorded = {row.name: row.test for row in runs.load(folder) if row.seed == 2}
    assert pair["scores"] == pytest.approx([recorded["new"], recorded["old"]])
    assert pair["adjusted"]["approximate_randomization"] < 0.01
    shown = comparing.shown(capsys, folder, "--resamples", "199", "--details")
    assert "Of the trained models new (seed 2) and old (seed 2), each its method's best" in shown
    assert "on items like these 40 of test: new is better: " in shown
    assert "nothing about other runs of the two methods" in shown
    (turned,) = _json(capsys, folder, "old", "new")["single"]["pairs"]
    gaps = pair["difference"]["estimate"], turned["difference"]["estimate"]
    assert turned["a"] == "old" and gaps[0] == pytest.approx(-gaps[1])


def test_without_outcomes_one_line_says_how_to_get_them(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if items of some models only are tested, or nobody learns what is missing."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.0})
    tree = _json(capsys, folder)
    assert tree["single"]["pairs"] == [] and tree["items"] is None
    shown = comparing.shown(capsys, folder, "--resamples", "199", "--details")
    assert "No item-level tests: no outcomes of old; train with --outputs to keep them" in shown


def test_both_models_are_of_one_split(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if sentences of two random splits are taken for the same ones."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.5}, splits=(1, 2))
    (pair,) = _json(capsys, folder)["single"]["pairs"]
    assert pair["split"] == "1"
    shown = comparing.shown(capsys, folder, "--resamples", "199", "--details")
    assert "old (seed 2) of split 1, each" in shown


def test_other_runs_other_items_and_both(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a run's score is not the recorded one, if only the best runs are taken, or if items
    and runs of the table are those of the tests on single models."""
    folder = _runs(tmp_path, {"new": 0.9, "old": 0.5})
    tree = _json(capsys, folder)
    (pair,) = tree["items"]["pairs"]
    assert [of["over"] for of in pair["over"]] == [["items"], ["runs"], ["items", "runs"]]
    assert pair["difference"]["sizes"]["runs"] == [len(DEV)] * 2
    assert pair["difference"]["sizes"]["items"] == ITEMS
    rows = runs.load(folder)
    means = [np.mean([row.test for row in rows if row.name == name]) for name in ("new", "old")]
    assert [mean["value"] for mean in pair["means"]] == pytest.approx(means)
    shown = comparing.shown(capsys, folder, "--resamples", "199", "--details")
    assert "All runs, item by item" in shown and "new old items and runs" in shown
    assert "Item by item, new is better than old: f1 " in shown.split("f1 (%)")[0]


def test_items_claim_nothing_after_several_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if items of runs that grew are tested as if nobody had looked before."""
    for n, skill in enumerate((0.6, 0.5), 1):
        folder = _runs(tmp_path / str(n), {"new": 0.9, "old": skill})
        tree = _json(capsys, folder, "--ledger", tmp_path / "looks.json")
        assert [tree[name] is None for name in ("single", "items")] == [n > 1] * 2
