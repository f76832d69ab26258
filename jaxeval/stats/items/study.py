"""Models compared item by item, on each data set (task) and in the mean over all of them.

The mean is over these very tasks, with the error of items and runs. Beside it stands the mean with
tasks as a sample of such tasks, with the spread between them.
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
from jaxeval.stats.items import cells, completeness, estimates, planning
from jaxeval.stats.items.cells import Table
from jaxeval.stats.items.completeness import DataSetCounts
from jaxeval.stats.items.estimates import FACTORS, Estimate
from jaxeval.stats.items.planning import Detectable
from jaxeval.stats.pairs import Outcome, Pair
from jaxeval.stats.results import Factor, HypothesisTest, Rules
from jaxeval.stats.samples import Failures

_MOST_TESTED = 12  # pairs on data sets; of more, permutation tests are too slow
_Over = tuple[Factor, ...]


class Row(NamedTuple):
    """A model on a board."""

    model: str
    mean: Estimate
    rank: int  # by the mean, 1 is the best; equal means share a rank
    low: int  # ends of the interval of ranks; all intervals hold at once
    high: int
    groups: tuple[int, ...]  # numbers of the tie groups: models that were not told apart
    beaten: bool  # whether another model was shown to be better


class Board(NamedTuple):
    """Models by their mean, best first."""

    data_set: str | None  # None: the mean over data sets; "": a single nameless one
    metric: str
    higher_is_better: bool
    rows: tuple[Row, ...]
    told_apart: tuple[tuple[str, str], ...]  # (better, worse), after the correction
    detectable: Detectable


@dataclasses.dataclass(frozen=True, eq=False)
class ItemStudy:
    """Comparison of models on the items of data sets."""

    source: str
    models: tuple[str, ...]
    data_sets: tuple[DataSetCounts, ...]
    pairs: tuple[Pair, ...]  # on each data set; p-values are Holm's over all of them
    overall: tuple[Pair, ...]  # in the mean over data sets
    board: Board | None  # in the mean over data sets
    boards: tuple[Board, ...]  # on each data set
    rules: Rules
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    failures: Failures | None  # items with a failed answer
    withheld: bool  # whether nothing is shown since too many scores are missing
    shared_runs: bool  # whether run r of a model was taken as one network on all data sets
    incomplete: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    strict: bool = dataclasses.field(default=True, repr=False)  # missing scores were not accepted


class Decision(NamedTuple):
    """The outcome for the first model against the second, and the data sets that decide it."""

    outcome: Outcome
    on: tuple[str | None, ...]  # None: the mean over data sets


class _Task(NamedTuple):
    data: DataSetScores
    tables: Mapping[str, Table]  # by model


def study(
    scores: Scores,
    rules: Rules | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> ItemStudy:
    """Compares all pairs of models on each data set and in the mean over all.

    Raises:
      DataError: one model; `over` runs where a model has one; no item that all models have.
    """
    rules = rules or Rules()
    prepared, counts = completeness.prepare(scores)
    for data in prepared:
        metrics.refuse_points("margin", rules.margin or 0.0, data.stored_unit)
    aligned = completeness.align_runs(prepared)
    over, notes = _factors(aligned, rules.over)
    not_averaged, why_own = completeness.not_averaged(aligned), completeness.why_own(aligned)
    tasks, shared = [_Task(data, _tables(data)) for data in aligned], not why_own
    incomplete = completeness.reasons(scores, counts)
    show = _withhold if rules.complete and incomplete else lambda pair: pair
    found, means = _on_data_sets(tasks, over, rules, progress)
    found, overall, boards = [*map(show, found)], list[Pair](), list[Board]()
    if len(tasks) > 1 and not not_averaged:
        overall = [*map(show, _over_data_sets(tasks, over, shared, rules))]
        of_all = [_mean(tasks, model, over, rules, shared) for model in tasks[0].tables]
        boards = [_board(tasks, rules, of_all, overall, len(overall))]
        notes += (why_own,) if why_own and "runs" in over else ()
    for task in tasks:
        compared = [pair for pair in found if pair.data_set == task.data.name]
        of_task = [means[task.data.name, model] for model in task.tables]
        boards.append(_board([task], rules, of_task, compared, len(found)))
    lines = itertools.chain.from_iterable(map(completeness.warnings, counts))
    whole = ItemStudy(
        *(scores.source, scores.models, tuple(counts), tuple(found), tuple(overall)),
        *(boards[0] if overall else None, tuple(boards[bool(overall) :]), rules),
        notes=(*notes, *not_averaged),
        warnings=(*scores.warnings, *scores.notes, *lines),
        failures=_failures(scores.models, counts),
        withheld=False,
        shared_runs=shared and not not_averaged,
        incomplete=incomplete,
        strict=scores.missing == "error",
    )
    return withhold_incomplete(whole) if rules.complete else whole


def _factors(tasks: Sequence[DataSetScores], asked: _Over | None) -> tuple[_Over, tuple[str, ...]]:
    """Factors of the errors; a note says if one run on one data set limits them to items."""
    runs = {(task.name, model): of.runs for task in tasks for model, of in task.models.items()}
    over = estimates.default_over([*runs.values()]) if asked is None else asked
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


def _tables(data: DataSetScores) -> dict[str, Table]:
    names = [f"scores of {model}" for model in data.models]
    try:
        found = cells.tables([of.scores for of in data.models.values()], data.clusters, names)
    except DataError as error:
        raise DataError(f"task {data.name}: {error}" if data.name else str(error)) from None
    return dict(zip(data.models, found, strict=True))


def _estimates(
    tasks: Sequence[_Task],
    models: Sequence[str],
    overs: Sequence[_Over],
    rules: Rules,
    shared: bool,
) -> list[Estimate]:
    """The mean of one model, or the difference of two, over each of some sets of factors."""
    return estimates.estimate_tables(
        [[of.tables[model] for model in models] for of in tasks],
        overs,
        rules.confidence,
        any(of.data.clusters is not None for of in tasks),
        completeness.from_0_to_1([of.data for of in tasks]),
        shared_runs=shared,
    )


def _mean(tasks: Sequence[_Task], model: str, over: _Over, rules: Rules, shared: bool) -> Estimate:
    if min(of.tables[model].runs for of in tasks) == 1:
        over = ("items",)
    return _estimates(tasks, [model], [over], rules, shared)[0]


def _on_data_sets(
    tasks: Sequence[_Task], over: _Over, rules: Rules, progress: Callable[[float], None]
) -> tuple[list[Pair], dict[tuple[str, str], Estimate]]:
    """All pairs on each data set, and the means by data set and model."""
    each = [(of, *ab) for of in tasks for ab in itertools.combinations(of.tables, 2)]
    means, found = {}, []
    for task, model in [(of, model) for of in tasks for model in of.tables]:
        own = rules.over or estimates.default_over([task.tables[model].runs])
        means[task.data.name, model] = _mean([task], model, own, rules, False)
    for done, (task, a, b) in enumerate(each, 1):
        both, every = (task.tables[a], task.tables[b]), list[_Over]([("items",)])
        if min(table.runs for table in both) > 1:
            every += [("runs",), FACTORS]
        of_all = _estimates([task], (a, b), every, rules, False)
        pair = _pair(a, b, task.data, task.data.name, of_all[every.index(over)])
        clustered = task.data.clusters is not None
        tests = _tests(*both, clustered, rules) if len(each) <= _MOST_TESTED else {}
        of_both = means[task.data.name, a], means[task.data.name, b]
        found.append(dataclasses.replace(pair, over=tuple(of_all), tests=tests, means=of_both))
        progress(done / len(each))
    p_values = [
        {name: test.p_value for name, test in pair.tests.items()}
        | {" and ".join(of.over): float(of.p_value) for of in pair.over if of.p_value is not None}
        for pair in found
    ]
    adjusted = multiple.adjust_by_name(p_values)
    found = [dataclasses.replace(p, adjusted=of) for p, of in zip(found, adjusted, strict=True)]
    return _corrected(found, rules), means


def _tests(a: Table, b: Table, clustered: bool, rules: Rules) -> dict[str, HypothesisTest]:
    """Tests over items: sign flips and, for one run each of right and wrong answers, McNemar's."""
    sums = a.groups.sums((a.item_means - b.item_means)[:, np.newaxis])[:, 0]
    flips = single_models.sign_flips(sums, permutations=rules.resamples, seed=rules.seed)
    tests = {"sign_flips": flips}
    single = a.runs == b.runs == a.samples == b.samples == 1
    if not clustered and single and a.binary and b.binary:
        tests["mcnemar"] = hypotheses.mcnemar(a.cells[:, 0], b.cells[:, 0])
    return tests


def _over_data_sets(tasks: Sequence[_Task], over: _Over, shared: bool, rules: Rules) -> list[Pair]:
    """All pairs in the mean over data sets."""
    found = []
    for a, b in itertools.combinations(tasks[0].tables, 2):
        (difference,) = _estimates(tasks, (a, b), [over], rules, shared)
        both = [(of.tables[a], of.tables[b]) for of in tasks]
        as_sample = estimates.difference_over_tasks(both, over, rules.confidence, shared)
        pair = _pair(a, b, tasks[0].data, None, difference)
        found.append(dataclasses.replace(pair, as_sample=as_sample))
    return _corrected(found, rules)


def _pair(a: str, b: str, data: DataSetScores, name: str | None, difference: Estimate) -> Pair:
    """A pair before the correction."""
    assert difference.p_value is not None
    return Pair(
        *(a, b, name, data.metric, data.higher_is_better, difference.value),
        interval=difference.possible,
        primary=" and ".join(difference.over),
        p_value=difference.p_value,
        p_adjusted=math.nan,
        n=(difference.sizes.items,) * 2,
        pairs=difference.sizes.items,
        difference=difference,
    )


def _corrected(found: Sequence[Pair], rules: Rules) -> list[Pair]:
    """The pairs of a family with Holm's p-values and their outcomes."""
    adjusted = multiple.adjust_p_values([pair.p_value for pair in found]).tolist()
    by_margin = pairs.by_margin(
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
        for pair, p, of in zip(found, adjusted, by_margin, strict=True)
    ]


def _board(
    tasks: Sequence[_Task],
    rules: Rules,
    estimated: Sequence[Estimate],
    compared: Sequence[Pair],
    tests: int,
) -> Board:
    """The board of one data set or of the mean over several; `tests` are corrected together.

    A model's interval of ranks leaves out the places of models shown to be better or worse. After
    Holm's correction all intervals hold at once (Mogstad et al. 2024).
    """
    models, data = list(tasks[0].tables), tasks[0].data
    each = [[float(of.tables[model].cells.mean()) for model in models] for of in tasks]
    means = (1 if data.higher_is_better else -1) * np.mean(each, axis=0)
    apart = tuple(
        pair.names if pair.better > 0 else pair.names[::-1] for pair in compared if pair.better
    )
    order = [models[k] for k in np.argsort(-means, kind="stable").tolist()]
    tied, rows = multiple.tie_groups(order, {*map(frozenset, apart)}), []
    for model in order:
        k = models.index(model)
        rank = 1 + int(np.sum(means > means[k]))
        better, worse = (sum(pair[side] == model for pair in apart) for side in (1, 0))
        low, high = min(rank, 1 + better), max(rank, len(models) - worse)
        groups = tuple(number for number, group in enumerate(tied, 1) if model in group)
        rows.append(Row(model, estimated[k], rank, low, high, groups, better > 0))
    differences = [of for pair in compared if (of := pair.difference)]
    found = planning.detectable(differences, rules.alpha / tests)
    name = data.name if len(tasks) == 1 else None
    return Board(name, data.metric, data.higher_is_better, tuple(rows), apart, found)


def _failures(models: Sequence[str], counts: Sequence[DataSetCounts]) -> Failures | None:
    """Tests of the numbers of items with a failed answer, of all pairs on all data sets."""
    found = {}
    for of, model in itertools.product(counts, models):
        failed, whole = of.failed_items[model], of.items + of.left_out
        found[model, of.data_set] = samples.Counts(failed, whole - failed)
    return samples.failures(found, [*itertools.combinations(models, 2)])


def withhold_incomplete(study: ItemStudy) -> ItemStudy:
    """Returns the study as a gate needs it: nothing is shown if too many scores are missing."""
    if study.withheld or not study.incomplete:
        return study
    accepted = "accepted with --missing drop or zero, in tests with missing="
    why = f"not shown: {'; '.join(study.incomplete)} ({accepted})"
    found, overall = (tuple(map(_withhold, of)) for of in (study.pairs, study.overall))
    warnings = (why, *study.warnings)
    return dataclasses.replace(
        study, pairs=found, overall=overall, withheld=True, warnings=warnings
    )


def _withhold(pair: Pair) -> Pair:
    assert pair.by_margin is not None
    beside = pair.by_margin._replace(outcome="not shown", equivalent=False)
    return dataclasses.replace(pair, shown=0, equivalent=False, by_margin=beside)


def decision(study: ItemStudy) -> Decision:
    """Returns the outcome for the first model against the second on all data sets together.

    It is worse if it is worse on any data set or in their mean. It is better if it is better in
    the mean; without a mean, if it is better on each.
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
