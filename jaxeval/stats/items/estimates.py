"""A model's mean over items and runs, and the difference of two models, with honest errors.

Scores are crossed: every run answers every item, x_ir = mean + item + run + rest. What a standard
error speaks of is named by `over`:

    items   other items, these runs:  Miller (2024), clustered by Bell & McCaffrey (2002)
    runs    other runs, these items:  the means of runs as a sample; of two models Welch's t
    both    other items and other runs: the items' part and what runs bring beyond it

Notation: I items, R runs, C clusters.
"""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.stats import crossed
from jaxeval.stats.items import errors_of_means, pairs, proportions, results, tables
from jaxeval.stats.items.errors_of_means import Part, Parts
from jaxeval.stats.items.results import Estimate, Factor, Sizes
from jaxeval.stats.items.tables import Groups, Labels, Scores, Table
from jaxeval.stats.results import Interval, fraction, no_interval

_T = "t, Satterthwaite"
_QUARTER = 0.25  # of an item
_ROUNDING = 1e-12  # of the largest score
_UNKNOWN = (
    "The difference is the same over all {}: its error cannot be told, and nothing is shown."
)
_SAME_MEAN = "The score is the same over all {}: its error cannot be told."


def mean(
    scores: Scores,
    *,
    over: str | Collection[Factor] | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
    from_0_to_1: bool = True,
) -> Estimate:
    """Mean score of a model.

    Args:
      scores: [I], [I, R] or [I, R, K]: item, run, sample; NaN where a score is missing.
      over: what the interval is to generalise over, as "items,runs" or ["items", "runs"]; None:
        items and, with two or more runs, runs.
      clusters: [I] labels of items that belong together, such as questions on one text.
      from_0_to_1: whether scores are from 0 to 1, so that those that are all 0 or 1 are right and
        wrong answers; False: they may be losses that happen to be so.

    Raises:
      DataError: shapes; `over` runs with a single run; a single item or cluster.
    """
    confidence = fraction(confidence, "confidence")
    table = tables.table(scores)
    groups = tables.groups(clusters, table, len(scores))
    sizes = results.sizes_of([table], groups, len(scores) - len(table.kept))
    factors = results.factors_of(over, sizes)
    level = Level(
        float(table.cells.mean()),
        parts_of_mean(table, groups),
        table.binary and from_0_to_1,
        float(np.abs(table.cells).max()),
    )
    return of_level(level, sizes, factors, confidence, clusters is not None)


class Level(NamedTuple):
    """A model's mean before its error is known.

    Attributes:
      largest: absolute score, by which rounding is told.
    """

    value: float
    parts: Parts
    binary: bool
    largest: float


def of_level(
    level: Level, sizes: Sizes, over: tuple[Factor, ...], confidence: float, clustered: bool
) -> Estimate:
    """A mean with its error over the factors named."""
    part = errors_of_means.total(level.parts, over)
    value, warnings = np.asarray(level.value), results.warnings_of(sizes, over, clustered)
    if level.binary:
        low, high = map(float, binary_limits(value, level.parts, sizes, over, confidence))
        interval = Interval(low, high, confidence, "Jeffreys, effective number of answers")
    elif np.sqrt(part.variance) <= _ROUNDING * level.largest:
        interval = no_interval(confidence, "the scores do not vary")
        warnings = (*warnings, _SAME_MEAN.format(" and ".join(over)))
    else:
        low, high = map(float, t_limits(value, part, confidence))
        interval = Interval(low, high, confidence, _T)
    return Estimate(
        level.value,
        float(np.sqrt(part.variance)),
        float(part.df),
        interval,
        over,
        sizes,
        warnings=warnings,
    )


def difference(
    a: Scores,
    b: Scores,
    *,
    over: str | Collection[Factor] | None = None,
    clusters: Labels | None = None,
    paired_runs: bool = False,
    confidence: float = 0.95,
) -> Estimate:
    """Mean of A less that of B, on the same items.

    Items that one of them has no score of are left out and counted.

    Args:
      a, b: as of `mean`; row i is the same item in both. Numbers of runs may differ.
      paired_runs: whether column r of both is one run (the same split and seed of the training):
        its own effect cancels.

    Raises:
      DataError: as of `mean`; different items; paired runs of different number.
    """
    confidence = fraction(confidence, "confidence")
    pair = pairs.pair(a, b, clusters, paired_runs)
    sizes = results.sizes_of([pair.a, pair.b], pair.groups, pair.dropped)
    factors = results.factors_of(over, sizes)
    return of_gap(gap_of(pair), sizes, factors, confidence, clusters is not None)


def by_over(
    pair: pairs.Pair, every: Sequence[tuple[Factor, ...]], confidence: float, clustered: bool
) -> tuple[Estimate, ...]:
    """The difference of a pair over each of several choices of factors.

    Raises:
      DataError: runs of which a model has one.
    """
    sizes, gap = results.sizes_of([pair.a, pair.b], pair.groups, pair.dropped), gap_of(pair)
    return tuple(
        of_gap(gap, sizes, results.factors_of(over, sizes), confidence, clustered)
        for over in every
    )


class Gap(NamedTuple):
    """A difference before its error is known.

    Attributes:
      parts: of its variance.
      middle, tested: value and parts that interval and test are made of.
      unpaired: parts, had the models been scored on different items.
      largest: absolute score, by which rounding is told.
    """

    value: float
    parts: Parts
    middle: float
    tested: Parts
    binary: bool
    unpaired: Parts
    correlation: float | None
    largest: float


def gap_of(pair: pairs.Pair) -> Gap:
    """The difference of two models on one task."""
    parts, value = pair.parts(), float(pair.gaps.mean())
    middle, tested = value, parts
    if pair.binary:
        shrunk, tested = with_two_items(pair.gaps, parts)
        middle = float(shrunk)
    unpaired = pair._replace(paired=None)
    apart = [side.items for side in pair.sides]
    runs = unpaired.run_parts() if pair.paired else parts.runs
    of_others = Parts(errors_of_means.added(apart), runs)
    correlation = _correlation(*(side.means for side in pair.sides))
    largest = max(side.largest for side in pair.sides)
    return Gap(value, parts, middle, tested, pair.binary, of_others, correlation, largest)


def of_gap(
    gap: Gap, sizes: Sizes, over: tuple[Factor, ...], confidence: float, clustered: bool
) -> Estimate:
    """A difference with its error over the factors named."""
    part, unpaired = (errors_of_means.total(parts, over) for parts in (gap.parts, gap.unpaired))
    with_two = gap.binary and "items" in over
    middle = gap.middle if with_two else gap.value
    tested = errors_of_means.total(gap.tested, over) if with_two else part
    unknown = np.sqrt(tested.variance) <= _ROUNDING * gap.largest
    interval = no_interval(confidence, "the differences do not vary")
    if not unknown:
        low, high = map(float, t_limits(np.asarray(middle), tested, confidence))
        interval = Interval(low, high, confidence, _T + ", two items added" * with_two)
    warnings = results.warnings_of(sizes, over, clustered)
    return Estimate(
        value=gap.value,
        se=float(np.sqrt(part.variance)),
        df=float(tested.df),
        interval=interval,
        over=over,
        sizes=sizes,
        p_value=math.nan if unknown else _two_sided(float(middle), tested),
        unpaired_se=float(np.sqrt(unpaired.variance)),
        correlation=gap.correlation,
        warnings=(*warnings, _UNKNOWN.format(" and ".join(over))) if unknown else warnings,
        binary=gap.binary,
    )


def parts_of_mean(table: Table, groups: Groups) -> Parts:
    """Of the variance of one model's mean."""
    items = errors_of_means.items_part(table.cells.mean(1), groups)
    if table.cells.shape[1] == 1:
        return Parts(items, ())
    return Parts(items, (errors_of_means.run_part(table.cells, groups, table.inflation),))


def t_limits(value: np.ndarray, part: Part, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of the t interval."""
    half = np.sqrt(part.variance) * crossed.t_quantile(part.df, confidence)
    return value - half, value + half


def binary_limits(
    share: np.ndarray, parts: Parts, sizes: Sizes, over: tuple[str, ...], confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of Jeffreys' interval, with as many answers as the variance is worth.

    One answer to each of independent items is Jeffreys' own interval. Otherwise a quarter of an
    item, half right and half wrong, is added to the items' part, which a few rare failures tell
    too low, and there are no more answers than were given.
    """
    answers = sizes.items * sizes.runs[0] * sizes.samples
    units, most = sizes.clusters, float(answers)
    if answers == sizes.clusters:
        return proportions.limits(share, np.full(np.shape(share), most), confidence)
    if "items" in over:
        parts = with_quarter(share, parts, sizes.items)
    else:
        units, most = answers, np.inf  # answers to fixed items spread less than a coin's
    part = errors_of_means.total(parts, over)
    n = proportions.effective(share, part.variance, part.df, units, most, confidence)
    return proportions.limits(share, n, confidence)


def with_quarter(share: np.ndarray, parts: Parts, items: int) -> Parts:
    """Parts of a mean of right and wrong answers with a quarter of an item, half of it right."""
    more = _QUARTER / 2 * (share**2 + (1 - share) ** 2)
    variance = (parts.items.variance * items**2 + more) / (items + _QUARTER) ** 2
    return parts._replace(items=Part(variance, parts.items.df))


def with_two_items(gaps: np.ndarray, parts: Parts) -> tuple[np.ndarray, Parts]:
    """[...] mean difference and its parts with two more items, on which each model wins one.

    Bonett & Price (2012), who have one run: without them the interval of models that agree on all
    items but a few is too short, and has width 0 where they agree on all. Of several runs the two
    differ by as much as the models do where they differ: sum d^2 / sum |d|.

    Args:
      gaps: [..., I] differences of items.
    """
    items, value = gaps.shape[-1], gaps.mean(-1)
    size, squares = np.abs(gaps).sum(-1), np.sum(gaps**2, -1)
    more = np.where(size > 0, squares / np.where(size > 0, size, 1.0), 1.0)
    centred = parts.items.variance * items * (items - 1)
    variance = (centred + 2 * items * value**2 / (items + 2) + 2 * more**2) / (items + 2) ** 2
    part = Part(variance, parts.items.df)
    return value * items / (items + 2), parts._replace(items=part)


def _two_sided(value: float, part: Part) -> float:
    from scipy import special

    return float(2 * special.stdtr(part.df, -abs(value) / np.sqrt(part.variance)))


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
