"""Searches over a config, with plan, progress and a state file."""

import argparse
import dataclasses
import sys
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import jax

from jaxeval import files, observe, runs
from jaxeval.config import writing
from jaxeval.report import render, text
from jaxeval.report.sweep import plan
from jaxeval.report.tuning import as_json, progress
from jaxeval.report.tuning.as_json import Metric, Result, Retrained
from jaxeval.runs import metrics
from jaxeval.studies import proposers
from jaxeval.tune import configs, live, options, outcome, targets
from jaxeval.tune.targets import Target
from jaxeval.tuning import history as histories
from jaxeval.tuning import retraining, saved
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.search import Search

_LEAST_AT_ONCE = 8  # settings of a batch, unless there are more devices


def run(args: argparse.Namespace, search: Search) -> int:
    """Searches, trains the best setting again, prints the answer; the backend is prepared."""
    target = targets.target(args.config, args.changes, args.data, search, args.space)
    metrics.refuse_points("margin", args.margin or 0.0, target.record.unit)
    if args.dry_run:
        return _dry_run(args, search, target)
    place = Place(Path(args.out), args.store, Path(args.state) if args.state else None)
    tree = tune(target, search, options.end(args), place, args.parallel)
    status = outcome.write(tree, args)
    if args.json != "-":
        print(f"\nits config: {best_path(place.state_of(target))}")
    return status


class Place(NamedTuple):
    """Where a search is recorded.

    Attributes:
      folder: the runs folder.
      store: URL of a database instead of the folder's.
      state: file of the search; None: in the runs folder, by what is searched.
    """

    folder: Path
    store: str | None = None
    state: Path | None = None

    def state_of(self, target: Target) -> Path:
        """The file of the search."""
        return self.state or self.folder / "tunings" / f"{target.record.id}.json"


def _at_once(parallel: int | None) -> int:
    return parallel or max(_LEAST_AT_ONCE, len(jax.devices()))


def tune(
    target: Target,
    search: Search,
    end: options.End,
    place: Place,
    parallel: int | None = None,
    quiet: bool = False,
) -> Result:
    """Goes on with a search, and trains the best setting with fresh seeds.

    Args:
      parallel: settings at once; None: 8, or as many as there are devices.
      quiet: nothing is shown, and signals are left alone.
    """
    record, path = target.record, place.state_of(target)
    metric = Metric(record.metric, record.unit, record.margin)
    source = {"experiment": record.id}
    with saved.opened(path, search, record.higher_is_better, source) as state:
        stop = options.stopper(end, search, state, record.margin)
        bounds = configs.Bounds(end.trials, _at_once(parallel), stop)
        _search(search, target, state, bounds, end.retrain, place, quiet)
        why, best = options.reason(end.trials, state, stop), searches.best(search, state.history)
        retrained = None
        if best is not None:
            retrained = _retrained(target, best, end.retrain, place, quiet)
        return as_json.result(search, state.history, best, why, state.seconds, metric, retrained)


def _search(
    search: Search,
    target: Target,
    state: saved.Saved,
    bounds: configs.Bounds,
    retrain: int,
    place: Place,
    quiet: bool,
) -> None:
    known = len(histories.ended(state.history))
    if known and not quiet:
        print(f"{state.file.path}: {progress.known(search, known)}", file=sys.stderr)
    with runs.open_store(place.store or place.folder) as store:
        arguments = target, search, state.history, store, place.folder
        happening = (
            configs.tune(*arguments, bounds)
            if search.halving is None
            else live.tune(*arguments, bounds, state.save)
        )
        metric = Metric(target.record.metric, target.record.unit)
        _watch(happening, search, state, bounds, retrain, metric, quiet)


def _watch(
    happening: Generator[object, None, None],
    search: Search,
    state: saved.Saved,
    bounds: configs.Bounds,
    retrain: int,
    metric: Metric,
    quiet: bool,
) -> None:
    """Lets it happen, saving the state on the way."""

    pace = progress.Pace(bounds.parallel)

    def told(event: object, say: observe.Say) -> None:
        match event:
            case configs.Asked(history, batch):
                state.save(history)
                first, last = batch.evaluations[0].number, batch.evaluations[-1].number
                programs = text.counted(len(batch.cohorts), "program")
                which = f"settings {first} to {last}" if last > first else f"setting {first}"
                say(f"{which}: {programs}")
            case configs.Scored(evaluation, result):
                say(progress.ended(dataclasses.replace(evaluation, result=result), metric))
            case configs.Told(history):
                state.save(history)
                ended = len(histories.ended(history))
                left = pace.left(ended, bounds.trials, state.seconds)
                say(progress.progress(search, history, bounds.trials, metric, left, retrain))

    observe.watch(happening, lambda started: None, told, quiet=quiet)


def best_path(path: Path) -> Path:
    """Where the config of the best setting is written."""
    return path.with_name(f"{path.stem}_best.toml")


def _retrained(
    target: Target, best: Setting, count: int, place: Place, quiet: bool
) -> Retrained | None:
    """The best setting with fresh seeds, as `train` would train its config; which is written."""
    config = target.config(best.values)
    config = dataclasses.replace(config, name=f"{config.name}_tuned")
    files.write_text(best_path(place.state_of(target)), writing.to_toml(config))
    if not count:
        return None
    if not quiet:
        print(f"\nthe best setting, {text.counted(count, 'fresh seed')}", file=sys.stderr)
    trials = proposers.seeds_by_splits(config, retraining.seeds(count))
    rows = observe.train(trials, place.folder, place.store, quiet=quiet)
    return Retrained(
        {
            part: [v for row in rows if (v := getattr(row, part)) is not None]
            for part in ("dev", "test")
        },
        [f"{row.status}: {row.message}".removesuffix(": ") for row in rows if row.dev is None],
    )


def _rungs(search: Search, target: Target) -> str:
    """Where trainings are looked at, in words."""
    if search.halving is None:
        return ""
    epochs = target.base.config.training.epochs
    rungs = ", ".join(map(str, search.halving.rungs(epochs)))
    return (
        f"\none of {search.halving.factor} goes on after {rungs} of {epochs} epochs"
        if rungs
        else f"\nnone is stopped: a training has {text.counted(epochs, 'epoch')}"
    )


def _dry_run(args: argparse.Namespace, search: Search, target: Target) -> int:
    """Shows what the first batch would be, and how many there are."""
    parallel = _at_once(args.parallel)
    count = min(parallel, args.trials)
    history = History((), target.record.higher_is_better)
    _, proposed = searches.ask(search, history, count, target.compiled)
    trainings = args.trials * search.seeds
    padded_to = configs.shape_buckets_of(target, trainings, parallel * search.seeds)
    batch = configs.batch(target, proposed, padded_to)
    estimates = [cohort.estimate for cohort in batch.cohorts if cohort.estimate is not None]
    findings, batches = target.base.source.findings, -(-args.trials // parallel)
    observe.say_findings(findings.remarks, findings.warnings)
    if args.json:
        values = [dict(evaluation.values) for evaluation in proposed]
        first = plan.to_dict(estimates, values, findings.warnings)
        files.write_json(args.json, {"trials": args.trials, "batches": batches, "first": first})
    if args.json != "-":
        axes = text.counted(len(search.space.parameters), "hyperparameter")
        asked_for = text.counted(args.trials, progress.unit(search.adaptive))
        seeds = (
            "of one seed each" if search.adaptive else f"{text.counted(search.seeds, 'seed')} each"
        )
        print(
            f"{asked_for} of {axes} by {search.method}, {count} at once in "
            f"{text.counted(batches, 'batch', 'batches')}, {seeds}; then the best with "
            f"{text.counted(options.end(args).retrain, 'fresh seed')}{_rungs(search, target)}"
            "\n\nthe first batch:"
        )
        render.to_terminal(plan.document(estimates))
        for evaluation, result in ((e, batch.failed.get(e.number)) for e in proposed):
            if result is not None:
                print(f"setting {evaluation.number}: {result.failure}")
    return 0
