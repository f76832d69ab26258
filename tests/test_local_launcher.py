"""`--launch local:2`: processes of this machine, killed with the one that waits for them."""

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from jaxeval import launchers, runs
from jaxeval.errors import ConfigError
from tests import processes, tiny_corpora
from tests.verbs import train

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
        counts = [log.count('"Epoch"') for log in logs]
        if sum(counts) >= times and sum(map(bool, counts)) >= jobs:
            return
        time.sleep(0.05)
    raise AssertionError("no epoch")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_killed_workers_and_a_killed_driver(tmp_path: Path) -> None:
    """Dies if kill -9 of a worker ends the study, workers outlive a killed driver, or a score is
    another than that of one process."""
    assert train([*WORDS, "--out", str(tmp_path / "one")]) == 0
    folder = tmp_path / "jobs"
    words = [*WORDS, "--out", str(folder), "--launch", "local:2"]
    driver = processes.start("train", *words)
    wait_for_epochs(folder, 1)
    os.kill(_children(driver.process.pid)[0], signal.SIGKILL)
    wait_for_epochs(folder, 8)
    workers = _children(driver.process.pid)
    driver.send(signal.SIGKILL)
    assert driver.wait().returncode == -signal.SIGKILL
    assert train(words) == 0
    assert rows(folder) == rows(tmp_path / "one")
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


@pytest.mark.parametrize("text", ["local", "local:0", "local:x", "lokal:2", "", "local:99999"])
def test_what_is_no_engine_is_refused(text: str) -> None:
    """Dies if a mistake is found only after data was read."""
    with pytest.raises(ConfigError, match="expected local:N, slurm, slurm:FILE"):
        launchers.parse(text)
    assert launchers.parse(launchers.HERE) is None
