"""`jaxeval select`: the best of several models with as few evaluations as possible."""

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from jaxeval import cli, parameters, parsers
from jaxeval.errors import ConfigError, argument
from jaxeval.parameters import Changes, Count, Natural, Number, Positive, Probability, Quiet

if TYPE_CHECKING:
    from jaxeval.bandits import Rule
    from jaxeval.config.reading import Source
    from jaxeval.report.selection import Selection

RuleName = Literal["top-two", "batch", "non-adaptive", "sequential-halving"]
Prior = Annotated[float, Number(-5, 1)]
_FIESTA = -0.5  # the prior's exponent


@parameters.verb
def select(
    *configs: "Source",
    changes: Changes = (),
    data: str | Path | None = None,
    out: str | Path = "runs",
    store: str | None = None,
    rule: RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: Count | None = None,
    prior: Prior = _FIESTA,
    seed: Natural = 0,
    own_splits: bool = False,
    part: Literal["dev", "test"] | None = None,
    seconds: Positive | None = None,
    quiet: Quiet = False,
) -> "Selection":
    """Finds the best of several models with few evaluations.

    A bandit decides which model is evaluated next (another split, another seed), and stops when
    one is the best with probability 1 - delta, or when the budget is spent. The models are
    configs, which are trained in this process; or those of a command, or recorded scores:

    Args:
      configs: two or more of them, with key=value changes of all.
      changes: key -> value, of all configs.
      data: the corpus of all of them, as for train.
      out: runs folder; the same command goes on where it ended.
      store: database instead of OUT/runs.sqlite.
      rule: top-two evaluates the probable leader or its challenger, batch draws each slot of a
        batch by the probability of being the best, non-adaptive evaluates every model once a
        round, sequential-halving spends the budget and halves the field in every round.
      delta: stop when a model is the best with probability 1 - delta (.05; for non-adaptive never
        where there is a budget).
      budget: most evaluations.
      batch: evaluations between decisions of top-two and batch (one a device); a batch of the
        other rules is a round.
      prior: exponent A of the prior of a model's variance, (sigma^2)^(-1 - A).
      seed: of the rule's draws.
      own_splits: evaluation k has the data's own split and seed k, not random split k and seed k;
        so it is where the task has no random splits.
      part: whose score counts (test on random splits, dev on the data's own).
      seconds: of training, summed over all evaluations; then the leader is named.

    Returns:
      P(best) of the answer is the posterior probability for normal scores at the moment of
      stopping; it does not bound how often such an answer is wrong.

    Raises:
      ConfigError, DataError, RunError: of the models or the rule, or every model was dropped.

    Examples:
      jaxeval select A.toml B.toml C.toml training.epochs=5 --data DIR --delta .05
      jaxeval select A.toml B.toml --rule batch --batch 4 --budget 40
      jaxeval select command "./train.sh {model} {split} {seed}" lstm rhn nas --workers 4
      jaxeval select command "./ask.sh {model} {items}" A B C --items 1200
      jaxeval select table scores.json --delta .1
    """
    from jaxeval import backend

    backend.prepare()
    import jax

    from jaxeval.select import training

    arms = training.arms(configs, list(changes), data, own_splits, part)
    higher, size = arms.record.higher_is_better, batch or len(jax.devices())
    chosen = _rule(rule, higher, delta, budget, batch, prior, seed, size)
    return training.select(chosen, arms, Path(out), store, seconds=seconds, quiet=quiet)


@parameters.verb
def select_command(
    command: str,
    *models: str,
    rule: RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: Count | None = None,
    prior: Prior = _FIESTA,
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
      jaxeval select command "python train.py {model} --seed {seed}" a b --json-field test.f1
      jaxeval select command "./ask.sh {model} {items}" A B C --items 1200
    """
    from jaxeval.bandits import evaluate
    from jaxeval.report import direction, selection

    said = direction.of_command(
        json_field, None if lower_is_better is None else not lower_is_better
    )
    higher = said.higher_is_better is not False
    chosen = _rule(rule, higher, delta, budget, batch, prior, seed, workers)
    order = None if items is None else evaluate.blocks(items, seed)
    most = None if order is None else len(order)
    runner = evaluate.Command(command, json_field, time_limit, order)
    if most is not None:
        evaluate.refuse_beyond(chosen, len(models), most)
    chosen.begin(models)  # what cannot begin leaves no file
    of_items = None if items is None else {"count": items, "block": evaluate.BLOCK, "seed": seed}
    source = {"command": command, "json_field": json_field, "items": of_items}
    with cli.resumable(), evaluate.recorded(Path(state), source) as recorded:
        _say(said.sentence, quiet)
        if recorded.scores:
            count = sum(map(len, recorded.scores.values()))
            _say(f"{state}: {count} evaluations are known", quiet)
        runner.known = recorded.scores
        steps = evaluate.run(chosen, models, runner, workers=workers, retries=retries, most=most)
        found = chosen.begin(models)
        with contextlib.closing(steps):
            for event in steps:
                found = event.state
                if event.score is None or not recorded.has(event.model, event.number):
                    _say(selection.progress(chosen, event), quiet)
                if event.score is not None and not recorded.has(event.model, event.number):
                    recorded.add(event.model, event.number, event.score)
    return selection.result(
        chosen,
        found,
        evaluate.answer(chosen, found, most),
        items,
        metric=said.metric,
        direction_assumed=said.higher_is_better is None,
    )


@parameters.verb
def select_table(
    source: "str | Path | object",
    *models: str,
    rule: RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: Count | None = None,
    prior: Prior = _FIESTA,
    seed: Natural = 0,
    score: str | None = None,
    column: Mapping[str, str] | None = None,
    metric: str | None = None,
    missing: Literal["error", "drop", "zero"] = "error",
    lower_is_better: bool | None = None,
) -> "Selection":
    """Replays a selection on recorded scores, as if the models were evaluated anew.

    Each score is drawn once; a replay ends when the rule asks for more scores of a model than
    were recorded. Which model is best by all scores of a table is a question for compare.

    Args:
      source: a file of scores, a runs folder or a database, as for compare.
      models: some of the table's; none: all.
      rule, delta, budget, prior, seed: as of select; seed also of the draws.
      batch: evaluations between decisions of top-two and batch (1, and 4).
      score: column of scores.
      column: which column is model, seed, split, dataset, metric or status.
      metric: only rows of this metric.
      missing: what to do with a score that is missing, no number or infinite.
      lower_is_better: which scores are better, where the table does not say (as the metric's name
        says, else higher).

    Raises:
      ConfigError, DataError, RunError: of the table, or of the rule.

    Examples:
      jaxeval select table scores.json --delta .1
      jaxeval select table runs A B --rule sequential-halving --budget 16
    """
    from jaxeval import bandits
    from jaxeval.compare import sources
    from jaxeval.report import failures as said_of_failures
    from jaxeval.report import selection, text
    from jaxeval.runs import layout, units
    from jaxeval.stats import failures

    asked = None if lower_is_better is None else not lower_is_better
    roles = {**(column or {}), **({"score": score} if score else {})}
    of = layout.Layout(roles, list(dict.fromkeys(models)), metric, missing, asked)
    table = sources.read(source, of)
    pools = units.pools(table, together=False)
    failed = failures.of_table(table)
    notes = list(table.warnings)
    if table.unusable and failed is None:
        notes.append(text.unusable(table.unusable, table.missing))
    higher = bool(table.higher_is_better)
    chosen = _rule(rule, higher, delta, budget, batch, prior, seed)
    state, answer = bandits.select(chosen, bandits.Replay(pools, seed))
    return selection.result(
        chosen,
        state,
        answer,
        metric=table.metric,
        direction_assumed=table.direction_assumed,
        unit=table.stored_unit,
        source=table.source,
        recorded={name: len(scores) for name, scores in pools.items()},
        failures=() if failed is None else failed.tests,
        failed=said_of_failures.of_runs(failed, table),
        unusable=table.unusable,
        warnings=notes,
    )


@parameters.verb
def select_functions(
    functions: Mapping[str, Callable[[int], float]],
    *,
    rule: RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    prior: Prior = _FIESTA,
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
    from jaxeval.bandits import evaluate
    from jaxeval.report import selection

    for name, function in functions.items():
        if not callable(function):
            raise ConfigError(f"{name}: expected a function of the evaluation's number")
    chosen = _rule(rule, not lower_is_better, delta, budget, None, prior, seed, 1)
    state = chosen.begin([*functions])
    called = evaluate.run(chosen, [*functions], lambda name, number: functions[name](number))
    for event in called:
        state = event.state
        _say(selection.progress(chosen, event), quiet)
    return selection.result(chosen, state, evaluate.answer(chosen, state))


def _rule(
    name: RuleName,
    higher_is_better: bool,
    delta: float | None,
    budget: int | None,
    batch: int | None,
    prior: float,
    seed: int,
    default_batch: int | None = None,
) -> "Rule":
    """The rule that is asked for.

    Raises:
      ConfigError: arguments that do not go together.
    """
    from jaxeval import bandits

    rounds = name in ("non-adaptive", "sequential-halving")
    if rounds and batch is not None:
        batch_flag = argument("batch")
        raise ConfigError(f"{argument('rule', name)}: takes no {batch_flag}: a round is a batch")
    if name == "sequential-halving":
        if budget is None or delta is not None or prior != _FIESTA:
            raise ConfigError(
                f"{argument('rule', name)}: expected {argument('budget', 'N')}, and neither "
                f"{argument('delta')} nor {argument('prior')}"
            )
        return bandits.SequentialHalving(
            higher_is_better=higher_is_better, seed=seed, budget=budget
        )
    fixed = name == "non-adaptive" and delta is None and budget is not None
    kinds = {"top-two": bandits.TopTwoThompson, "batch": bandits.BatchThompson}
    size = None if rounds else batch or default_batch
    return kinds.get(name, bandits.NonAdaptive)(
        higher_is_better=higher_is_better,
        delta=None if fixed else 0.05 if delta is None else delta,
        prior=prior,
        budget=budget,
        seed=seed,
        **({} if size is None else {"batch_size": size}),
    )


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)


COMMANDS: parsers.Commands = {"": select, "command": select_command, "table": select_table}
main = functools.partial(parsers.main, "select", COMMANDS)

if __name__ == "__main__":
    parsers.start("select", COMMANDS)
