"""Selections among models of sentiment as in Moss et al. (2019): evaluation k has split k, seed k.

Two bags of words see a corpus of 30 sentences for two epochs: what they learn does not matter.
"""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs
from jaxeval.bandits import TopTwoThompson
from jaxeval.config import toml
from jaxeval.population import engine
from jaxeval.select import training
from tests import processes

TINY = [
    *("data.source.sentences=30", "data.dimension=8", "data.max_widths=1"),
    *("training.batch_size=8", "training.evaluation_batch_size=32", "training.epochs=2"),
    "data.split=block",
]
RULE = TopTwoThompson(delta=1e-9, budget=14, batch_size=4)
OPTIONS = ["--delta", "1e-9", "--budget", "14", "--batch", "4"]


def test_a_killed_selection_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if kill -9 loses what was pending, the same command chooses anything else, or a block
    is as large as its split lets it be: another shape, another program."""
    compiled, original = list[Any](), engine.compile_all
    monkeypatch.setattr(engine, "compile_all", lambda *of: (compiled.append(of), original(*of))[1])
    clipped = tmp_path / "clipped.toml"  # differs in what is compiled
    text = toml.read_text("baselines/bag").replace('"none"', '"global_norm"')
    clipped.write_text(text.replace('name = "bag"', 'name = "clipped"', 1))
    models = ["baselines/bag", str(clipped)]
    arms = training.arms(models, TINY)
    whole = training.select(RULE, arms, tmp_path / "whole", quiet=True)
    process = processes.start(
        "select", *models, *TINY, *OPTIONS, "--out", str(tmp_path / "killed")
    )
    while ", evaluation " not in process.errors():  # a score was told
        assert not process.ended(), process.errors()
        time.sleep(0.02)
    process.send(signal.SIGKILL)
    process.wait()
    assert 0 < len(runs.load(tmp_path / "killed")) < 14
    again = training.select(RULE, arms, tmp_path / "killed", quiet=True)
    assert again == whole and again.evaluations == 14
    rows = runs.load(tmp_path / "killed")
    assert len(rows) == 14 and all(row.seed == row.split for row in rows)
    assert len(compiled) == len(models)
