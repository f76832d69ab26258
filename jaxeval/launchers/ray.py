"""`ray[:ADDRESS]`: a Ray task for each job, on a cluster that runs, or one on this machine."""

import os
import socket
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from jaxeval.errors import RunError, argument
from jaxeval.launchers import worker

_RETRIES = 3  # of a task whose node or process has died
_SECONDS = 10.0  # in which a cluster must answer


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


def make(address: str) -> Ray:
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
