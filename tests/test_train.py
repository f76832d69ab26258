"""The train verb end to end: kill -9 anywhere, resume, nothing twice, two processes."""

import functools
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs
from jaxeval.population import loop
from jaxeval.runs import store
from tests import processes, tiny_corpora
from tests.verbs import train

TINY = [
    *tiny_corpora.BAG,
    *("training.epochs=5", "training.patience=2", "training.checkpoint_every=2"),
]


def die(owner: type, name: str, count: int) -> None:
    """Lets this process kill itself after so many calls of a method."""
    original, calls = getattr(owner, name), itertools.count(1)

    def deadly(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        if next(calls) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, deadly)


def _words(folder: Path, *more: str) -> list[str]:
    return [*TINY, "--out", str(folder), *more]


def _rows(folder: Path) -> tuple:
    """All that is recorded but the clock."""
    members = [row._replace(wall_seconds=0.0) for row in runs.load(folder)]
    return members, runs.load_curves(folder)


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """What four seeds give without interruption."""
    folder = tmp_path_factory.mktemp("truth")
    assert train(_words(folder, "--seeds", "4")) == 0
    return _rows(folder)


def test_truth_is_worth_comparing(truth: tuple) -> None:
    """Dies if all seeds score the same, or no epoch is recorded (all tests below would pass)."""
    members, curves = truth
    assert [m.seed for m in members] == [1, 2, 3, 4]
    assert len({m.test for m in members}) > 2
    assert len([c for c in curves if c.part == "dev" and c.metric == "macro_f1"]) > 8


def test_killed_and_resumed(truth: tuple, tmp_path: Path) -> None:
    """Dies if killed processes leave half a record, or the last one gives other scores."""
    # inside the transaction; while it is written in the background
    for death in ((store._Table, "insert", 4), (loop._Checkpoints, "save", 2)):
        words = _words(tmp_path, "--seeds", "4")
        killed = processes.run("train", *words, before=functools.partial(die, *death))
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert train(_words(tmp_path, "--seeds", "4")) == 0
    assert _rows(tmp_path) == truth


def test_second_command_trains_only_what_is_new(truth: tuple, tmp_path: Path) -> None:
    """Dies if finished members are trained or recorded again."""
    clocks = []
    for seeds in ("2", "2", "4"):
        assert train(_words(tmp_path, "--seeds", seeds)) == 0
        clocks.append({row.seed: row.wall_seconds for row in runs.load(tmp_path)})
    assert clocks[0] == clocks[1] == {seed: clocks[2][seed] for seed in (1, 2)}
    assert _rows(tmp_path) == truth


def test_two_processes_at_once(truth: tuple, tmp_path: Path) -> None:
    """Dies if two processes cannot write into one folder at once, or a command as it is typed
    gives other scores."""
    words = _words(tmp_path, "--seeds", "4")
    rate = "training.optimiser.hyperparameters.learning_rate=0.2"
    other = processes.start("train", *words, rate)
    command = [sys.executable, "-m", "jaxeval", "train", *words]
    command += ["--json", str(tmp_path / "out.json")]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    typed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    ended = other.wait()
    assert (typed.returncode, ended.returncode) == (0, 0), (typed, ended)
    assert json.loads((tmp_path / "out.json").read_text())["test"]["n"] == 4
    assert "median" in typed.stdout and "Spearman" in typed.stdout
    members, curves = _rows(tmp_path)
    ours = truth[0][0].experiment
    assert [m for m in members if m.experiment == ours] == truth[0]
    assert [c for c in curves if c.experiment == ours] == truth[1]
    assert len([m for m in members if m.experiment != ours]) == 4
