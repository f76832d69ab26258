"""Two models on the same items."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import errors_of_means, tables
from jaxeval.stats.items.errors_of_means import Part, Parts, RunPart
from jaxeval.stats.items.tables import Groups, Labels, Scores, Table


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
        return errors_of_means.items_part(self.means, self.groups)

    @functools.cached_property
    def runs(self) -> RunPart:
        """The part of its two or more runs."""
        return errors_of_means.run_part(self.table.cells, self.groups, self.table.inflation)

    @functools.cached_property
    def largest(self) -> float:
        """Absolute score."""
        return float(np.abs(self.table.cells).max())


class Pair(NamedTuple):
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
        return Parts(errors_of_means.items_part(self.gaps, self.groups), self.run_parts())

    def run_parts(self) -> tuple[RunPart, ...]:
        """Of A and B, or of their paired runs; none where one of them has a single run."""
        of_models = (self.a, self.b) if self.paired is None else (self.paired,)
        if min(table.cells.shape[1] for table in of_models) < 2:
            return ()
        if self.paired is None:
            return tuple(side.runs for side in self.sides)
        return (Side(self.paired, self.groups).runs,)


def of_task(
    scores: Mapping[str, Scores], clusters: Labels | None = None
) -> Callable[[str, str], Pair]:
    """The pair of two of a task's models by their names.

    Where all models have scores of the same items each is checked once, not with every pair.

    Args:
      scores: model -> as of `pair`, row i the same item of all.

    Raises:
      DataError: as of `pair`, also when a pair is asked for.
    """
    arrays = {model: tables.array(of, f"scores of {model}") for model, of in scores.items()}
    items = {len(array) for array in arrays.values()}
    if len(items) > 1 or any(np.isnan(array).all((1, 2)).any() for array in arrays.values()):
        return lambda a, b: pair(arrays[a], arrays[b], clusters)
    of_models = {model: tables.table(of, f"scores of {model}") for model, of in arrays.items()}
    groups = tables.groups(clusters, next(iter(of_models.values())), *items)
    sides = {model: Side(table, groups) for model, table in of_models.items()}
    return lambda a, b: Pair((sides[a], sides[b]), groups, 0, None)


def pair(a: Scores, b: Scores, clusters: Labels | None = None, paired_runs: bool = False) -> Pair:
    """Two models' scores, row i the same item in both.

    Raises:
      DataError: different numbers of items or of paired runs; no item with scores of both.
    """
    first, second = tables.array(a, "scores of A"), tables.array(b, "scores of B")
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
        gaps = tables.cell_means(first) - tables.cell_means(second)
        keep &= ~np.isnan(gaps).all(1)
        paired = tables.table(gaps, "differences of paired runs", keep)
    of_a = tables.table(first, "scores of A", keep)
    of_b = tables.table(second, "scores of B", keep)
    groups = tables.groups(clusters, of_a, len(first))
    sides = Side(of_a, groups), Side(of_b, groups)
    return Pair(sides, groups, len(first) - len(of_a.kept), paired)
