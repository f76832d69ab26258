"""Selections among models that a command trains or asks, or that are functions of Python."""

import contextlib
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from jaxeval import cli, parameters
from jaxeval.errors import ConfigError
from jaxeval.parameters import Count, Natural, Number, Positive, Probability, Quiet

if TYPE_CHECKING:
    from jaxeval.bandits import Rule, State
    from jaxeval.bandits.evaluate import Evaluated, Recorded
    from jaxeval.report.selection import Selection

RuleName = Literal["top-two", "batch", "non-adaptive", "sequential-halving"]
Prior = Annotated[float, Number(-5, 1)]
FIESTA = -0.5  # the prior's exponent


@parameters.verb
def select_command(
    command: str,
    *models: str,
    rule: RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: Count | None = None,
    prior: Prior = FIESTA,
    seed: Natural = 0,
    json_field: str | None = None,
    lower_is_better: bool | None = None,
    time_limit: Positive | None = None,
    retries: Natural = 1,
    workers: Count = 1,
    items: Count | None = None,
    state: str | Path = "selection.json",
    quiet: Quiet = False,
) -> "Selection":
    """Finds the best of several models that a command trains or asks.

    The k-th evaluation of every model gets split k and seed k. A command prints its score in the
    last line. It is not run by a shell. Every score is written to STATE: the same command goes
    on, also with another rule, budget or delta, and runs nothing twice.

    Args:
      command: with {model} and maybe {split}, {seed}, {items}.
      models: what stands for {model}.
      rule, delta, budget, prior, seed: as of select.
      batch: evaluations between decisions of top-two and batch (as many as workers).
      json_field: where the score is in the JSON that the command prints, such as test.f1.
      lower_is_better: which scores are better (as the field's name says, else higher).
      time_limit: seconds that an evaluation may take.
      retries: of a failed evaluation; then its model is dropped.
      workers: commands at once.
      items: of a test set; an evaluation is the mean score of a block of 20 of them, whose
        numbers (0 ... ITEMS - 1) stand in {items}.
      state: file of the scores, from which the same command goes on.

    Raises:
      ConfigError, RunError: of the command, the rule or the state, or every model was dropped.

    Examples:
      jaxeval select command "./train.sh {model} {split} {seed}" lstm rhn nas --workers 4
      jaxeval select command "python train.py {model} {seed}" a b --json-field f1
      jaxeval select command "./ask.sh {model} {items}" A B C --items 1200
    """
    from jaxeval import bandits
    from jaxeval.bandits import evaluate
    from jaxeval.report import selection, text

    asked = None if lower_is_better is None else not lower_is_better
    metric, known, said = text.direction_of_field(json_field, asked)
    higher = known is not False
    chosen = bandits.rule(rule, higher, delta, budget, batch, prior, seed, workers)
    order = None if items is None else evaluate.blocks(items, seed)
    most = None if order is None else len(order)
    runner = evaluate.Command(command, json_field, time_limit, order)
    if most is not None:
        evaluate.refuse_beyond(chosen, len(models), most)
    chosen.begin(models)  # what cannot begin leaves no file
    of_items = None if items is None else {"count": items, "block": evaluate.BLOCK, "seed": seed}
    source = {"command": command, "json_field": json_field, "items": of_items}
    with cli.resumable(), evaluate.recorded(Path(state), source) as recorded:
        _say(said, quiet)
        if recorded.scores:
            count = sum(map(len, recorded.scores.values()))
            _say(f"{state}: {count} evaluations are known", quiet)
        runner.known = recorded.scores
        steps = evaluate.run(chosen, models, runner, workers=workers, retries=retries, most=most)
        found = _last(steps, chosen.begin(models), chosen, quiet, recorded)
    more = {"metric": metric, "direction_assumed": known is None}
    return selection.result(chosen, found, evaluate.answer(chosen, found, most), items, more)


@parameters.verb
def select_functions(
    functions: Mapping[str, Callable[[int], float]],
    *,
    rule: RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    prior: Prior = FIESTA,
    seed: Natural = 0,
    lower_is_better: bool = False,
    quiet: Quiet = False,
) -> "Selection":
    """Finds the best of several models that are functions of Python.

    Args:
      functions: name -> a function of the evaluation's number, from 1, that gives its score.
      rule, delta, budget, prior, seed: as of select.

    Raises:
      ConfigError: one is no function.
      RunError: every model was dropped.
    """
    from jaxeval import bandits
    from jaxeval.bandits import evaluate
    from jaxeval.report import selection

    for name, function in functions.items():
        if not callable(function):
            raise ConfigError(f"{name}: expected a function of the evaluation's number")
    chosen = bandits.rule(rule, not lower_is_better, delta, budget, None, prior, seed, 1)
    steps = evaluate.run(chosen, [*functions], lambda name, number: functions[name](number))
    found = _last(steps, chosen.begin([*functions]), chosen, quiet)
    return selection.result(chosen, found, evaluate.answer(chosen, found))


def _last(
    steps: "Generator[Evaluated, None, None]",
    state: "State",
    rule: "Rule",
    quiet: bool,
    recorded: "Recorded | None" = None,
) -> "State":
    """The state when all has been evaluated; new scores are recorded, and shown on stderr."""
    from jaxeval.report import selection

    with contextlib.closing(steps):
        for event in steps:
            state, score = event.state, event.score
            if recorded is None or not recorded.has(event.model, event.number):
                _say(selection.progress(rule, event), quiet)
                if recorded is not None and score is not None:
                    recorded.add(event.model, event.number, score)
    return state


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)
