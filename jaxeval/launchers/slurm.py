"""`slurm[:FILE.toml]`: a task of a Slurm array for each job; the file has sbatch's options."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxeval import files
from jaxeval.config import reading
from jaxeval.errors import ConfigError, RunError, argument

_SCRIPT = Path(__file__).with_name("slurm.sh")
_SBATCH = ("sbatch", "--parsable", "--requeue", "--open-mode=append", "--signal=B:USR2@90")
_OPTIONS = {"time": 60, "job-name": "jaxeval", "cpus-per-task": 1, "array-parallelism": 16}
_TASKS = 1000  # of an array, which Slurm allows by default
_SECONDS = 10.0  # between two calls of squeue, which is asked of all the cluster's users


class Slurm:
    """Tasks of arrays; those of an earlier process that still run or wait are taken over."""

    def __init__(self, options: Mapping[str, Any]):
        known: dict[str, Any] = _OPTIONS | {
            key.replace("_", "-"): value for key, value in options.items()
        }
        for key in ("array-parallelism", "cpus-per-task"):
            if type(known[key]) is not int or known[key] < 1:
                raise RunError(f"slurm: {key}: expected a whole number from 1")
        self.workers, self._devices = known.pop("array-parallelism"), known["cpus-per-task"]
        self.words = [*_SBATCH]
        for key, value in known.items():
            self.words.append(f"--{key}" if value is True else f"--{key}={value}")
        self._known, self._ids = set[str](), dict[Path, str]()  # ids in the queue; of jobs
        self._asked = 0.0

    def submit(self, paths: Sequence[Path]) -> None:
        """Submits those jobs that are not in the queue."""
        self._ask()
        for path in paths:
            file = path.with_name("slurm")  # holds the id of its task
            self._ids[path] = file.read_text() if file.exists() else ""
        new = [path for path in paths if self._ids[path] not in self._known]
        for k in (cuts := range(0, len(new), _TASKS)):
            self._array(new[k : k + _TASKS], -(-self.workers // len(cuts)))

    def _array(self, paths: Sequence[Path], at_once: int) -> None:
        logs, jobs = paths[0].absolute().parents[1] / "slurm", [str(of.absolute()) for of in paths]
        logs.mkdir(exist_ok=True)
        array = f"--array=0-{len(paths) - 1}%{at_once}", f"--output={logs}/%A_%a.log"
        number = _run(*self.words, *array, str(_SCRIPT), sys.executable, str(self._devices), *jobs)
        for k, path in enumerate(paths):
            self._ids[path] = f"{number.strip().partition(';')[0]}_{k}"
            self._known.add(self._ids[path])
            files.write_text(path.with_name("slurm"), self._ids[path])

    def running(self) -> Collection[Path]:
        """Returns the jobs whose tasks are in the queue."""
        if time.monotonic() - self._asked > _SECONDS:
            self._ask()
        return {path for path, task in self._ids.items() if task in self._known}

    def _ask(self) -> None:
        """Asks squeue; if it does not answer, what was known stays."""
        with contextlib.suppress(RunError):
            self._known = {*_run("squeue", "--noheader", "--array", "--format=%i", "--me").split()}
        self._asked = time.monotonic()

    def close(self) -> None:
        """Cancels all tasks, which then stop after their epochs if Slurm gives them the time."""
        with contextlib.suppress(RunError):
            _run("scancel", *self._known.intersection(self._ids.values()))


def _run(*words: str) -> str:
    """Returns what a program prints; raises RunError with what it says of an error."""
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        raise RunError(f"slurm: no {words[0]} here; expected a machine of a cluster") from None
    except subprocess.CalledProcessError as error:
        raise RunError("slurm: " + error.stderr.strip().partition("\n")[0]) from None


def make(options: str) -> Slurm:
    """Returns the launcher of a file of options, or of the defaults."""
    try:
        launcher = Slurm(reading.read_toml(options, "Slurm options") if options else {})
        _run(*launcher.words, "--test-only", str(_SCRIPT))
    except RunError as error:
        if "allocation failure" not in str(error):  # else the cluster may have the nodes later
            named = argument("launch", f"slurm:{options}".removesuffix(":"))
            raise ConfigError(f"{named}: {str(error).removeprefix('slurm: ')}") from None
    return launcher
