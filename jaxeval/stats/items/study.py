"""Models compared item by item, on each data set (task) and over all of them.

In the mean over these very tasks the error is that of items and runs; with tasks as a sample of
such tasks it is the spread between them.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError, argument
from jaxeval.runs import metrics
from jaxeval.runs.scores import DataSetScores, Scores
from jaxeval.stats import hypotheses, multiple, pairs, samples, single_models
from jaxeval.stats.items import (
    cells,
    completeness,
    differences,
    estimates,
    leaderboard,
)
from jaxeval.stats.items.cells import Table
from jaxeval.stats.items.completeness import DataSetCounts
from jaxeval.stats.items.estimates import FACTORS, Estimate
from jaxeval.stats.items.leaderboard import Board
from jaxeval.stats.pairs import Outcome, Pair
from jaxeval.stats.results import Factor, HypothesisTest, Rules
from jaxeval.stats.samples import Failures

_MOST_TESTED = 12  # pairs on data sets of which tests are made beside their intervals
_Over = tuple[Factor, ...]
_Tables = Mapping[str, Mapping[str, Table]]  # data set -> model -> its scores


@dataclasses.dataclass(frozen=True, eq=False)
class ItemStudy:
    """Everything that is said of models on the items of data sets."""

    source: str
    models: tuple[str, ...]
    data_sets: tuple[DataSetCounts, ...]  # what is compared on each, and what is not
    pairs: tuple[Pair, ...]  # of models on each data set; p-values are Holm's over all of them
    overall: tuple[Pair, ...]
    board: Board | None  # the models in order, in the mean over data sets
    boards: tuple[Board, ...]  # and on each
    rules: Rules
    notes: tuple[str, ...]  # how data sets were put together
    warnings: tuple[str, ...]  # what a reader of the scores should know
    failures: Failures | None  # of items of which an answer ended in an error
    withheld: bool  # nothing is shown, as answers or data sets are missing (`Rules.complete`)
    shared_runs: bool  # run r of a model was taken as one network on all data sets
    incomplete: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    strict: bool = dataclasses.field(default=True, repr=False)  # missing scores were not accepted


class Decision(NamedTuple):
    """What is said of the first model against the second, and the data sets that decide it."""

    outcome: Outcome
    on: tuple[str | None, ...]  # None: the mean over them


def study(
    scores: Scores,
    rules: Rules | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> ItemStudy:
    """Compares all pairs of models, data set by data set and over all of them.

    Raises DataError: one model; `over` runs where a model has one; no item that all models have.
    """
    rules = rules or Rules()
    data_sets, counts = completeness.prepared(scores)
    for data in data_sets:
        metrics.refuse_points("margin", rules.margin or 0.0, data.stored_unit)
    tasks = completeness.aligned(data_sets)
    over, notes = _factors(tasks, rules.over)
    not_averaged, why_own = completeness.not_averaged(tasks), completeness.why_own(tasks)
    tables = {task.name: _tables(task) for task in tasks}
    means = len(tasks) > 1 and not not_averaged
    found = _on_data_sets(tasks, tables, over, rules, progress)
    overall: list[Pair] = []
    if means:
        overall = _over_data_sets(tasks, tables, over, not why_own, rules)
        notes += (why_own,) if why_own and "runs" in over else ()
    incomplete = completeness.reasons(scores, counts)
    withheld = rules.complete and bool(incomplete)
    if withheld:
        found, overall = ([*map(_nothing_shown, of)] for of in (found, overall))
    lines = itertools.chain.from_iterable(map(completeness.warnings, counts))
    board, boards = leaderboard.of(tasks, tables, found, overall, rules, over, not why_own)
    whole = ItemStudy(
        *(scores.source, scores.models, tuple(counts), tuple(found), tuple(overall), board),
        *(boards, rules, (*notes, *not_averaged)),
        warnings=(*scores.warnings, *scores.notes, *lines),
        failures=_failures(scores.models, counts),
        withheld=withheld,
        shared_runs=not why_own and not not_averaged,
        incomplete=incomplete,
        strict=scores.missing == "error",
    )
    return _explained(whole) if withheld else whole


def _factors(tasks: Sequence[DataSetScores], asked: _Over | None) -> tuple[_Over, tuple[str, ...]]:
    """What is generalised over; a note where one data set of several keeps that to items."""
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


def _tables(task: DataSetScores) -> dict[str, Table]:
    names = [f"scores of {model}" for model in task.models]
    try:
        of_models = cells.tables([of.scores for of in task.models.values()], task.clusters, names)
    except DataError as error:
        raise DataError(f"task {task.name}: {error}" if task.name else str(error)) from None
    return dict(zip(task.models, of_models, strict=True))


def _on_data_sets(
    tasks: Sequence[DataSetScores],
    tables: _Tables,
    over: _Over,
    rules: Rules,
    progress: Callable[[float], None],
) -> list[Pair]:
    """All pairs on each data set, with their means and tests."""
    each = [(task, *ab) for task in tasks for ab in itertools.combinations(task.models, 2)]
    means, found = _means(tasks, tables, rules), []
    for done, (task, a, b) in enumerate(each, 1):
        both, clustered = (tables[task.name][a], tables[task.name][b]), task.clusters is not None
        every: list[_Over] = [("items",), ("runs",), FACTORS]
        if min(table.runs for table in both) == 1:
            every = [("items",)]
        gap, sizes = differences.gap_of(*both), estimates.sizes_of(both)
        of_all = tuple(
            differences.of_gap(gap, sizes, factors, rules.confidence, clustered)
            for factors in every
        )
        pair = _pair(a, b, task, task.name, of_all[every.index(over)])
        tests = _tests(*both, clustered, rules) if len(each) <= _MOST_TESTED else {}
        of_both = means[task.name, a], means[task.name, b]
        found.append(dataclasses.replace(pair, over=of_all, tests=tests, means=of_both))
        progress(done / len(each))
    p_values = [
        {name: test.p_value for name, test in pair.tests.items()}
        | {" and ".join(of.over): float(of.p_value) for of in pair.over if of.p_value is not None}
        for pair in found
    ]
    adjusted = multiple.adjust_by_name(p_values)
    found = [dataclasses.replace(p, adjusted=of) for p, of in zip(found, adjusted, strict=True)]
    return _corrected(found, rules)


def _means(
    tasks: Sequence[DataSetScores], tables: _Tables, rules: Rules
) -> dict[tuple[str, str], Estimate]:
    """Of each model on each data set; of one run what can be said of it."""
    found = {}
    for task in tasks:
        from_0_to_1 = completeness.from_0_to_1([task])
        for model, table in tables[task.name].items():
            over = rules.over or estimates.default_over([table.runs])
            if table.runs == 1:
                over = ("items",)
            how = rules.confidence, task.clusters is not None, from_0_to_1
            sizes = estimates.sizes_of([table])
            found[task.name, model] = estimates.of_table(table, sizes, over, *how)
    return found


def _tests(a: Table, b: Table, clustered: bool, rules: Rules) -> dict[str, HypothesisTest]:
    """Of items alone: permutation and, of one run each of right and wrong answers, McNemar's."""
    sums = a.groups.sums((a.means - b.means)[:, np.newaxis])[:, 0]
    flips = single_models.sign_flips(sums, permutations=rules.resamples, seed=rules.seed)
    tests = {"sign_flips": flips}
    single = a.runs == b.runs == a.samples == b.samples == 1
    if not clustered and single and a.binary and b.binary:
        tests["mcnemar"] = hypotheses.mcnemar(a.cells[:, 0], b.cells[:, 0])
    return tests


def _over_data_sets(
    tasks: Sequence[DataSetScores], tables: _Tables, over: _Over, shared_runs: bool, rules: Rules
) -> list[Pair]:
    """All pairs in the mean over data sets."""
    found, clustered = [], any(task.clusters is not None for task in tasks)
    for a, b in itertools.combinations(tasks[0].models, 2):
        each = [(tables[task.name][a], tables[task.name][b]) for task in tasks]
        how = over, shared_runs, rules.confidence
        pair = _pair(a, b, tasks[0], None, differences.of_tasks(each, *how, clustered))
        as_sample = differences.of_sample_of_tasks(each, *how)
        found.append(dataclasses.replace(pair, as_sample=as_sample))
    return _corrected(found, rules)


def _pair(a: str, b: str, task: DataSetScores, name: str | None, difference: Estimate) -> Pair:
    """Before the correction."""
    assert difference.p_value is not None
    return Pair(
        *(a, b, name, task.metric, task.higher_is_better, difference.value),
        interval=difference.possible,
        primary=" and ".join(difference.over),
        p_value=difference.p_value,
        p_adjusted=math.nan,
        n=(difference.sizes.items,) * 2,
        pairs=difference.sizes.items,
        difference=difference,
    )


def _corrected(found: Sequence[Pair], rules: Rules) -> list[Pair]:
    """The pairs of a family with Holm's p-values, and what they show."""
    adjusted = multiple.adjust_p_values([pair.p_value for pair in found]).tolist()
    beside = pairs.by_margin(
        [pair.difference for pair in found if pair.difference],
        [pair.higher_is_better for pair in found],
        rules.margin or 0.0,
        rules.alpha,
    )
    return [
        dataclasses.replace(
            pair,
            p_adjusted=p,
            shown=(pair.value > 0) - (pair.value < 0) if p <= rules.alpha else 0,
            by_margin=of,
            equivalent=of.equivalent,
        )
        for pair, p, of in zip(found, adjusted, beside, strict=True)
    ]


def _failures(models: Sequence[str], counts: Sequence[DataSetCounts]) -> Failures | None:
    """Items of which an answer ended in an error; tests of all pairs on all data sets."""
    found = {}
    for of, model in itertools.product(counts, models):
        failed, whole = of.failed_items[model], of.items + of.left_out
        found[model, of.data_set] = samples.Counts(failed, whole - failed)
    return samples.failures(found, [*itertools.combinations(models, 2)])


def decided(study: ItemStudy) -> ItemStudy:
    """The study as a gate has it: nothing is shown where answers or data sets are missing."""
    if study.withheld or not study.incomplete:
        return study
    found, overall = (tuple(map(_nothing_shown, of)) for of in (study.pairs, study.overall))
    return _explained(dataclasses.replace(study, pairs=found, overall=overall, withheld=True))


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

    Worse where it is on any, or on their mean; better where it is on their mean, else on each.
    """
    together, apart = (
        {
            pair.data_set: pair.by_margin.outcome
            for pair in found
            if pair.by_margin and pair.names == study.models[:2]
        }
        for found in (study.overall, study.pairs)
    )
    every, decisive = {**together, **apart}, together or apart
    if worse := tuple(where for where, outcome in every.items() if outcome == "worse"):
        return Decision("worse", worse)
    lacking = tuple(where for where, outcome in decisive.items() if outcome != "better")
    return Decision("not shown", lacking) if lacking else Decision("better", tuple(decisive))
