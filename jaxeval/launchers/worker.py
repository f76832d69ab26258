"""A process that trains jobs.

`python -m jaxeval.launchers.worker DEVICES [JOB]` trains one, or those whose paths it reads.
"""

import functools
import gc
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from jaxeval import backend
from jaxeval.errors import JaxevalError

if TYPE_CHECKING:
    from jaxeval.studies.running import Session

_PATIENCE = 1e9  # seconds that a job waits for a process that trains it already


def work(path: str, devices: int) -> None:
    """Trains a job on so many CPU devices, or as many accelerators as there are.

    A job that has ended is left alone. An error for the user ends the job, since another try would
    end alike; other exceptions are raised.
    """
    os.environ["JAX_NUM_CPU_DEVICES"] = str(devices)
    file = Path(path)
    error: JaxevalError | None = None
    try:
        backend.prepare()
    except JaxevalError as raised:  # this machine has another jax, or other settings of it
        error = raised
    from jaxeval import observe
    from jaxeval.studies import cohorts, jobs

    if not file.exists():
        return
    with jobs.lock(file, _PATIENCE):
        if not file.exists():
            return
        try:
            if error is None:
                observe.watch(jobs.train(file, _session()))
        except JaxevalError as raised:
            error = raised
    said = None if error is None else str(error)
    jobs.note(file, jobs.End(said, isinstance(error, cohorts.TooLarge)))


@functools.cache
def _session() -> "Session":
    """Data and programs, which all jobs of this process share."""
    from jaxeval.studies import running

    gc.freeze()  # looking through what was imported takes a twentieth of a small job
    return running.Session()


def _read(paths: "queue.SimpleQueue[str]") -> None:
    """Reads paths of jobs; at the end of input, which adds "", the process stops in order."""
    for line in sys.stdin:
        paths.put(line.rstrip("\n"))
    paths.put("")  # a job whose last epoch has ended meets no signal
    os.kill(os.getpid(), signal.SIGTERM)


def _main(devices: int) -> None:
    """Trains jobs as their paths come; answers each with a line, and prints nothing else there."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    paths: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(paths,), daemon=True).start()
    while path := paths.get():
        work(path, devices)
        print(file=answers, flush=True)


if __name__ == "__main__":
    try:
        if sys.argv[2:]:
            work(sys.argv[2], int(sys.argv[1]))
        else:
            _main(int(sys.argv[1]))
    except SystemExit:  # after SIGTERM; threads that still compile are not waited for
        os._exit(128 + signal.SIGTERM)
