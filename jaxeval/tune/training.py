"""Searches over a config: progress, the best setting's config, its fresh seeds, the plan."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from jaxeval import files, observe, runs
from jaxeval.config import listing
from jaxeval.errors import ConfigError
from jaxeval.report import text
from jaxeval.report import tuning as reports
from jaxeval.report.sweep import plan
from jaxeval.report.tuning import Tuned
from jaxeval.studies import proposers
from jaxeval.tune import populations
from jaxeval.tune.target import Target
from jaxeval.tuning import search as searches
from jaxeval.tuning.history import History, Setting
from jaxeval.tuning.search import End, Search

_LEAST_AT_ONCE = 8  # settings of a batch, unless there are more devices


def tune(
    target: Target,
    search: Search,
    end: End,
    folder: Path,
    store_url: str | None,
    parallel: int | None,
    retrain: int,
    margin: float,
    quiet: bool,
) -> Tuned:
    """Goes on with a search, and trains the best setting with fresh seeds.

    Args:
      folder: the runs folder.
      store_url: of a database instead of the folder's.
      parallel: settings at once; None: 8, or as many as there are devices.
      retrain: fresh seeds.
      margin: a difference that does not matter, in the metric's unit.
    """
    record, at_once = target.record, parallel or max(_LEAST_AT_ONCE, len(jax.devices()))
    path = folder / "tunings" / f"{record.id}.json"
    source = {"experiment": record.id}
    with searches.opened(path, search, record.higher_is_better, source) as state:

        def told(event: object, say: observe.Say) -> None:
            if isinstance(event, populations.Scored):
                for evaluation in event.evaluations:
                    say(reports.ended(evaluation, record.metric, record.unit))
                say(reports.progress(state, end.trials, record.metric, record.unit))

        if state.known and not quiet:
            print(f"{path}: {text.counted(state.known, 'setting')} with results", file=sys.stderr)
        with runs.open_store(store_url or folder) as store:
            trained = populations.train(target, search, state, store, folder, end, at_once)
            observe.watch(trained, other=told, quiet=quiet)
        best, fresh, failures, config = search.best(state.history), None, list[str](), None
        if best is not None:
            config = path.with_name(f"{path.stem}_best.toml")
            rows = _retrained(target, best, retrain, config, folder, store_url, quiet)
            parts = {"dev": [row.dev for row in rows], "test": [row.test for row in rows]}
            fresh = {k: [x for x in of if x is not None] for k, of in parts.items()}
            lost = [row for row in rows if row.dev is None]
            failures = [f"{row.status}: {row.message}".removesuffix(": ") for row in lost]
        return reports.result(
            search,
            state,
            end,
            record.metric,
            record.unit,
            margin,
            fresh if retrain else None,
            failures,
            config=None if config is None else str(config),
        )


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
    files.write_text(path, listing.to_toml(config))
    if not count:
        return []
    if not quiet:
        print(f"\nthe best setting, {text.counted(count, 'fresh seed')}", file=sys.stderr)
    trials = proposers.seeds_by_splits(config, searches.fresh_seeds(count))
    return observe.train(trials, folder, store_url, quiet=quiet)


def planned(
    target: Target, search: Search, trials: int, parallel: int | None, retrain: int
) -> str:
    """The first batch of a search that begins, in words."""
    at_once = min(parallel or max(_LEAST_AT_ONCE, len(jax.devices())), trials)
    empty = History((), target.record.higher_is_better)
    failed, entries = list[str](), []
    for evaluation in search.ask(empty, at_once, target.compiled)[1]:
        try:
            each = target.entries(evaluation)
            target.refuse_too_large(each[0])
            entries += each
        except ConfigError as error:
            failed.append(f"setting {evaluation.number}: {error}")
    padded = target.padded(trials * search.seeds, at_once * search.seeds)
    first = plan.document(target.estimates(entries, padded)).answer if entries else []
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
