"""A config as what is tuned: a batch of proposals is trained as few populations."""

import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxeval import runs, studies
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.population import lanes as widths
from jaxeval.space.space import Space
from jaxeval.studies import cohorts, costs, events, memory, prepared, proposers, sweeps
from jaxeval.tuning import history as histories
from jaxeval.tuning import search as searches
from jaxeval.tuning.halving import Halving
from jaxeval.tuning.history import Evaluation, History, Result
from jaxeval.tuning.search import Search


@dataclasses.dataclass(frozen=True)
class Target:
    """A config that is tuned.

    Attributes:
      source, changes: of the config, before what a search sets.
      base: the config with its data.
      record: under which its evaluations are recorded.
      session: data that was read, programs that were compiled.
    """

    source: reading.Source
    changes: Sequence[str]
    space: Space
    base: prepared.Prepared
    record: runs.Experiment
    design: Mapping[str, Json]
    session: studies.Session

    def config(self, values: Mapping[str, Any]) -> Any:
        """The config of a setting.

        Raises:
          ConfigError: the values are no config.
        """
        return proposers.configured(self.source, self.changes, self.space, values)

    def trials(self, evaluation: Evaluation) -> list[studies.Trial]:
        """One a seed.

        Raises:
          ConfigError: as `config`.
        """
        config = self.config(evaluation.values)
        setting = (evaluation.values, evaluation.seeds)
        return proposers.evaluations(self.base.config, [config], [setting], self.design)


def target(
    source: reading.Source,
    changes: Sequence[str],
    data: str | None,
    search: Search,
    where: str = "space",
) -> Target:
    """Reads a config and its data; nothing is trained.

    Args:
      data: where the data is, instead of where the config says.
      where: what messages about the space begin with.

    Raises:
      ConfigError, DataError: the config or the space is wrong, or the data cannot be used.
    """
    base = studies.read(source, changes, data)
    if search.halving is not None:
        _refuse_unscored_rungs(base, search, search.halving, where)
    for parameter in search.space.parameters:
        if parameter.key is not None:  # else every setting would be a failure
            reading.refuse_unknown(type(base), parameter.key, f"{where}: {parameter.name}")
    changes = [*changes, *prepared.data_changes(base.task, data)]
    proposers.refuse_leaks(base, search.space, where)
    session = studies.Session()
    loaded = session.loader.prepare(base)
    design = search.to_dict()
    study = proposers.evaluations(base, [base], [({}, [1])], design)[0].study
    assert study is not None
    record = prepared.record_of(loaded.record, study)
    return Target(source, changes, search.space, loaded, record, design, session)


def _refuse_unscored_rungs(base: Any, search: Search, halving: Halving, where: str) -> None:
    """Raises ConfigError where a rung may be an epoch after which dev is not scored."""
    every, key = base.training.evaluate_every, "training.evaluate_every"
    if halving.first % every:
        raise ConfigError(
            f"--min-epochs: expected a multiple of {key}, which is {every}, got {halving.first}"
        )
    for parameter in search.space.parameters:
        if parameter.key == key:
            raise ConfigError(
                f"{where}: {parameter.name}: expected no {key} with --halving, whose rungs are "
                "after epochs that score dev; fix it in the config"
            )


class Batch(NamedTuple):
    """Evaluations that are trained together.

    Attributes:
      trials: with the evaluation that each is of.
      failed: evaluations that cannot be trained, with their results.
    """

    evaluations: Sequence[Evaluation]
    trials: Mapping[studies.Trial, Evaluation]
    cohorts: Sequence[cohorts.Cohort]
    failed: Mapping[int, Result]


def batch(of: Target, evaluations: Sequence[Evaluation]) -> Batch:
    """Groups evaluations into populations, by what compiling and padding cost.

    What is no config, or does not fit into memory, has failed before it is trained.
    """
    trials: dict[studies.Trial, Evaluation] = {}
    entries: list[cohorts.Entry] = []
    failed: dict[int, Result] = {}
    for evaluation in evaluations:
        try:
            own = of.trials(evaluation)
            known = cohorts.entries(own, of.session.loader)
            member = prepared.member_of(known[0].prepared)
            memory.refuse_too_large(known[0].prepared.problem, [member])
        except ConfigError as error:
            failed[evaluation.number] = Result(failure=str(error))
            continue
        trials.update((trial, evaluation) for trial in own)
        entries += known
    if not entries:
        return Batch(evaluations, trials, [], failed)
    machine, sizes = sweeps.machine_of(of.base), cohorts.bucket_sizes(of.base)
    estimates = costs.plan(cohorts.jobs(entries), sizes, machine)
    part = f"{evaluations[0].number}-"
    planned = cohorts.by_estimates(entries, estimates, of.session.loader, part)
    return Batch(evaluations, trials, planned, failed)


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
    while True:
        pending = histories.pending(history)
        if not pending:
            count = min(bounds.parallel, bounds.trials - len(history.evaluations))
            if count <= 0 or bounds.stop(history):
                return
            history, pending = searches.ask(search, history, count)
            if not pending:
                return
        asked = batch(of, pending)
        yield Asked(history, asked)
        results = yield from _train(of, asked, store, folder, bounds.parallel * search.seeds)
        for number in sorted(results):
            history = histories.tell(history, number, results[number])
        yield Told(history)


def _train(
    of: Target, asked: Batch, store: runs.Store, folder: Path, lanes: int
) -> Generator[events.Event | Scored, None, dict[int, Result]]:
    """Trains a batch; what was trained of it before is not trained again.

    A population that does not fit into the device's memory is trained lane by lane; settings that
    do not fit so have failed.

    Args:
      lanes: of a population that is the whole batch; of others too where idle lanes cost nothing:
        batches then find each other's programs.

    Returns:
      results by number of the evaluation.
    """
    results = dict(asked.failed)
    yield from (Scored(e, results[e.number]) for e in asked.evaluations if e.number in results)
    if not asked.cohorts:
        return results
    mode = widths.resolve(asked.cohorts[0].problem.training.lane_mode)
    width = lanes if len(asked.cohorts) == 1 or mode == "map" else None
    for cohort in asked.cohorts:
        for own in dict.fromkeys((width, 1)):
            try:
                happening = studies.run_cohorts(
                    [cohort], store, folder, session=of.session, lanes=own
                )
                yield from _scored(asked, happening, results)
                break
            except (jax.errors.JaxRuntimeError, MemoryError) as error:
                if not memory.exhausted(error):
                    raise
        else:
            failed = {asked.trials[entry.trial].number for entry in cohort.entries} - {*results}
            results |= dict.fromkeys(failed, Result(failure="out of memory"))
            yield from (
                Scored(e, results[e.number]) for e in asked.evaluations if e.number in failed
            )
    return results


def _scored(
    asked: Batch,
    happening: Generator[events.Event, None, None],
    results: dict[int, Result],
) -> Generator[events.Event | Scored, None, None]:
    """What happens, and evaluations that end by it, whose results are added."""
    members: dict[int, dict[int, runs.MemberResult]] = {}
    for event in happening:
        yield event
        if isinstance(event, events.Ended):
            evaluation = asked.trials[event.trial]
            ended = members.setdefault(evaluation.number, {})
            ended[event.trial.seed] = event.result
            if len(ended) == len(evaluation.seeds) and evaluation.number not in results:
                told = result([ended[seed] for seed in evaluation.seeds])
                results[evaluation.number] = told
                yield Scored(evaluation, told)


def result(members: Sequence[runs.MemberResult]) -> Result:
    """The dev scores of all seeds; a failure where one has none."""
    scores = tuple(member.dev for member in members if member.dev is not None)
    if len(scores) == len(members):
        return Result(scores)
    lost = next(member for member in members if member.dev is None)
    which = f" (seed {lost.seed})" if len(members) > 1 else ""
    message = f": {lost.message}" if lost.message else ""
    return Result(failure=f"{lost.status}{which}{message}")
