"""What all verbs that train share: events on the terminal, and Ctrl-C and SIGTERM."""

import contextlib
import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from jaxeval import runs, studies
from jaxeval.report.runs import progress, terminal
from jaxeval.report.sweep import plan
from jaxeval.studies import cohorts, events, running, sweeps, timing
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


Say = Callable[[str], None]  # prints a line beside a progress bar


def announce(started: events.Started) -> None:
    """Says whose members come next."""
    for record in started.cohort.records:
        members = sum(entry.record.id == record.id for entry in started.cohort.entries)
        ended = sum(result.experiment == record.id for result in started.ended)
        terminal.print_start(record, members, ended)


def announcing(
    planned: Sequence[cohorts.Cohort], store: runs.Store
) -> Callable[[events.Started], None]:
    """Says of each experiment, when its first members come, how many it has in all."""
    keys: dict[str, set[cohorts.Key]] = {}
    for entry in (entry for cohort in planned for entry in cohort.entries):
        keys.setdefault(entry.record.id, set()).add(entry.key)
    said: set[str] = set()

    def start(started: events.Started) -> None:
        for record in started.cohort.records:
            own = {entry.key for entry in started.cohort.entries if entry.record.id == record.id}
            other = {key[1:] for key in keys[record.id] - own}
            ended = sum(result.experiment == record.id for result in started.ended)
            ended += len(other & store.ended(record.id).keys()) if other else 0
            if record.id not in said:
                terminal.print_start(record, len(keys[record.id]), ended)
            said.add(record.id)

    return start


def train(
    trials: Iterable[Trial],
    folder: Path,
    store_url: str | None = None,
    *,
    again: bool = False,
    outputs: bool = False,
    quiet: bool = False,
) -> list[runs.MemberRow]:
    """Trains trials into a runs folder, with progress on stderr; what is recorded of them.

    Args:
      store_url: database instead of the folder's.
      again: also those that have ended without the saved model or outcomes that are asked for.
      outputs: keep what each member gets right or wrong, item by item.
      quiet: without progress; signals are left alone.
    """
    session = studies.Session()
    planned = cohorts.by_program(cohorts.entries(trials, session.loader))
    return train_cohorts(
        planned, folder, store_url, again=again, outputs=outputs, session=session, quiet=quiet
    )


def sweep(
    drawn: sweeps.DrawnSweep,
    store_url: str | None = None,
    *,
    most_cohorts: int | None = None,
    again: bool = False,
    quiet: bool = False,
) -> list[runs.MemberRow]:
    """Plans a sweep, writes the plan down, and trains it; arguments as of `train`.

    Args:
      most_cohorts: compiled programs at most, whatever padding costs.
    """
    with running.locked(drawn.folder, drawn.record.id):
        estimates = drawn.estimates(most_cohorts)
        if not quiet:
            ratio = drawn.measured(store_url)
            plan.show(timing.corrected(estimates, ratio), ratio, stderr=True)
        drawn.save(estimates)
        planned = drawn.grouped(estimates)
        shown = [cohort.estimate for cohort in planned if cohort.estimate]

        def start(started: events.Started) -> None:
            plan.announce(started.number, shown)
            announce(started)

        return train_cohorts(
            planned,
            drawn.folder,
            store_url,
            again=again,
            session=drawn.session,
            start=start,
            quiet=quiet,
        )


def train_cohorts(
    planned: Sequence[cohorts.Cohort],
    folder: Path,
    store_url: str | None = None,
    *,
    again: bool = False,
    outputs: bool = False,
    session: studies.Session | None = None,
    start: Callable[[events.Started], None] | None = None,
    quiet: bool = False,
) -> list[runs.MemberRow]:
    """The same of trials that are in cohorts already."""
    running.refuse_impossible(planned, again, outputs)
    with runs.open_store(store_url or folder) as store:
        happening = studies.run_cohorts(
            planned, store, folder, session=session, again=again, outputs=outputs
        )
        watch(happening, start or announcing(planned, store), quiet=quiet)
        entries = (entry for cohort in planned for entry in cohort.entries)
        return studies.rows(store, entries)


def watch(
    happening: Generator[object, None, None],
    start: Callable[[events.Started], None] = announce,
    other: Callable[[object, Say], None] = lambda event, say: None,
    quiet: bool = False,
) -> None:
    """Shows what happens until all is trained.

    Args:
      happening: events of `studies.run`, and others.
      start: is told which cohort comes next.
      other: is told what is no event of `studies.run`.
      quiet: nothing is shown, and signals are left alone.

    Raises:
      SystemExit: Ctrl-C (130) or SIGTERM (143) stopped it, which is then said on stderr.
    """
    if quiet:
        _exhaust(happening, other)
        return
    known: set[str] = set()  # findings that were said before
    with contextlib.closing(happening), _signals() as signals:
        for event in happening:
            match event:
                case events.Checked():
                    _say_new(known, event.remarks, event.warnings)
                case events.Started():
                    _say_new(known, event.notes)
                    start(event)
                    _watch_cohort(happening, event, signals, other)
                case _:
                    other(event, lambda line: print(line, file=sys.stderr, flush=True))


def _say_new(known: set[str], remarks: Sequence[str], warnings: Sequence[str] = ()) -> None:
    """Says the lines that are not known yet, and notes them."""
    fresh = [[line for line in lines if line not in known] for lines in (remarks, warnings)]
    terminal.print_findings(*fresh)
    known.update(*fresh)


def _exhaust(
    happening: Generator[object, None, None], other: Callable[[object, Say], None]
) -> None:
    """Lets all happen, and shows nothing of it."""
    with contextlib.closing(happening):
        for event in happening:
            if not isinstance(event, events.Event):
                other(event, lambda line: None)


def _watch_cohort(
    happening: Generator[object, None, None],
    started: events.Started,
    signals: _Signals,
    other: Callable[[object, Say], None],
) -> None:
    """Shows a cohort until it is finished, or a signal stops it."""
    cohort, ended = started.cohort, started.ended
    members = len(cohort.members)
    with progress.Progress(cohort.records[0], cohort.name, members, ended) as shown:
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
                case events.Ended():
                    pass  # an epoch has told of it
                case _:
                    other(event, shown.say)


@contextlib.contextmanager
def _signals() -> Iterator[_Signals]:
    """The first signal stops training after the epoch, a second one at once.

    They arrive in a process's main thread, and only there they can be handled.
    """
    signals = _Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, signals.note) for number in _SIGNALS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C as Python knows it: verbs leave by SystemExit."""
    try:
        yield
    except SystemExit as stop:
        if stop.code == _STOPPED + signal.SIGINT:
            raise KeyboardInterrupt from None
        raise
