"""Differences of two models' means on the same items, and means over tasks, with an honest error.

Every task weighs the same, and items are independent between tasks. Notation: T tasks, I items,
R runs.
"""

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import cells, estimates, proportions
from jaxeval.stats.items.cells import Labels, Part, Parts, RunPart, Scores, Table
from jaxeval.stats.items.estimates import FACTORS, Estimate, Sizes
from jaxeval.stats.results import Factor, Interval, fraction


def difference(
    a: Scores,
    b: Scores,
    *,
    over: str | Collection[Factor] | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Mean of A less that of B, on the same items; arguments and errors as of `estimates.mean`.

    Items that one of them has no score of are left out and counted. Numbers of runs may differ.
    """
    confidence = fraction(confidence, "confidence")
    both = cells.tables([a, b], clusters, ("scores of A", "scores of B"))
    sizes = estimates.sizes_of(both, len(a) - len(both[0].kept))
    over = estimates.factors_of(over, sizes)
    return of_gap(gap_of(*both), sizes, over, confidence, clusters is not None)


_VALUES, _PARTS = ("value", "middle"), ("parts", "tested", "unpaired")


class Gap(NamedTuple):
    """A difference before its error is known."""

    value: float
    parts: Parts  # of its variance
    middle: float  # value and parts that interval and test are made of
    tested: Parts
    binary: bool
    unpaired: Parts  # had the models been scored on different items
    correlation: float | None
    largest: float  # absolute score, by which rounding is told


def gap_of(a: Table, b: Table) -> Gap:
    """The difference of two models on one task."""
    runs = (*a.parts.runs, *b.parts.runs) if min(a.runs, b.runs) > 1 else ()
    gaps, correlation = a.means - b.means, None
    parts, value = Parts(cells.items_part(gaps, a.groups), runs), float(gaps.mean())
    unpaired = Parts(cells.added([a.parts.items, b.parts.items]), runs)
    if np.ptp(a.means) and np.ptp(b.means):
        correlation = float(np.corrcoef(a.means, b.means)[0, 1])
    binary, middle, tested = a.binary and b.binary, value, parts
    if binary:
        shrunk, tested = with_two_items(gaps, parts)
        middle = float(shrunk)
    largest = max(a.largest, b.largest)
    return Gap(value, parts, middle, tested, binary, unpaired, correlation, largest)


def with_two_items(gaps: np.ndarray, parts: Parts) -> tuple[np.ndarray, Parts]:
    """[...] mean difference of items [..., I] with two more, on which each model wins one.

    Bonett & Price (2012): without them the interval of models that agree on nearly all items is
    too short. Of several runs the two differ by sum d^2 / sum |d|.
    """
    items, value = gaps.shape[-1], gaps.mean(-1)
    size, squares = np.abs(gaps).sum(-1), np.sum(gaps**2, -1)
    more = np.where(size > 0, squares / np.where(size > 0, size, 1.0), 1.0)
    centred = parts.items.variance * items * (items - 1)
    variance = (centred + 2 * items * value**2 / (items + 2) + 2 * more**2) / (items + 2) ** 2
    part = Part(variance, parts.items.df)
    return value * items / (items + 2), parts._replace(items=part)


def of_gap(
    gap: Gap, sizes: Sizes, over: tuple[Factor, ...], confidence: float, clustered: bool
) -> Estimate:
    """A difference with its error over the factors named."""
    from scipy import special

    part, unpaired = (cells.total(parts, over) for parts in (gap.parts, gap.unpaired))
    with_two, lines = gap.binary and "items" in over, estimates.warnings_of(sizes, over, clustered)
    middle = gap.middle if with_two else gap.value
    tested = cells.total(gap.tested, over) if with_two else part
    interval, p_value = Interval.none(confidence, "the differences do not vary"), math.nan
    if (error := np.sqrt(tested.variance)) <= estimates.ROUNDING * gap.largest:
        lines.append(
            f"The difference is the same over all {' and '.join(over)}: its error cannot be told, "
            "and nothing is shown."
        )
    else:
        p_value = float(2 * special.stdtr(tested.df, -abs(middle) / error))
        method = estimates.T + ", two items added" * with_two
        interval = estimates.t_interval(middle, tested, confidence, method)
    ses = [float(np.sqrt(of.variance)) for of in (part, unpaired)]
    return Estimate(
        *(gap.value, ses[0], float(tested.df), interval, over, sizes),
        *(p_value, ses[1], gap.correlation, tuple(lines), gap.binary),
    )


def of_tasks(
    each: Sequence[tuple[Table, Table]],
    over: tuple[Factor, ...],
    shared_runs: bool,
    confidence: float,
    clustered: bool,
) -> Estimate:
    """Mean over tasks of the difference A - B.

    The variance of runs is that of a model's means over tasks where runs are shared.
    """
    sizes = _together([estimates.sizes_of(both) for both in each])
    gaps = [gap_of(*both) for both in each]
    levels = _levels(each) if shared_runs and "runs" in over else None
    value, middle = (float(np.mean([getattr(of, name) for of in gaps])) for name in _VALUES)
    parts, tested, unpaired = (
        _mean_parts([getattr(of, name) for of in gaps], levels) for name in _PARTS
    )
    binary, largest = all(of.binary for of in gaps), max(of.largest for of in gaps)
    whole = Gap(value, parts, middle, tested, binary, unpaired, None, largest)
    return of_gap(whole, sizes, over, confidence, clustered)


def of_sample_of_tasks(
    each: Sequence[tuple[Table, Table]],
    over: tuple[Factor, ...],
    shared_runs: bool,
    confidence: float,
) -> Estimate:
    """The same mean, with tasks as a sample of such tasks: their differences are what spreads.

    The tasks' means by run stand for items in `difference`; runs not shared are in the spread.
    """
    by_run = shared_runs and "runs" in over
    levels = [
        [of.of_runs if by_run else of.of_runs.mean(keepdims=True) for of in model]
        for model in zip(*each, strict=True)
    ]
    factors = FACTORS if by_run else ("items",)
    estimate = difference(*levels, over=factors, confidence=confidence)
    few = f"Only {len(each)} tasks: they tell little of others."
    return dataclasses.replace(
        estimate,
        over=("tasks", "runs") if by_run else ("tasks",),
        warnings=(few,) if len(each) < estimates.FEW_CLUSTERS else (),
    )


def mean_of_tasks(
    each: Sequence[Table],
    over: tuple[Factor, ...],
    shared_runs: bool,
    confidence: float,
    clustered: bool,
    from_0_to_1: bool,
) -> Estimate:
    """The mean over tasks of a model's scores, on these very tasks.

    Of right and wrong answers the interval is that of a stratified sample (Korn & Graubard 1998).
    """
    sizes = [estimates.sizes_of([table]) for table in each]
    levels = _levels([(table,) for table in each]) if shared_runs and "runs" in over else None
    shares = [float(table.cells.mean()) for table in each]
    value, limits = float(np.mean(shares)), None
    if from_0_to_1 and all(table.binary for table in each):
        wider = [
            estimates.with_quarter(share, table.parts, size.items)
            for share, table, size in zip(shares, each, sizes, strict=True)
        ]
        part = cells.total(_mean_parts(wider, levels), over)
        units = len(sizes) ** 2 / sum(1 / size.clusters for size in sizes)  # of a mean of means
        share = np.asarray(value)
        n = proportions.effective(share, part.variance, part.df, units, np.inf, confidence)
        limits = proportions.limits(share, n, confidence)
    parts = _mean_parts([table.parts for table in each], levels)
    level = value, parts, max(table.largest for table in each), limits
    return estimates.of_level(*level, _together(sizes), over, confidence, clustered)


def _levels(each: Sequence[tuple[Table, ...]]) -> list[np.ndarray]:
    """[T, R] means of each model by task and run."""
    for model in zip(*each, strict=True):
        counts = [table.runs for table in model]
        if len(set(counts)) > 1:
            raise DataError(
                f"shared runs: expected as many runs of a model on every task, found {counts}"
            )
    return [np.stack([table.of_runs for table in model]) for model in zip(*each, strict=True)]


def _mean_parts(of: Sequence[Parts], levels: Sequence[np.ndarray] | None) -> Parts:
    """Of the variance of a mean over tasks, by those of the tasks; levels of shared runs."""
    share = 1 / len(of) ** 2

    def added(parts: Sequence[Part]) -> Part:
        return cells.added([Part(share * part.variance, part.df) for part in parts])

    items = added([parts.items for parts in of])
    if levels is None:
        each = (RunPart(*map(added, zip(run, strict=True))) for parts in of for run in parts.runs)
        return Parts(items, tuple(each))
    runs = []
    for k, level in enumerate(levels):
        means = level.mean(0)
        between = Part(np.asarray(means.var(ddof=1) / len(means)), np.asarray(len(means) - 1.0))
        runs.append(RunPart(between, added([parts.runs[k].interaction for parts in of])))
    return Parts(items, tuple(runs))


def _together(sizes: Sequence[Sizes]) -> Sizes:
    """Of all tasks: items summed, the fewest runs."""
    return Sizes(
        *(sum(size.items for size in sizes), 0, sum(size.clusters for size in sizes)),
        tuple(map(min, zip(*(size.runs for size in sizes), strict=True))),
        max(size.samples for size in sizes),
        sum(size.missing for size in sizes),
    )
