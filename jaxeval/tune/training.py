"""Searches over a config: progress, the best setting's config, its fresh seeds."""

import dataclasses
from pathlib import Path
from typing import Any

from jaxeval import cli, files, observe, runs
from jaxeval.config import reading
from jaxeval.report import text
from jaxeval.report import tuning as reports
from jaxeval.studies import launching, prepared, scheduling
from jaxeval.tune.populations import Populations
from jaxeval.tune.target import Target
from jaxeval.tuning import running as searches


def tune(
    target: Target,
    folder: Path,
    limits: tuple[int, float | None],
    parallel: int,
    retrain: int,
    launcher: launching.Launcher | None = None,
    quiet: bool = False,
) -> reports.Tuned:
    """Goes on with a search, and trains the best setting with fresh seeds.

    Args:
      folder: of the runs.
      limits: trials and seconds, as of `State`.
      parallel: settings at once.
      retrain: fresh seeds.
    """
    record, source = target.record, {"experiment": target.record.id}
    path = folder / "tunings" / f"{record.id}.json"
    opening = searches.opened(path, target.search, record.higher_is_better, source, *limits)
    with opening as state:
        if state.known:
            cli.say(f"{path}: {text.counted(state.known, 'setting')} with results", quiet)
        with runs.open_store(folder) as store:
            fed = Populations(target, state, store, folder, parallel, launcher is not None)
            events = scheduling.train(fed, store, folder, launcher)
            observe.watch(events, other=lambda line, say: say(str(line)), quiet=quiet)
        scale, best = (record.metric, record.unit), state.best()
        if best is None:
            return reports.result(state, *scale, None)
        config = target.config(best.values)
        config = dataclasses.replace(config, name=f"{config.name}_tuned")
        toml, fresh, failures = path.with_name(f"{path.stem}_best.toml"), None, list[str]()
        files.write_text(toml, reading.to_toml(config))
        if retrain:
            cli.say(f"\nthe best setting, {text.counted(retrain, 'fresh seed')}", quiet)
            trials = prepared.seeds_by_splits(config, searches.fresh_seeds(retrain))
            how: Any = {"launcher": launcher, "quiet": quiet}
            fresh, failures = reports.fresh_scores(observe.train(trials, folder, **how))
        return reports.result(state, *scale, fresh, failures, config=str(toml))
