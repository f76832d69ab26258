"""`jaxeval select`: the best of several models with as few evaluations as possible."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jaxeval import parameters, parsers
from jaxeval.parameters import Changes, Count, Natural, Positive, Probability, Quiet
from jaxeval.select.commands import FIESTA, Prior, RuleName, select_command

if TYPE_CHECKING:
    import numpy as np

    from jaxeval.config.reading import Source
    from jaxeval.report.selection import Selection
    from jaxeval.runs.layout import Layout


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
    prior: Prior = FIESTA,
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
    from jaxeval import backend, bandits

    backend.prepare()
    import jax

    from jaxeval.select import training

    arms = training.arms(configs, list(changes), data, own_splits, part)
    higher, size = arms.record.higher_is_better, batch or len(jax.devices())
    chosen = bandits.rule(rule, higher, delta, budget, batch, prior, seed, size)
    return training.select(chosen, arms, Path(out), store, seconds=seconds, quiet=quiet)


@parameters.verb
def select_table(
    source: "str | Path | object",
    *models: str,
    rule: RuleName = "top-two",
    delta: Probability | None = None,
    budget: Count | None = None,
    batch: Count | None = None,
    prior: Prior = FIESTA,
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
    from jaxeval.report import selection
    from jaxeval.runs import layout

    roles = {**(column or {}), **({"score": score} if score else {})}
    asked = None if lower_is_better is None else not lower_is_better
    of = layout.Layout(roles, list(dict.fromkeys(models)), metric, missing, asked)
    pools, higher, known = _read(source, of)
    chosen = bandits.rule(rule, higher, delta, budget, batch, prior, seed)
    state, answer = bandits.select(chosen, bandits.Replay(pools, seed))
    return selection.result(chosen, state, answer, more=known)


def _read(
    source: object, of: "Layout"
) -> "tuple[Mapping[str, np.ndarray], bool, Mapping[str, object]]":
    """Scores by model, whether higher is better, and what a `Selection` says of their table."""
    from jaxeval import sources
    from jaxeval.report import text
    from jaxeval.report.comparison import answers
    from jaxeval.stats import samples

    scores = sources.read(source, of)
    pools = samples.pools(scores)
    failed = samples.compare_failures(scores)
    notes = list(scores.warnings)
    if scores.unusable and failed is None:
        notes.append(text.unusable(scores.unusable, scores.missing))
    known = {
        "metric": scores.metric or None,
        "direction_assumed": scores.direction == "assumed",
        "unit": scores.stored_unit,
        "source": scores.source,
        "recorded": {name: len(of) for name, of in pools.items()},
        "failures": () if failed is None else failed.tests,
        "failed": answers.failures(failed, "run", scores.statuses),
        "unusable": scores.unusable,
        "warnings": notes,
    }
    return pools, scores.higher_is_better, known


COMMANDS: parsers.Commands = {"": select, "command": select_command, "table": select_table}
