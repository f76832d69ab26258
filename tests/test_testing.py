"""`jaxeval.testing`: assertions on models, for tests of others."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval import testing
from jaxeval.errors import ConfigError, DataError
from tests.runs.logs import writing

DRAW = np.random.default_rng(3)
HARD = DRAW.normal(size=(200, 1))
GOOD, POOR = ((HARD + DRAW.normal(size=(200, 3)) < mean).astype(float) for mean in (1.0, 0.0))


def test_better_by_more_than_a_margin() -> None:
    """Dies if a worse model passes, if a margin is not kept, or if lower losses are worse."""
    testing.assert_better(GOOD, POOR, margin=0.05)
    with pytest.raises(AssertionError, match="a is worse than b by more than 0"):
        testing.assert_better(POOR, GOOD, margin=0.05)
    with pytest.raises(AssertionError, match="a was not shown to be better or worse than b by"):
        testing.assert_better(GOOD, POOR, margin=GOOD.mean() - POOR.mean())
    with pytest.raises(AssertionError, match="was not shown"):
        testing.assert_better(GOOD, GOOD)
    testing.assert_better(POOR, GOOD, lower_is_better=True)


def test_over_what_is_named() -> None:
    """Dies if `over` changes nothing: three runs that differ a lot say little of others."""
    shift = np.array([0.0, 1.0, 2.0])
    items = DRAW.normal(size=(100, 1))
    a, b = items + shift + 0.6 + DRAW.normal(scale=0.1, size=(100, 1)), items + shift
    testing.assert_better(a, b, over=["items"])
    with pytest.raises(AssertionError, match="over other items and other runs"):
        testing.assert_better(a, b)
    with pytest.raises(DataError, match="over runs"):
        testing.assert_better(a[:, 0], b[:, 0], over=["runs"])


def test_logs(tmp_path: Path) -> None:
    """Dies if paths are not read as logs, or named one model."""
    scores = {
        name: (HARD[:, 0] < mean).astype(float).tolist()
        for name, mean in zip("xy", (1, 0), strict=True)
    }
    for name, values in scores.items():
        writing.lm_eval(tmp_path / name, "same", {"none": values})
    testing.assert_better(tmp_path / "x", tmp_path / "y", metric="acc", clusters="passage")
    with pytest.raises(DataError, match="no 'chapter' to cluster it by"):
        testing.assert_better(tmp_path / "x", tmp_path / "y", clusters="chapter")
    with pytest.raises(AssertionError, match="a is worse than b"):
        testing.assert_better(str(tmp_path / "y"), str(tmp_path / "x"))


def test_what_cannot_be_compared() -> None:
    """Dies if other items, or clusters of them, are compared."""
    with pytest.raises(DataError, match="expected the same of all, found 200 of a, 199 of b"):
        testing.assert_better(GOOD, POOR[:-1])
    with pytest.raises(DataError, match="one scale"):
        testing.assert_better(GOOD, 100 * POOR, metric="accuracy")
    with pytest.raises(DataError, match="200 of b, 1 of clusters"):
        testing.assert_better(GOOD, POOR, clusters=["c"])
    with pytest.raises(ConfigError, match=r"margin.*: expected a number from 0"):
        testing.assert_better(GOOD, POOR, margin=-0.1)
    with pytest.raises(ConfigError, match="expected two paths or two arrays"):
        testing.assert_better(GOOD, "logs")


def test_missing_answers_are_no_proof(tmp_path: Path) -> None:
    """Dies if a model passes that has no score of a tenth of the items, unless it is said that
    these do not matter."""
    holes = GOOD.copy()
    holes[:20] = np.nan
    with pytest.raises(AssertionError, match="10 % of a's answers failed, have no score"):
        testing.assert_better(holes, POOR)
    testing.assert_better(holes, POOR, missing="drop")
    testing.assert_better(np.where(np.isnan(holes), 0, holes), POOR)
    testing.assert_better(holes, POOR, missing="zero")
    for name, values in {"x": GOOD[:180, 0], "y": POOR[:, 0]}.items():
        writing.lm_eval(tmp_path / name, "same", {"none": values.tolist()})
    with pytest.raises(AssertionError, match=r"10 % of a's answers .* are missing"):
        testing.assert_better(tmp_path / "x", tmp_path / "y")
    testing.assert_better(tmp_path / "x", tmp_path / "y", missing="drop")
