"""`jaxeval select`: the best of several models with as few evaluations as possible."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from jaxeval import cli, launchers, parameters
from jaxeval.errors import ConfigError
from jaxeval.parameters import Changes, Count, Natural, Positive, Probability, Quiet
from jaxeval.runs.layout import Missing

if TYPE_CHECKING:
    from jaxeval.config.reading import Source
    from jaxeval.report.selection import Selection

_Batch = Annotated[int, parameters.Number(1, 1000)]
_RuleName = Literal["top-two", "batch", "non-adaptive", "sequential-halving"]


@parameters.verb
def select(
    *configs: "Source",
    changes: Changes = (),
    data: str | Path | None = None,
    out: str | Path = "runs",
    rule: _RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: _Batch | None = None,
    seed: Natural = 0,
    own_splits: bool = False,
    part: Literal["dev", "test"] | None = None,
    seconds: Positive | None = None,
    launch: str = launchers.HERE,
    quiet: Quiet = False,
) -> "Selection":
    """Finds the best of several models with few evaluations.

    A bandit decides which model is evaluated next (with another split and seed). It stops when a
    model is the best with posterior probability 1 - delta (for normal scores), or when the budget
    is spent. Models are configs; subcommands take the models of a command, or
    recorded scores.

    Args:
      configs: two or more configs, and key=value changes of all of them.
      changes: key -> value, of all configs.
      out: runs folder, from which the same command continues.
      batch: evaluations between decisions of top-two and batch (one per device); with a launcher
        the evaluations at once (one per worker).
      own_splits: use the data's own split for all evaluations, instead of random split k.
      seconds: maximum seconds of training, summed over all evaluations.

    Examples:
      jaxeval select A.toml B.toml C.toml training.epochs=5 --data DIR --delta .05
      jaxeval select A.toml B.toml --rule batch --batch 4 --budget 40
    """
    launcher = launchers.prepare(launch)
    import jax

    from jaxeval import bandits
    from jaxeval.bandits.rules import OUT_OF_TIME
    from jaxeval.report import selection
    from jaxeval.select import training

    models = training.Models(configs, [*changes], data, own_splits, part)
    size = len(jax.devices()) if launcher is None else launcher.workers
    record = models.record
    chosen = bandits.rule(rule, record.higher_is_better, delta, budget, batch, seed, size)
    show = functools.partial(selection.progress, chosen, unit=record.unit)
    models.begin(chosen, show, seconds=seconds)
    state = training.train(models, Path(out), launcher, quiet)
    answer = chosen.answer(state) or chosen.leading(state, OUT_OF_TIME)
    more = {"part": models.part, "metric": record.metric, "unit": record.unit}
    return selection.result(chosen, state, answer, more)


@parameters.verb
def select_command(
    command: "str | Mapping[str, Callable[[int], float]]",
    *models: str,
    rule: _RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: _Batch | None = None,
    seed: Natural = 0,
    json_field: str | None = None,
    lower_is_better: bool | None = None,
    time_limit: Positive | None = None,
    retries: Natural = 1,
    workers: Count = 1,
    state: str | Path | None = "selection.json",
    quiet: Quiet = False,
) -> "Selection":
    """Finds the best of several models that a command or a Python function evaluates.

    The k-th evaluation of every model gets split k and seed k. The command prints its score as its
    last line; no shell runs it. The same command continues, also with another rule, budget or
    delta.

    Args:
      command: contains {model} and optionally {split} and {seed}. In Python also a dict of names
        and functions, which return the score of evaluation k, from 1.
      models: values of {model}.
      batch: evaluations between decisions of top-two and batch (the number of workers).
      lower_is_better: lower scores are better (as the field's name says, else higher).
      retries: number of retries of a failed evaluation; then its model is dropped.
      state: file of the scores, from which the same command continues; nothing is kept with None
        or for functions.

    Examples:
      jaxeval select command "./train.sh {model} {split} {seed}" lstm rhn nas --workers 4
      jaxeval select command "./ask.sh {model} {split}" A B C --budget 60
    """
    from jaxeval import bandits
    from jaxeval.bandits import running
    from jaxeval.bandits.commands import Command
    from jaxeval.report import selection, text

    metric, higher, direction = text.direction_of_field(json_field, lower_is_better)
    chosen = bandits.rule(rule, higher is not False, delta, budget, batch, seed, workers)
    how: dict[str, Any] = {"workers": workers, "retries": retries}
    if isinstance(command, str):
        program = Command(command, ("model", "split", "seed"), json_field, time_limit, "model")
        program.assumed = direction if higher is None else ""
        how["stop"] = program.stop
    else:
        models = (*command, *models)
        if wrong := [name for name in models if not callable(command.get(name))]:
            raise ConfigError(f"{wrong[0]}: expected a function of the evaluation's number")
    # a rule that cannot begin leaves no file
    asked = running.Selecting(chosen, chosen.begin(models), retries + 1)
    path = Path(state) if state and isinstance(command, str) else None
    opening = running.recorded(path, {"command": str(command), "json_field": json_field})

    def score(model: str, number: int) -> float:
        if (model, number) in known:
            return known[model, number]
        if not isinstance(command, str):
            return command[model](number)
        return program.score({"model": model, "split": str(number), "seed": str(number)})

    with cli.resumable(), opening as (known, write):
        cli.say(direction, quiet)
        if known:
            cli.say(f"{state}: {text.counted(len(known), 'evaluation')} known", quiet)
        with contextlib.closing(running.run(asked, score, **how)) as steps:
            for event in steps:
                job = event.model, event.number
                if job not in known:
                    cli.say(selection.progress(chosen, event), quiet)
                    if event.score is not None:
                        known[job] = event.score
                        write()
    answer = chosen.answer(asked.state)
    assert answer is not None
    more = {"metric": metric, "direction_assumed": higher is None}
    return selection.result(chosen, asked.state, answer, more)


@parameters.verb
def select_table(
    source: "str | Path | object",
    *models: str,
    rule: _RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: _Batch | None = None,
    seed: Natural = 0,
    score: str | None = None,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: Missing = "error",
    lower_is_better: bool | None = None,
) -> "Selection":
    """Replays a selection on recorded scores, as if they were new.

    Each score is drawn once. A replay ends when the rule asks for more scores of a model than were
    recorded. To compare all scores of a table, use compare.

    Args:
      source: a table of scores, a runs folder or a database, as for compare.
      models: names of models in the table (default: all).
      batch: evaluations between decisions of top-two and batch (1, and 4).
      column: ROLE=NAME, which column is model, seed, split, dataset, metric or status.

    Examples:
      jaxeval select table scores.json --delta .1
      jaxeval select table runs A B --rule sequential-halving --budget 16
    """
    from jaxeval import bandits, sources
    from jaxeval.report import selection, text
    from jaxeval.report.comparison import answers
    from jaxeval.stats import failures, samples

    layout = sources.layout(column, score, metric, missing, lower_is_better, models)
    scores = sources.read(source, layout)
    pools, failed = samples.pools(scores), failures.compare(scores)
    chosen = bandits.rule(rule, scores.higher_is_better, delta, budget, batch, seed)
    state, answer = bandits.select(chosen, bandits.Replay(pools, seed))
    notes = [*scores.warnings]
    if scores.unusable and failed is None:
        notes.append(text.unusable(scores.unusable, scores.missing))
    known = {
        "metric": scores.metric or None,
        "direction_assumed": scores.direction == "assumed",
        "unit": scores.stored_unit,
        "source": scores.source,
        "recorded": {name: len(pool) for name, pool in pools.items()},
        "failures": () if failed is None else failed.tests,
        "failed": answers.failures(failed, "run", scores.statuses),
        "unusable": scores.unusable,
        "warnings": notes,
    }
    return selection.result(chosen, state, answer, known)
