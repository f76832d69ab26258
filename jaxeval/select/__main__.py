"""`jaxeval select`: the best of several models with as few evaluations as possible."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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

    A bandit chooses the next model to evaluate, each time with another split and seed. It stops
    when a model is best with posterior probability 1 - delta (for normal scores), or when the
    budget is spent. Models are configs here; the subcommands take commands or recorded scores.

    Args:
      configs: two or more configs, and key=value changes to all of them.
      changes: key -> value, for all configs.
      out: the runs folder; the same command continues from it.
      batch: number of evaluations between two decisions of top-two and batch (default: one per
        device); with --launch, number of evaluations at once (default: one per worker).
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

    The k-th evaluation of every model gets split k and seed k. The command must print its score as
    its last line; it runs without a shell. The same jaxeval command continues, also with another
    rule, budget or delta.

    Args:
      command: the command, with {model} and optionally {split} and {seed}. In Python also a dict
        of functions by name, which return the score of evaluation k = 1, 2 ...
      models: values of {model}.
      batch: number of evaluations between two decisions of top-two and batch (default: the number
        of workers).
      lower_is_better: lower scores are better (default: by the field's name, else higher).
      retries: number of retries of a failed evaluation; then its model is dropped.
      state: file for the scores; the same command continues from it. With None, or for functions,
        nothing is kept.

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
    stop: Callable[[], None] | None = None
    if isinstance(command, str):
        program = Command(command, ("model", "split", "seed"), json_field, time_limit, "model")
        program.assumed = direction if higher is None else ""
        stop = program.stop
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
        steps = running.run(asked, score, workers=workers, retries=retries, stop=stop)
        with contextlib.closing(steps):
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

    Each score is drawn once. The replay ends when the rule asks for more scores of a model than
    were recorded. To compare all scores of a table, use compare.

    Args:
      source: a table of scores, a runs folder or a database, as for compare.
      models: names of models in the table (default: all).
      batch: number of evaluations between two decisions (default: 1 for top-two, 4 for batch).
      column: ROLE=NAME says which column is the model, seed, split, dataset, metric or status.

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
