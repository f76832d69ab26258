"""Trains cohorts, planned or asked for in turn: in this process, or as jobs of an engine.

The engine places, starts and restarts jobs; what a job has done is read from the job's own files.
"""

import contextlib
import dataclasses
import operator
import shutil
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from jaxeval import files, runs
from jaxeval.contracts import Member
from jaxeval.errors import RunError
from jaxeval.population import host
from jaxeval.studies import cohorts, jobs, recording, running
from jaxeval.studies.cohorts import Cohort, Entry

_SECONDS = 0.2  # between two looks at the logs
_TRIES = 5  # of a job whose process ends before its first epoch


def describe(planned: Sequence[Cohort], launcher: "Launcher") -> str:
    """Returns the jobs that cohorts would be cut into, for people."""
    cut = jobs.cut(planned, _share(planned, launcher))
    sizes = [len(job.part.members) for job in cut]
    ends = "-".join(map(str, sorted({min(sizes), max(sizes)})))
    return f"{len(sizes)} of {ends} members, {launcher.workers} at once"


def _share(planned: Sequence[Cohort], launcher: "Launcher") -> int:
    """The members of a job if each worker gets as many."""
    return -(-sum(len(cohort.members) for cohort in planned) // launcher.workers)


class Launcher(Protocol):
    """An engine. It may run a job twice: that only takes time."""

    workers: int  # jobs that run at once

    def submit(self, paths: Sequence[Path]) -> None:
        """Runs the jobs of these files, now or later, each by `launchers.worker.work`."""

    def running(self) -> Collection[Path]:
        """Returns the jobs that run or wait; others have ended, or never will."""

    def close(self) -> None:
        """Stops all jobs, if it can after their epochs; others may be submitted then."""


class Scheduler:
    """Says what to train next, and learns what has ended; of this one, nothing more is trained."""

    session: running.Session
    feed: Callable[[dict[Member, Entry]], host.Feed] | None = None  # as of `running.run`

    def more(self) -> Sequence[Cohort]:
        """Returns what to train next, if there is something: all before has ended.

        With a launcher a job has ended, and others may still run.
        """
        return ()

    def lanes(self, planned: Sequence[Cohort], workers: int | None) -> int | None:
        """Returns the lanes of each cohort as of `run`; `workers` are the launcher's."""
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


def run(
    planned: Sequence[Cohort],
    store: runs.Store,
    folder: Path,
    *,
    launcher: Launcher | None = None,
    session: running.Session | None = None,
    outputs: bool = False,
    lanes: int | None = None,
) -> Generator[running.Event, None, None]:
    """Trains cohorts as `running.run`; with a launcher all at once, cut into its jobs.

    Then all cohorts are `Started` before the first event of one, reports hold the slots of all
    jobs that run, and a trial is `Ended` when its job is. Closing the generator stops all jobs.
    The same call merges what jobs have left, and submits the rest. On accelerators another number
    of workers may change last bits, as another number of lanes does.

    Args:
      lanes: as of `running.run`; with a launcher those of a job, which has no more members.

    Raises:
      RunError: as `running.run`; or jobs have failed, after all others have ended.
    """
    if launcher is not None:
        storage = recording.Storage(store, folder, outputs)
        yield from _Watch(storage, launcher, lanes, Scheduler()).events(planned)
        return
    with jobs.merged(folder, store):
        yield from running.run(
            planned, store, folder, session=session, outputs=outputs, lanes=lanes
        )


def train(
    scheduler: Scheduler, store: runs.Store, folder: Path, launcher: Launcher | None = None
) -> Generator[running.Event | str, None, None]:
    """Trains until nothing more is asked for; yields the scheduler's news too.

    Raises:
      RunError: as `run`.
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
    scheduler: Scheduler, store: runs.Store, folder: Path, launcher: Launcher | None
) -> Generator[running.Event, None, None]:
    if launcher is not None:
        planned = scheduler.more()
        storage = recording.Storage(store, folder, False)
        lanes = scheduler.lanes(planned, launcher.workers)
        yield from _Watch(storage, launcher, lanes, scheduler).events(planned)
        return
    session, feed = scheduler.session, scheduler.feed
    with jobs.merged(folder, store):
        while planned := scheduler.more():
            lanes = scheduler.lanes(planned, None)
            for cohort in planned:
                try:
                    yield from running.run(
                        [cohort], store, folder, session=session, lanes=lanes, feed=feed
                    )
                except cohorts.TooLarge:
                    if not scheduler.too_large(cohort.entries):
                        raise


@dataclasses.dataclass
class _Watch:
    """Jobs that have been submitted, by their files; those that die are submitted again."""

    _storage: recording.Storage
    _launcher: Launcher
    _lanes: int | None
    _scheduler: Scheduler
    _held: contextlib.ExitStack = dataclasses.field(default_factory=contextlib.ExitStack)
    _submitted: dict[Path, jobs.Job] = dataclasses.field(default_factory=dict)
    _locked: set[str] = dataclasses.field(default_factory=set)  # names of cohorts
    # the job of each program that says so
    _compiling: dict[str, Path] = dataclasses.field(default_factory=dict)
    _failures: list[str] = dataclasses.field(default_factory=list)

    def events(self, planned: Sequence[Cohort]) -> Iterator[running.Event]:
        """Yields the events of all jobs until they have ended; raises RunError if some failed."""
        with self._held as held:
            held.enter_context(jobs.merged(self._storage.folder, self._storage.store))
            held.enter_context(contextlib.closing(self._launcher))
            while planned or self._submitted:
                if planned:
                    yield from self._add(planned)
                before = len(self._submitted)
                alive = {*self._launcher.running()}
                for path in [*self._submitted]:
                    yield from self._news(path, path in alive)
                asking = not self._failures and (not before or len(self._submitted) < before)
                planned = self._scheduler.more() if asking else ()
                if self._submitted and not planned:
                    time.sleep(_SECONDS)
            if self._failures:
                count = f"{len(self._failures)} jobs failed; " if self._failures[1:] else ""
                raise RunError(f"{count}{self._failures[0]}")

    def _add(self, planned: Sequence[Cohort]) -> Iterator[running.Event]:
        """Starts cohorts, and submits the jobs of all trials that have not ended."""
        storage = self._storage
        ended: dict[Entry, runs.MemberResult] = {}
        new: list[Path] = []
        yield running.check(planned, storage)
        for name in sorted({cohort.name for cohort in planned} - self._locked):
            self._held.enter_context(running.locked(storage.folder, name))
            self._locked.add(name)
        for number, cohort in enumerate(planned):
            ended |= yield from running.begun(number, cohort, storage)
        each = jobs.cut(planned, self._lanes or _share(planned, self._launcher))
        # the longest first, so that no worker trains alone at the end
        for job in sorted(each, key=operator.attrgetter("seconds"), reverse=True):
            waiting = [entry for entry in job.part.entries if entry not in ended]
            if waiting:
                job.write(waiting, storage, self._lanes)
                self._submitted[job.path] = job
                new.append(job.path)
        for cohort in planned:
            if ended.keys() >= {*cohort.entries}:
                yield running.Finished(cohort)
        if new:
            self._launcher.submit(new)

    def _news(self, path: Path, alive: bool) -> Iterator[running.Event]:
        """Yields what a job's log has; `alive` was asked before."""
        job = self._submitted[path]
        for event in job.news():
            if isinstance(event, jobs.End):
                job.end = event
            elif isinstance(event, host.Report):
                job.report, job.tries = event, 0
                each = self._submitted.values()
                reports = [of.report for of in each if of.report is not None]
                waiting = sum(len(of.waiting) for of in each if of.report is None)
                waiting += sum(other.waiting for other in reports)
                slots = [slot for other in reports for slot in other.slots]  # of all jobs
                yield event._replace(slots=slots, waiting=waiting)
            elif self._compiling.setdefault(job.whole.program, path) == path:
                yield event
        if job.end is None and alive:
            return
        try:
            jobs.merge(path, self._storage.store)
        except files.Busy:  # its process is still ending
            return
        yield from self._over(path, job)

    def _over(self, path: Path, job: jobs.Job) -> Iterator[running.Event]:
        """Ends a job whose results are merged, or submits it again."""
        ended = self._storage.ended(job.part)
        left = [entry for entry in job.waiting if entry not in ended]
        if left and job.end and job.end.too_large and self._scheduler.too_large(left):
            jobs.remove(path)
            left = []
        if not left:
            del self._submitted[path]
            for entry in filter(ended.__contains__, job.waiting):
                yield running.Ended(entry.trial, ended[entry])
            if any(result.status == "paused" for result in ended.values()):
                # the caller may have ended it for good
                with contextlib.suppress(files.Busy):
                    jobs.merge(path, self._storage.store)
            if all(other.whole is not job.whole for other in self._submitted.values()):
                here = self._storage.folder / "checkpoints" / job.whole.name  # of one process
                shutil.rmtree(here, ignore_errors=True)
                yield running.Finished(job.whole)
        elif not (job.end and job.end.error) and job.tries < _TRIES:
            job.end = None
            job.tries = job.tries + 1
            self._launcher.submit([path])
        else:
            del self._submitted[path]
            look = f"see logs in {path.parent.parent}, or Ray's, and if all machines share it"
            died = f"its process ended {job.tries} times without an epoch; {look}"
            self._failures.append((job.end and job.end.error) or f"{path}: {died}")
