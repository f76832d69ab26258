"""Models compared item by item, on each data set (task) and in the mean over all of them."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.runs import metrics
from jaxeval.runs.scores import DataSetScores, Scores
from jaxeval.stats import hypotheses, multiple
from jaxeval.stats.failures import Failures
from jaxeval.stats.items import cells, completeness, estimates, planning
from jaxeval.stats.items.estimates import FACTORS, Estimate
from jaxeval.stats.pairs import ByMargin, Outcome, Pair
from jaxeval.stats.results import Factor, HypothesisTest, Rules, sign

_Over = tuple[Factor, ...]
_Means = dict[tuple[str | None, str], Estimate]  # by data set (None: over all) and model


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
    detectable: planning.Detectable


@dataclasses.dataclass(frozen=True, eq=False)
class ItemStudy:
    """Comparison of models on the items of data sets."""

    source: str
    models: tuple[str, ...]
    data_sets: tuple[completeness.DataSetCounts, ...]
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
    # why a gate shows nothing, unless missing scores were accepted
    incomplete: tuple[str, ...] = dataclasses.field(default=(), repr=False)


class _Task(NamedTuple):
    data: DataSetScores
    tables: Mapping[str, cells.Table]  # by model


def study(scores: Scores, rules: Rules | None = None) -> ItemStudy:
    """Compares all pairs of models on each data set and in the mean over all.

    Raises:
      DataError: one model; `over` runs where a model has one; no item that all models have.
    """
    rules = rules or Rules()
    prepared, counts = completeness.prepare(scores)
    for data in prepared:
        metrics.refuse_points("margin", rules.margin or 0.0, data.stored_unit)
    aligned = completeness.align_runs(prepared)
    over, notes = completeness.choose_factors(aligned, rules.over)
    not_averaged, why_own = completeness.not_averaged(aligned), completeness.why_own(aligned)
    incomplete = completeness.reasons(scores, counts) if scores.missing == "error" else ()
    withheld, shared, overall = rules.complete and bool(incomplete), not why_own, list[Pair]()
    tasks = [_Task(data, _tables(data)) for data in aligned]
    found, means = _on_data_sets(tasks, over, rules, withheld)
    if len(tasks) > 1 and not not_averaged:
        overall = _over_data_sets(tasks, over, shared, rules, withheld)
        means |= {(None, m): _mean(tasks, m, over, rules, shared) for m in tasks[0].tables}
        notes += (why_own,) if why_own and "runs" in over else ()
    accepted = "accepted with --missing drop or zero, in tests with missing="
    why = [f"not shown: {'; '.join(incomplete)} ({accepted})"] if withheld else []
    lines = itertools.chain.from_iterable(map(completeness.warnings, counts))
    return ItemStudy(
        *(scores.source, scores.models, tuple(counts), tuple(found), tuple(overall)),
        _board(tasks, rules, means, overall) if overall else None,
        tuple(_board([task], rules, means, found) for task in tasks),
        rules,
        notes=(*notes, *not_averaged),
        warnings=(*why, *scores.warnings, *scores.notes, *lines),
        failures=completeness.failures(scores.models, counts),
        withheld=withheld,
        shared_runs=shared and not not_averaged,
        incomplete=incomplete,
    )


def _tables(data: DataSetScores) -> dict[str, cells.Table]:
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
    """The mean of one model, or the difference of two, with errors over some sets of factors."""
    each = [[of.tables[model] for model in models] for of in tasks]
    clustered = any(of.data.clusters is not None for of in tasks)
    how = rules.confidence, clustered, completeness.from_0_to_1([of.data for of in tasks])
    return estimates.estimate_tables(each, overs, *how, shared_runs=shared)


def _mean(tasks: Sequence[_Task], model: str, over: _Over, rules: Rules, shared: bool) -> Estimate:
    single = min(of.tables[model].runs for of in tasks) == 1
    return _estimates(tasks, [model], [("items",) if single else over], rules, shared)[0]


def _on_data_sets(
    tasks: Sequence[_Task], over: _Over, rules: Rules, withheld: bool
) -> tuple[list[Pair], _Means]:
    """All pairs on each data set, and the means."""
    means, found = _Means(), []
    for task in tasks:
        name = task.data.name
        for model, table in task.tables.items():
            own = rules.over or estimates.default_over([table.runs])
            means[name, model] = _mean([task], model, own, rules, False)
        for a, b in itertools.combinations(task.tables, 2):
            first, second = task.tables[a], task.tables[b]
            every: list[_Over] = [("items",)]
            every += [("runs",), FACTORS] if min(first.runs, second.runs) > 1 else []
            of_all = _estimates([task], (a, b), every, rules, False)
            tests = dict[str, HypothesisTest]()
            single = first.runs == second.runs == first.samples == second.samples == 1
            if task.data.clusters is None and single and first.binary and second.binary:
                tests["mcnemar"] = hypotheses.mcnemar(first.cells[:, 0], second.cells[:, 0])
            beside: dict = {"means": (means[name, a], means[name, b]), "tests": tests}
            beside |= {"over": tuple(of_all)}
            found.append(_pair(a, b, task.data, name, of_all[every.index(over)], **beside))
    p_values = [
        {name: test.p_value for name, test in pair.tests.items()}
        | {" and ".join(of.over): float(of.p_value) for of in pair.over if of.p_value is not None}
        for pair in found
    ]
    adjusted = multiple.adjust_by_name(p_values)
    found = [dataclasses.replace(p, adjusted=of) for p, of in zip(found, adjusted, strict=True)]
    return _corrected(found, rules, withheld), means


def _over_data_sets(
    tasks: Sequence[_Task], over: _Over, shared: bool, rules: Rules, withheld: bool
) -> list[Pair]:
    """All pairs in the mean over data sets."""
    found = []
    for a, b in itertools.combinations(tasks[0].tables, 2):
        (difference,) = _estimates(tasks, (a, b), [over], rules, shared)
        found.append(_pair(a, b, tasks[0].data, None, difference))
    return _corrected(found, rules, withheld)


def _pair(
    a: str, b: str, data: DataSetScores, name: str | None, difference: Estimate, **beside: object
) -> Pair:
    """A pair before the correction."""
    assert difference.p_value is not None
    items = difference.sizes.items
    return Pair(
        *(a, b, name, data.metric, data.higher_is_better, difference.value, difference.possible),
        *(" and ".join(difference.over), difference.p_value, math.nan),
        n=(items, items),
        pairs=items,
        difference=difference,
        **beside,  # type: ignore[arg-type]
    )


def _corrected(found: Sequence[Pair], rules: Rules, withheld: bool) -> list[Pair]:
    """The pairs of a family with Holm's p-values and their outcomes, unless these are withheld."""
    adjusted = multiple.adjust_p_values([pair.p_value for pair in found]).tolist()
    differences = [pair.difference for pair in found if pair.difference]
    higher = [pair.higher_is_better for pair in found]
    beside = by_margin(differences, higher, rules.margin or 0.0, rules.alpha)
    if withheld:
        beside = [of._replace(outcome="not shown", equivalent=False) for of in beside]
    return [
        dataclasses.replace(
            pair,
            p_adjusted=p,
            shown=sign(pair.value) if p <= rules.alpha and not withheld else 0,
            by_margin=of,
            equivalent=of.equivalent,
        )
        for pair, p, of in zip(found, adjusted, beside, strict=True)
    ]


def by_margin(
    differences: Sequence[Estimate],
    higher_is_better: Sequence[bool],
    margin: float,
    alpha: float,
) -> list[ByMargin]:
    """Compares each difference with the margin, corrected (Holm) over all differences.

    An outcome is a one-sided test at half the level, equivalence two of them (TOST): a difference
    is equivalent if its interval of confidence 1 - alpha is within the margin.
    """
    above, below, within, over = (
        np.array([of.p_beyond(limit, side) for of in differences])
        for limit, side in ((margin, 1), (-margin, -1), (margin, -1), (-margin, 1))
    )
    better, worse = np.where(higher_is_better, (above, below), (below, above))
    p_outcome, p_equivalent = (
        multiple.adjust_p_values(np.minimum(1.0, 2 * p)).tolist()
        for p in (np.minimum(better, worse), np.maximum(within, over))
    )
    return [
        ByMargin(
            ("better" if is_better else "worse") if p <= alpha else "not shown",  # NaN: unknown
            *(p, p_same <= alpha and margin > 0, p_same),
        )
        for p, p_same, is_better in zip(p_outcome, p_equivalent, better < worse, strict=True)
    ]


def _board(
    tasks: Sequence[_Task], rules: Rules, estimated: _Means, pairs: Sequence[Pair]
) -> Board:
    """The board of one data set or of the mean over several; all pairs are corrected together."""
    models, data = [*tasks[0].tables], tasks[0].data
    name = data.name if len(tasks) == 1 else None
    compared = [pair for pair in pairs if pair.data_set == name]
    each = [[float(of.tables[model].cells.mean()) for model in models] for of in tasks]
    means = (1 if data.higher_is_better else -1) * np.mean(each, axis=0)
    apart = tuple(
        pair.names if pair.better > 0 else pair.names[::-1] for pair in compared if pair.better
    )
    beaten = {worse for _, worse in apart}
    rows = tuple(
        Row(model, estimated[name, model], *place, model in beaten)
        for model, place in multiple.places(dict(zip(models, means, strict=True)), apart).items()
    )
    differences = [of for pair in compared if (of := pair.difference)]
    found = planning.detectable(differences, rules.alpha / len(pairs))
    return Board(name, data.metric, data.higher_is_better, rows, apart, found)


def decision(study: ItemStudy) -> tuple[Outcome, tuple[str | None, ...]]:
    """Returns a gate's outcome for the first model against the second, on all data sets together.

    It is worse if it is worse on any data set or in their mean. It is better if it is better in
    the mean; without a mean, if it is better on each.

    Returns:
      The outcome, and the data sets that decide it; None is the mean over them.
    """
    together, apart = (
        {
            pair.data_set: "not shown" if study.incomplete else pair.by_margin.outcome
            for pair in found
            if pair.by_margin and pair.names == study.models[:2]
        }
        for found in (study.overall, study.pairs)
    )
    every, decisive = {**together, **apart}, together or apart
    if worse := tuple(where for where, outcome in every.items() if outcome == "worse"):
        return "worse", worse
    lacking = tuple(where for where, outcome in decisive.items() if outcome != "better")
    return ("not shown", lacking) if lacking else ("better", tuple(decisive))
