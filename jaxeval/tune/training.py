"""Searches over a config: progress, the best setting's config, its fresh seeds, the plan."""

import contextlib
import dataclasses
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxeval import cli, files, observe, runs, studies
from jaxeval.config import reading
from jaxeval.errors import ConfigError, RunError
from jaxeval.population import host
from jaxeval.report import sweeps, text
from jaxeval.report import tuning as reports
from jaxeval.studies import launching, memory, prepared, running
from jaxeval.studies.cohorts import Cohort
from jaxeval.tune.populations import Populations, Scored
from jaxeval.tune.target import Target
from jaxeval.tuning import Search
from jaxeval.tuning import running as searches
from jaxeval.tuning.history import History

_Events = Generator[running.Event | Scored, None, None]


class Place(NamedTuple):
    """Where and how a search trains."""

    folder: Path
    launcher: launching.Launcher | None = None
    quiet: bool = False


def tune(
    target: Target,
    search: Search,
    limits: tuple[int, float | None],
    place: Place,
    parallel: int,
    retrain: int,
    margin: float,
) -> reports.Tuned:
    """Goes on with a search, and trains the best setting with fresh seeds.

    Args:
      limits: trials and seconds, as of `State`.
      parallel: settings at once.
      retrain: fresh seeds.
      margin: a difference that does not matter, in the metric's unit.
    """
    record, source, quiet = target.record, {"experiment": target.record.id}, place.quiet
    path = place.folder / "tunings" / f"{record.id}.json"
    with searches.opened(path, search, record.higher_is_better, source, *limits) as state:

        def show(event: object, say: observe.Say) -> None:
            if isinstance(event, Scored):
                for evaluation in event.evaluations:
                    say(reports.evaluation_line(evaluation, record.metric, record.unit))
                say(reports.progress_line(state, record.metric, record.unit))

        if state.known:
            cli.say(f"{path}: {text.counted(state.known, 'setting')} with results", quiet)
        with runs.open_store(place.folder) as store:
            asks = place.launcher is not None
            populations = Populations(target, search, state, store, parallel, asks)
            observe.watch(train(populations, place), other=show, quiet=quiet)
        scale = record.metric, record.unit, margin
        best = search.best(state.history)
        if best is None:
            return reports.result(search, state, *scale, None)
        config = target.config(best.values)
        config = dataclasses.replace(config, name=f"{config.name}_tuned")
        toml = path.with_name(f"{path.stem}_best.toml")
        files.write_text(toml, reading.to_toml(config))
        fresh, failures = _retrain(config, retrain, place) if retrain else (None, [])
        return reports.result(search, state, *scale, fresh, failures, config=str(toml))


def _retrain(config: Any, count: int, place: Place) -> tuple[dict[str, list[float]], list[str]]:
    cli.say(f"\nthe best setting, {text.counted(count, 'fresh seed')}", place.quiet)
    trials = prepared.seeds_by_splits(config, searches.fresh_seeds(count))
    how: Any = {"launcher": place.launcher, "quiet": place.quiet}
    return reports.fresh_scores(observe.train(trials, place.folder, **how))


def train(populations: Populations, place: Place) -> _Events:
    """Trains a search until nothing is proposed.

    A batch of settings is proposed when all before have ended; those that a program has room for
    are one population. With halving, settings are proposed for each lane that becomes free, and
    join the population if its program has room for them. A population that does not fit into
    memory goes on lane by lane; settings that do not fit so have failed. With a launcher, settings
    are proposed whenever a job has ended.

    The state is saved before proposals are trained, and before results are recorded elsewhere: a
    killed search repeats epochs, meets all when it did before, and decides nothing anew, unless it
    trained lane by lane.

    Raises:
      RunError: as `studies.run`.
    """
    if place.launcher is not None:
        yield from _by_jobs(populations, place.folder, place.launcher)
    narrow = ""  # name of a population that does not fit into memory in all its lanes
    while (cohort := populations.begin()) is not None:
        lanes = 1 if cohort.name == narrow else populations.lanes(cohort)
        fits = yield from _train(populations, cohort, lanes, place.folder)
        narrow = "" if fits else cohort.name
        if fits or lanes == 1:
            populations.end()
            _remove(place.folder / "checkpoints", populations.name)
        yield from populations.news()
    yield from populations.news()


def _train(
    populations: Populations, cohort: Cohort, lanes: int | None, folder: Path
) -> Generator[running.Event | Scored, None, bool]:
    """Trains a population in so many lanes; returns whether it fitted into memory."""
    how: Any = {"session": populations.target.session, "lanes": lanes, "feed": populations.feed}
    try:
        for event in running.run([cohort], populations.store, folder, **how):
            yield event
            if isinstance(event, host.Report):
                yield from populations.news()
    except (jax.errors.JaxRuntimeError, MemoryError, memory.TooLarge) as error:
        if not memory.exhausted(error):
            raise
        return False
    return True


def _by_jobs(populations: Populations, folder: Path, launcher: launching.Launcher) -> _Events:
    populations.restart()
    lanes = -(-populations.parallel * populations.search.seeds // launcher.workers)
    lanes = lanes if populations.search.halving is None else 1  # a job for each that may pause
    how: Any = {"session": populations.target.session, "lanes": lanes, "launcher": launcher}
    more = populations.waiting
    events = studies.run(more(), populations.store, folder, more=more, **how)
    with contextlib.closing(events):
        for event in events:
            yield event
            if isinstance(event, running.Ended):
                populations.ended(event)
                yield from populations.news()


def _remove(checkpoints: Path, name: str) -> None:
    """Removes the checkpoints of a population, whose names with other shapes are longer."""
    for path in sorted(checkpoints.glob(f"{name}*")):
        if path.is_dir() and path.name.removeprefix(name)[:1] in ("", "-"):
            with contextlib.suppress(RunError), running.locked(checkpoints.parent, path.name):
                shutil.rmtree(path, ignore_errors=True)


def plan(target: Target, search: Search, trials: int, parallel: int, retrain: int) -> str:
    """Returns the first batch of a new search, in words."""
    parallel = min(parallel, trials)
    failed, entries = list[str](), []
    for evaluation in search.ask(History((), target.record.higher_is_better), parallel)[1]:
        try:
            each = target.entries(evaluation)
            target.refuse_too_large(each[0])
            entries += each
        except ConfigError as error:
            failed.append(f"setting {evaluation.number}: {error}")
    padded = target.padded(trials * search.seeds, parallel * search.seeds)
    estimates = target.estimates(entries, padded)
    first = sweeps.plan(estimates).document().answer if entries else ["nothing"]
    rungs = ""
    if search.halving is not None:
        epochs = search.halving.rungs(target.base.config.training.epochs)
        rungs = f", one of {search.halving.factor} goes on after epochs {epochs}"
    axes = text.counted(len(search.space.parameters), "hyperparameter")
    whole = (
        f"{text.counted(trials, 'setting')} of {axes} by {search.method}, {parallel} at once, "
        f"{text.counted(search.seeds, 'seed')} each{rungs}; then the best with "
        f"{text.counted(retrain, 'fresh seed')}"
    )
    lines = [whole, f"the first batch: {first[0]}", *first[1:], *failed]
    return "\n".join([*lines, *target.base.data.findings.warnings, ""])
