"""`local:N`: processes on this machine, which share its cores and take one job after another."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any

from jaxeval import backend

_WORKER, _LOG = "jaxeval.launchers.worker", "workers.log"
_KILLED = (
    "its process was killed (SIGKILL), by the kernel if memory was short; fewer workers, or a "
    "smaller training.lanes, need less"
)


class Local:
    """Threads of this process, each of which hands a job to a worker process and waits."""

    def __init__(self, workers: int):
        self.workers = workers
        self._begin()

    def _begin(self) -> None:
        self._threads = futures.ThreadPoolExecutor(self.workers)
        self._jobs: list[tuple[Path, futures.Future[None]]] = []
        self._started: list[subprocess.Popen] = []
        self._free: queue.SimpleQueue[subprocess.Popen] = queue.SimpleQueue()
        self._closed = False

    def submit(self, paths: Sequence[Path]) -> None:
        """Hands jobs to the next workers that are free."""
        self._jobs += [(path, self._threads.submit(self._train, path)) for path in paths]

    def running(self) -> Collection[Path]:
        """Returns the jobs that have not come back."""
        self._jobs = [(path, job) for path, job in self._jobs if not job.done()]
        return [path for path, _ in self._jobs]

    def close(self) -> None:
        """Lets workers stop after their epochs, by closing what they read from; waits for them."""
        self._closed = True
        for process in [*self._started]:
            _stop(process)
        self._threads.shutdown(cancel_futures=True)
        for process in self._started:
            _wait(process)
        self._begin()

    def _train(self, path: Path) -> None:
        """Gives a job to a free worker, or to a new one, and waits for its end."""
        try:
            process = self._free.get_nowait()
        except queue.Empty:
            process = self._start(path.parents[1])
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # it has died, or is to end
            print(path, file=process.stdin, flush=True)
        if process.stdout.readline():
            self._free.put(process)
            return
        _wait(process)
        if process.returncode == -signal.SIGKILL:
            with (path.parents[1] / _LOG).open("a") as log:
                print(f"{path}: {_KILLED}", file=log)

    def _start(self, folder: Path) -> subprocess.Popen:
        """Starts a worker with its share of the machine; a session of its own gets no Ctrl-C."""
        words = [sys.executable, "-m", _WORKER, str(max(1, backend.cores() // self.workers))]
        env, pipe = {**os.environ, backend.SHARED_BY: str(self.workers)}, subprocess.PIPE
        how: Any = {"stdin": pipe, "stdout": pipe, "text": True, "start_new_session": True}
        with (folder / _LOG).open("a") as log:
            process = subprocess.Popen(words, stderr=log, env=env, **how)
        self._started.append(process)
        if self._closed:
            _stop(process)
        return process


def _stop(process: subprocess.Popen) -> None:
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]


def _wait(process: subprocess.Popen) -> None:
    with contextlib.suppress(OSError), process:  # closes pipes
        pass


def make(options: str) -> Local:
    """Returns the launcher of so many processes."""
    return Local(int(options))
