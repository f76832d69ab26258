"""Searches over a config, with plan, progress and a state file."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import jax

from jaxeval import cli, observe, runs
from jaxeval.config import writing
from jaxeval.report import text
from jaxeval.report.runs import terminal as of_runs
from jaxeval.report.sweep import plan
from jaxeval.report.tuning import as_json, terminal
from jaxeval.report.tuning.as_json import Metric, Retrained
from jaxeval.studies import proposers
from jaxeval.tune import configs, live, options
from jaxeval.tune.configs import Target
from jaxeval.tuning import history as histories
from jaxeval.tuning import retraining, saved
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.search import Search

_LEAST_AT_ONCE = 8  # settings of a batch, unless there are more devices


def run(args: argparse.Namespace, search: Search) -> int:
    """Searches, trains the best setting again, prints the answer; the backend is prepared."""
    target = configs.target(args.config, args.changes, args.data, search, args.space)
    if args.parallel is None:
        args.parallel = max(_LEAST_AT_ONCE, len(jax.devices()))
    if args.dry_run:
        return _dry_run(args, search, target)
    folder, record = Path(args.out), target.record
    path = Path(args.state) if args.state else folder / "tunings" / f"{record.id}.json"
    metric = Metric(record.metric, record.unit, record.margin)
    source = {"experiment": record.id}
    with saved.opened(path, search, record.higher_is_better, source) as state:
        stop = options.stopper(args, search, state, record.margin)
        _search(args, search, target, state, stop)
        why, best = options.reason(args.trials, state, stop), searches.best(search, state.history)
        retrained = None if best is None else _retrained(args, target, best, path)
        tree = as_json.result(search, state.history, best, why, state.seconds, metric, retrained)
    status = options.write(tree, args)
    if best is not None and args.json != "-":
        print(f"\nits config: {_best_path(path)}")
    return status


def _search(
    args: argparse.Namespace,
    search: Search,
    target: Target,
    state: saved.Saved,
    stop: Callable[[History], str],
) -> None:
    if known := len(histories.ended(state.history)):
        print(f"{state.file.path}: {terminal.known(search, known)}", file=sys.stderr)
    folder = Path(args.out)
    with runs.open_store(args.store or folder) as store:
        arguments = target, search, state.history, store, folder
        bounds = configs.Bounds(args.trials, args.parallel, stop)
        happening = (
            configs.tune(*arguments, bounds)
            if search.halving is None
            else live.tune(*arguments, bounds, state.save)
        )
        metric = Metric(target.record.metric, target.record.unit)
        _watch(happening, search, state, args.trials, metric)


def _watch(
    happening: Generator[object, None, None],
    search: Search,
    state: saved.Saved,
    trials: int,
    metric: Metric,
) -> None:
    """Lets it happen, saving the state on the way."""

    def told(event: object, say: observe.Say) -> None:
        match event:
            case configs.Asked(history, batch):
                state.save(history)
                first, last = batch.evaluations[0].number, batch.evaluations[-1].number
                programs = text.counted(len(batch.cohorts), "program")
                which = f"settings {first} to {last}" if last > first else f"setting {first}"
                say(f"{which}: {programs}")
            case configs.Scored(evaluation, result):
                history = histories.tell(state.history, evaluation.number, result)
                say(terminal.ended(history.evaluations[evaluation.number], metric))
            case configs.Told(history):
                state.save(history)
                say(terminal.progress(search, history, trials, metric, state.seconds))

    observe.watch(happening, lambda started: None, told)


def _best_path(path: Path) -> Path:
    """Where the config of the best setting is written."""
    return path.with_name(f"{path.stem}_best.toml")


def _retrained(
    args: argparse.Namespace, target: Target, best: Setting, path: Path
) -> Retrained | None:
    """The best setting with fresh seeds, as `train` would train its config; which is written."""
    config = target.config(best.values)
    config = dataclasses.replace(config, name=f"{config.name}_tuned")
    cli.write_text(_best_path(path), writing.to_toml(config))
    if not args.retrain:
        return None
    seeds = retraining.seeds(args.retrain)
    print(f"\nthe best setting, {args.retrain} fresh seeds", file=sys.stderr)
    trials = proposers.seeds_by_splits(config, seeds)
    rows = observe.train(trials, Path(args.out), args.store)
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
    count = min(args.parallel, args.trials)
    _, asked = searches.ask(search, History((), target.record.higher_is_better), count)
    batch = configs.batch(target, asked)
    estimates = [cohort.estimate for cohort in batch.cohorts if cohort.estimate is not None]
    findings, batches = target.base.source.findings, -(-args.trials // args.parallel)
    of_runs.print_findings(findings.remarks, findings.warnings)
    if args.json:
        values = [dict(evaluation.values) for evaluation in asked]
        first = plan.to_dict(estimates, values, None, findings.warnings)
        cli.write_json(args.json, {"trials": args.trials, "batches": batches, "first": first})
    if args.json != "-":
        axes = text.counted(len(search.space.parameters), "hyperparameter")
        asked_for = text.counted(args.trials, terminal.unit(search.adaptive))
        seeds = (
            "of one seed each" if search.adaptive else f"{text.counted(search.seeds, 'seed')} each"
        )
        print(
            f"{asked_for} of {axes} by {search.method}, {count} at once in "
            f"{text.counted(batches, 'batch', 'batches')}, {seeds}; then the best with "
            f"{text.counted(args.retrain, 'fresh seed')}{_rungs(search, target)}"
            "\n\nthe first batch:"
        )
        plan.show(estimates)
        for evaluation, result in ((e, batch.failed.get(e.number)) for e in asked):
            if result is not None:
                print(f"setting {evaluation.number}: {result.failure}")
    return 0
