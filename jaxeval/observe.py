"""What all verbs that train share: events on the terminal, and Ctrl-C and SIGTERM."""

import contextlib
import dataclasses
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from jaxeval import runs, studies
from jaxeval.report import progress, terminal
from jaxeval.studies import cohorts, events, running
from jaxeval.studies.trial import Trial

_STOPPED = 128  # exit status, plus the number of the signal
_SIGNALS = {
    signal.SIGINT: b"\nstopping after this epoch; press Ctrl-C again to stop at once\n",
    signal.SIGTERM: b"\nstopping after this epoch, as SIGTERM asks\n",
}


@dataclasses.dataclass
class _Signals:
    """What has arrived while something is trained.

    Attributes:
      caught: number of the first signal that waits for the end of an epoch.
      wait: whether signals do; before the first epoch they stop at once.
    """

    caught: int | None = None
    wait: bool = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        if self.caught is None and self.wait:
            self.caught = number
            os.write(2, _SIGNALS[signal.Signals(number)])
            return
        if self.caught is None:
            os.write(2, b"\nstopped before the first epoch; the same command starts over here\n")
        raise SystemExit(_STOPPED + number)


def train(
    trials: Iterable[Trial], folder: Path, store_url: str | None = None, *, again: bool = False
) -> list[runs.MemberRow]:
    """Trains trials into a runs folder, with progress on stderr; what is recorded of them.

    Args:
      store_url: database instead of the folder's.
      again: also those that have ended without the saved model that is asked for.
    """
    session = studies.Session()
    planned = cohorts.by_program(cohorts.entries(trials, session.loader))
    return train_cohorts(planned, folder, store_url, again=again, session=session)


def train_cohorts(
    planned: Sequence[cohorts.Cohort],
    folder: Path,
    store_url: str | None = None,
    *,
    again: bool = False,
    session: studies.Session | None = None,
    announce: Callable[[events.Started], None] = lambda started: None,
) -> list[runs.MemberRow]:
    """The same of trials that are in cohorts already."""
    running.refuse_impossible(planned, again)
    with runs.open_store(store_url or folder) as store:
        watch(studies.run_cohorts(planned, store, folder, session=session, again=again), announce)
        entries = (entry for cohort in planned for entry in cohort.entries)
        return studies.rows(store, entries)


def watch(
    happening: Generator[events.Event, None, None],
    announce: Callable[[events.Started], None] = lambda started: None,
) -> None:
    """Shows what happens until all is trained.

    Args:
      announce: is told which cohort comes next, before its first line.

    Raises:
      SystemExit: Ctrl-C (130) or SIGTERM (143) stopped it, which is then said on stderr.
    """
    with contextlib.closing(happening), _signals() as signals:
        while True:
            cohort = _until_started(happening)
            if cohort is None:
                return
            announce(cohort)
            _watch_cohort(happening, cohort, signals)


def _until_started(happening: Iterator[events.Event]) -> events.Started | None:
    """The next cohort; None: there are no more."""
    for event in happening:
        if isinstance(event, events.Checked):
            terminal.print_findings(event.remarks, event.warnings)
        if isinstance(event, events.Started):
            return event
    return None


def _watch_cohort(
    happening: Generator[events.Event, None, None], started: events.Started, signals: _Signals
) -> None:
    """Shows a cohort until it is finished, or a signal stops it."""
    cohort, ended = started.cohort, started.ended
    members = len(cohort.members)
    for record in cohort.records:
        own = [entry for entry in cohort.entries if entry.record.id == record.id]
        known = sum(result.experiment == record.id for result in ended)
        terminal.print_start(record, len(own), known)
    with progress.Progress(cohort.records[0], cohort.place, members, ended) as shown:
        for event in happening:
            match event:
                case events.Compiling(program):
                    shown.compiled(program, None)
                    signals.wait = False
                case events.Compiled(program, seconds):
                    shown.compiled(program, seconds)
                case events.Ready():
                    signals.wait = True
                case events.Epoch(report):
                    signals.wait = True
                    shown.epoch(report)
                    if signals.caught is not None:
                        happening.close()
                        line = "stopped between two epochs; the same command continues from here"
                        print(f"\n{line}", file=sys.stderr)
                        raise SystemExit(_STOPPED + signals.caught)
                case events.Finished():
                    signals.wait = False
                    return


@contextlib.contextmanager
def _signals() -> Iterator[_Signals]:
    """The first signal stops training after the epoch, a second one at once."""
    signals = _Signals()
    before = {number: signal.signal(number, signals.note) for number in _SIGNALS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
