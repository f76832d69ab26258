"""Trains trials into a runs folder: the only way in which anything is trained."""

import contextlib
import dataclasses
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jaxeval import files, runs
from jaxeval.contracts import Member
from jaxeval.errors import ConfigError, RunError, argument
from jaxeval.population import host as feeds
from jaxeval.population import loop, slots
from jaxeval.population.loop import Compilation, Report
from jaxeval.studies import cohorts, events, lacking, live, memory, prepared, recording
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.studies.trial import Trial


@dataclasses.dataclass
class Session:
    """What calls of `run` share in a process: data that was read, programs that were compiled."""

    loader: prepared.Loader = dataclasses.field(default_factory=prepared.Loader)
    programs: dict[str, loop.Programs] = dataclasses.field(default_factory=dict)


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

    Raises:
      ConfigError: a population does not fit into memory, or `again` where nothing is kept.
      RunError: models or outcomes are asked for of trials that have ended without, a checkpoint
        is ahead of the database, or another process trains the same.
    """
    session = session or Session()
    refuse_impossible(planned, again, outputs, lanes)
    for cohort in planned:
        _ended(store, cohort, folder, again=again, outputs=outputs)
    yield events.Checked(planned, *_findings(planned))
    for number, asked in enumerate(planned):
        with locked(folder, asked.name):  # before it is read who has ended
            registered = [store.register(record) for record in asked.records]
            cohort = cohorts.recorded(asked, {each.record.id: each.record for each in registered})
            ended = _ended(store, cohort, folder, again=again, outputs=outputs)
            notes = [line for each in registered for line in each.notes]
            yield events.Started(number, cohort, [*ended.values()], notes)
            for entry, result in ended.items():
                yield events.Ended(entry.trial, result)
            waiting = _waiting(cohort, ended)
            yield from _train(cohort, waiting, store, folder, session, lanes, outputs)
        yield events.Finished(cohort)


def run_open(
    cohort: Cohort,
    feed: live.Feed,
    store: runs.Store,
    folder: Path,
    *,
    session: Session,
    lanes: int,
) -> Generator[events.Event, None, None]:
    """Trains an open cohort, and all that join it; otherwise as `run_cohorts` with one cohort.

    Of trials that have ended nothing is yielded but in `Started`: the feed knows them.

    Args:
      cohort: of an `open_cohorts.OpenProgram`.
    """
    refuse_impossible([cohort], lanes=lanes)
    yield events.Checked([cohort], *_findings([cohort]))
    with locked(folder, cohort.name):  # before it is read who has ended
        # the feed knows the entries: their records stay
        notes = [line for record in cohort.records for line in store.register(record).notes]
        ended = _ended(store, cohort, folder, again=False, outputs=False)
        yield events.Started(0, cohort, [*ended.values()], notes)
        waiting = _waiting(cohort, ended)
        yield from _train(cohort, waiting, store, folder, session, lanes, False, feed)
    yield events.Finished(cohort)


def _waiting(cohort: Cohort, ended: Mapping[Entry, runs.MemberResult]) -> list[Member]:
    """The members of entries that have not ended."""
    pairs = zip(cohort.entries, cohort.members, strict=True)
    return [member for entry, member in pairs if entry not in ended]


def _train(
    cohort: Cohort,
    waiting: Sequence[Member],
    store: runs.Store,
    folder: Path,
    session: Session,
    lanes: int | None,
    outputs: bool,
    feed: live.Feed | None = None,
) -> Iterator[events.Event]:
    """Trains the members that wait."""
    checkpoints = folder / "checkpoints" / cohort.name
    recorder = recording.Recorder(store, cohort, folder)
    recorded: dict[Entry, runs.MemberResult] = {}

    def record(report: Report) -> None:
        recorded.clear()
        recorded.update(recorder(report))

    def refuse_lost(restored: Sequence[slots.Slot]) -> None:
        _refuse_lost_epochs(store, cohort, restored, checkpoints)

    happening = loop.train(
        cohort.problem,
        waiting,
        checkpoints,
        record,
        cohort.problem.training.width(lanes or len(cohort.members)),
        resumed=refuse_lost,
        programs=session.programs.setdefault(cohort.program, {}),
        count_rows=outputs,
        feed=feeds.CLOSED if feed is None else live.of_population(feed, cohort, recorder),
        steps=cohort.steps,
    )
    yield from _told(happening, recorded)


def _told(
    happening: Generator[Compilation | Report, None, None],
    recorded: Mapping[Entry, runs.MemberResult],
) -> Iterator[events.Event]:
    """What happens in a population, as events.

    Args:
      recorded: of those that ended with the last report.
    """
    compiling: set[str] = set()
    with contextlib.closing(happening):  # which saves the state, if this generator is closed
        for report in happening:
            if isinstance(report, Compilation):
                yield _of_compilation(report, compiling)
                if not compiling:
                    yield events.Ready()
                continue
            ended = dict(recorded)
            yield events.Epoch(report)
            for entry, result in ended.items():
                yield events.Ended(entry.trial, result)


def _of_compilation(
    compilation: Compilation, compiling: set[str]
) -> events.Compiling | events.Compiled:
    """The event, with the programs that are being compiled brought up to date."""
    program, seconds = compilation
    if seconds is None:
        compiling.add(program)
        return events.Compiling(program)
    compiling.discard(program)
    return events.Compiled(program, seconds)


def rows(store: runs.Store, of: Iterable[Entry]) -> list[runs.MemberRow]:
    """What is recorded of entries, in their order; of trials that have not ended, nothing."""
    known = {
        (row.experiment, row.seed, row.split, row.repeat, row.hparams): row
        for row in store.members()
    }
    keys = dict.fromkeys(entry.key for entry in of)
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
    by_experiment = {
        entry.record.id: entry.prepared.source.findings
        for cohort in planned
        for entry in cohort.entries
    }
    each = by_experiment.values()
    remarks = dict.fromkeys(line for findings in each for line in findings.remarks)
    warnings = dict.fromkeys(line for findings in each for line in findings.warnings)
    return [*remarks], [*warnings]


def _ended(
    store: runs.Store, cohort: Cohort, folder: Path, *, again: bool, outputs: bool
) -> dict[Entry, runs.MemberResult]:
    """The trials that are not to be trained, with what is recorded of them.

    Raises:
      RunError: as `lacking.lacking`.
    """
    recorded = {record.id: store.ended(record.id) for record in cohort.records}
    ended = {
        entry: recorded[entry.record.id][entry.key[1:]]
        for entry in cohort.entries
        if entry.key[1:] in recorded[entry.record.id]
    }
    unfit = lacking.lacking(store, cohort, ended, folder, again=again, outputs=outputs)
    return {entry: result for entry, result in ended.items() if entry not in unfit}


def _refuse_lost_epochs(
    store: runs.Store, cohort: Cohort, restored: Sequence[slots.Slot], checkpoints: Path
) -> None:
    """Raises RunError where the database lacks epochs that a checkpoint has behind it.

    Records are written before checkpoints are: the database has been emptied or is another one.
    """
    recorded = {record.id: store.epochs(record.id) for record in cohort.records}
    of = dict(zip(cohort.members, cohort.entries, strict=True))
    behind = []
    for slot in restored:
        if slot.member is not None:
            key = of[slot.member].key
            if recorded[key[0]].get(key[1:], 0) < slot.epoch:
                behind.append(of[slot.member])
    if behind:
        raise RunError(
            f"{checkpoints} has epochs of members that the runs database lacks "
            f"({lacking.listed(behind)}): bring back the database, or remove that folder to train "
            "them from their first epoch"
        )


def locked(folder: Path, name: str) -> contextlib.AbstractContextManager[None]:
    """Holds a cohort for this process."""
    return files.locked(
        folder / "checkpoints" / f"{name}.lock",
        f"another process is training this experiment into {folder}; wait for it, or give this "
        f"one another {argument('out')}",
    )
