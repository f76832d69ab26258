"""`--launch local:2`: processes of this machine, killed with the one that waits for them."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jaxeval import launchers, runs, tuning
from jaxeval.errors import ConfigError
from jaxeval.tuning.history import Evaluation
from tests import processes, tiny_corpora
from tests.verbs import tune

WORDS = [
    *(*tiny_corpora.BAG, "training.epochs=30", "training.patience=0"),
    *("training.checkpoint_every=2", "--seeds", "4"),
]


def rows(folder: Path) -> tuple:
    """All that is recorded but the clock, and how many devices a process had."""
    members = [row._replace(wall_seconds=0.0, device="") for row in runs.load(folder)]
    return members, runs.load_curves(folder)


def _children(pid: int) -> list[int]:
    """The processes that another one has started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            found += map(int, (task / "children").read_text().split())
    return found


def wait_for_epochs(folder: Path, times: int, jobs: int = 1) -> None:
    """Waits until the logs of jobs hold so many epochs, and those of so many jobs one each."""
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        logs = [path.read_text() for path in folder.glob("jobs/*/events.jsonl")]
        counts = [log.count('"Report"') for log in logs]
        if sum(counts) >= times and sum(map(bool, counts)) >= jobs:
            return
        time.sleep(0.05)
    raise AssertionError("no epoch")


def halved(folder: Path, launch: str) -> list[str]:
    """The words of a search with halving over the learning rate, at epochs 8 and 16 of 30."""
    space = folder / "space.toml"
    key = "training.optimiser.hyperparameters.learning_rate"
    space.write_text(f'[rate]\nkey = "{key}"\nlog_uniform = [1e-3, 1.0]\n')
    search = ["--space", str(space), "--trials", "6", "--halving", "2", "--min-epochs", "8"]
    search += ["--method", "sobol", "--parallel", "3", "--retrain", "0", "--launch", launch]
    return [*WORDS[:-2], *search, "--out", str(folder / launch.partition(":")[0])]


def searched(folder: Path) -> list[Evaluation]:
    """The settings of the search in a folder, each recorded once; nothing else is left."""
    (path,) = (folder / "tunings").glob("*.json")
    found = tuning.read(path).history.evaluations
    recorded = {row.seed: (row.status, row.epochs, row.dev) for row in runs.load(folder)}
    for e in found:
        status, epochs, dev = recorded.pop(e.seeds[0])
        assert (dev,) == e.scores and epochs == (e.stopped.epochs if e.stopped else 30)
        assert status == ("early_stopped" if e.stopped else "finished")
    assert not recorded and len(found) == 6
    assert not [*folder.glob("jobs/*/job.json")]
    assert not [path for path in folder.glob("checkpoints/*") if path.is_dir()]
    return [*found]


def same_rungs(some: list[Evaluation], others: list[Evaluation]) -> None:
    """Dies if a setting has another score at a rung that it has reached in both searches."""
    for e, other in zip(some, others, strict=True):
        both = min(len(e.rungs), len(other.rungs))
        assert e.values == other.values and e.rungs[:both] == other.rungs[:both] != ()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_halving_with_killed_workers_and_a_killed_driver(tmp_path: Path) -> None:
    """Dies if kill -9 of a worker ends the search or is not in the log, workers outlive a killed
    driver, a training, paused or not, begins anew, is lost or runs twice, or a score is another
    than that of one process."""
    one, two = halved(tmp_path, launchers.HERE), halved(tmp_path, "local:2")
    one[-1], folder = str(tmp_path / "one"), Path(two[-1])
    assert tune(one) == 0
    driver = processes.start("tune", *two)
    wait_for_epochs(folder, 4)
    os.kill(_children(driver.process.pid)[0], signal.SIGKILL)
    wait_for_epochs(folder, 24)
    workers = _children(driver.process.pid)
    driver.send(signal.SIGKILL)
    assert driver.wait().returncode == -signal.SIGKILL
    assert tune(two) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    same_rungs(searched(folder), searched(tmp_path / "one"))
    assert "killed (SIGKILL), by the kernel if mem" in (folder / "jobs/workers.log").read_text()


def test_a_worker_that_meets_no_signal_ends() -> None:
    """Dies if a worker waits for ever when the process that hands out jobs has gone, and the
    signal that stops it came between the last epoch of a job and its end."""
    deaf = 'trap "" TERM; exec "$0" -m jaxeval.launchers.worker 1'
    words = ["sh", "-c", deaf, sys.executable]
    assert subprocess.run(words, stdin=subprocess.DEVNULL, timeout=60).returncode == 0


WRONG = ["local", "local:0", "local:x", "local:²", "local:1025", "lokal:2", ""]
WRONG.append("local:" + "1" * 5000)  # which int() refuses


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_engine_is_refused(text: str) -> None:
    """Dies if a mistake is found only after data was read."""
    with pytest.raises(ConfigError, match="expected local:N, slurm, slurm:FILE"):
        launchers.prepare(text)


def test_a_machine_without_slurm_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if the message repeats the engine or its colon."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match=r"^--launch slurm: no sbatch here; expected a machine"):
        launchers.prepare("slurm")


def test_how_many_processes_there_can_be() -> None:
    """Dies if one process is an engine, or the most that are allowed, or two, are refused."""
    assert launchers.prepare("local:1") is None
    for count in (2, 1024):
        found = launchers.prepare(f"local:{count}")
        assert found is not None and found.workers == count
