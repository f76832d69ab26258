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


class Proposer:
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
    proposer: Proposer, store: runs.Store, folder: Path, launcher: launching.Launcher | None = None
) -> Generator[running.Event | str, None, None]:
    """Trains until nothing more is asked for; yields the proposer's news too.

    Raises:
      RunError: as `studies.run`.
    """
    with contextlib.closing(_events(proposer, store, folder, launcher)) as events:
        for event in events:
            yield event
            if isinstance(event, running.Ended):
                proposer.ended(event)
            yield from proposer.news()
            if launcher is not None and proposer.answered:
                return
    yield from proposer.news()


def _events(
    proposer: Proposer, store: runs.Store, folder: Path, launcher: launching.Launcher | None
) -> Generator[running.Event, None, None]:
    session = proposer.session
    if launcher is not None:
        planned = proposer.more()
        lanes = proposer.lanes(planned, launcher.workers)
        more: dict[str, Any] = {"session": session, "lanes": lanes, "more": proposer.more}
        more |= {"launcher": launcher, "too_large": proposer.too_large}
        yield from launching.run(planned, store, folder, **more)
        return
    with jobs.merged(folder, store):
        while planned := proposer.more():
            lanes = proposer.lanes(planned, None)
            more = {"session": session, "lanes": lanes, "feed": proposer.feed}
            try:
                yield from running.run(planned, store, folder, **more)
            except memory.TooLarge:
                if not proposer.too_large([e for cohort in planned for e in cohort.entries]):
                    raise
