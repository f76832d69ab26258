"""A config as what is tuned: a batch of proposals is trained as few populations."""

import contextlib
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxeval import runs, studies
from jaxeval.config import markers, reading
from jaxeval.errors import ConfigError, RunError
from jaxeval.studies import buckets as shape_buckets
from jaxeval.studies import cohorts, events, memory, padding, prepared, running, sweeps
from jaxeval.studies.buckets import ShapeBucket
from jaxeval.studies.cohorts import Cohort, Entry
from jaxeval.tune.targets import Target
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import Evaluation, History, Result
from jaxeval.tuning.search import Search


class Batch(NamedTuple):
    """Evaluations that are trained together.

    Attributes:
      trials: with the evaluation that each is of.
      failed: evaluations that cannot be trained, with their results.
    """

    evaluations: Sequence[Evaluation]
    trials: Mapping[studies.Trial, Evaluation]
    cohorts: Sequence[Cohort]
    failed: Mapping[int, Result]


def shape_buckets_of(of: Target, trainings: int, lanes: int) -> list[ShapeBucket]:
    """The programs that all batches of a search are padded to; empty where nothing is padded.

    Args:
      trainings: of the whole search.
      lanes: of a population; a bucket that does not fit into memory so is none.
    """
    if of.base.kind.member_sizes is None:
        return []
    config = of.base.config
    ragged = {f"model.{key}" for key in markers.keys(config.model, markers.RAGGED)}
    sample, machine = shape_buckets.settings(of.space, ragged), sweeps.machine_of(of.base)
    drawn, largest = (
        [entry for values in part for entry in _entries(of, values)] for part in sample
    )
    sizes = padding.bucket_sizes(of.base)
    chosen = shape_buckets.choose(drawn, largest, sizes, machine, trainings)
    return [b for b in chosen if memory.fits(b.shape.parameters(), config.training, lanes)]


def _entries(of: Target, values: Mapping[str, Any]) -> list[Entry]:
    """Of one seed of a setting; none where it is no config."""
    try:
        trials = of.trials(Evaluation(0, values, (1,)))
    except ConfigError:
        return []
    return cohorts.entries(trials, of.session.loader)


def batch(
    of: Target, evaluations: Sequence[Evaluation], padded_to: Sequence[ShapeBucket] = ()
) -> Batch:
    """Groups evaluations into populations, by what compiling and padding cost.

    What is no config, or does not fit into memory, has failed before it is trained.

    Args:
      padded_to: of `shape_buckets_of`.
    """
    trials: dict[studies.Trial, Evaluation] = {}
    entries: list[Entry] = []
    failed: dict[int, Result] = {}
    for evaluation in evaluations:
        try:
            own = of.trials(evaluation)
            known = cohorts.entries(own, of.session.loader)
            _refuse_too_large(known[0].prepared)
        except ConfigError as error:
            failed[evaluation.number] = Result(failure=str(error))
            continue
        trials.update((trial, evaluation) for trial in own)
        entries += known
    if not entries:
        return Batch(evaluations, trials, [], failed)
    machine, sizes = sweeps.machine_of(of.base), padding.bucket_sizes(of.base)
    placed = shape_buckets.place(padded_to, padding.jobs(entries), sizes, machine)
    estimates, others = [e for e, _ in placed], [known for _, known in placed]
    part = _part(evaluations)
    planned = padding.by_estimates(entries, estimates, of.session.loader, part, others)
    return Batch(evaluations, trials, [_named(cohort) for cohort in planned], failed)


def _part(evaluations: Sequence[Evaluation]) -> str:
    """Of the names of a batch's checkpoints."""
    return f"{evaluations[0].number}-"


def _refuse_too_large(of: prepared.Prepared) -> None:
    """Raises ConfigError as `memory.refuse_too_large`; a model is traced only where it must be."""
    shape = padding.shape_of(of)
    if shape.member_sizes is None or not memory.fits(shape.parameters(), of.config.training, 1):
        memory.refuse_too_large(of.problem, [prepared.member_of(of)])


def _named(cohort: Cohort) -> Cohort:
    """With the program in the name of a padded one's checkpoints: more trials, or other devices,
    may choose other buckets for what a search was stopped in."""
    if not _is_padded(cohort):
        return cohort
    return cohort._replace(name=f"{cohort.name}-{reading.digest(cohort.program)}")


class Bounds(NamedTuple):
    """How long a search goes on.

    Attributes:
      trials: evaluations in all.
      parallel: evaluations at once.
      stop: why nothing more is to be proposed; "" where more is.
    """

    trials: int
    parallel: int
    stop: Callable[[History], str] = lambda history: ""


class Scored(NamedTuple):
    """An evaluation has ended; it is told with its batch."""

    evaluation: Evaluation
    result: Result


class Asked(NamedTuple):
    """A batch of proposals, which is to be saved before it is trained."""

    history: History
    batch: Batch


class Told(NamedTuple):
    """All of a batch has ended."""

    history: History


def tune(
    of: Target,
    search: Search,
    history: History,
    store: runs.Store,
    folder: Path,
    bounds: Bounds,
) -> Generator[Asked | events.Event | Scored | Told, None, None]:
    """Goes on with a search, batch by batch.

    What runs in the history is finished before anything is proposed: so a search that was stopped
    anywhere goes on as if it had not been.

    Args:
      folder: the runs folder.

    Raises:
      RunError: as `studies.run_cohorts`.
    """
    lanes = bounds.parallel * search.seeds
    padded_to = shape_buckets_of(of, bounds.trials * search.seeds, lanes)
    while True:
        pending = histories.pending(history)
        if not pending:
            count = min(bounds.parallel, bounds.trials - len(history.evaluations))
            if count <= 0 or bounds.stop(history):
                return
            history, pending = searches.ask(search, history, count, of.compiled)
            if not pending:
                return
        proposals = batch(of, pending, padded_to)
        yield Asked(history, proposals)
        results = yield from _train(of, proposals, store, folder, lanes)
        _forget(proposals, of.record.id, folder)
        for number in sorted(results):
            history = histories.tell(history, number, results[number])
        yield Told(history)


def _train(
    of: Target, proposals: Batch, store: runs.Store, folder: Path, lanes: int
) -> Generator[events.Event | Scored, None, dict[int, Result]]:
    """Trains a batch; what was trained of it before is not trained again.

    A population that does not fit into the device's memory is trained lane by lane, then setting
    by setting without padding; settings that do not fit so have failed.

    Args:
      lanes: of a population that is the whole batch; of others too where idle lanes cost nothing:
        batches then find each other's programs.

    Returns:
      results by number of the evaluation.
    """
    results = dict(proposals.failed)
    yield from (Scored(e, results[e.number]) for e in proposals.evaluations if e.number in results)
    if not proposals.cohorts:
        return results
    mode = proposals.cohorts[0].problem.mode
    width = lanes if len(proposals.cohorts) == 1 or mode == "map" else None
    attempts = [(cohort, own) for cohort in proposals.cohorts for own in dict.fromkeys((width, 1))]
    lacking = {cohort.name: cohort for cohort in proposals.cohorts}
    for cohort, own in attempts:
        if cohort.name in lacking:
            happening = studies.run_cohorts([cohort], store, folder, session=of.session, lanes=own)
            if (yield from _fits(_scored(proposals, happening, results))):
                del lacking[cohort.name]
    for cohort in [part for whole in lacking.values() for part in _unpadded(whole)]:
        happening = studies.run_cohorts([cohort], store, folder, session=of.session, lanes=1)
        yield from _fits(_scored(proposals, happening, results))
    for evaluation in proposals.evaluations:
        if evaluation.number not in results:
            results[evaluation.number] = Result(failure="out of memory")
            yield Scored(evaluation, results[evaluation.number])
    return results


def _forget(proposals: Batch, experiment: str, folder: Path) -> None:
    """Removes what is left of a batch that has ended: a search that went on with other shapes has
    not taken up the checkpoints of the old ones."""
    forget(f"{experiment}-{_part(proposals.evaluations)}*", folder)


def forget(names: str, folder: Path) -> None:
    """Removes checkpoints that nobody trains, of a pattern of names."""
    for left in sorted((folder / "checkpoints").glob(names)):
        if left.is_dir():
            with contextlib.suppress(RunError), running.locked(folder, left.name):
                shutil.rmtree(left, ignore_errors=True)


def _fits(
    happening: Generator[events.Event | Scored, None, None],
) -> Generator[events.Event | Scored, None, bool]:
    """What happens; whether there was memory for it."""
    try:
        yield from happening
    except (jax.errors.JaxRuntimeError, MemoryError, memory.TooLarge) as error:
        if not memory.exhausted(error):
            raise
        return False
    return True


def _unpadded(cohort: Cohort) -> list[Cohort]:
    """The trials of a padded population in populations of one size each, none that is larger."""
    if not _is_padded(cohort):
        return []
    parts = cohorts.by_program(cohort.entries)
    return [part._replace(name=f"{cohort.name}-{number}") for number, part in enumerate(parts)]


def _is_padded(cohort: Cohort) -> bool:
    """Whether its members may be smaller than its arrays."""
    return cohort.estimate is not None and bool(cohort.estimate.operations)


def _scored(
    proposals: Batch,
    happening: Generator[events.Event, None, None],
    results: dict[int, Result],
) -> Generator[events.Event | Scored, None, None]:
    """What happens, and evaluations that end by it, whose results are added."""
    members: dict[int, dict[int, runs.MemberResult]] = {}
    for event in happening:
        yield event
        if isinstance(event, events.Ended):
            evaluation = proposals.trials[event.trial]
            ended = members.setdefault(evaluation.number, {})
            ended[event.trial.seed] = event.result
            if len(ended) == len(evaluation.seeds) and evaluation.number not in results:
                scored = result([ended[seed] for seed in evaluation.seeds])
                results[evaluation.number] = scored
                yield Scored(evaluation, scored)


def result(members: Sequence[runs.MemberResult]) -> Result:
    """The dev scores of all seeds; a failure where one has none."""
    scores = tuple(member.dev for member in members if member.dev is not None)
    if len(scores) == len(members):
        return Result(scores)
    lost = next(member for member in members if member.dev is None)
    which = f" (seed {lost.seed})" if len(members) > 1 else ""
    message = f": {lost.message}" if lost.message else ""
    return Result(failure=f"{lost.status}{which}{message}")
