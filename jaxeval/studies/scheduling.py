"""Trains what a rule or a search asks for: one population after the other, or jobs."""

import contextlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from jaxeval import runs
from jaxeval.contracts import Member
from jaxeval.population import host
from jaxeval.studies import jobs, launching, memory, running
from jaxeval.studies.cohorts import Cohort, Entry


class Scheduler:
    """Says what to train next, and learns what has ended."""

    session: running.Session
    feed: Callable[[dict[Member, Entry]], host.Feed] | None = None  # as of `running.run`

    def more(self) -> Sequence[Cohort]:
        """Returns what to train next, if there is something: all before has ended.

        With a launcher a job has ended, and others may still run.
        """
        raise NotImplementedError

    def lanes(self, planned: Sequence[Cohort], workers: int | None) -> int | None:
        """Returns the lanes of each cohort as of `studies.run`; `workers` are the launcher's."""
        raise NotImplementedError

    def started(self, event: running.Started) -> None:
        """Receives a cohort that begins."""

    def ended(self, event: running.Ended) -> None:
        """Receives a trial that has ended or has paused."""

    def news(self) -> list[str]:
        """Returns lines about what has happened since the last call."""
        return []

    @property
    def answered(self) -> bool:
        """True if what still runs is not needed."""
        return False

    def too_large(self, entries: Sequence[Entry]) -> bool:
        """Receives trials that do not fit into memory one by one; False: it cannot do without."""
        del entries
        return False


def train(
    scheduler: Scheduler,
    store: runs.Store,
    folder: Path,
    launcher: launching.Launcher | None = None,
) -> Generator[running.Event | str, None, None]:
    """Trains until nothing more is asked for; yields the scheduler's news too.

    Raises:
      RunError: as `studies.run`.
    """
    with contextlib.closing(_events(scheduler, store, folder, launcher)) as events:
        for event in events:
            yield event
            if isinstance(event, running.Started):
                scheduler.started(event)
            if isinstance(event, running.Ended):
                scheduler.ended(event)
            yield from scheduler.news()
            if launcher is not None and scheduler.answered:
                return
    yield from scheduler.news()


def _events(
    scheduler: Scheduler, store: runs.Store, folder: Path, launcher: launching.Launcher | None
) -> Generator[running.Event, None, None]:
    session = scheduler.session
    if launcher is not None:
        planned = scheduler.more()
        lanes = scheduler.lanes(planned, launcher.workers)
        more: dict[str, Any] = {"session": session, "lanes": lanes, "more": scheduler.more}
        more |= {"launcher": launcher, "too_large": scheduler.too_large}
        yield from launching.run(planned, store, folder, **more)
        return
    with jobs.merged(folder, store):
        while planned := scheduler.more():
            lanes = scheduler.lanes(planned, None)
            more = {"session": session, "lanes": lanes, "feed": scheduler.feed}
            for cohort in planned:
                try:
                    yield from running.run([cohort], store, folder, **more)
                except memory.TooLarge:
                    if not scheduler.too_large(cohort.entries):
                        raise
