"""Selections among configs: the verb's side of `configs`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from jaxeval import observe, runs
from jaxeval.bandits import saved
from jaxeval.config import reading
from jaxeval.report.selection import as_json, terminal
from jaxeval.select import configs, options

if TYPE_CHECKING:
    from jaxeval.bandits import Rule


def run(given: argparse.Namespace) -> int:
    """Trains, tells, prints the answer; the backend is prepared."""
    changes = [word for word in given.models if "=" in word]
    paths = [word for word in given.models if "=" not in word]
    random_splits = None if given.splits is None else given.splits == "random"
    arms = configs.arms(paths, changes, given.data, random_splits, given.part)
    rule = options.rule(given, arms.record.higher_is_better, len(jax.devices()))
    folder = Path(given.out)
    with (
        saved.opened(_state_of(given, arms), rule, [*arms.configs], _source(arms)) as selected,
        runs.open_store(given.store or folder) as store,
    ):
        _train(rule, selected, arms, store, given)
        state = selected.state
    answer = rule.answer(state) or configs.leading(rule, state).answer(state)
    assert answer is not None
    tree = as_json.result(rule, state, answer)
    tree |= {"part": arms.part, "metric": arms.record.metric}
    return options.write(tree, terminal.print_result, given)


def _state_of(given: argparse.Namespace, arms: configs.Arms) -> Path:
    """The state's file: as asked for, else by the models and the rule."""
    if given.state:
        return Path(given.state)
    ids = sorted(record.id for record in arms.records.values())
    rule = [given.rule, given.delta, given.budget, given.epsilon, given.seed]
    name = reading.digest(reading.canonical([ids, arms.part, arms.random_splits, rule]))
    return Path(given.out) / "selections" / f"{name}.json"


def _source(arms: configs.Arms) -> dict[str, Any]:
    """What the scores come from: another config or other data cannot go on with them."""
    ids = {model: record.id for model, record in arms.records.items()}
    return {"experiments": ids, "part": arms.part, "random_splits": arms.random_splits}


def _train(
    rule: "Rule",
    selected: saved.Saved,
    arms: configs.Arms,
    store: runs.Store,
    given: argparse.Namespace,
) -> None:
    """Trains until the rule has its answer or its time is spent, saving the state on the way."""
    if selected.state.evaluations:
        print(
            f"{selected.path}: {selected.state.evaluations} evaluations are known", file=sys.stderr
        )

    def told(event: Any, say: observe.Say) -> None:
        selected.save(event.state)
        if isinstance(event, configs.Batch):
            counts = event.evaluations.items()
            say("next: " + ", ".join(f"{model} {count}" for model, count in counts))
        else:
            say(terminal.progress(rule, event))

    happening = configs.select(
        rule, selected.state, arms, store, Path(given.out), seconds=given.seconds
    )
    observe.watch(happening, lambda started: None, told)
