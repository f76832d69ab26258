"""Trains trials into a runs folder: the only way in which anything is trained.

Observers (terminal, bandit, tuner) read the events.
"""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax

from jaxeval import files, runs
from jaxeval.contracts import Member
from jaxeval.errors import RunError, argument, counted
from jaxeval.population import engine, host, loop, slots
from jaxeval.population import lanes as spreading
from jaxeval.runs import records
from jaxeval.studies import cohorts, prepared, recording
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.prepared import Trial


class Checked(NamedTuple):
    """All configs are valid and all data is read; nothing has been trained."""

    cohorts: Sequence[Cohort]
    remarks: Sequence[str]
    warnings: Sequence[str]  # of what is odd about the data


class Started(NamedTuple):
    """A cohort begins."""

    number: int  # from 0
    cohort: Cohort
    ended: Sequence[runs.MemberResult]  # of trials that have ended before


class Ended(NamedTuple):
    """A trial has its scores, or has paused; those that had them before follow `Started`."""

    trial: Trial
    result: runs.MemberResult
    before: bool = False


class Finished(NamedTuple):
    """All trials of a cohort have ended."""

    cohort: Cohort


Event = Checked | Started | engine.Compiling | host.Report | Ended | Finished


@dataclasses.dataclass
class Session:
    """Data that was read and compiled programs, which calls of `run` share in a process."""

    loader: prepared.Loader = dataclasses.field(default_factory=prepared.Loader)
    programs: dict[str, host.Programs] = dataclasses.field(default_factory=dict)


def run(
    planned: Sequence[Cohort],
    store: runs.Store,
    folder: Path,
    *,
    session: Session | None = None,
    outputs: bool = False,
    lanes: int | None = None,
    feed: Callable[[dict[Member, Entry]], host.Feed] | None = None,
) -> Generator[Event, None, None]:
    """Trains cohorts one after the other, after checking all of them; prints nothing.

    Closing the generator stops after the epoch, with everything saved: the same call continues,
    and scores equal those of an uninterrupted one.

    Args:
      folder: of checkpoints and saved models.
      outputs: keeps what each member gets right or wrong, item by item of dev and test. Trials
        that ended without it, or without a model that is to be saved, are trained again.
      lanes: of every cohort, so that later ones find programs of this width; None: as many as it
        has members, within the config's `training.lanes`.
      feed: makes what stops and joins members of a single cohort, given the entries of its
        members, to which it adds those that join.

    Raises:
      TooLarge: a member does not fit into memory.
      RunError: a checkpoint is ahead of the database, or another process trains the same.
    """
    session = session or Session()
    refuse_impossible(planned)
    storage = recording.Storage(store, folder, outputs)
    yield check(planned, storage)
    for number, cohort in enumerate(planned):
        with locked(folder, cohort.name):  # before reading who has ended
            ended = yield from begun(number, cohort, storage)
            left = spreading.from_first_process([entry not in ended for entry in cohort.entries])
            waiting = [*itertools.compress(cohort.members, left)]
            if waiting:
                yield from _train(cohort, waiting, storage, session, lanes, feed)
        yield Finished(cohort)


def check(planned: Sequence[Cohort], storage: recording.Storage) -> Checked:
    """Returns what was found in the data, and of trials that have ended."""
    lacking = [entry for cohort in planned for entry in storage.lacking(cohort)]
    # cohorts share most findings: each line once
    each = [entry.prepared.data.findings for cohort in planned for entry in cohort.entries]
    remarks = dict.fromkeys(line for findings in each for line in findings.remarks)
    warnings = dict.fromkeys(line for findings in each for line in findings.warnings)
    if lacking:
        which = prepared.listed(sorted((entry.trial.split, entry.trial.seed) for entry in lacking))
        kept = "the model or the outcomes of items that are now kept"
        members = counted(len(lacking), "member")
        remarks[f"{members} ended without {kept}: trained again ({which})"] = None
    return Checked(planned, [*remarks], [*warnings])


def begun(
    number: int, cohort: Cohort, storage: recording.Storage
) -> Generator[Event, None, dict[Entry, runs.MemberResult]]:
    """Yields the first events of a cohort; returns those of its trials that need no training."""
    for record in cohort.records:
        storage.store.register(record)
    ended = storage.ended(cohort)
    yield Started(number, cohort, [*ended.values()])
    for entry, result in ended.items():
        yield Ended(entry.trial, result, before=True)
    return ended


def _train(
    cohort: Cohort,
    waiting: Sequence[Member],
    storage: recording.Storage,
    session: Session,
    lanes: int | None,
    feed: Callable[[dict[Member, Entry]], host.Feed] | None,
) -> Iterator[Event]:
    """Trains members of a cohort; with half the lanes whenever the memory was exhausted."""
    width = cohorts.lanes_for(cohort.problem, cohort.members, lanes)
    folder = storage.folder / "checkpoints" / cohort.name
    while waiting:
        recorder = recording.Recorder(storage.store, cohort, storage.folder)
        resumed = functools.partial(_refuse_lost_epochs, storage.store, cohort, folder)
        try:
            population = host.Population(
                cohort.problem,
                waiting,
                width,
                programs=session.programs.setdefault(cohort.program, {}),
                count_rows=storage.outputs,
                feed=host.CLOSED if feed is None else feed(recorder.entries),
                steps=cohort.steps,
                pause=cohort.pause,
            )
            epochs = loop.train(population, folder, recorder.record, resumed)
            with contextlib.closing(epochs):  # which saves the state, if this generator is closed
                for event in epochs:
                    ended = recorder.ended if isinstance(event, host.Report) else {}  # with it
                    yield event
                    for entry, result in ended.items():
                        yield Ended(entry.trial, result)
            return
        except (jax.errors.JaxRuntimeError, MemoryError) as error:
            width = cohorts.fewer(width, error)
        joined = recorder.entries  # and those that were there
        cohort = cohort._replace(members=tuple(joined), entries=tuple(joined.values()))
        left = storage.ended(cohort)
        waiting = [who for who, entry in joined.items() if entry not in left]


def rows(store: runs.Store, trained: Iterable[Entry]) -> list[runs.MemberRow]:
    """Returns the records of entries that have ended, in their order."""
    known = {records.key(row): row for row in store.members()}
    keys = dict.fromkeys(entry.key for entry in trained)
    return [known[key] for key in keys if key in known]


def refuse_impossible(planned: Sequence[Cohort]) -> None:
    """Raises the ConfigErrors of `run`, which need no runs folder."""
    for cohort in planned:
        cohorts.refuse_too_large(cohort.problem, cohort.members[0])


def _refuse_lost_epochs(
    store: runs.Store, cohort: Cohort, checkpoints: Path, restored: Sequence[slots.Slot]
) -> None:
    """Raises RunError if the database lacks epochs of a checkpoint: it is another database."""
    if jax.process_index():  # the first process has the database
        return
    recorded = {record.id: store.epochs(record.id) for record in cohort.records}
    entries = dict(zip(cohort.members, cohort.entries, strict=True))
    for slot in restored:
        if slot.member is not None:
            key = entries[slot.member].key
            if recorded[key[0]].get(key[1:], 0) < slot.epoch:
                raise RunError(
                    f"{checkpoints} has epochs of members that the runs database lacks: restore "
                    "the database, or remove that folder to train them from their first epoch"
                )


def locked(folder: Path, name: str) -> contextlib.AbstractContextManager[None]:
    """Locks a cohort for this process; the first one of several holds it for all."""
    if jax.process_index():
        return contextlib.nullcontext()
    return files.locked(
        folder / "checkpoints" / f"{name}.lock",
        f"another process is training this experiment into {folder}; wait for it, or give this "
        f"one another {argument('out')}",
    )
