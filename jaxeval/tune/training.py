"""Searches over a config: progress, the best setting's config, its fresh seeds, the plan."""

import contextlib
import dataclasses
import shutil
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import jax

from jaxeval import files, observe, runs
from jaxeval.config import reading
from jaxeval.errors import ConfigError, RunError
from jaxeval.report import text
from jaxeval.report import tuning as reports
from jaxeval.report.sweep_plan import SweepPlan
from jaxeval.report.tuning import Tuned, progress
from jaxeval.studies import memory, prepared, running
from jaxeval.studies.cohorts import Cohort
from jaxeval.tune.populations import Populations, Scored
from jaxeval.tune.target import Target
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.search import Search, State

_LEAST_AT_ONCE = 8  # settings of a batch, unless there are more devices


def tune(
    target: Target,
    search: Search,
    limits: tuple[int, float | None],
    folder: Path,
    store_url: str | None,
    parallel: int | None,
    retrain: int,
    margin: float,
    quiet: bool,
) -> Tuned:
    """Goes on with a search, and trains the best setting with fresh seeds.

    Args:
      limits: trials and seconds, as of `State`.
      folder: the runs folder.
      store_url: of a database instead of the folder's.
      parallel: settings at once; None: 8, or as many as there are devices.
      retrain: fresh seeds.
      margin: a difference that does not matter, in the metric's unit.
    """
    record, at_once = target.record, parallel or max(_LEAST_AT_ONCE, len(jax.devices()))
    path = folder / "tunings" / f"{record.id}.json"
    source = {"experiment": record.id}
    with searches.opened(path, search, record.higher_is_better, source, *limits) as state:

        def scored(event: object, say: observe.Say) -> None:
            if isinstance(event, Scored):
                for evaluation in event.evaluations:
                    say(progress.ended(evaluation, record.metric, record.unit))
                say(progress.so_far(state, record.metric, record.unit))

        if state.known and not quiet:
            print(f"{path}: {text.counted(state.known, 'setting')} with results", file=sys.stderr)
        with runs.open_store(store_url or folder) as store:
            steps = trained(target, search, state, store, folder, at_once)
            observe.watch(steps, other=scored, quiet=quiet)
        best, fresh, failures, config = search.best(state.history), None, list[str](), None
        if best is not None:
            config = path.with_name(f"{path.stem}_best.toml")
            rows = _retrained(target, best, retrain, config, folder, store_url, quiet)
            parts = {"dev": [row.dev for row in rows], "test": [row.test for row in rows]}
            fresh = {k: [x for x in of if x is not None] for k, of in parts.items()}
            lost = [row for row in rows if row.dev is None]
            failures = [f"{row.status}: {row.message}".removesuffix(": ") for row in lost]
        scale = record.metric, record.unit, margin
        again = (fresh if retrain else None), failures
        return reports.result(
            search, state, *scale, *again, config=None if config is None else str(config)
        )


def trained(
    target: Target,
    search: Search,
    state: State,
    store: runs.Store,
    folder: Path,
    parallel: int,
) -> Generator[running.Event | Scored, None, None]:
    """Goes on with a search.

    A batch of settings is proposed when all before have ended; those that a program has room for
    are one population. With halving, settings are proposed for each lane that becomes free, and
    join the population if its program has room for them. A population that does not fit into
    memory goes on lane by lane; settings that do not fit so have failed.

    The state is saved before what is proposed is trained, and before what is told of trainings is
    recorded elsewhere: a killed search repeats epochs, meets all when it did before, and decides
    nothing anew, unless it trained lane by lane.

    Args:
      folder: the runs folder.
      parallel: settings at once.

    Raises:
      RunError: as `studies.run`.
    """
    populations = Populations(target, search, state, store, parallel)
    narrow = ""  # name of a population that does not fit into memory in all its lanes
    while (cohort := populations.begin()) is not None:
        lanes = 1 if cohort.name == narrow else populations.lanes(cohort)
        fits = yield from _train(populations, cohort, lanes, folder)
        narrow = "" if fits else cohort.name
        if fits or lanes == 1:
            populations.end()
            _forget(folder / "checkpoints", populations.name)
        yield from populations.news()
    yield from populations.news()


def _train(
    populations: "Populations", cohort: Cohort, lanes: int | None, folder: Path
) -> Generator[running.Event | Scored, None, bool]:
    """Trains a population in so many lanes; whether it fitted into memory."""
    program = populations.program
    assert program is not None
    feed = running.Feed(populations.arrivals(), populations.after_epoch, program.member)
    session, store = populations.target.session, populations.store
    trained = running.run([cohort], store, folder, session=session, lanes=lanes, feed=feed)
    try:
        for event in trained:
            yield event
            if isinstance(event, running.Epoch):
                yield from populations.news()
    except (jax.errors.JaxRuntimeError, MemoryError, memory.TooLarge) as error:
        if not memory.exhausted(error):
            raise
        return False
    return True


def _forget(checkpoints: Path, name: str) -> None:
    """Removes the checkpoints of a population, which with other shapes had other endings."""
    for path in sorted(checkpoints.glob(f"{name}*")):
        if path.is_dir() and path.name.removeprefix(name)[:1] in ("", "-"):
            with contextlib.suppress(RunError), running.locked(checkpoints.parent, path.name):
                shutil.rmtree(path, ignore_errors=True)


def _retrained(
    target: Target,
    best: Setting,
    count: int,
    path: Path,
    folder: Path,
    store_url: str | None,
    quiet: bool,
) -> Sequence[runs.MemberRow]:
    """The best setting with fresh seeds, as `train` would train its config; which is written."""
    config = target.config(best.values)
    config = dataclasses.replace(config, name=f"{config.name}_tuned")
    files.write_text(path, reading.to_toml(config))
    if not count:
        return []
    if not quiet:
        print(f"\nthe best setting, {text.counted(count, 'fresh seed')}", file=sys.stderr)
    trials = prepared.seeds_by_splits(config, searches.fresh_seeds(count))
    return observe.train(trials, folder, store_url, quiet=quiet)


def planned(
    target: Target, search: Search, trials: int, parallel: int | None, retrain: int
) -> str:
    """The first batch of a search that begins, in words."""
    at_once = min(parallel or max(_LEAST_AT_ONCE, len(jax.devices())), trials)
    empty = History((), target.record.higher_is_better)
    failed, entries = list[str](), []
    for evaluation in search.ask(empty, at_once)[1]:
        try:
            each = target.entries(evaluation)
            target.refuse_too_large(each[0])
            entries += each
        except ConfigError as error:
            failed.append(f"setting {evaluation.number}: {error}")
    padded = target.padded(trials * search.seeds, at_once * search.seeds)
    estimates = target.estimates(entries, padded)
    first = SweepPlan([], estimates).document().answer if entries else []
    looked = ""
    if search.halving is not None:
        rungs = search.halving.rungs(target.base.config.training.epochs)
        looked = f", one of {search.halving.factor} goes on after epochs {rungs}"
    axes = text.counted(len(search.space.parameters), "hyperparameter")
    whole = (
        f"{text.counted(trials, 'setting')} of {axes} by {search.method}, {at_once} at once, "
        f"{text.counted(search.seeds, 'seed')} each{looked}; then the best with "
        f"{text.counted(retrain, 'fresh seed')}"
    )
    lines = [whole, f"the first batch: {first[0] if first else 'nothing'}", *first[1:], *failed]
    return "\n".join([*lines, *target.base.source.findings.warnings, ""])
