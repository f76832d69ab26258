"""Progress on stderr, and a clean stop after Ctrl-C or SIGTERM, for all verbs that train."""

import contextlib
import functools
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import jax

from jaxeval import cli, runs, studies
from jaxeval.population import engine, host
from jaxeval.report import progress, text
from jaxeval.studies import cohorts, launching, running

_STOPPED = 128  # exit status, plus the number of the signal
_SIGNALS = {
    signal.SIGINT: b"\nstopping after this epoch; press Ctrl-C again to stop at once\n",
    signal.SIGTERM: b"\nstopping after this epoch, as SIGTERM asks\n",
}
_Say = Callable[[str], None]  # prints a line beside a progress bar


def train(
    trials: Iterable[studies.Trial],
    folder: Path,
    *,
    check: Callable[[Sequence[cohorts.Entry]], object] = lambda entries: None,
    outputs: bool = False,
    launcher: launching.Launcher | None = None,
    quiet: bool = False,
) -> list[runs.MemberRow]:
    """Trains trials into a runs folder and returns their rows.

    Args:
      check: is called before anything is trained, and may raise.
      outputs, launcher: as of `studies.run`.
      quiet: without progress; signals are left alone.
    """
    session = studies.Session()
    entries = cohorts.entries(trials, session.loader)
    check(entries)
    planned = cohorts.by_program(entries)
    return train_cohorts(
        planned, folder, outputs=outputs, session=session, launcher=launcher, quiet=quiet
    )


def train_cohorts(
    planned: Sequence[cohorts.Cohort],
    folder: Path,
    *,
    outputs: bool = False,
    session: studies.Session | None = None,
    launcher: launching.Launcher | None = None,
    quiet: bool = False,
) -> list[runs.MemberRow]:
    """Trains cohorts, as `train`."""
    if launcher is None:  # else each job has a memory of its own
        running.refuse_impossible(planned)
    every = [entry for cohort in planned for entry in cohort.entries]
    other = jax.process_index() > 0  # one of several processes of a population writes for all
    quiet = quiet or other
    with runs.open_store(None if other else folder) as store:
        trained = studies.run(
            planned, store, folder, launcher=launcher, session=session, outputs=outputs
        )
        watch(trained, functools.partial(_announce, planned, store, set()), quiet=quiet)
        return studies.rows(store, every)


def _announce(
    planned: Sequence[cohorts.Cohort],
    store: runs.Store,
    announced: set[str],
    started: running.Started,
) -> None:
    """Says which cohort comes next, and how many members each experiment not yet said has."""
    estimate = started.cohort.estimate
    if estimate is not None or len(planned) > 1:
        size = f": {estimate.shape.describe()}" if estimate else ""
        cli.say(f"\ncohort {started.number + 1} of {len(planned)}{size}")
    for record in started.cohort.records:
        if record.id in announced:
            continue
        announced.add(record.id)
        every = (entry for cohort in planned for entry in cohort.entries)
        keys = {entry.key[1:] for entry in every if entry.record.id == record.id}
        ended = len(keys & store.ended(record.id).keys())
        known = f"; {ended} recorded already" if ended else ""
        members = f"{text.counted(len(keys), 'member')} of task {record.task}"
        cli.say(f"{record.name} ({record.id}): {members}{known}")


def watch(
    trained: Generator[object, None, None],
    start: Callable[[running.Started], None] = lambda started: None,
    other: Callable[[object, _Say], None] = lambda event, say: None,
    quiet: bool = False,
) -> None:
    """Shows training until it ends.

    Args:
      trained: events of `studies.run`, and others.
      start: is called with the cohort that comes next.
      other: is called with events that are not of `studies.run`.
      quiet: nothing is shown, and signals are left alone.

    Raises:
      KeyboardInterrupt: after Ctrl-C, when the epoch is saved.
      SystemExit: 143, after SIGTERM.
    """
    known: set[str] = set()
    with contextlib.closing(trained), _signals(quiet) as signals:
        for event in trained:
            if not isinstance(event, running.Event):
                other(event, (lambda line: None) if quiet else cli.say)
            elif quiet:
                continue
            elif isinstance(event, running.Checked):
                say_findings(event.remarks, event.warnings, known)
            elif isinstance(event, running.Started):
                start(event)
                _watch_cohort(trained, event, signals, start, other, known)


def say_findings(
    remarks: Sequence[str],
    warnings: Sequence[str],
    known: set[str] | None = None,
    say: _Say = cli.say,
) -> None:
    """Prints what was found in the data, without lines that are `known`, and adds to these."""
    lines = [*remarks, *(f"warning: {line}" for line in warnings)]
    for line in dict.fromkeys(lines):
        if line not in (known or ()):
            say(line)
    if known is not None:
        known |= {*lines}


class _Signals:
    """Signals that have arrived while something is trained."""

    caught: int | None = None  # the first one, which waits for the end of an epoch
    wait = False  # before the first epoch a signal stops at once

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        first = self.caught is None
        self.caught = self.caught or number
        if first and self.wait:
            os.write(2, _SIGNALS[signal.Signals(number)])
            return
        if first:
            os.write(2, b"\nstopped before the first epoch; the same command starts over here\n")
        _stop(number)  # if a callback of the garbage collector swallows it, the next epoch stops


def _stop(number: int) -> NoReturn:
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(_STOPPED + number)


def _watch_cohort(
    trained: Generator[object, None, None],
    started: running.Started,
    signals: _Signals,
    start: Callable[[running.Started], None],
    other: Callable[[object, _Say], None],
    known: set[str],
) -> None:
    """Shows a cohort, and those that begin meanwhile, until all are finished or a signal comes."""
    cohort, ended, unfinished = started.cohort, started.ended, 1
    with progress.Progress(cohort.records[0], len(cohort.members), ended) as shown:
        for event in trained:
            match event:
                case running.Checked():
                    say_findings(event.remarks, event.warnings, known, shown.say)
                case running.Started():
                    start(event)
                    shown.join(len(event.cohort.members), event.ended)
                    unfinished += 1
                case engine.Compiling(program, seconds, ready):
                    shown.compiled(program, seconds)
                    signals.wait = ready
                case host.Report():
                    signals.wait = True
                    shown.epoch(event)
                    if signals.caught is not None:
                        trained.close()
                        said = "stopped between two epochs; the same command continues from here"
                        cli.say(f"\n{said}")
                        _stop(signals.caught)
                case running.Finished():
                    signals.wait = False
                    unfinished -= 1
                    if not unfinished:
                        return
                case running.Ended():
                    pass  # its last epoch has shown it
                case _:
                    other(event, shown.say)


@contextlib.contextmanager
def _signals(quiet: bool) -> Iterator[_Signals]:
    """The first signal stops training after the epoch, a second one at once."""
    signals = _Signals()
    if quiet or threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, signals.note) for number in _SIGNALS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
