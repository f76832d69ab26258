"""Selections among configs, with progress and a state file."""

import argparse
import dataclasses
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import jax

from jaxeval import observe, runs
from jaxeval.bandits import saved
from jaxeval.bandits.evaluate import Told
from jaxeval.bandits.fixed_confidence import Confident
from jaxeval.bandits.rules import OUT_OF_TIME
from jaxeval.config import reading
from jaxeval.errors import ConfigError
from jaxeval.files import Json
from jaxeval.report.selection import as_json, terminal
from jaxeval.runs import metrics
from jaxeval.select import configs, options

if TYPE_CHECKING:
    from jaxeval.bandits import Rule


def run(args: argparse.Namespace) -> int:
    """Trains, tells, prints the answer; the backend is prepared."""
    changes = [word for word in args.models if "=" in word and not os.path.exists(word)]
    paths = [word for word in args.models if word not in changes]
    random_splits = None if args.splits is None else args.splits == "random"
    arms = configs.arms(paths, changes, args.data, random_splits, args.part)
    refuse_other(arms, args.higher_is_better)
    rule = options.rule(args, arms.record.higher_is_better, len(jax.devices()))
    state = Path(args.state) if args.state else None
    tree = select(rule, arms, Path(args.out), args.store, path=state, seconds=args.seconds)
    return options.write(tree, lambda: terminal.print_result(tree, details=args.details), args)


def refuse_other(arms: configs.Arms, asked: bool | None) -> None:
    """Raises ConfigError where the opposite of the direction of the configs' metric is asked for.

    Args:
      asked: whether higher is better; None: nothing.
    """
    higher, metric = arms.record.higher_is_better, arms.record.metric
    if asked not in (None, higher):
        raise ConfigError(metrics.contradicted(higher, "the configs say", metric))


def fitted(rule: "Rule", arms: configs.Arms, batched: bool) -> "Rule":
    """The rule in the direction of the models' metric.

    Args:
      batched: ask for an evaluation a device at once.
    """
    directed = dataclasses.replace(rule, higher_is_better=arms.record.higher_is_better)
    if batched and isinstance(directed, Confident):
        return dataclasses.replace(directed, batch_size=len(jax.devices()))
    return directed


def select(
    rule: "Rule",
    arms: configs.Arms,
    folder: Path,
    store_url: str | None = None,
    *,
    path: Path | None = None,
    seconds: float | None = None,
    quiet: bool = False,
) -> "as_json.Result":
    """Goes on with a selection until the rule has its answer or its time is spent.

    Args:
      folder: the runs folder.
      path: of the state; None: in the runs folder, named by models and rule.
      seconds, quiet: as of `configs.select` and `observe.watch`.

    Returns:
      The result as `report.selection.as_json.result` tells it, with part and metric.

    Raises:
      ConfigError: an epsilon in points, of fractions.
    """
    options.refuse_points(rule, arms.record.unit)
    path = path or _state_of(rule, arms, folder)
    with (
        saved.opened(path, rule, [*arms.configs], _source(arms)) as selected,
        runs.open_store(store_url or folder) as store,
    ):
        happening = configs.select(rule, selected.state, arms, store, folder, seconds=seconds)
        _train(rule, selected, happening, arms.record.unit, quiet)
        state = selected.state
    answer = rule.answer(state) or rule.leading(state, OUT_OF_TIME)
    result = as_json.result(rule, state, answer)
    record = arms.record
    return {**result, "part": arms.part, "metric": record.metric, "unit": record.unit}


def _state_of(rule: "Rule", arms: configs.Arms, folder: Path) -> Path:
    """The state's file, by the models and the rule."""
    ids = sorted(record.id for record in arms.records.values())
    ruled = {**dataclasses.asdict(rule), "name": type(rule).__name__}
    ruled.pop("batch_size", None)  # may differ when a selection goes on
    name = reading.digest(reading.canonical([ids, arms.part, arms.random_splits, ruled]))
    return folder / "selections" / f"{name}.json"


def _source(arms: configs.Arms) -> dict[str, Json]:
    """What the scores come from: another config or other data cannot go on with them."""
    ids = {model: record.id for model, record in arms.records.items()}
    return {"experiments": ids, "part": arms.part, "random_splits": arms.random_splits}


def _train(
    rule: "Rule",
    selected: saved.Saved,
    happening: Generator[object, None, None],
    unit: str,
    quiet: bool,
) -> None:
    """Lets it happen, saving the state on the way."""
    if selected.known and not quiet:
        print(f"{selected.path}: {selected.known} evaluations are known", file=sys.stderr)

    def told(event: object, say: observe.Say) -> None:
        assert isinstance(event, configs.BatchStarted | Told)
        selected.save(event.state)
        if isinstance(event, configs.BatchStarted):
            counts = event.evaluations.items()
            say("next: " + ", ".join(f"{model} {count}" for model, count in counts))
        else:
            say(terminal.progress(rule, event, unit))

    observe.watch(happening, lambda started: None, told, quiet=quiet)
