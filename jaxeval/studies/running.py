"""Trains trials into a runs folder: the only way in which anything is trained."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxeval import files, runs
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.population import host, loop, slots
from jaxeval.studies import cohorts, events, memory, prepared, recording
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.trial import Trial


@dataclasses.dataclass
class Session:
    """What calls of `run` share in a process: data that was read, programs that were compiled."""

    loader: prepared.Loader = dataclasses.field(default_factory=prepared.Loader)
    programs: dict[str, host.Programs] = dataclasses.field(default_factory=dict)


class Progress(NamedTuple):
    """A trial after an epoch of it.

    Attributes:
      epoch: of it, from 1.
      best: its best dev score so far, or its last one (`Training.scored_epoch`); None before.
      status: how it ended; None: it goes on.
    """

    entry: Entry
    epoch: int
    best: float | None
    status: slots.Status | None


class Feed(NamedTuple):
    """`population.host.Feed` of trials: lets others join a cohort, and stops some.

    Attributes:
      arrivals: seed of a trial -> epochs of the population after which it joins.
      after_epoch: (epochs of the population, what they brought) -> (seeds of trials that are
        stopped, trials that join now). All trials have seeds of their own.
      member: what is trained for a trial that joins.
    """

    arrivals: Mapping[int, int]
    after_epoch: Callable[[int, Sequence[Progress]], tuple[Collection[int], Sequence[Entry]]]
    member: Callable[[Entry], Member]


def run(
    trials: Iterable[Trial],
    store: runs.Store,
    folder: Path,
    *,
    session: Session | None = None,
    again: bool = False,
    outputs: bool = False,
    lanes: int | None = None,
) -> Generator[events.Event, None, None]:
    """Trains those of the trials that have not ended yet; arguments as of `run_cohorts`.

    Trials with the same static keys share compiled programs.

    Raises:
      ConfigError, DataError: a config is wrong, or its data cannot be used; nothing is trained.
    """
    session = session or Session()
    planned = cohorts.by_program(cohorts.entries(trials, session.loader))
    yield from run_cohorts(
        planned, store, folder, session=session, again=again, outputs=outputs, lanes=lanes
    )


def run_cohorts(
    planned: Sequence[Cohort],
    store: runs.Store,
    folder: Path,
    *,
    session: Session | None = None,
    again: bool = False,
    outputs: bool = False,
    lanes: int | None = None,
    feed: Feed | None = None,
) -> Generator[events.Event, None, None]:
    """Trains cohorts one after the other, all of them checked before the first.

    Nothing is printed. Closing the generator stops after the epoch, with all saved: the same call
    continues, and the scores are those of an uninterrupted one.

    Args:
      store: of the runs database.
      folder: of checkpoints and saved models.
      session: shared by calls that may share data and programs.
      again: train also those that have ended without the saved model, or without the outcomes,
        that are asked for.
      outputs: keep what each member gets right or wrong, item by item of dev and test.
      lanes: of every cohort, so that later ones find programs of this width; None: as many as it
        has members, within the config's `training.lanes`.
      feed: of a single cohort, whose trials that have ended it knows: they are told in `Started`
        alone.

    Raises:
      ConfigError: a population does not fit into memory, or `again` where nothing is kept.
      RunError: models or outcomes are asked for of trials that have ended without, a checkpoint
        is ahead of the database, or another process trains the same.
    """
    session = session or Session()
    refuse_impossible(planned, again, outputs, lanes)
    keeps = recording.Keeps(store, folder, again, outputs)
    for cohort in planned:
        keeps.ended(cohort)
    yield events.Checked(planned, *_findings(planned))
    for number, cohort in enumerate(planned):
        with locked(folder, cohort.name):  # before it is read who has ended
            for record in cohort.records:
                store.register(record)
            ended = keeps.ended(cohort)
            yield events.Started(number, cohort, [*ended.values()])
            for entry, result in ended.items() if feed is None else ():
                yield events.Ended(entry.trial, result)
            pairs = zip(cohort.entries, cohort.members, strict=True)
            waiting = [member for entry, member in pairs if entry not in ended]
            yield from _train(cohort, waiting, keeps, session, lanes, feed)
        yield events.Finished(cohort)


def _train(
    cohort: Cohort,
    waiting: Sequence[Member],
    keeps: recording.Keeps,
    session: Session,
    lanes: int | None,
    feed: Feed | None,
) -> Iterator[events.Event]:
    """Trains the members that wait."""
    recorder = recording.Recorder(keeps.store, cohort, keeps.folder)
    folder = keeps.folder / "checkpoints" / cohort.name
    recorded: dict[Entry, runs.MemberResult] = {}

    def record(report: host.Report) -> None:
        recorded.clear()
        recorded.update(recorder(report))

    epochs = loop.train(
        cohort.problem,
        waiting,
        folder,
        record,
        cohort.problem.training.width(lanes or len(cohort.members)),
        resumed=lambda restored: _refuse_lost_epochs(keeps.store, cohort, restored, folder),
        programs=session.programs.setdefault(cohort.program, {}),
        count_rows=keeps.outputs,
        feed=host.CLOSED if feed is None else _feed(feed, cohort, recorder),
        steps=cohort.steps,
    )
    yield from _events(epochs, recorded)


def _events(
    epochs: Generator[loop.Compilation | host.Report, None, None],
    recorded: Mapping[Entry, runs.MemberResult],
) -> Iterator[events.Event]:
    """What happens in a population, as events.

    Args:
      recorded: of those that ended with the last report.
    """
    compiling: set[str] = set()
    with contextlib.closing(epochs):  # which saves the state, if this generator is closed
        for report in epochs:
            if isinstance(report, host.Report):
                ended = dict(recorded)
                yield events.Epoch(report)
                for entry, result in ended.items():
                    yield events.Ended(entry.trial, result)
            elif report.seconds is None:
                compiling.add(report.program)
                yield events.Compiling(report.program)
            else:
                compiling.discard(report.program)
                yield events.Compiled(report.program, report.seconds)
                if not compiling:
                    yield events.Ready()


def _feed(feed: Feed, cohort: Cohort, recorder: recording.Recorder) -> host.Feed:
    """The feed as the population of a cohort takes it; who joins is known to the recorder."""
    entries = recorder.entries
    arrivals = {
        member: feed.arrivals[member.seed]
        for member in cohort.members
        if member.seed in feed.arrivals
    }

    def after_epoch(
        epochs: int, each: Sequence[slots.Slot], statuses: Sequence[slots.Status | None]
    ) -> tuple[list[bool], list[Member]]:
        brought = [
            Progress(entries[slot.member], slot.epoch, slot.reported, status)
            for slot, status in zip(each, statuses, strict=True)
            if slot.member is not None
        ]
        stopped, joining = feed.after_epoch(epochs, brought)
        members = {feed.member(entry): entry for entry in joining}
        entries.update(members)
        stops = [slot.member is not None and slot.member.seed in stopped for slot in each]
        return stops, [*members]

    return host.Feed(arrivals, after_epoch)


def rows(store: runs.Store, trained: Iterable[Entry]) -> list[runs.MemberRow]:
    """What is recorded of entries, in their order; of trials that have not ended, nothing."""
    known = {
        (row.experiment, row.seed, row.split, row.repeat, row.hparams): row
        for row in store.members()
    }
    keys = dict.fromkeys(entry.key for entry in trained)
    return [known[key] for key in keys if key in known]


def refuse_impossible(
    planned: Sequence[Cohort],
    again: bool = False,
    outputs: bool = False,
    lanes: int | None = None,
) -> None:
    """Raises ConfigError as `run_cohorts` does, of what needs no runs folder to be known."""
    for cohort in planned:
        if again and not (outputs or cohort.config.training.save_models):
            raise ConfigError(
                f"{argument('again', True)} goes with training.save_models=true: it trains again "
                "what ended without a saved model (or, of train --outputs, without outcomes)"
            )
        memory.refuse_too_large(cohort.problem, cohort.members, lanes)


def _findings(planned: Sequence[Cohort]) -> tuple[list[str], list[str]]:
    """What is odd about the data, each line once: cohorts mostly share it."""
    each = [entry.prepared.source.findings for cohort in planned for entry in cohort.entries]
    remarks = dict.fromkeys(line for findings in each for line in findings.remarks)
    warnings = dict.fromkeys(line for findings in each for line in findings.warnings)
    return [*remarks], [*warnings]


def _refuse_lost_epochs(
    store: runs.Store, cohort: Cohort, restored: Sequence[slots.Slot], checkpoints: Path
) -> None:
    """Raises RunError where the database lacks epochs that a checkpoint has behind it.

    Records are written before checkpoints are: the database has been emptied or is another one.
    """
    recorded = {record.id: store.epochs(record.id) for record in cohort.records}
    entries = dict(zip(cohort.members, cohort.entries, strict=True))
    for slot in restored:
        if slot.member is not None:
            key = entries[slot.member].key
            if recorded[key[0]].get(key[1:], 0) < slot.epoch:
                raise RunError(
                    f"{checkpoints} has epochs of members that the runs database lacks: bring "
                    "back the database, or remove that folder to train them from their first epoch"
                )


def locked(folder: Path, name: str) -> contextlib.AbstractContextManager[None]:
    """Holds a cohort for this process."""
    return files.locked(
        folder / "checkpoints" / f"{name}.lock",
        f"another process is training this experiment into {folder}; wait for it, or give this "
        f"one another {argument('out')}",
    )
