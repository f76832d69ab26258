"""An engine of jobs in this process."""

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jaxeval import studies
from jaxeval.launchers import worker
from jaxeval.population import host
from jaxeval.studies import jobs, launching


@contextlib.contextmanager
def prompt(session: studies.Session | None = None) -> Iterator[None]:
    """Lets studies look at jobs without a pause, and jobs share a session."""
    own = session or studies.Session()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launching, "_SECONDS", 0.0)
        patch.setattr(worker, "_session", lambda: own)
        yield


class Death(BaseException):
    """Of a job's process."""


class Here:
    """An engine that runs one job after another in this process.

    Args:
      deaths: for each start of a job, after how many epochs it dies; afterwards none does.
    """

    def __init__(self, workers: int, deaths: Sequence[int] = ()):
        self.workers, self._deaths = workers, iter(deaths)
        self._waiting: list[Path] = []
        self.started: list[Path] = []

    def submit(self, paths: Sequence[Path]) -> None:
        """They wait for `running`."""
        self._waiting += paths

    def running(self) -> list[Path]:
        """Runs the first one."""
        if self._waiting:
            self.started.append(self._waiting.pop(0))
            with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Death):
                patch.setattr(jobs, "note", self._noted(next(self._deaths, math.inf)))
                patch.setenv("JAX_NUM_CPU_DEVICES", "4")
                worker.work(str(self.started[-1]), 4)
        return self._waiting

    def close(self) -> None:
        """Nothing runs between two calls."""
        self._waiting.clear()

    def _noted(self, left: float) -> Any:
        note, calls = jobs.note, itertools.count(1)

        def deadly(path: Path, event: Any) -> None:
            if isinstance(event, host.Report | jobs.End) and next(calls) > left:
                raise Death
            note(path, event)

        return deadly
