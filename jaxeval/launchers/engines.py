"""Engines, each a launcher of jobs: processes on this machine, Slurm, Ray.

local:N            processes, which share the cores and take one job after another
slurm[:FILE.toml]  a task of a Slurm array for each job; the file has sbatch's options
ray[:ADDRESS]      a Ray task for each job, on a cluster that runs, or one on this machine
"""

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any

from jaxeval import backend, files
from jaxeval.config import reading
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.launchers import worker

_WORKER, _LOG = "jaxeval.launchers.worker", "workers.log"
_KILLED = (
    "its process was killed (SIGKILL), perhaps by the kernel for lack of memory; use fewer "
    "workers or a smaller training.lanes"
)
_SCRIPT = Path(__file__).with_name("slurm.sh")
_SBATCH = ("sbatch", "--parsable", "--requeue", "--open-mode=append", "--signal=B:USR2@90")
_OPTIONS = {"time": 60, "job-name": "jaxeval", "cpus-per-task": 1, "array-parallelism": 16}
_TASKS = 1000  # of an array, which Slurm allows by default
_ASKED_EVERY = 10.0  # between two calls of squeue, which is asked of all the cluster's users
_RETRIES = 3  # of a task whose node or process has died
_SECONDS = 10.0  # in which a cluster must answer


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
        env = {**os.environ, backend.SHARED_BY: str(self.workers)}
        pipe = subprocess.PIPE
        with (folder / _LOG).open("a") as log:
            process = subprocess.Popen(
                words,
                stdin=pipe,
                stdout=pipe,
                stderr=log,
                text=True,
                env=env,
                start_new_session=True,
            )
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


def _local(options: str) -> Local:
    """Returns the launcher of so many processes."""
    return Local(int(options))


class Slurm:
    """Tasks of arrays; those of an earlier process that still run or wait are taken over."""

    def __init__(self, options: Mapping[str, Any]):
        known: dict[str, Any] = _OPTIONS | {
            key.replace("_", "-"): value for key, value in options.items()
        }
        for key in ("array-parallelism", "cpus-per-task"):
            if type(known[key]) is not int or known[key] < 1:
                raise RunError(f"slurm: {key}: expected a whole number from 1")
        self.workers = known.pop("array-parallelism")
        self._devices = known["cpus-per-task"]
        self.words = [*_SBATCH]
        for key, value in known.items():
            self.words.append(f"--{key}" if value is True else f"--{key}={value}")
        self._known: set[str] = set()  # ids in the queue
        self._ids: dict[Path, str] = {}  # of jobs
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
        logs = paths[0].absolute().parents[1] / "slurm"
        jobs = [str(of.absolute()) for of in paths]
        logs.mkdir(exist_ok=True)
        array = f"--array=0-{len(paths) - 1}%{at_once}", f"--output={logs}/%A_%a.log"
        number = _run(*self.words, *array, str(_SCRIPT), sys.executable, str(self._devices), *jobs)
        for k, path in enumerate(paths):
            self._ids[path] = f"{number.strip().partition(';')[0]}_{k}"
            self._known.add(self._ids[path])
            files.write_text(path.with_name("slurm"), self._ids[path])

    def running(self) -> Collection[Path]:
        """Returns the jobs whose tasks are in the queue."""
        if time.monotonic() - self._asked > _ASKED_EVERY:
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


def _slurm(options: str) -> Slurm:
    """Returns the launcher of a file of options, or of the defaults."""
    try:
        launcher = Slurm(reading.read_toml(options, "Slurm options") if options else {})
        _run(*launcher.words, "--test-only", str(_SCRIPT))
    except RunError as error:
        if "allocation failure" not in str(error):  # else the cluster may have the nodes later
            named = argument("launch", f"slurm:{options}".removesuffix(":"))
            raise ConfigError(f"{named}: {str(error).removeprefix('slurm: ')}") from None
    return launcher


class Ray:
    """Tasks of one CPU, or of one GPU with its share of the CPUs where the cluster has GPUs."""

    def __init__(self, ray: Any):
        resources = ray.cluster_resources()
        cpus, gpus = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
        self.workers = max(1, gpus or cpus)
        self._ray, self._devices = ray, max(1, cpus // self.workers)
        self._task = ray.remote(
            num_cpus=self._devices,
            num_gpus=min(1, gpus),
            max_retries=_RETRIES,
            retry_exceptions=True,
        )(worker.work)
        self._tasks: dict[Path, Any] = {}

    def submit(self, paths: Sequence[Path]) -> None:
        """Hands jobs to the cluster."""
        for path in paths:
            self._tasks[path] = self._task.remote(str(path.absolute()), self._devices)

    def running(self) -> Collection[Path]:
        """Returns the jobs whose tasks have not ended."""
        tasks = [*self._tasks.values()]
        ended, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0) if tasks else ((), ())
        self._tasks = {path: task for path, task in self._tasks.items() if task not in ended}
        return [*self._tasks]

    def close(self) -> None:
        """Cancels all tasks; they go on from their last checkpoints."""
        for task in self._tasks.values():
            self._ray.cancel(task)
        self._tasks.clear()


def _ray(address: str) -> Ray:
    """Returns the launcher of a cluster; "": of RAY_ADDRESS, of this machine, or a new one."""
    # workers run what is installed, not `uv run` on a copy of this folder
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise RunError("ray: install jaxeval[ray]") from None
    known = address or os.environ.get("RAY_ADDRESS", "")
    host, _, port = known.rpartition(":")
    try:
        if port.isdecimal() and "/" not in host:  # Ray would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), _SECONDS).close()
        ray.init(address=address or None, ignore_reinit_error=True, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        said = str(error).partition("\n")[0]
        raise RunError(f"{argument('launch', f'ray:{known}')}: {said}") from None
    return Ray(ray)


MAKERS = {"local": _local, "slurm": _slurm, "ray": _ray}  # name -> its launcher by its options
