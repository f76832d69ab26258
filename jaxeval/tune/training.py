"""Searches over a config: progress, the best setting's config, its fresh seeds, the plan."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import jax

from jaxeval import files, observe, runs
from jaxeval.config import writing
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.report import text
from jaxeval.report import tuning as reports
from jaxeval.report.document import Document
from jaxeval.report.result import Result
from jaxeval.report.sweep import plan
from jaxeval.report.tuning import Tuned
from jaxeval.studies import proposers
from jaxeval.studies.costs import Estimate
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
    files.write_text(path, writing.to_toml(config))
    if not count:
        return []
    if not quiet:
        print(f"\nthe best setting, {text.counted(count, 'fresh seed')}", file=sys.stderr)
    trials = proposers.seeds_by_splits(config, searches.fresh_seeds(count))
    return observe.train(trials, folder, store_url, quiet=quiet)


@dataclasses.dataclass(frozen=True, repr=False)
class TuningPlan(Result):
    """What a search over a config would train first.

    Attributes:
      sentence: of the whole search.
      settings: of the first batch.
      failed: setting -> why it cannot be trained.
    """

    sentence: str
    trials: int
    settings: Sequence[Mapping[str, Json]]
    failed: Mapping[int, str]
    cohorts: Sequence[Estimate]
    warnings: Sequence[str]

    def document(self) -> Document:
        """The sentence, and the plan of the first batch."""
        first = plan.document(self.cohorts, self.warnings)
        failed = [f"setting {number}: {why}" for number, why in self.failed.items()]
        blocks = (f"the first batch: {first.answer[0]}", *first.answer[1:], *first.blocks, *failed)
        return first._replace(answer=(self.sentence,), blocks=blocks, title="Plan of a search")

    def to_dict(self) -> dict[str, Json]:
        """The number of trials, and the first batch."""
        first = plan.to_dict(self.cohorts, self.settings, self.warnings)
        return {
            "trials": self.trials,
            "failed": {str(k): why for k, why in self.failed.items()},
            "first": first,
        }


def planned(
    target: Target, search: Search, trials: int, parallel: int | None, retrain: int
) -> TuningPlan:
    """The first batch of a search that begins."""
    at_once = min(parallel or max(_LEAST_AT_ONCE, len(jax.devices())), trials)
    empty = History((), target.record.higher_is_better)
    _, proposed = search.ask(empty, at_once, target.compiled)
    failed, entries = dict[int, str](), []
    for evaluation in proposed:
        try:
            each = target.entries(evaluation)
            target.refuse_too_large(each[0])
            entries += each
        except ConfigError as error:
            failed[evaluation.number] = str(error)
    padded = target.padded(trials * search.seeds, at_once * search.seeds)
    looked = ""
    if search.halving is not None:
        rungs = search.halving.rungs(target.base.config.training.epochs)
        looked = f", one of {search.halving.factor} goes on after epochs {rungs}"
    axes = text.counted(len(search.space.parameters), "hyperparameter")
    seeds = "one" if search.adaptive else str(search.seeds)
    sentence = (
        f"{text.counted(trials, 'setting')} of {axes} by {search.method}, {at_once} at once, "
        f"{seeds} seed each{looked}; then the best with {text.counted(retrain, 'fresh seed')}"
    )
    return TuningPlan(
        sentence,
        trials,
        [dict(evaluation.values) for evaluation in proposed],
        failed,
        target.estimates(entries, padded) if entries else [],
        target.base.source.findings.warnings,
    )
