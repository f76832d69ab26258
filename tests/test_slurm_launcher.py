"""`--launch slurm` on a real cluster of one node, started in a temporary folder."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxeval import launchers
from jaxeval.errors import ConfigError
from jaxeval.launchers import engines
from tests import launched, processes
from tests.verbs import train, tune

pytestmark = pytest.mark.skipif(not shutil.which("slurmctld"), reason="Slurm is not installed")

_CONFIG = """
ClusterName=local
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=sched_interval=2
KillWait=60
InactiveLimit=0
SlurmdParameters=config_overrides
NodeName=localhost NodeAddr=127.0.0.1 NodeHostname={host} CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _do(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


def _wait(what: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What a function returns as soon as it is not empty."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.2)
    assert found
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running cluster; the file of options for jobs on it."""
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "spool").mkdir()
    config, about = folder / "slurm.conf", {"user": getpass.getuser(), "folder": folder}
    config.write_text(
        _CONFIG.format(**about, ports=processes.free_ports(), host=socket.gethostname())
    )
    options = folder / "options.toml"
    options.write_text('array_parallelism = 2\npartition = "debug"\noversubscribe = true\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(config))
        patch.setattr(engines, "_ASKED_EVERY", 1.0)
        _do("slurmctld", "-f", str(config), "-c")
        _do("slurmd", "-f", str(config), "-N", "localhost")
        try:
            _wait(lambda: "idle" in _do("sinfo", "--noheader"))
            yield options
        finally:
            for name in ("slurmd", "slurmctld"):
                os.kill(int((folder / f"{name}.pid").read_text()), signal.SIGTERM)


def _queue() -> list[str]:
    """Ids of the tasks that run or wait."""
    return _do("squeue", "--noheader", "--array", "--format=%i").split()


def _ask_often() -> None:
    engines._ASKED_EVERY = 1.0


def test_cancelled_requeued_and_left_alone(cluster: Path, tmp_path: Path) -> None:
    """Dies if a task that is cancelled, pre-empted or without a node ends the study or loses
    epochs, a second command submits what is in the queue, or a score is another than that of one
    process."""
    long = [*launched.WORDS, "training.epochs=250", "training.checkpoint_every=50"]
    assert train([*long, "--out", str(tmp_path / "one")]) == 0
    folder = tmp_path / "jobs"
    words = [*long, "--out", str(folder), "--launch", f"slurm:{cluster}"]
    driver = processes.start("train", *words, before=_ask_often)
    # a worker that starts has no handler of signals yet
    launched.wait_for_epochs(folder, 10, jobs=2)
    cancelled, requeued = _queue()
    _do("scancel", cancelled)
    _do("scancel", "--signal=USR2", "--batch", requeued)  # as before a time limit
    (new,) = _wait(lambda: {*_queue()} - {cancelled, requeued})  # the study has submitted it again
    _wait(lambda: f"{requeued} PD" in _do("squeue", "--noheader", "--array", "--format=%i %t"))
    driver.send(signal.SIGKILL)
    driver.wait()
    _do("scontrol", "update", "nodename=localhost", "state=drain", "reason=test")
    _do("scontrol", "update", f"jobid={requeued}", "starttime=now")  # else in two minutes
    driver = processes.start("train", *words, before=_ask_often)
    _wait(driver.errors)
    assert requeued in _queue()
    _do("scontrol", "update", "nodename=localhost", "state=resume")
    assert driver.wait().returncode == 0
    logs = {path.stem: path.read_text() for path in folder.glob("jobs/slurm/*.log")}
    assert {*logs} == {cancelled, requeued, new}
    assert all("stopped between two epochs" in logs[task] for task in (cancelled, requeued))
    assert launched.rows(folder) == launched.rows(tmp_path / "one")
    _wait(lambda: not _queue())


def test_halving(cluster: Path, tmp_path: Path) -> None:
    """Dies if what pauses at a rung is lost, begins anew or leaves a task in the queue, or if a
    score at a rung is another than that of one process."""
    one = launched.halved(tmp_path, launchers.HERE)
    tasks = launched.halved(tmp_path, f"slurm:{cluster}")
    one[-1] = str(tmp_path / "one")
    assert tune(one) == 0 and tune(tasks) == 0
    launched.same_rungs(launched.searched(Path(tasks[-1])), launched.searched(tmp_path / "one"))
    _wait(lambda: not _queue())


@launched.asked_for
@pytest.mark.timeout(1800)
def test_deaths_at_random(cluster: Path, tmp_path: Path) -> None:
    """Dies if something is lost or trained twice with a process that is killed at any moment."""
    launched.survived(tmp_path, f"slurm:{cluster}", _ask_often)


def test_more_jobs_than_an_array_has_tasks(cluster: Path, tmp_path: Path) -> None:
    """Dies if a study of more than a thousand jobs cannot be submitted, or is submitted twice."""
    paths = [tmp_path / "jobs" / str(k) / "job.json" for k in range(1001)]
    for path in paths:
        path.parent.mkdir(parents=True)
    _do("scontrol", "update", "nodename=localhost", "state=drain", "reason=test")
    first, second = launchers.prepare(f"slurm:{cluster}"), launchers.prepare(f"slurm:{cluster}")
    assert first is not None and second is not None
    first.submit(paths)
    second.submit(paths)
    assert len(_queue()) == len(second.running()) == 1001
    second.close()
    _wait(lambda: not _queue())
    _do("scontrol", "update", "nodename=localhost", "state=resume")


def test_wrong_options_are_refused(cluster: Path, tmp_path: Path) -> None:
    """Dies if an option that sbatch does not have is found after data was read, or leaves a
    traceback."""
    file = tmp_path / "wrong.toml"
    for wrong, said in (
        ('partitoin = "debug"', "partitoin"),
        ("cpus-per-task = true", "a whole num"),
    ):
        file.write_text(wrong)
        with pytest.raises(ConfigError, match=said) as refused:
            launchers.prepare(f"slurm:{file}")
        assert "\n" not in str(refused.value)
    with pytest.raises(ConfigError, match=r"no such Slurm options file$"):
        launchers.prepare("slurm:nowhere.toml")
