"""Studies by a launcher, what is left of them, and how their processes are killed."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs, tuning
from jaxeval.tuning.history import Evaluation
from tests import processes, tiny_corpora
from tests.verbs import train

asked_for = pytest.mark.skipif(
    not os.environ.get("JAXEVAL_ENGINES"), reason="takes minutes; JAXEVAL_ENGINES is not set"
)
WORDS = [
    *(*tiny_corpora.BAG, "training.epochs=30", "training.patience=0"),
    *("training.checkpoint_every=2", "--seeds", "4"),
]
_LONG = [*WORDS[:-2], "training.epochs=3000", "training.checkpoint_every=20", "--seeds", "8"]
_DEATHS = ["worker"] * 20 + ["stop"] * 2 + ["command"] * 5
_MARK = "JAXEVAL_DEATHS_IN"  # a variable that all processes of the study have


def rows(folder: Path) -> tuple:
    """All that is recorded but the clock, and how many devices a process had."""
    members = [row._replace(wall_seconds=0.0, device="") for row in runs.load(folder)]
    return members, runs.load_curves(folder)


def epochs(folder: Path) -> list[int]:
    """How many epochs the log of each job holds."""
    return [path.read_text().count('"Report"') for path in folder.glob("jobs/*/events.jsonl")]


def wait_for_epochs(folder: Path, times: int, jobs: int = 1) -> None:
    """Waits until the logs of jobs hold so many epochs, and those of so many jobs one each."""
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        counts = epochs(folder)
        if sum(counts) >= times and sum(map(bool, counts)) >= jobs:
            return
        time.sleep(0.05)
    raise AssertionError("no epoch")


def halved(folder: Path, launch: str) -> list[str]:
    """The words of a search with halving over the learning rate, at epochs 8 and 16 of 30."""
    space = folder / "space.toml"
    key = "training.optimiser.hyperparameters.learning_rate"
    space.write_text(f'[rate]\nkey = "{key}"\nlog_uniform = [1e-3, 1.0]\n')
    search = ["--space", str(space), "--trials", "3", "--halving", "2", "--min-epochs", "8"]
    search += ["--method", "sobol", "--parallel", "3", "--retrain", "0", "--launch", launch]
    return [*WORDS[:-2], *search, "--out", str(folder / launch.partition(":")[0])]


def searched(folder: Path) -> list[Evaluation]:
    """The settings of the search in a folder, each recorded once; nothing else is left."""
    (path,) = (folder / "tunings").glob("*.json")
    found = tuning.read(path).history.evaluations
    recorded = {row.seed: (row.status, row.epochs, row.dev) for row in runs.load(folder)}
    for e in found:
        status, count, dev = recorded.pop(e.seeds[0])
        assert (dev,) == e.scores and count == (e.stopped.epochs if e.stopped else 30)
        assert status == ("early_stopped" if e.stopped else "finished")
    assert not recorded and len(found) == 3
    assert not [*folder.glob("jobs/*/job.json")]
    assert not [path for path in folder.glob("checkpoints/*") if path.is_dir()]
    return [*found]


def same_rungs(some: list[Evaluation], others: list[Evaluation]) -> None:
    """Dies if a setting has another score at a rung that it has reached in both searches."""
    for e, other in zip(some, others, strict=True):
        both = min(len(e.rungs), len(other.rungs))
        assert e.values == other.values and e.rungs[:both] == other.rungs[:both] != ()


def survived(folder: Path, launch: str, before: Callable[[], object] | None = None) -> None:
    """Dies if a member is lost or trained twice, or an epoch has another score than in one
    process.

    Each time after an epoch, a worker is killed (-9) or stopped for a while, or the command is
    killed and started again; `before` is called in it first.
    """
    assert train([*_LONG, "--out", str(folder / "one")]) == 0
    many, draw = folder / "many", random.Random(0)
    words = [*_LONG, "--out", str(many), "--launch", launch]
    how: Any = {"environment": {**os.environ, _MARK: str(many)}, "before": before}
    command = processes.start("train", *words, **how)
    for death in draw.sample(_DEATHS, len(_DEATHS)):
        wait_for_epochs(many, sum(epochs(many)) + 1)
        time.sleep(draw.random())
        assert not command.ended(), "more epochs are needed for so many deaths"
        if death == "command":
            command.send(signal.SIGKILL)
            command.wait()
            command = processes.start("train", *words, **how)
        elif death == "worker":
            _send(many, signal.SIGKILL, draw)
        else:
            stopped = _send(many, signal.SIGSTOP, draw)
            time.sleep(5.0)
            os.kill(stopped, signal.SIGCONT)
    assert command.wait(600.0).returncode == 0
    assert rows(many) == rows(folder / "one")
    assert not [*many.glob("jobs/*/job.json")]


def _send(folder: Path, number: signal.Signals, draw: random.Random) -> int:
    """Sends a signal to a worker, as soon as there is one; returns its id."""
    while True:
        with contextlib.suppress(IndexError, ProcessLookupError):
            chosen = draw.choice([*_workers(folder)])
            os.kill(chosen, number)
            return chosen
        time.sleep(0.05)


def _workers(folder: Path) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended
            ours = f"{_MARK}={folder}\0".encode() in (process / "environ").read_bytes()
            if ours and b"\0jaxeval.launchers.worker\0" in (process / "cmdline").read_bytes():
                yield int(process.name)
