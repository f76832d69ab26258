"""A model's mean over items and runs, and the difference of two models, with an honest error.

Every run answers every item: score = mean + item + run + rest. The error of an estimate is over

    items   other items, these runs:  Miller (2024), clustered by Bell & McCaffrey (2002)
    runs    other runs, these items:  run means as a sample; Welch's t for two models
    both    the items' component and what runs add to it

In means over T tasks every task has the same weight. Notation: I items, R runs, K samples: answers
to an item in a run.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from jaxeval.errors import DataError
from jaxeval.stats import Factor, Interval, variances
from jaxeval.stats.crossed import Variance
from jaxeval.stats.variances import Groups, Parts

_ROUNDS, _CLOSE = 10_000, 1e-12
FEW_CLUSTERS = 30
_OFTEN_MISSING = 0.05
_ROUNDING = 1e-12  # of the largest score


class ScoreTable(NamedTuple):
    """Scores of one model."""

    cells: np.ndarray  # [I, R] means over samples; missing ones are fitted
    item_means: np.ndarray  # [I] means over runs
    run_means: np.ndarray  # [R] means over items
    samples: int  # the largest number in a cell
    missing: int  # number of cells without a score
    binary: bool  # whether every score is 0 or 1
    largest: float  # largest absolute score: errors far below it are rounding
    groups: Groups
    inflation: float  # factor of residual variances: missing cells leave no residual
    parts: Parts  # components of the variance of the mean
    values: np.ndarray  # [I, R, K]

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of items and clusters."""
        return len(self.cells), len(self.groups.sizes)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.run_means)


def tables(
    scores: Mapping[str, np.ndarray], clusters: np.ndarray | None = None
) -> dict[str, ScoreTable]:
    """Returns the tables of models on the same items; a missing cell gets its least-squares fit.

    The fit is from item and run (Yates 1933).

    Args:
      scores: model -> [I, R, K], NaN without a score; no item is without any.
      clusters: [I] labels; None makes every item its own cluster.

    Raises:
      DataError: fewer than two items or clusters, or a model's runs share no items.
    """
    count = len(next(iter(scores.values())))
    groups = Groups(np.arange(count), np.arange(count), np.ones(count, int))
    if clusters is not None:
        codes = {label: code for code, label in enumerate(dict.fromkeys(clusters.tolist()))}
        coded = np.array([codes[label] for label in clusters.tolist()])
        order = np.argsort(coded, kind="stable")
        groups = Groups(order, *np.unique(coded[order], return_index=True, return_counts=True)[1:])
    for noun, of in (("items", count), ("clusters", len(groups.sizes))):
        if of < 2:
            raise DataError(f"{noun}: expected two or more; one says nothing about others")
    return {name: _table(values, groups, name) for name, values in scores.items()}


def _table(values: np.ndarray, groups: Groups, name: str) -> ScoreTable:
    counts, cells = np.sum(~np.isnan(values), -1), _completed(cell_means(values), name)
    missing, df = int(np.sum(counts == 0)), (cells.shape[0] - 1) * (cells.shape[1] - 1)
    inflation = df / max(1, df - missing) if df else 1.0
    means, of_runs = cells.mean(1), list[tuple[Variance]]()
    if cells.shape[1] > 1:
        of_runs = [(part,) for part in variances.run_parts(cells, groups, inflation)]
    binary = bool(np.all((values == 0) | (values == 1) | np.isnan(values)))
    parts = Parts(variances.items_part(means, groups), *of_runs)
    samples = int(counts.max())
    largest = float(np.abs(cells).max())
    by_run = cells.mean(0)
    return ScoreTable(
        cells, means, by_run, samples, missing, binary, largest, groups, inflation, parts, values
    )


def cell_means(values: np.ndarray) -> np.ndarray:
    """Means [I, R] over the samples of [I, R, K], NaN where there are none."""
    counts = np.sum(~np.isnan(values), -1)
    return np.where(counts > 0, np.nansum(values, -1) / np.maximum(counts, 1), np.nan)


def _completed(cells: np.ndarray, name: str) -> np.ndarray:
    """Fills in the NaN of cells [I, R]; all runs must be connected by shared items."""
    present = ~np.isnan(cells)
    if present.all():
        return cells
    if (empty := np.flatnonzero(~present.any(0))).size:
        raise DataError(
            f"scores of {name}: run {empty[0]} has no score of the items that are compared"
        )
    shared = present.astype(np.float64).T @ present > 0  # [R, R]
    reached = shared[0]
    for _ in range(len(shared)):
        reached = shared[reached].any(0)
    if not reached.all():
        runs = f"runs 0 and {np.argmin(reached)}"
        raise DataError(f"scores of {name}: {runs} share no item, not even through other runs")
    filled = np.where(present, cells, np.nanmean(cells, axis=1, keepdims=True))
    close = _CLOSE * max(float(np.nanmax(np.abs(cells))), 1e-300)
    for _ in range(_ROUNDS):
        fitted = filled.mean(1, keepdims=True) + filled.mean(0, keepdims=True) - filled.mean()
        change = np.abs(fitted - filled)[~present].max()
        filled = np.where(present, cells, fitted)
        if change <= close:
            break
    return filled


class _Sizes(NamedTuple):
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


class _Basis(NamedTuple):
    """What estimates of one model, or of two, rest on."""

    tasks: Sequence[Sequence[ScoreTable]]  # the tables of each task
    levels: Sequence[np.ndarray] | None  # [T, R] of each model, if runs are shared by all tasks
    sizes: _Sizes
    confidence: float
    binary: bool
    tiny: float  # errors up to it are rounding


def estimate(
    tasks: Sequence[Sequence[ScoreTable]],
    overs: Sequence[tuple[Factor, ...]],
    confidence: float = 0.95,
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
      from_0_to_1: whether scores that are all 0 or 1 are right and wrong answers, and no losses.
      shared_runs: whether run r is one network on all tasks. Then the variance of runs is that of
        a model's means over tasks.
    """
    levels, models = None, [*zip(*tasks, strict=True)]
    if shared_runs and any("runs" in over for over in overs):
        levels = []
        for model in models:
            if len({*(counts := [table.runs for table in model])}) > 1:
                expected = "shared runs: expected as many runs of a model on every task"
                raise DataError(f"{expected}, found {counts}")
            levels.append(np.stack([table.run_means for table in model]))
    tables = [table for model in models for table in model]
    items, clusters = (sum(of) for of in zip(*(of[0].counts for of in tasks), strict=True))
    runs = tuple(min(table.runs for table in model) for model in models)
    missing = sum(table.missing for table in tables)
    sizes = _Sizes(items, clusters, runs, max(table.samples for table in tables), missing)
    binary = all(of.binary for of in tables) and (len(models) == 2 or from_0_to_1)
    tiny = _ROUNDING * max(of.largest for of in tables)
    basis = _Basis(tasks, levels, sizes, confidence, binary, tiny)
    found = (_means if len(models) == 1 else _differences)(basis, overs)
    noun = "clusters" if clustered else "items"
    return [dataclasses.replace(of, warnings=(*_warnings(of, noun), *of.warnings)) for of in found]


def _warnings(result: Estimate, clusters: str) -> Iterator[str]:
    sizes = result.sizes
    if min(sizes.runs) == 1:
        yield "A model has one run: this says nothing about other runs."
    if "items" in result.over and sizes.clusters < FEW_CLUSTERS:
        yield f"Only {sizes.clusters} {clusters}: fewer than {FEW_CLUSTERS} say little of others."
    count = sizes.items * sum(sizes.runs)
    if sizes.missing > _OFTEN_MISSING * count:
        filled = "filled in by least squares, from item and run"
        yield f"{sizes.missing} of {count} scores are missing: {filled}."


def _means(basis: _Basis, overs: Sequence[tuple[Factor, ...]]) -> Iterator[Estimate]:
    tables = [table for (table,) in basis.tasks]
    shares = [np.asarray(t.cells.mean()) for t in tables]
    each = [t.parts for t in tables]
    value, parts = float(np.mean(shares)), variances.average(each, basis.levels)
    for over in overs:
        part, warnings = variances.total(parts, over), tuple[str, ...]()
        se = float(np.sqrt(part.value))
        if basis.binary:
            counts = [(*table.counts, table.cells.size * table.samples) for table in tables]
            low, high = variances.jeffreys_limits(
                shares, each, counts, over, basis.confidence, basis.levels
            )
            method = "Jeffreys, effective number of answers"
            interval = Interval(float(low), float(high), basis.confidence, method)
        elif se <= basis.tiny:
            interval = Interval.none(basis.confidence, "the scores do not vary")
            same = f"The score is the same over all {' and '.join(over)}"
            warnings = (f"{same}: its error is unknown.",)
        else:
            interval = Interval.t(value, se, part.df, basis.confidence, "t, Satterthwaite")
        yield Estimate(value, se, float(part.df), interval, over, basis.sizes, warnings=warnings)


def _differences(basis: _Basis, overs: Sequence[tuple[Factor, ...]]) -> Iterator[Estimate]:
    gaps = [a.item_means - b.item_means for a, b in basis.tasks]
    each = []
    for gap, (a, b) in zip(gaps, basis.tasks, strict=True):
        several = min(a.runs, b.runs) > 1
        between = a.parts.between + b.parts.between if several else ()
        crossed = a.parts.interaction + b.parts.interaction if several else ()
        each.append(Parts(variances.items_part(gap, a.groups), between, crossed))
    parts = variances.average(each, basis.levels)
    value = float(np.mean([gap.mean() for gap in gaps]))
    if basis.binary:
        more = [variances.add_two_items(gap, own) for gap, own in zip(gaps, each, strict=True)]
        middle = float(np.mean([value for value, _ in more]))
        shrunk = variances.average([own for _, own in more], basis.levels)
    for over in overs:
        part, two = variances.total(parts, over), basis.binary and "items" in over
        centre, tested = (middle, variances.total(shrunk, over)) if two else (value, part)
        if (error := np.sqrt(tested.value)) <= basis.tiny:
            interval = Interval.none(basis.confidence, "the differences do not vary")
            same = f"The difference is the same over all {' and '.join(over)}"
            warnings = [f"{same}: its error is unknown, and nothing is shown."]
            p_value = math.nan
        else:
            how = "t, Satterthwaite" + ", two items added" * two
            interval = Interval.t(centre, error, tested.df, basis.confidence, how)
            p_value = float(2 * scipy.special.stdtr(tested.df, -abs(centre) / error))
            warnings = []
        se, df = float(np.sqrt(part.value)), float(tested.df)
        yield Estimate(
            value, se, df, interval, over, basis.sizes, p_value, tuple(warnings), basis.binary
        )
