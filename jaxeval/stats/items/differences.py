"""The difference of two models' means on the same items, with an honest error.

Notation: I items, R runs, T tasks.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import cells, estimates
from jaxeval.stats.items import parts as parts_of
from jaxeval.stats.items.cells import Groups, Labels, Scores, Table
from jaxeval.stats.items.estimates import ROUNDING, Estimate, Sizes, T, t_limits
from jaxeval.stats.items.parts import Part, Parts, RunPart
from jaxeval.stats.results import Interval, fraction, no_interval
from jaxeval.stats.rules import Factor

_UNKNOWN = (
    "The difference is the same over all {}: its error cannot be told, and nothing is shown."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Side:
    """A model of a pair: what is computed of it alone, once for all its pairs."""

    table: Table
    groups: Groups

    @functools.cached_property
    def means(self) -> np.ndarray:
        """[I] of its runs."""
        return np.asarray(self.table.cells.mean(1))

    @functools.cached_property
    def of_runs(self) -> np.ndarray:
        """[R] means over items."""
        return np.asarray(self.table.cells.mean(0))

    @functools.cached_property
    def items(self) -> Part:
        """The items' part of the variance of its mean."""
        return parts_of.items_part(self.means, self.groups)

    @functools.cached_property
    def runs(self) -> RunPart:
        """The part of its two or more runs."""
        return parts_of.run_part(self.table.cells, self.groups, self.table.inflation)

    @functools.cached_property
    def largest(self) -> float:
        """Absolute score."""
        return float(np.abs(self.table.cells).max())


class Matched(NamedTuple):
    """Two models on the items that both have scores of.

    Attributes:
      sides: A and B.
      dropped: items left out.
      paired: the table of the runs' differences A - B, where runs are paired.
    """

    sides: tuple[Side, Side]
    groups: Groups
    dropped: int
    paired: Table | None

    @property
    def a(self) -> Table:
        """Scores of A."""
        return self.sides[0].table

    @property
    def b(self) -> Table:
        """Scores of B."""
        return self.sides[1].table

    @property
    def gaps(self) -> np.ndarray:
        """[I] differences A - B of items, each the mean over runs."""
        if self.paired is not None:
            return np.asarray(self.paired.cells.mean(1))
        return np.asarray(self.sides[0].means - self.sides[1].means)

    @property
    def binary(self) -> bool:
        """Whether every score is 0 or 1."""
        return self.a.binary and self.b.binary

    def parts(self) -> Parts:
        """Of the variance of the mean difference."""
        return Parts(parts_of.items_part(self.gaps, self.groups), self.run_parts())

    def run_parts(self) -> tuple[RunPart, ...]:
        """Of A and B, or of their paired runs; none where one of them has a single run."""
        of_models = (self.a, self.b) if self.paired is None else (self.paired,)
        if min(table.cells.shape[1] for table in of_models) < 2:
            return ()
        sides = self.sides if self.paired is None else (Side(self.paired, self.groups),)
        return tuple(side.runs for side in sides)


def of_models(
    scores: Mapping[str, Scores], clusters: Labels | None = None
) -> Callable[[str, str], Matched]:
    """The pair of two of a task's models by their names; each is checked once where it can be.

    Args:
      scores: model -> as of `pair`, row i the same item of all.

    Raises:
      DataError: as of `pair`, also when a pair is asked for.
    """
    arrays = {model: cells.array(of, f"scores of {model}") for model, of in scores.items()}
    items = {len(array) for array in arrays.values()}
    if len(items) > 1 or any(np.isnan(array).all((1, 2)).any() for array in arrays.values()):
        return lambda a, b: pair(arrays[a], arrays[b], clusters)
    of_models = {model: cells.table(of, f"scores of {model}") for model, of in arrays.items()}
    groups = cells.groups(clusters, next(iter(of_models.values())), *items)
    sides = {model: Side(table, groups) for model, table in of_models.items()}
    return lambda a, b: Matched((sides[a], sides[b]), groups, 0, None)


def pair(
    a: Scores, b: Scores, clusters: Labels | None = None, paired_runs: bool = False
) -> Matched:
    """Two models' scores, row i the same item in both.

    Raises:
      DataError: different numbers of items or of paired runs; no item with scores of both.
    """
    first, second = cells.array(a, "scores of A"), cells.array(b, "scores of B")
    if len(first) != len(second):
        raise DataError(
            f"items: expected the same of both, found {len(first)} of A and {len(second)} of B"
        )
    keep = ~(np.isnan(first).all((1, 2)) | np.isnan(second).all((1, 2)))
    if not keep.any():
        raise DataError("items: no item has a score of both models")
    paired = None
    if paired_runs:
        if first.shape[1] != second.shape[1]:
            raise DataError(
                f"paired runs: expected as many of both, found {first.shape[1]} of A and "
                f"{second.shape[1]} of B"
            )
        gaps = cells.cell_means(first) - cells.cell_means(second)
        keep &= ~np.isnan(gaps).all(1)
        paired = cells.table(gaps, "differences of paired runs", keep)
    of_a = cells.table(first, "scores of A", keep)
    of_b = cells.table(second, "scores of B", keep)
    groups = cells.groups(clusters, of_a, len(first))
    sides = Side(of_a, groups), Side(of_b, groups)
    return Matched(sides, groups, len(first) - len(of_a.kept), paired)


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
    of = pair(a, b, clusters, paired_runs)
    sizes = estimates.sizes_of([of.a, of.b], of.groups, of.dropped)
    factors = estimates.factors_of(over, sizes)
    return of_gap(gap_of(of), sizes, factors, confidence, clusters is not None)


def by_over(
    pair: Matched, every: Sequence[tuple[Factor, ...]], confidence: float, clustered: bool
) -> tuple[Estimate, ...]:
    """The difference of a pair over each of several choices of factors.

    Raises:
      DataError: runs of which a model has one.
    """
    sizes, gap = estimates.sizes_of([pair.a, pair.b], pair.groups, pair.dropped), gap_of(pair)
    return tuple(
        of_gap(gap, sizes, estimates.factors_of(over, sizes), confidence, clustered)
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


def gap_of(pair: Matched) -> Gap:
    """The difference of two models on one task."""
    parts, value = pair.parts(), float(pair.gaps.mean())
    middle, tested = value, parts
    if pair.binary:
        shrunk, tested = with_two_items(pair.gaps, parts)
        middle = float(shrunk)
    unpaired = pair._replace(paired=None)
    apart = [side.items for side in pair.sides]
    runs = unpaired.run_parts() if pair.paired else parts.runs
    of_others = Parts(parts_of.added(apart), runs)
    correlation = _correlation(*(side.means for side in pair.sides))
    largest = max(side.largest for side in pair.sides)
    return Gap(value, parts, middle, tested, pair.binary, of_others, correlation, largest)


def of_gap(
    gap: Gap, sizes: Sizes, over: tuple[Factor, ...], confidence: float, clustered: bool
) -> Estimate:
    """A difference with its error over the factors named."""
    from scipy import special

    part, unpaired = (parts_of.total(parts, over) for parts in (gap.parts, gap.unpaired))
    with_two = gap.binary and "items" in over
    middle = gap.middle if with_two else gap.value
    tested = parts_of.total(gap.tested, over) if with_two else part
    unknown = np.sqrt(tested.variance) <= ROUNDING * gap.largest
    interval = no_interval(confidence, "the differences do not vary")
    p_value = math.nan
    if not unknown:
        p_value = float(
            2 * special.stdtr(tested.df, -abs(float(middle)) / np.sqrt(tested.variance))
        )
        low, high = map(float, t_limits(np.asarray(middle), tested, confidence))
        interval = Interval(low, high, confidence, T + ", two items added" * with_two)
    warnings = estimates.warnings_of(sizes, over, clustered)
    return Estimate(
        value=gap.value,
        se=float(np.sqrt(part.variance)),
        df=float(tested.df),
        interval=interval,
        over=over,
        sizes=sizes,
        p_value=p_value,
        unpaired_se=float(np.sqrt(unpaired.variance)),
        correlation=gap.correlation,
        warnings=(*warnings, _UNKNOWN.format(" and ".join(over))) if unknown else warnings,
        binary=gap.binary,
    )


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


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
