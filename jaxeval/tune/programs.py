"""Searches over a command, with progress and a state file."""

import argparse
import contextlib
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from jaxeval import cli, files, outputs
from jaxeval.errors import ConfigError, RunError
from jaxeval.report import direction, scores
from jaxeval.report.tuning import as_json, progress
from jaxeval.report.tuning.as_json import Metric, Retrained
from jaxeval.runs import metrics
from jaxeval.tune import options, outcome
from jaxeval.tuning import history as histories
from jaxeval.tuning import retraining, running, saved
from jaxeval.tuning import search as searches
from jaxeval.tuning.commands import Command
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.search import Search

_MOST_FAILURES = 3  # of the first settings, with one cause
# what differs between failures of one cause: numbers, and names of temporary files
_NAMED = re.compile(r"(?<!exit code )\b\w*\d\w*\b")


def run(args: argparse.Namespace, search: Search) -> int:
    """Searches, trains the best setting again, prints the answer."""
    path = Path("tuning.json" if args.state is None else args.state)
    outputs.refuse_unwritable(args.json, args.html, reads=[path])
    steps = {} if args.steps is None else {"steps": args.steps}
    source = {"command": args.command, "json_field": args.json_field, **steps}
    end, seeded = options.end(args), _command(args, search).seeded  # a wrong one leaves no file
    if not seeded:
        end = _without_seeds(args, end)
    if args.dry_run:
        return _dry_run(args, search)
    said = direction.of_command(args.json_field, args.higher_is_better)
    print(said.sentence, file=sys.stderr)
    higher = said.higher_is_better is not False
    # what had failed and runs again would do so once more
    without = "--retry-failed" if args.retry_failed else ""
    with cli.resumable(without), saved.opened(path, search, higher, source) as state:
        if args.retry_failed:
            state.save(histories.retried(state.history))
        state.workers = max(state.workers, args.parallel or 1)
        most = args.most_failures or max(_MOST_FAILURES, state.workers)
        _refuse_broken(state.history, most, path)
        if known := len(histories.ended(state.history)):
            print(f"{path}: {progress.known(search, known)}", file=sys.stderr)
        stop = options.stopper(end, search, state, metric=said.metric)
        _search(args, search, state, stop, end.retrain, most)
        why, best = options.reason(args.trials, state, stop), searches.best(search, state.history)
        retrained = None
        if best is not None and end.retrain:
            retrained = _retrained(args, search, state, best, end.retrain)
        metric, spent = _metric(args, state.history), state.seconds
        tree = as_json.result(
            search, state.history, best, why, spent, metric, retrained, seeded=seeded
        )
    return outcome.write(tree, args)


def _without_seeds(args: argparse.Namespace, end: options.End) -> options.End:
    """What follows for a command that is not told its seed: nothing is run twice.

    Raises:
      ConfigError: several seeds are asked for.
    """
    for name, several in (("seeds", args.seeds != 1), ("retrain", args.retrain)):
        if several:
            raise ConfigError(
                f"--{name}: expected {{seed}} in --command, without which all seeds of a setting "
                "are the same run"
            )
    return end._replace(retrain=0)


def _dry_run(args: argparse.Namespace, search: Search) -> int:
    """Shows the command lines of the first batch of a search that begins.

    Raises:
      ConfigError: something of a search that goes on is asked for.
    """
    if args.retry_failed:
        raise ConfigError("--retry-failed: goes on with a search; --dry-run shows a new one")
    command, workers = _command(args, search), args.parallel or 1
    count = min(-(-workers // search.seeds), args.trials)
    _, proposed = searches.ask(search, History(), count)
    lines = [command.words(e.values, seed) for e in proposed for seed in e.seeds]
    if args.json:
        files.write_json(args.json, {"trials": args.trials, "first": lines})
    if args.json != "-":
        for line in lines:
            print(shlex.join(line))
    return 0


def _command(args: argparse.Namespace, search: Search) -> Command:
    return Command(args.command, search.space, args.json_field, args.time_limit)


def _search(
    args: argparse.Namespace,
    search: Search,
    state: saved.Saved,
    stop: Callable[[History], str],
    retrain: int,
    most: int,
) -> None:
    steps = running.run(
        search,
        state.history,
        _command(args, search),
        trials=args.trials,
        workers=args.parallel or 1,
        retries=args.retries,
        steps=args.steps,
        stop=stop,
    )
    pace = progress.Pace(args.parallel or 1)
    with contextlib.closing(steps):
        for step in steps:
            state.save(step.history)
            if step.evaluation is not None:
                metric = _metric(args, step.history)
                ended = len(histories.ended(step.history))
                left = pace.left(ended, args.trials, state.seconds)
                _show(search, step, args.trials, metric, left, retrain)
                _refuse_broken(step.history, most, state.file.path)


def _metric(args: argparse.Namespace, history: History) -> Metric:
    """What the scores are of, as far as the name of their field says it."""
    name = direction.of_command(args.json_field, None).metric
    return Metric(unit=metrics.stored_unit(name, options.largest_of(history)))


def _refuse_broken(history: History, most: int, path: Path) -> None:
    """Stops where the first settings have all failed with one cause, and none has a score.

    That says something of the command and nothing of the space. So it does in a later call.

    Args:
      most: settings that may fail so.
      path: of the state.

    Raises:
      RunError: all of so many failed; the state keeps that they did.
    """
    first = [e.result for e in history.evaluations[:most]]
    failures = [result.failure for result in first if result is not None and result.failure]
    if len(failures) < most or len({_NAMED.sub("#", failure) for failure in failures}) > 1:
        return
    if any(e.result is not None and e.result.scores for e in history.evaluations):
        return
    raise RunError(
        f"the first {most} settings failed: {failures[0]}; mend the command, and run it again "
        "with --retry-failed, or let more of them fail (--most-failures); another --command needs "
        f"another --state than {path}"
    )


def _show(
    search: Search, step: running.Step, trials: int, metric: Metric, left: str, retrain: int
) -> None:
    """A line of what came of an evaluation."""
    assert step.evaluation is not None
    evaluation = step.history.evaluations[step.evaluation.number]
    said = (
        progress.ended(evaluation, metric)
        if evaluation.result
        else f"{evaluation.number}: {step.note}"
    )
    sofar = progress.progress(search, step.history, trials, metric, left, retrain)
    print(f"{sofar} | {said}", file=sys.stderr, flush=True)


def _retrained(
    args: argparse.Namespace, search: Search, state: saved.Saved, best: Setting, count: int
) -> Retrained:
    """The best setting with fresh seeds: what failed in an earlier call runs again."""
    setting, seeds = histories.identity(best.values), retraining.seeds(count)
    known = state.fresh.get(setting, {})
    left = [seed for seed in seeds if not isinstance(known.get(seed), float)]
    evaluate, workers = _command(args, search), args.parallel or 1
    for seed, result in running.again(evaluate, best.values, left, workers, args.retries):
        state.save_fresh(setting, seed, result)
        unit = _metric(args, state.history).unit
        shown = result if isinstance(result, str) else scores.shown(result, unit)
        print(f"best setting, fresh seed {seed}: {shown}", file=sys.stderr, flush=True)
    results = [state.fresh[setting][seed] for seed in seeds]
    return Retrained(
        {"score": [result for result in results if isinstance(result, float)]},
        [result for result in results if isinstance(result, str)],
    )
