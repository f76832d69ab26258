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
import scipy

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
        return (high - low) / 2 / -float(scipy.special.stdtrit(self.df, (1 - confidence) / 2))

    def p_beyond(self, margin: float, side: int) -> float:
        """Returns the one-sided p-value against a difference on the other side of a margin.

        Args:
          side: 1 shows that the difference is above the margin, -1 that it is below.
        """
        middle = (self.interval.low + self.interval.high) / 2
        return float(scipy.special.stdtr(self.df, -side * (middle - margin) / self.error))


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
    levels, models = None, [*zip(*tasks, strict=True)]
    if shared_runs and any("runs" in over for over in overs):
        levels = [_run_means(model) for model in models]
    tables = [table for model in models for table in model]
    items, clusters = (sum(of) for of in zip(*(of[0].counts for of in tasks), strict=True))
    runs = tuple(min(table.runs for table in model) for model in models)
    missing = sum(table.missing for table in tables)
    sizes = _Sizes(items, clusters, runs, max(table.samples for table in tables), missing)
    largest = max(of.largest for of in tables)
    binary = all(of.binary for of in tables) and (len(models) == 2 or from_0_to_1)
    how = (tasks, overs, confidence, levels, sizes, largest, binary)
    found = _means(*how) if len(models) == 1 else _differences(*how)
    noun = "clusters" if clustered else "items"
    return [dataclasses.replace(of, warnings=(*_warnings(of, noun), *of.warnings)) for of in found]


def _run_means(model: Sequence[Table]) -> np.ndarray:
    """Means [T, R] of a model by task and run."""
    counts = [table.runs for table in model]
    if len(set(counts)) > 1:
        raise DataError(
            f"shared runs: expected as many runs of a model on every task, found {counts}"
        )
    return np.stack([table.run_means for table in model])


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
    tasks: Sequence[Sequence[Table]],
    overs: Sequence[tuple[Factor, ...]],
    confidence: float,
    levels: Sequence[np.ndarray] | None,
    sizes: _Sizes,
    largest: float,
    binary: bool,
) -> Iterator[Estimate]:
    tables = [table for (table,) in tasks]
    shares, each = [np.asarray(of.cells.mean()) for of in tables], [of.parts for of in tables]
    value, parts = float(np.mean(shares)), variances.average(each, levels)
    for over in overs:
        part, lines = variances.total(parts, over), list[str]()
        se = float(np.sqrt(part.variance))
        if binary:
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
    sizes: _Sizes,
    largest: float,
    binary: bool,
) -> Iterator[Estimate]:
    gaps = [a.item_means - b.item_means for a, b in tasks]
    each = [_gap_parts(gap, *both) for gap, both in zip(gaps, tasks, strict=True)]
    parts, value = variances.average(each, levels), float(np.mean([gap.mean() for gap in gaps]))
    if binary:
        more = [variances.add_two_items(gap, of) for gap, of in zip(gaps, each, strict=True)]
        middle = float(np.mean([of for of, _ in more]))
        shrunk = variances.average([of for _, of in more], levels)
    for over in overs:
        part, lines, two = variances.total(parts, over), list[str](), binary and "items" in over
        centre, tested = (middle, variances.total(shrunk, over)) if two else (value, part)
        interval, p_value = Interval.none(confidence, "the differences do not vary"), math.nan
        if (error := np.sqrt(tested.variance)) <= _ROUNDING * largest:
            same = f"The difference is the same over all {' and '.join(over)}"
            lines.append(f"{same}: its error is unknown, and nothing is shown.")
        else:
            p_value = float(2 * scipy.special.stdtr(tested.df, -abs(centre) / error))
            interval = variances.t_interval(centre, tested, confidence, ", two items added" * two)
        se, df = float(np.sqrt(part.variance)), float(tested.df)
        yield Estimate(value, se, df, interval, over, sizes, p_value, tuple(lines), binary)


def _gap_parts(gap: np.ndarray, a: Table, b: Table) -> Parts:
    items = variances.items_part(gap, a.groups)
    if min(a.runs, b.runs) == 1:
        return Parts(items)
    between = a.parts.between + b.parts.between
    return Parts(items, between, a.parts.interaction + b.parts.interaction)
