"""A model's mean over items and runs, and the difference of two models, with an honest error.

Every run answers every item: score = mean + item + run + rest. The error of an estimate is over

    items   other items, these runs:  Miller (2024), clustered by Bell & McCaffrey (2002)
    runs    other runs, these items:  run means as a sample; Welch's t for two models
    both    the items' component and what runs add to it

In means over T tasks every task has the same weight. Notation: I items, R runs.
"""

import dataclasses
import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np
from scipy import special

from jaxeval.errors import DataError
from jaxeval.stats.items import cells, variances
from jaxeval.stats.items.cells import Labels, Scores, Table
from jaxeval.stats.items.variances import Parts
from jaxeval.stats.results import Factor, Interval, fraction

FACTORS: tuple[Factor, ...] = ("items", "runs")
FEW_CLUSTERS = 30
_OFTEN_MISSING = 0.05
_ROUNDING = 1e-12  # of the largest score


@dataclasses.dataclass(frozen=True)
class _Sizes:
    """Numbers of items, clusters and runs that an estimate rests on."""

    items: int
    clusters: int
    runs: tuple[int, ...]  # of each model
    samples: int  # the largest number of answers to an item in a run
    missing: int  # cells (item, run) of all models without a score


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean, or the difference of two means.

    An estimated error of 0 is unknown: the p-value and the ends of the interval are NaN.
    """

    value: float
    se: float
    df: float  # degrees of freedom of `se` by Satterthwaite (1946)
    interval: Interval
    over: tuple[str, ...]  # what the error generalises over: items, runs, tasks
    sizes: _Sizes
    p_value: float | None = None  # two-sided test of 0, which the interval inverts
    unpaired_se: float | None = None  # the error if the models had answered different items
    correlation: float | None = None  # of the two models over items; None if one never varies
    warnings: tuple[str, ...] = ()
    binary: bool = False  # whether it is a difference of right and wrong answers

    @property
    def possible(self) -> Interval:
        """The interval, cut to [-1, 1] for differences of right and wrong answers."""
        return self.interval.clip(-1.0, 1.0) if self.binary else self.interval

    @property
    def error(self) -> float:
        """The standard error behind the t interval; NaN if it is unknown."""
        low, high, confidence, _ = self.interval
        return (high - low) / 2 / -float(special.stdtrit(self.df, (1 - confidence) / 2))

    @property
    def swapped(self) -> "Estimate":
        """The difference B - A of a difference A - B."""
        interval = self.interval._replace(low=-self.interval.high, high=-self.interval.low)
        return dataclasses.replace(self, value=-self.value, interval=interval)

    def p_above(self, margin: float = 0.0) -> float:
        """Returns the one-sided p-value against a true difference of at most `margin`."""
        return self._tail(margin, -1)

    def p_below(self, margin: float = 0.0) -> float:
        """Returns the one-sided p-value against a true difference of at least `margin`."""
        return self._tail(margin, 1)

    def _tail(self, margin: float, side: int) -> float:
        beyond = side * ((self.interval.low + self.interval.high) / 2 - margin)
        return float(special.stdtr(self.df, beyond / self.error))


def default_over(runs: Sequence[int]) -> tuple[Factor, ...]:
    """Returns items, and runs too if every model has two or more."""
    return FACTORS if min(runs) > 1 else ("items",)


def parse_over(
    over: str | Collection[Factor], error: type[Exception] = DataError
) -> tuple[Factor, ...]:
    """Returns the factors of a collection or of "items,runs", in order; else raises `error`."""
    words = [word.strip() for word in over.split(",")] if isinstance(over, str) else over
    factors = tuple(f for f in FACTORS if isinstance(words, Collection) and f in words)
    if not factors or any(word not in FACTORS for word in words):
        raise error(f"over: expected items, runs or items,runs, found {over!r}")
    return factors


def estimate(
    a: Scores,
    b: Scores | None = None,
    *,
    over: str | Collection[Factor] | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
    from_0_to_1: bool = True,
) -> Estimate:
    """Computes the mean score of a model, or the mean of A minus that of B on the items of both.

    Args:
      a, b: [I], [I, R] or [I, R, K]: item, run, sample; NaN where a score is missing. The numbers
        of runs may differ.
      over: what the interval generalises over, as "items,runs"; None: runs too if there are more.
      clusters: [I] labels of items that belong together, such as questions on one text.
      from_0_to_1: whether scores that are all 0 or 1 are right and wrong answers, and no losses.
    """
    confidence = fraction(confidence, "confidence")
    if b is None:
        tables = cells.tables([a], clusters)
    else:
        tables = cells.tables([a, b], clusters, ("scores of A", "scores of B"))
    runs = [table.runs for table in tables]
    factors = default_over(runs) if over is None else parse_over(over)
    if "runs" in factors and min(runs) < 2:
        raise DataError(
            "over runs: expected two or more runs of every model; one says nothing of others"
        )
    clustered = clusters is not None
    return estimate_tables([tables], [factors], confidence, clustered, from_0_to_1)[0]


def estimate_tables(
    tasks: Sequence[Sequence[Table]],
    overs: Sequence[tuple[Factor, ...]],
    confidence: float,
    clustered: bool = False,
    from_0_to_1: bool = True,
    *,
    shared_runs: bool = False,
) -> list[Estimate]:
    """Computes the mean of one model, or the difference of two, over these very tasks.

    Args:
      tasks: for each task, the tables of one model or two.
      overs: what errors generalise over; one estimate for each.
      clustered: whether items are in clusters, for warnings.
      shared_runs: whether run r is one network on all tasks. Then the variance of runs is that of
        a model's means over tasks.
    """
    levels, clusters = None, "clusters" if clustered else "items"
    if shared_runs and any("runs" in over for over in overs):
        levels = [_run_means(model) for model in zip(*tasks, strict=True)]
    if len(tasks[0]) == 1:
        found = _means([table for (table,) in tasks], overs, confidence, levels, from_0_to_1)
    else:
        found = _differences(tasks, overs, confidence, levels)
    return [
        dataclasses.replace(of, warnings=(*_warnings(of, clusters), *of.warnings)) for of in found
    ]


def _run_means(model: Sequence[Table]) -> np.ndarray:
    """Means [T, R] of a model by task and run."""
    counts = [table.runs for table in model]
    if len(set(counts)) > 1:
        raise DataError(
            f"shared runs: expected as many runs of a model on every task, found {counts}"
        )
    return np.stack([table.run_means for table in model])


def _sizes(tasks: Sequence[Sequence[Table]]) -> _Sizes:
    tables = [table for of_task in tasks for table in of_task]
    items, clusters = zip(*(first.counts for first, *_ in tasks), strict=True)
    return _Sizes(
        *(sum(items), sum(clusters)),
        tuple(min(table.runs for table in model) for model in zip(*tasks, strict=True)),
        max(table.samples for table in tables),
        sum(table.missing for table in tables),
    )


def _warnings(of: Estimate, clusters: str) -> Iterator[str]:
    sizes = of.sizes
    if min(sizes.runs) == 1:
        yield "One run of a model: this says nothing of other runs."
    if "items" in of.over and sizes.clusters < FEW_CLUSTERS:
        yield f"Only {sizes.clusters} {clusters}: fewer than {FEW_CLUSTERS} tell little of others."
    count = sizes.items * sum(sizes.runs)
    if sizes.missing > _OFTEN_MISSING * count:
        filled = "filled in by least squares, from item and run"
        yield f"{sizes.missing} of {count} scores are missing: {filled}."


def _means(
    tables: Sequence[Table],
    overs: Sequence[tuple[Factor, ...]],
    confidence: float,
    levels: Sequence[np.ndarray] | None,
    from_0_to_1: bool,
) -> Iterator[Estimate]:
    shares, each = [np.asarray(of.cells.mean()) for of in tables], [of.parts for of in tables]
    value, parts = float(np.mean(shares)), variances.average(each, levels)
    sizes, largest = _sizes([(table,) for table in tables]), max(of.largest for of in tables)
    for over in overs:
        part, lines = variances.total(parts, over), list[str]()
        se = float(np.sqrt(part.variance))
        if from_0_to_1 and all(of.binary for of in tables):
            counts = [(*table.counts, table.cells.size * table.samples) for table in tables]
            low, high = variances.jeffreys_limits(shares, each, counts, over, confidence, levels)
            method = "Jeffreys, effective number of answers"
            interval = Interval(float(low), float(high), confidence, method)
        elif se <= _ROUNDING * largest:
            interval = Interval.none(confidence, "the scores do not vary")
            same = f"The score is the same over all {' and '.join(over)}"
            lines.append(f"{same}: its error is unknown.")
        else:
            interval = variances.t_interval(value, part, confidence)
        yield Estimate(value, se, float(part.df), interval, over, sizes, warnings=tuple(lines))


def _differences(
    tasks: Sequence[Sequence[Table]],
    overs: Sequence[tuple[Factor, ...]],
    confidence: float,
    levels: Sequence[np.ndarray] | None,
) -> Iterator[Estimate]:
    tables = [table for both in tasks for table in both]
    binary, largest = all(of.binary for of in tables), max(of.largest for of in tables)
    gaps = [a.item_means - b.item_means for a, b in tasks]
    each = [_gap_parts(gap, *both) for gap, both in zip(gaps, tasks, strict=True)]
    parts, unpaired = (variances.average(of, levels) for of in zip(*each, strict=True))
    value, sizes = float(np.mean([gap.mean() for gap in gaps])), _sizes(tasks)
    if binary:
        more = [variances.add_two_items(gap, of) for gap, (of, _) in zip(gaps, each, strict=True)]
        middle = float(np.mean([of for of, _ in more]))
        shrunk = variances.average([of for _, of in more], levels)
    correlation = _correlation(*tasks[0]) if len(tasks) == 1 else None
    for over in overs:
        part, lines, two = variances.total(parts, over), list[str](), binary and "items" in over
        centre, tested = (middle, variances.total(shrunk, over)) if two else (value, part)
        interval, p_value = Interval.none(confidence, "the differences do not vary"), math.nan
        if (error := np.sqrt(tested.variance)) <= _ROUNDING * largest:
            same = f"The difference is the same over all {' and '.join(over)}"
            lines.append(f"{same}: its error is unknown, and nothing is shown.")
        else:
            p_value = float(2 * special.stdtr(tested.df, -abs(centre) / error))
            interval = variances.t_interval(centre, tested, confidence, ", two items added" * two)
        ses = [float(np.sqrt(of.variance)) for of in (part, variances.total(unpaired, over))]
        yield Estimate(
            *(value, ses[0], float(tested.df), interval, over, sizes),
            *(p_value, ses[1], correlation, tuple(lines), binary),
        )


def _gap_parts(gap: np.ndarray, a: Table, b: Table) -> tuple[Parts, Parts]:
    """Components of a difference, and the same if the models had answered different items."""
    paired = Parts(variances.items_part(gap, a.groups))
    if min(a.runs, b.runs) > 1:
        between = a.parts.between + b.parts.between
        paired = Parts(paired.items, between, a.parts.interaction + b.parts.interaction)
    return paired, paired._replace(items=variances.add([a.parts.items, b.parts.items]))


def _correlation(a: Table, b: Table) -> float | None:
    if not (np.ptp(a.item_means) and np.ptp(b.item_means)):
        return None
    return float(np.corrcoef(a.item_means, b.item_means)[0, 1])


def difference_over_tasks(
    tasks: Sequence[tuple[Table, Table]],
    over: tuple[Factor, ...],
    confidence: float,
    shared_runs: bool,
) -> Estimate:
    """Computes the mean difference A - B with tasks as a sample of such tasks.

    The means of a task by run stand for an item; other runs are part of the spread over tasks.
    """
    by_run = shared_runs and "runs" in over
    levels = [
        [of.run_means if by_run else of.run_means.mean(keepdims=True) for of in model]
        for model in zip(*tasks, strict=True)
    ]
    factors = FACTORS if by_run else ("items",)
    found = estimate(*levels, over=factors, confidence=confidence)
    few = (f"Only {len(tasks)} tasks: they tell little of others.",)
    named: tuple[str, ...] = ("tasks", *factors[1:])
    lines = few if len(tasks) < FEW_CLUSTERS else ()
    return dataclasses.replace(found, over=named, warnings=lines)
