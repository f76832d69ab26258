"""Two models on the same items."""

from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import errors_of_means, tables
from jaxeval.stats.items.errors_of_means import Parts, RunPart
from jaxeval.stats.items.tables import Groups, Labels, Scores, Table


class Pair(NamedTuple):
    """Two models on the items that both have scores of.

    Attributes:
      dropped: items left out.
      paired: the table of the runs' differences A - B, where runs are paired.
    """

    a: Table
    b: Table
    groups: Groups
    dropped: int
    paired: Table | None

    @property
    def gaps(self) -> np.ndarray:
        """[I] differences A - B of items, each the mean over runs."""
        if self.paired is not None:
            return np.asarray(self.paired.cells.mean(1))
        return np.asarray(self.a.cells.mean(1) - self.b.cells.mean(1))

    @property
    def binary(self) -> bool:
        """Whether every score is 0 or 1."""
        return self.a.binary and self.b.binary

    def parts(self) -> Parts:
        """Of the variance of the mean difference."""
        return Parts(errors_of_means.items_part(self.gaps, self.groups), self.run_parts())

    def run_parts(self) -> tuple[RunPart, ...]:
        """Of A and B, or of their paired runs; none where one of them has a single run."""
        models = (self.a, self.b) if self.paired is None else (self.paired,)
        if min(table.cells.shape[1] for table in models) < 2:
            return ()
        return tuple(
            errors_of_means.run_part(table.cells, self.groups, table.inflation) for table in models
        )


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
    return Pair(of_a, of_b, groups, len(first) - len(of_a.kept), paired)
