"""Scores of one model by item and run, checked and completed.

Notation: I items, R runs, K samples (repeated answers) of an item in a run, C clusters of items.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import floats

Scores = Sequence | np.ndarray  # [I], [I, R] or [I, R, K]; NaN where a score is missing
Labels = Sequence[Hashable] | np.ndarray
_ROUNDS, _CLOSE = 10_000, 1e-12


class Table(NamedTuple):
    """Scores of one model.

    Attributes:
      cells: [I, R] means over samples; missing ones as the additive model fits them.
      kept: [I] numbers of the items among those given; others have no score at all.
      samples: most of a cell.
      missing: cells without a score.
      binary: whether every score is 0 or 1.
    """

    cells: np.ndarray
    kept: np.ndarray
    samples: int
    missing: int
    binary: bool

    @property
    def inflation(self) -> float:
        """What residual variances are multiplied with: missing cells leave no residual."""
        items, runs = self.cells.shape
        df = (items - 1) * (runs - 1)
        return df / max(1, df - self.missing) if df else 1.0


class Groups(NamedTuple):
    """Clusters of items.

    Attributes:
      order: [I] that puts the items of a cluster next to one another.
      starts, sizes: [C] of each cluster in that order.
    """

    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """[..., C, R] of [..., I, R]."""
        if len(self.sizes) == len(self.order):
            return values
        return np.add.reduceat(values[..., self.order, :], self.starts, axis=-2)


def array(scores: Scores, name: str = "scores") -> np.ndarray:
    """[I, R, K] float64, NaN where a score is missing or masked.

    Raises:
      DataError: another shape, no score at all, or an infinite one.
    """
    expected = f"{name}: expected [items], [items, runs] or [items, runs, samples]"
    values = floats(scores, f"{expected} of numbers, NaN where one is missing")
    if not 1 <= values.ndim <= 3 or not values.size:
        raise DataError(f"{expected}, found shape {list(values.shape)}")
    values = values.reshape(*values.shape, *[1] * (3 - values.ndim))
    if np.isinf(values).any():
        item, run, _ = np.argwhere(np.isinf(values))[0]
        raise DataError(f"{name}: the score of item {item} in run {run} is infinite")
    if np.isnan(values).all():
        raise DataError(f"{name}: every score is missing")
    return values


def table(scores: Scores, name: str = "scores", keep: np.ndarray | None = None) -> Table:
    """Checked and completed scores.

    A missing cell gets what item and run together lead to expect (Yates 1933): the fit of least
    squares to the cells that are there. Items without any score are left out.

    Args:
      keep: [I] bool, of the items that are wanted.

    Raises:
      DataError: as of `array`; a run without a score; runs that no item links.
    """
    values = array(scores, name)
    present = ~np.isnan(values)
    keep = present.any((1, 2)) & (True if keep is None else keep)
    kept = np.flatnonzero(keep)
    values, present = values[kept], present[kept]
    counts = present.sum(-1)  # [I, R]
    if not len(kept) or not counts.sum(0).all():
        run = int(np.argmin(counts.sum(0))) if len(kept) else 0
        raise DataError(f"{name}: run {run} has no score of the items that are compared")
    filled = np.where(present, values, 0.0)
    binary = bool(np.all((filled == 0) | (filled == 1)))
    missing = int(np.sum(counts == 0))
    cells = _completed(cell_means(values), name)
    return Table(cells, kept, int(counts.max()), missing, binary)


def cell_means(values: np.ndarray) -> np.ndarray:
    """[I, R] means over the samples of [I, R, K] that are there, NaN where none is."""
    counts = np.sum(~np.isnan(values), -1)
    return np.where(counts > 0, np.nansum(values, -1) / np.maximum(counts, 1), np.nan)


def groups(clusters: Labels | None, table: Table, items: int) -> Groups:
    """The clusters of a table's items; without labels every item is its own.

    Args:
      clusters: [items], of all items that were given.

    Raises:
      DataError: another number of labels, or one that is missing; a single item or cluster.
    """
    count = len(table.kept)
    if count < 2:
        raise DataError("items: expected two or more; one says nothing of others")
    if clusters is None:
        ones = np.ones(count, int)
        return Groups(np.arange(count), np.arange(count), ones)
    if len(clusters) != items:
        raise DataError(f"clusters: expected one of each of {items} items, found {len(clusters)}")
    expected = "clusters: expected a label of every item"
    try:
        codes = {label: code for code, label in enumerate(dict.fromkeys(clusters))}
    except TypeError:
        raise DataError(f"{expected}, found lists or arrays") from None
    missing = [label for label in codes if label is None or label != label]
    if missing:
        raise DataError(f"{expected}, found {missing[0]}")
    coded = np.array([codes[clusters[k]] for k in table.kept.tolist()])
    order = np.argsort(coded, kind="stable")
    _, starts, sizes = np.unique(coded[order], return_index=True, return_counts=True)
    if len(sizes) < 2:
        raise DataError("clusters: expected two or more; one says nothing of others")
    return Groups(order, starts, sizes)


def _completed(cells: np.ndarray, name: str) -> np.ndarray:
    """[I, R] without NaN."""
    present = ~np.isnan(cells)
    if present.all():
        return cells
    _linked(present, name)
    filled = np.where(present, cells, np.nanmean(cells, axis=1, keepdims=True))
    close = _CLOSE * max(float(np.nanmax(np.abs(cells))), 1e-300)
    for _ in range(_ROUNDS):
        fitted = filled.mean(1, keepdims=True) + filled.mean(0, keepdims=True) - filled.mean()
        change = np.abs(fitted - filled)[~present].max()
        filled = np.where(present, cells, fitted)
        if change <= close:
            break
    return filled


def _linked(present: np.ndarray, name: str) -> None:
    """Raises DataError where runs fall into parts that share no item: their levels are unknown."""
    shared = present.astype(np.float64).T @ present > 0  # [R, R]
    reached = shared[0]
    for _ in range(len(shared)):
        reached = shared[reached].any(0)
    if not reached.all():
        run = int(np.argmin(reached))
        raise DataError(f"{name}: runs 0 and {run} share no item, not even through other runs")
