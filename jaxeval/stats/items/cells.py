"""Scores of one model by item and run, checked and completed.

Notation: I items, R runs, K samples (repeated answers) of an item in a run, C clusters of items.
"""

import dataclasses
import functools
from collections.abc import Hashable, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items.parts import Groups, Parts, items_part, run_part
from jaxeval.stats.results import floats

Scores = Sequence | np.ndarray  # [I], [I, R] or [I, R, K]; NaN where a score is missing
Labels = Sequence[Hashable] | np.ndarray
_ROUNDS, _CLOSE = 10_000, 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Checked scores of one model; what is computed of them serves all its pairs."""

    cells: np.ndarray  # [I, R] means over samples; missing ones as the additive model fits them
    kept: np.ndarray  # [I] places of the items among those given
    samples: int  # most of a cell
    missing: int  # cells without a score
    binary: bool  # whether every score is 0 or 1
    groups: Groups
    values: np.ndarray = dataclasses.field(repr=False)  # [I, R, K] of the items kept

    @property
    def runs(self) -> int:
        """R."""
        return int(self.cells.shape[1])

    @functools.cached_property
    def means(self) -> np.ndarray:
        """[I] of its runs."""
        return np.asarray(self.cells.mean(1))

    @functools.cached_property
    def of_runs(self) -> np.ndarray:
        """[R] means over items."""
        return np.asarray(self.cells.mean(0))

    @functools.cached_property
    def largest(self) -> float:
        """Absolute score, by which rounding is told."""
        return float(np.abs(self.cells).max())

    @property
    def inflation(self) -> float:
        """What residual variances are multiplied with: missing cells leave no residual."""
        df = (len(self.cells) - 1) * (self.runs - 1)
        return df / max(1, df - self.missing) if df else 1.0

    @functools.cached_property
    def parts(self) -> Parts:
        """Of the variance of the mean."""
        of_runs = (run_part(self.cells, self.groups, self.inflation),) if self.runs > 1 else ()
        return Parts(items_part(self.means, self.groups), of_runs)


def array(scores: Scores, name: str = "scores") -> np.ndarray:
    """[I, R, K] float64, NaN where a score is missing or masked; none may be infinite."""
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


def tables(
    scores: Sequence[Scores], clusters: Labels | None = None, names: Sequence[str] = ("scores",)
) -> list[Table]:
    """Checked and completed scores of models, row i the same item of all.

    A missing cell gets what item and run together lead to expect (Yates 1933): the fit of least
    squares to the cells that are there. Items without any score of one of them are left out.
    `clusters`: labels of all items that were given; None: each is its own.
    """
    arrays = [array(of, name) for of, name in zip(scores, names, strict=True)]
    if len({len(values) for values in arrays}) > 1:
        sizes = [f"{len(v)} of {name}" for v, name in zip(arrays, names, strict=True)]
        raise DataError(f"items: expected the same of all, found {', '.join(sizes)}")
    kept = np.flatnonzero(np.all([~np.isnan(values).all((1, 2)) for values in arrays], axis=0))
    if not len(kept):
        raise DataError("items: no item has a score of all models")
    groups, found = _groups(clusters, kept, len(arrays[0])), []
    for values, name in zip((values[kept] for values in arrays), names, strict=True):
        counts = np.sum(~np.isnan(values), -1)  # [I, R]
        if not counts.sum(0).all():
            run = int(np.argmin(counts.sum(0)))
            raise DataError(f"{name}: run {run} has no score of the items that are compared")
        binary = bool(np.all((values == 0) | (values == 1) | np.isnan(values)))
        missing, cells = int(np.sum(counts == 0)), _completed(cell_means(values), name)
        found.append(Table(cells, kept, int(counts.max()), missing, binary, groups, values))
    return found


def cell_means(values: np.ndarray) -> np.ndarray:
    """[I, R] means over the samples of [I, R, K] that are there, NaN where none is."""
    counts = np.sum(~np.isnan(values), -1)
    return np.where(counts > 0, np.nansum(values, -1) / np.maximum(counts, 1), np.nan)


def _groups(clusters: Labels | None, kept: np.ndarray, items: int) -> Groups:
    count = len(kept)
    if count < 2:
        raise DataError("items: expected two or more; one says nothing of others")
    if clusters is None:
        return Groups(np.arange(count), np.arange(count), np.ones(count, int))
    if len(clusters) != items:
        raise DataError(f"clusters: expected one of each of {items} items, found {len(clusters)}")
    expected = "clusters: expected a label of every item"
    try:
        codes = {label: code for code, label in enumerate(dict.fromkeys(clusters))}
    except TypeError:
        raise DataError(f"{expected}, found lists or arrays") from None
    if missing := [label for label in codes if label is None or label != label]:
        raise DataError(f"{expected}, found {missing[0]}")
    coded = np.array([codes[clusters[k]] for k in kept.tolist()])
    order = np.argsort(coded, kind="stable")
    _, starts, sizes = np.unique(coded[order], return_index=True, return_counts=True)
    if len(sizes) < 2:
        raise DataError("clusters: expected two or more; one says nothing of others")
    return Groups(order, starts, sizes)


def _completed(cells: np.ndarray, name: str) -> np.ndarray:
    """[I, R] without NaN; runs that share no item, not even through others, have no levels."""
    present = ~np.isnan(cells)
    if present.all():
        return cells
    shared = present.astype(np.float64).T @ present > 0  # [R, R]
    reached = shared[0]
    for _ in range(len(shared)):
        reached = shared[reached].any(0)
    if not reached.all():
        run = int(np.argmin(reached))
        raise DataError(f"{name}: runs 0 and {run} share no item, not even through other runs")
    filled = np.where(present, cells, np.nanmean(cells, axis=1, keepdims=True))
    close = _CLOSE * max(float(np.nanmax(np.abs(cells))), 1e-300)
    for _ in range(_ROUNDS):
        fitted = filled.mean(1, keepdims=True) + filled.mean(0, keepdims=True) - filled.mean()
        change = np.abs(fitted - filled)[~present].max()
        filled = np.where(present, cells, fitted)
        if change <= close:
            break
    return filled
