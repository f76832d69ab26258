"""Complete tables of one model's scores by item and run.

Notation: I items, R runs, K samples (repeated answers) of an item in a run.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import variances
from jaxeval.stats.crossed import Variance
from jaxeval.stats.variances import Groups, Parts

_ROUNDS, _CLOSE = 10_000, 1e-12


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
    parts, largest = Parts(variances.items_part(means, groups), *of_runs), np.abs(cells).max()
    counted = int(counts.max()), missing, binary, float(largest)
    return ScoreTable(cells, means, cells.mean(0), *counted, groups, inflation, parts, values)


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
