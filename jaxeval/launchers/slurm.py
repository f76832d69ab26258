"""`slurm[:FILE.toml]`: a task of a Slurm array for each job, by submitit.

The file has the options of submitit's SlurmExecutor, which are those of sbatch: partition, time
(minutes), cpus_per_task, gpus_per_node, mem, account, setup ... `array_parallelism` is the number
of jobs at once. A task that is pre-empted or out of time is requeued; one that is gone without a
requeue is submitted again by the study. Which tasks are there is asked of squeue: submitit's
states need accounting, which not every cluster has.
"""

import contextlib
import getpass
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval.config import reading
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.launchers import worker

_OPTIONS = {"time": 60, "cpus_per_task": 1, "array_parallelism": 16, "job_name": "jaxeval"}
_SECONDS = 10.0  # between two calls of squeue, which is asked of all the cluster's users
_REQUEUES = 1000  # of a task that is out of time


class _Task:
    """A job as submitit pickles it; after a requeue it is the same."""

    def __init__(self, devices: int):
        self._devices = devices

    def __call__(self, path: str) -> None:
        worker.work(path, self._devices)

    def checkpoint(self, path: str) -> object:
        """Returns what a requeued task calls."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, path)


class Slurm:
    """Tasks of arrays; those of an earlier process that still run or wait are taken over."""

    def __init__(self, options: Mapping[str, Any]):
        self._options = {**_OPTIONS, **options}
        self.workers = int(self._options["array_parallelism"])
        self._ids: dict[Path, str] = {}
        self._known: set[str] = set()  # ids in the queue
        self._asked = 0.0

    def submit(self, paths: Sequence[Path]) -> None:
        """Submits an array of those jobs that are not in the queue."""
        self._ask()
        new = []
        for path in paths:
            known = path.with_name("slurm")  # holds the id of its task
            self._ids[path] = known.read_text() if known.exists() else ""
            if self._ids[path] not in self._known:
                new.append(path)
        if not new:
            return
        folder = new[0].absolute().parents[1] / "slurm"
        executor = _executor(folder, self._options)
        task = _Task(int(self._options["cpus_per_task"]))
        try:
            submitted = executor.map_array(task, [str(path.absolute()) for path in new])
        except Exception as error:  # of several kinds, with what sbatch said
            said = str(error).strip().splitlines()[-1:] or [type(error).__name__]
            raise RunError(f"slurm: no job could be submitted ({said[0]})") from None
        for path, job in zip(new, submitted, strict=True):
            self._ids[path] = job.job_id
            path.with_name("slurm").write_text(job.job_id)
        self._known |= {job.job_id for job in submitted}

    def running(self) -> Collection[Path]:
        """Returns the jobs whose tasks are in the queue."""
        if time.monotonic() - self._asked > _SECONDS:
            self._ask()
        return {path for path, task in self._ids.items() if task in self._known}

    def _ask(self) -> None:
        """Asks squeue; if it does not answer, what was known stays."""
        words = ["squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}"]
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            asked = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
            self._known = {*asked.stdout.split()}
        self._asked = time.monotonic()

    def close(self) -> None:
        """Cancels all tasks, which then stop after their epochs if Slurm gives them the time."""
        gone = [task for path, task in self._ids.items() if task in self._known and path.exists()]
        self._ids.clear()
        if gone:
            subprocess.run(["scancel", *gone], capture_output=True, check=False)


def _executor(folder: Path, options: Mapping[str, Any]) -> Any:
    try:
        import submitit
    except ModuleNotFoundError:
        raise RunError("slurm: install jaxeval[slurm]") from None
    try:
        executor = submitit.SlurmExecutor(folder, max_num_timeout=_REQUEUES)
    except RuntimeError:
        raise RunError("slurm: no srun here; expected a machine of a Slurm cluster") from None
    executor.update_parameters(**options)
    return executor


def make(options: str) -> Slurm:
    """Returns the launcher of a file of options, or of the defaults."""
    table = reading.read_toml(options, "Slurm options") if options else {}
    launcher = Slurm(table)
    try:
        _executor(Path("slurm"), launcher._options)
    except (ValueError, TypeError, AttributeError) as error:
        said = str(error).partition("\n")[0]
        raise ConfigError(f"{argument('launch', f'slurm:{options}')}: {said}") from None
    return launcher
