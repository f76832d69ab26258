"""`--launch local:2`: processes of this machine, killed with the one that waits for them."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxeval import launchers
from jaxeval.errors import ConfigError
from tests import launched, processes
from tests.verbs import tune


def _children(pid: int) -> list[int]:
    """The processes that another one has started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has just ended
            found += map(int, (task / "children").read_text().split())
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_halving_with_killed_workers_and_a_killed_driver(tmp_path: Path) -> None:
    """Dies if kill -9 of a worker ends the search or is not in the log, workers outlive a killed
    driver, a training, paused or not, begins anew, is lost or runs twice, or a score is another
    than that of one process."""
    one, two = launched.halved(tmp_path, launchers.HERE), launched.halved(tmp_path, "local:2")
    one[-1], folder = str(tmp_path / "one"), Path(two[-1])
    assert tune(one) == 0
    driver = processes.start("tune", *two)
    launched.wait_for_epochs(folder, 4)
    os.kill(_children(driver.process.pid)[0], signal.SIGKILL)
    launched.wait_for_epochs(folder, 24)
    workers = _children(driver.process.pid)
    driver.send(signal.SIGKILL)
    assert driver.wait().returncode == -signal.SIGKILL
    assert tune(two) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    launched.same_rungs(launched.searched(folder), launched.searched(tmp_path / "one"))
    assert "killed (SIGKILL), perhaps by the kernel" in (folder / "jobs/workers.log").read_text()


@launched.asked_for
@pytest.mark.timeout(1200)
def test_deaths_at_random(tmp_path: Path) -> None:
    """Dies if something is lost or trained twice with a process that is killed at any moment."""
    launched.survived(tmp_path, "local:2")


def test_a_worker_that_meets_no_signal_ends() -> None:
    """Dies if a worker waits for ever when the process that hands out jobs has gone, and the
    signal that stops it came between the last epoch of a job and its end."""
    deaf = 'trap "" TERM; exec "$0" -m jaxeval.launchers.worker 1'
    words = ["sh", "-c", deaf, sys.executable]
    assert subprocess.run(words, stdin=subprocess.DEVNULL, timeout=60).returncode == 0


def test_a_worker_that_still_compiles_ends_at_once() -> None:
    """Dies if Ctrl-C waits until programs are compiled that nobody will run."""
    code = """
import os, runpy, signal, sys, time
from concurrent import futures
from jaxeval.launchers import worker

def compiling():
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(120)

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
futures.ThreadPoolExecutor().submit(compiling)
sys.argv[1:] = ["1"]
runpy.run_module("jaxeval.launchers.worker", run_name="__main__")
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert process.wait(60) == 143


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
