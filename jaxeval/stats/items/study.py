"""Models compared item by item, on each data set (task) and over all of them.

Two questions are told apart. The mean over these very tasks: its error is that of the items within
tasks and of runs. The tasks as a sample of such tasks: its error is the spread between tasks.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.scores import DataSetScores, Scores
from jaxeval.stats import failures
from jaxeval.stats.failures import Failures
from jaxeval.stats.items import comparing, completeness, estimates, leaderboard, task_means
from jaxeval.stats.items.comparing import Over
from jaxeval.stats.items.completeness import DataSetCounts
from jaxeval.stats.items.leaderboard import Board
from jaxeval.stats.pairs import Outcome, Pair
from jaxeval.stats.rules import Rules


@dataclasses.dataclass(frozen=True, eq=False)
class ItemStudy:
    """Everything that is said of models on the items of data sets.

    Attributes:
      data_sets: what is compared on each, and what is not.
      pairs: of models on each data set; p-values are Holm's over all of them.
      overall: of means over data sets, a family of their own; none of a single data set, and where
        several have other metrics or scales, which `notes` says.
      boards: the models in order on each data set; `board` in the mean over them.
      notes: how data sets were put together.
      warnings: what a reader of the scores should know.
      failures: of items of which an answer ended in an error; None where none did.
      withheld: whether nothing is shown, since answers or data sets are missing
        (`Rules.complete`).
      shared_runs: whether run r of a model was taken as one network on all data sets.
    """

    source: str
    models: tuple[str, ...]
    data_sets: tuple[DataSetCounts, ...]
    pairs: tuple[Pair, ...]
    overall: tuple[Pair, ...]
    board: Board | None
    boards: tuple[Board, ...]
    rules: Rules
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    failures: Failures | None
    withheld: bool
    shared_runs: bool
    incomplete: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    strict: bool = dataclasses.field(default=True, repr=False)  # missing scores were not accepted


class Decision(NamedTuple):
    """What is said of the first model against the second.

    Attributes:
      on: the data sets that decide, None for the mean over them.
    """

    outcome: Outcome
    on: tuple[str | None, ...]


def study(
    scores: Scores, rules: Rules | None = None, progress: comparing.Progress = lambda share: None
) -> ItemStudy:
    """Compares all pairs of models, data set by data set and over all of them.

    Args:
      progress: is called now and then with the share that is done.

    Raises:
      ConfigError: a margin of points where scores are fractions.
      DataError: one model; `over` runs where a model has one; clusters or items too few; no item
        that all models have.
    """
    rules = rules or Rules()
    if len(scores.models) < 2:
        named = "NAME=PATH names that of a file or folder of logs"
        raise DataError(f"one model ({', '.join(scores.models)}); expected two or more: {named}")
    data_sets, counts = completeness.prepared(scores)
    for data in data_sets:
        metrics.refuse_points("margin", rules.margin or 0.0, data.stored_unit)
    incomplete = completeness.reasons(scores, counts)
    withheld = rules.complete and bool(incomplete)
    tasks = task_means.aligned(data_sets)
    over, notes = _factors(tasks, rules.over)
    not_averaged = task_means.not_averaged(tasks)
    means = len(tasks) > 1 and not not_averaged
    matched = {task.name: comparing.matched_of(task) for task in tasks}
    steps = comparing.Steps(progress, (1 + means) * len(tasks) * math.comb(len(scores.models), 2))
    pairs = comparing.on_data_sets(tasks, matched, over, rules, steps)
    why_own = task_means.why_own(tasks)
    overall: list[Pair] = []
    if means:
        overall = comparing.over_data_sets(tasks, matched, over, not why_own, rules, steps)
        notes += (why_own,) if why_own and "runs" in over else ()
    notes += not_averaged
    if withheld:
        pairs, overall = ([*map(_nothing_shown, of)] for of in (pairs, overall))
    lines = itertools.chain.from_iterable(map(completeness.warnings, counts))
    board, boards = leaderboard.of(tasks, pairs, overall, rules, over, not why_own)
    whole = ItemStudy(
        *(scores.source, scores.models, tuple(counts), tuple(pairs), tuple(overall), board),
        *(boards, rules, notes),
        warnings=(*scores.warnings, *scores.notes, *lines),
        failures=_failures(scores.models, counts),
        withheld=withheld,
        shared_runs=not why_own and not not_averaged,
        incomplete=incomplete,
        strict=scores.missing == "error",
    )
    return _explained(whole) if withheld else whole


def decided(study: ItemStudy) -> ItemStudy:
    """The study as a gate has it: nothing is shown where answers or data sets are missing."""
    if study.withheld or not study.incomplete:
        return study
    pairs, overall = (tuple(map(_nothing_shown, of)) for of in (study.pairs, study.overall))
    return _explained(dataclasses.replace(study, pairs=pairs, overall=overall, withheld=True))


def _explained(study: ItemStudy) -> ItemStudy:
    accepted = "accepted with --missing drop or zero, in tests with missing="
    why = f"not shown: {'; '.join(study.incomplete)} ({accepted})"
    return dataclasses.replace(study, warnings=(why, *study.warnings))


def _nothing_shown(pair: Pair) -> Pair:
    assert pair.by_margin is not None
    beside = pair.by_margin._replace(outcome="not shown", equivalent=False)
    return dataclasses.replace(pair, shown=0, equivalent=False, by_margin=beside)


def decision(study: ItemStudy) -> Decision:
    """What is said of the first model against the second, on all data sets together.

    Worse where it is on any, or on their mean; better where it is on their mean or, of data sets
    that have none, on each; not shown otherwise.
    """
    both = study.models[:2]
    together, apart = (
        [(pair.data_set, pair.by_margin.outcome) for pair in of if pair.by_margin]
        for of in (
            [pair for pair in study.overall if pair.names == both],
            [pair for pair in study.pairs if pair.names == both],
        )
    )
    if worse := tuple(where for where, outcome in (*together, *apart) if outcome == "worse"):
        return Decision("worse", worse)
    decisive = together or apart
    lacking = tuple(where for where, outcome in decisive if outcome != "better")
    if lacking:
        return Decision("not shown", lacking)
    return Decision("better", tuple(where for where, _ in decisive))


def _failures(models: Sequence[str], counts: Sequence[DataSetCounts]) -> Failures | None:
    """Items of which an answer ended in an error; tests of all pairs on all data sets."""
    found = {}
    for of, model in itertools.product(counts, models):
        failed = of.failed_items[model]
        whole = of.items + of.left_out
        found[model, of.data_set] = failures.Counts(failed, whole - failed)
    return failures.failures(found)


def _factors(tasks: Sequence[DataSetScores], asked: Over | None) -> tuple[Over, tuple[str, ...]]:
    """What is generalised over; a note where one data set of several keeps that to items.

    Raises:
      DataError: an unknown factor, or runs of which a model has one.
    """
    runs = {(task.name, model): of.runs for task in tasks for model, of in task.models.items()}
    over = estimates.default_over([*runs.values()]) if asked is None else estimates.named(asked)
    single = next((where for where, count in runs.items() if count == 1), None)
    if single is None or (asked is not None and "runs" not in over):
        return over, ()
    has_one = f"{single[1]} has one run" + (f" on {single[0]}" if single[0] else "")
    if "runs" in over:
        raise DataError(
            f"over runs: expected two or more runs of every model; {has_one}, which says nothing "
            f"of others: {argument('over', 'items')}"
        )
    several = any(min(of.runs for of in task.models.values()) > 1 for task in tasks)
    return over, (f"Over items alone on all tasks, since {has_one}.",) if several else ()
