"""Saved models as files: what they need to be whole, and names that keys once had."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from jaxeval.studies import saved
from tests.studies import toy_kind


@pytest.mark.parametrize("lost", ["seed1.json", "vocabulary.json", "tables.npz", "seed1.npz"])
def test_a_model_without_what_it_needs_is_not_whole(lost: str, tmp_path: Path) -> None:
    """Dies if parameters alone count as a saved model."""
    cohort = toy_kind.cohort(toy_kind.trials((1,)))
    entry, params = cohort.entries[0], {"table": np.zeros(2, np.float32)}
    saved.save(tmp_path, entry, cohort.config, cohort.members[0], params, 0.5)
    assert saved.is_whole(tmp_path, entry)
    (tmp_path / "models" / cohort.name / lost).unlink()
    assert not saved.is_whole(tmp_path, entry)


def test_a_model_trained_without_a_rate_of_its_config_has_none(tmp_path: Path) -> None:
    """Dies if saved models of before a rate was a hyperparameter are not read, or are scaled at
    evaluation by a dropout that they were never trained with."""
    cohort = toy_kind.cohort(toy_kind.trials((1,)))
    entry, params = cohort.entries[0], {"table": np.zeros(2, np.float32)}
    saved.save(tmp_path, entry, cohort.config, cohort.members[0], params, 0.5)
    (model,) = saved.find(tmp_path)
    config = {
        "task": "tagging",
        "model": {"dropout": {"input": 0.5, "output": 0.0, "layer_input": 0.25}},
    }
    about = dataclasses.replace(
        model.about, task="tagging", config=config, hparams={"dropout_input": 0.5}
    )
    (loaded,) = saved.load([model._replace(about=about)])
    rates = {name: v for name, v in loaded.hparams.items() if name.startswith("dropout")}
    assert rates == {"dropout_input": 0.5, "dropout_layer_input": 0.0}
