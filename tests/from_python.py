"""What calls from Python begin with: a toy to train and scores to compare."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import tasks
from tests.studies import toy_kind

DRAW = np.random.default_rng(3)
A, B = DRAW.normal(0.82, 0.01, 9), DRAW.normal(0.78, 0.01, 9)
TOY = {"task": "toy", "training": {"epochs": 2}}


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The toy is a task like any other; runs folders lie in the test's own."""
    monkeypatch.setattr(tasks, "KINDS", dict(toy_kind.KINDS))
    monkeypatch.chdir(tmp_path)


def compare(*models: Any, **more: Any) -> jaxeval.Comparison:
    return jaxeval.compare(*models, resamples=999, **more)
