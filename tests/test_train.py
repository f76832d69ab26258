"""The train verb end to end: kill -9 anywhere, resume, nothing twice, two processes, Ctrl-C."""

import functools
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs
from jaxeval.errors import RunError
from jaxeval.population import checkpoints, loop
from jaxeval.runs import store
from tests import processes, tiny_corpora

TINY = [
    *tiny_corpora.BAG,
    *("training.epochs=5", "training.patience=2", "training.checkpoint_every=2"),
]
# the method after which a process kills itself (SIGKILL)
_DEATHS = {
    "epoch": (loop.Population, "epoch"),  # trained, nothing recorded
    "write": (store.Store, "_insert"),  # inside the transaction
    "recorded": (store.Store, "record"),  # recorded, not checkpointed
    "checkpoint": (checkpoints.Checkpoints, "save"),  # while Orbax writes in the background
}


def die(where: str, count: int) -> None:
    """Lets this process kill itself after so many calls of a method."""
    owner, name = _DEATHS[where]
    original, calls = getattr(owner, name), itertools.count(1)

    def deadly(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        if next(calls) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, deadly)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One compilation cache for all processes, two devices."""
    root = str(Path(__file__).parents[1])
    return {
        **os.environ,
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "PYTHONPATH": root,
        "JAX_NUM_CPU_DEVICES": "2",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def _train(
    environment: dict, folder: Path, *extra: str, dies: tuple[str, int] | None = None
) -> subprocess.CompletedProcess:
    before = functools.partial(die, *dies) if dies else None
    words = [*TINY, "--out", str(folder), *extra]
    return processes.run("jaxeval.train", *words, environment=environment, before=before)


def _rows(folder: Path) -> tuple:
    """All that is recorded but the clock."""
    members = [row._replace(wall_seconds=0.0) for row in runs.load(folder)]
    return members, runs.load_curves(folder)


@pytest.fixture(scope="module")
def truth(environment: dict, tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """What four seeds give without interruption, to one who types the command."""
    folder = tmp_path_factory.mktemp("truth")
    words = ["--out", str(folder), "--seeds", "4", "--json", str(folder / "out.json")]
    command = [sys.executable, "-m", "jaxeval.train", *TINY, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "out.json").read_text())["test"]["n"] == 4
    assert "median" in done.stdout and "Spearman" in done.stdout
    return _rows(folder)


def test_truth_is_worth_comparing(truth: tuple) -> None:
    """Dies if all seeds score the same, or no epoch is recorded (all tests below would pass)."""
    members, curves = truth
    assert [m.seed for m in members] == [1, 2, 3, 4]
    assert len({m.test for m in members}) > 2
    assert len([c for c in curves if c.part == "dev" and c.metric == "macro_f1"]) > 8


@pytest.mark.parametrize(
    "kills",
    [
        [("epoch", 1), ("write", 4), ("checkpoint", 1)],
        [("checkpoint", 2), ("recorded", 1)],
    ],
    ids=lambda kills: " ".join(f"{place}{count}" for place, count in kills),
)
def test_killed_and_resumed(
    environment: dict, truth: tuple, tmp_path: Path, kills: list[tuple[str, int]]
) -> None:
    """Dies if killed processes leave half a record, or the last one gives other scores."""
    for dies in kills:
        killed = _train(environment, tmp_path, "--seeds", "4", dies=dies)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = _train(environment, tmp_path, "--seeds", "4")
    assert resumed.returncode == 0, resumed.stderr
    assert _rows(tmp_path) == truth


def test_second_command_trains_only_what_is_new(
    environment: dict, truth: tuple, tmp_path: Path
) -> None:
    """Dies if finished members are trained or recorded again."""
    clocks = []
    for seeds in ("2", "2", "4"):
        done = _train(environment, tmp_path, "--seeds", seeds)
        assert done.returncode == 0, done.stderr
        clocks.append({row.seed: row.wall_seconds for row in runs.load(tmp_path)})
    assert clocks[0] == clocks[1] == {seed: clocks[2][seed] for seed in (1, 2)}
    assert _rows(tmp_path) == truth


def test_two_processes_at_once(environment: dict, truth: tuple, tmp_path: Path) -> None:
    """Dies if two processes cannot write into one folder at once."""
    words = [*TINY, "--out", str(tmp_path), "--seeds", "4"]
    both = [
        processes.start("jaxeval.train", *words, *extra, environment=environment)
        for extra in ([], ["training.optimiser.hyperparameters.learning_rate=0.2"])
    ]
    done = [process.wait() for process in both]
    assert [process.returncode for process in done] == [0, 0], done
    members, curves = _rows(tmp_path)
    ours = truth[0][0].experiment
    assert [m for m in members if m.experiment == ours] == truth[0]
    assert [c for c in curves if c.experiment == ours] == truth[1]
    assert len([m for m in members if m.experiment != ours]) == 4


def _has_scores(folder: Path) -> bool:
    """Whether an epoch is recorded; the database may be in the making."""
    try:
        return bool(runs.load_curves(folder))
    except RunError:
        return False


def test_interrupt_stops_after_the_epoch_and_says_how_to_go_on(
    environment: dict, truth: tuple, tmp_path: Path
) -> None:
    """Dies if Ctrl-C loses the state or leaves the user without advice."""
    words = [*TINY, "--out", str(tmp_path), "--seeds", "4"]
    process = processes.start("jaxeval.train", *words, environment=environment)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not process.ended():
        if _has_scores(tmp_path):
            process.send(signal.SIGINT)
            break
        time.sleep(0.02)
    done = process.wait()
    out, err = done.stdout, done.stderr
    assert done.returncode == 130, err
    assert "same command continues" in err and "median" not in out
    assert re.search("stopping after this epoch", err)
    assert _train(environment, tmp_path, "--seeds", "4").returncode == 0
    assert _rows(tmp_path) == truth


def test_random_splits(environment: dict, tmp_path: Path) -> None:
    """Dies if splits are not recorded, or all alike."""
    done = _train(environment, tmp_path, "--seed-list", "7", "--splits", "3", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["test"]["n"] == 3
    members, _ = _rows(tmp_path)
    assert [(m.split, m.seed) for m in members] == [(1, 7), (2, 7), (3, 7)]
    assert len({m.test for m in members}) == 3
    second = _train(environment, tmp_path, "--seed-list", "7", "--split-list", "2", "--json", "-")
    assert json.loads(second.stdout)["test"]["median"] == members[1].test
    wrong = _train(environment, tmp_path, "--split-list", "0,2")
    assert wrong.returncode == 2 and "expected numbers from 1" in wrong.stderr
