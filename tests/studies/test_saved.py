"""Saved models as files: what they need to be whole, and names that keys once had."""

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
