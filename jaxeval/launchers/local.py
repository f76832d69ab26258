"""`local:N`: processes on this machine, which share its cores and take one job after another."""

import contextlib
import queue
import subprocess
import sys
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from jaxeval import backend

_WORKER = "jaxeval.launchers.worker"


class Local:
    """Threads of this process, each of which feeds a worker process."""

    def __init__(self, workers: int):
        self.workers = workers
        self._begin()

    def _begin(self) -> None:
        self._waiting: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._jobs: list[Path] = []  # one that pauses may be there twice
        self._threads: list[threading.Thread] = []
        self._processes: dict[int, subprocess.Popen] = {}
        self._closed = False

    def submit(self, paths: Sequence[Path]) -> None:
        """Hands jobs to the next workers that are free."""
        self._jobs.extend(paths)
        for path in paths:
            self._waiting.put(path)
        while len(self._threads) < min(self.workers, len(self._jobs)):
            number = len(self._threads)
            self._threads.append(threading.Thread(target=self._feed, args=(number,), daemon=True))
            self._threads[-1].start()

    def running(self) -> Collection[Path]:
        """Returns the jobs that have not come back."""
        return self._jobs.copy()

    def close(self) -> None:
        """Lets workers stop after their epochs, by closing what they read from; waits for them."""
        self._closed = True
        for _ in self._threads:
            self._waiting.put(None)
        for process in [*self._processes.values()]:
            _stop(process)
        for thread in self._threads:
            thread.join()
        self._begin()

    def _feed(self, number: int) -> None:
        """Gives jobs to a worker, and starts another one where it has died."""
        process = None
        while (path := self._waiting.get()) is not None and not self._closed:
            process = process or self._start(path.parents[1], number)
            assert process.stdin is not None and process.stdout is not None
            with contextlib.suppress(OSError, ValueError):  # it has died, or is to end
                print(path, file=process.stdin, flush=True)
            if not process.stdout.readline():
                self._end(number)
                process = None
            self._jobs.remove(path)
        self._end(number)

    def _end(self, number: int) -> None:
        with contextlib.suppress(KeyError, OSError), self._processes.pop(number):
            pass  # closes pipes and waits

    def _start(self, folder: Path, number: int) -> subprocess.Popen:
        """Starts a worker with its share of the cores; a session of its own gets no Ctrl-C."""
        devices = max(1, backend.cores() // self.workers)
        with (folder / f"worker{number + 1}.log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", _WORKER, str(devices)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._processes[number] = process
        if self._closed:
            _stop(process)
        return process


def _stop(process: subprocess.Popen) -> None:
    with contextlib.suppress(OSError):
        process.stdin.close()  # type: ignore[union-attr]


def make(options: str) -> Local:
    """Returns the launcher of so many processes."""
    return Local(int(options))
