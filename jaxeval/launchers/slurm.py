"""`slurm[:FILE.toml]`: a task of a Slurm array for each job; the file has sbatch's options."""

import contextlib
import getpass
import shlex
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from jaxeval import files
from jaxeval.config import reading
from jaxeval.errors import ConfigError, RunError, argument

_OPTIONS = {"time": 60, "cpus_per_task": 1, "array_parallelism": 16, "job_name": "jaxeval"}
_ALWAYS = ("--parsable", "--requeue", "--open-mode=append", "--signal=B:USR2@90")
_SECONDS = 10.0  # between two calls of squeue, which is asked of all the cluster's users
# SIGTERM ends a worker after its epoch. Slurm sends it to all processes of a task, and requeues
# what is pre-empted; a task out of time requeues itself; the study submits what else is missing.
_SCRIPT = """#!/bin/sh
set -- {}; shift "$SLURM_ARRAY_TASK_ID"
again=; trap : TERM; trap 'again=yes; kill $!' USR2
{} -m jaxeval.launchers.worker {} "$1" &
while ! wait $! && kill -0 $!; do :; done 2>/dev/null
test -z "$again" || scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
"""


class Slurm:
    """Tasks of arrays; those of an earlier process that still run or wait are taken over."""

    def __init__(self, options: Mapping[str, object]):
        known = {**_OPTIONS, **options}
        for key in ("array_parallelism", "cpus_per_task"):
            if not str(known[key]).isdecimal() or known[key] == 0:
                raise RunError(f"slurm: {key}: expected a whole number from 1")
        self.workers = int(str(known.pop("array_parallelism")))
        self._devices, self._known = known["cpus_per_task"], set[str]()  # ids in the queue
        self.words = ["sbatch", *_ALWAYS, *(f"--{k.replace('_', '-')}={known[k]}" for k in known)]
        self._ids, self._asked = dict[Path, str](), 0.0

    def submit(self, paths: Sequence[Path]) -> None:
        """Submits an array of those jobs that are not in the queue."""
        self._ask()
        for path in paths:
            file = path.with_name("slurm")  # holds the id of its task
            self._ids[path] = file.read_text() if file.exists() else ""
        new = [path for path in paths if self._ids[path] not in self._known]
        if not new:
            return
        logs, each = new[0].absolute().parents[1] / "slurm", map(str, map(Path.absolute, new))
        logs.mkdir(exist_ok=True)
        script = _SCRIPT.format(shlex.join(each), shlex.quote(sys.executable), self._devices)
        array = f"--array=0-{len(new) - 1}%{self.workers}", f"--output={logs}/%A_%a.log"
        number = _run([*self.words, *array], script).strip().partition(";")[0]
        for k, path in enumerate(new):
            self._ids[path] = f"{number}_{k}"
            self._known.add(self._ids[path])
            files.write_text(path.with_name("slurm"), self._ids[path])

    def running(self) -> Collection[Path]:
        """Returns the jobs whose tasks are in the queue."""
        if time.monotonic() - self._asked > _SECONDS:
            self._ask()
        return {path for path, task in self._ids.items() if task in self._known}

    def _ask(self) -> None:
        """Asks squeue; if it does not answer, what was known stays."""
        words = ["squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}"]
        with contextlib.suppress(RunError):
            self._known = {*_run(words).split()}
        self._asked = time.monotonic()

    def close(self) -> None:
        """Cancels all tasks, which then stop after their epochs if Slurm gives them the time."""
        with contextlib.suppress(RunError):
            _run(["scancel", *self._known.intersection(self._ids.values())])


def _run(words: Sequence[str], script: str = "") -> str:
    """Returns what a program prints; raises RunError with what it says of an error."""
    try:
        done = subprocess.run(words, input=script, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise RunError(f"slurm: no {words[0]} here; expected a machine of a cluster") from None
    except subprocess.CalledProcessError as error:
        raise RunError("slurm: " + error.stderr.strip().partition("\n")[0]) from None
    return done.stdout


def make(options: str) -> Slurm:
    """Returns the launcher of a file of options, or of the defaults."""
    try:
        launcher = Slurm(reading.read_toml(options, "Slurm options") if options else {})
        _run([*launcher.words, "--test-only"], "#!/bin/sh\n")
    except RunError as error:
        if "allocation failure" not in str(error):  # else the cluster may have the nodes later
            named = argument("launch", f"slurm:{options}".removesuffix(":"))
            raise ConfigError(f"{named}: {str(error).removeprefix('slurm: ')}") from None
    return launcher
