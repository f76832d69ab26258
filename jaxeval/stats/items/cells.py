"""Tables of one model's scores by item and run, checked and completed.

Notation: I items, R runs, K samples (repeated answers) of an item in a run.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import variances
from jaxeval.stats.items.variances import Groups, Part, Parts
from jaxeval.stats.results import floats

Scores = Sequence | np.ndarray  # [I], [I, R] or [I, R, K]; NaN where a score is missing
Labels = Sequence[Hashable] | np.ndarray
_ROUNDS, _CLOSE = 10_000, 1e-12


class Table(NamedTuple):
    """Checked scores of one model."""

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


def array(scores: Scores, name: str = "scores") -> np.ndarray:
    """Converts scores to [I, R, K] float64, NaN where one is missing or masked; none infinite."""
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
    """Checks the scores of models on the same items, and fills in missing cells.

    A missing cell gets its least-squares fit from item and run (Yates 1933). Items without any
    score of one of the models are left out. `clusters` has a label of each item; None makes every
    item its own cluster. Messages call the models by `names`.
    """
    arrays = {name: array(of, name) for of, name in zip(scores, names, strict=True)}
    if len({*map(len, arrays.values())}) > 1:
        sizes = ", ".join(f"{len(values)} of {name}" for name, values in arrays.items())
        raise DataError(f"items: expected the same of all, found {sizes}")
    scored = np.all([~np.isnan(values).all((1, 2)) for values in arrays.values()], axis=0)
    if not scored.any():
        raise DataError("items: no item has a score of all models")
    groups, found = _groups(clusters, scored), []
    for name, values in arrays.items():
        values = values[scored]
        if empty := np.flatnonzero(np.isnan(values).all((0, 2))).tolist():
            what = "has no score of the items that are compared"
            raise DataError(f"{name}: run {empty[0]} {what}")
        found.append(_table(values, groups, name))
    return found


def _table(values: np.ndarray, groups: Groups, name: str) -> Table:
    counts, cells = np.sum(~np.isnan(values), -1), _completed(cell_means(values), name)
    missing, df = int(np.sum(counts == 0)), (cells.shape[0] - 1) * (cells.shape[1] - 1)
    inflation = df / max(1, df - missing) if df else 1.0
    means, of_runs = cells.mean(1), list[tuple[Part]]()
    if cells.shape[1] > 1:
        of_runs = [(part,) for part in variances.run_parts(cells, groups, inflation)]
    binary = bool(np.all((values == 0) | (values == 1) | np.isnan(values)))
    parts, largest = Parts(variances.items_part(means, groups), *of_runs), np.abs(cells).max()
    counted = int(counts.max()), missing, binary, float(largest)
    return Table(cells, means, cells.mean(0), *counted, groups, inflation, parts, values)


def cell_means(values: np.ndarray) -> np.ndarray:
    """Means [I, R] over the samples of [I, R, K], NaN where there are none."""
    counts = np.sum(~np.isnan(values), -1)
    return np.where(counts > 0, np.nansum(values, -1) / np.maximum(counts, 1), np.nan)


def _groups(clusters: Labels | None, scored: np.ndarray) -> Groups:
    count = int(scored.sum())
    if count < 2:
        raise DataError("items: expected two or more; one says nothing of others")
    if clusters is None:
        return Groups(np.arange(count), np.arange(count), np.ones(count, int))
    if len(clusters) != len(scored):
        found = f"{len(scored)} items, found {len(clusters)}"
        raise DataError(f"clusters: expected one of each of {found}")
    expected = "clusters: expected a label of every item"
    try:
        codes = {label: code for code, label in enumerate(dict.fromkeys(clusters))}
    except TypeError:
        raise DataError(f"{expected}, found lists or arrays") from None
    if missing := [label for label in codes if label is None or label != label]:
        raise DataError(f"{expected}, found {missing[0]}")
    coded = np.array([codes[label] for label in clusters])[scored]
    order = np.argsort(coded, kind="stable")
    _, starts, sizes = np.unique(coded[order], return_index=True, return_counts=True)
    if len(sizes) < 2:
        raise DataError("clusters: expected two or more; one says nothing of others")
    return Groups(order, starts, sizes)


def _completed(cells: np.ndarray, name: str) -> np.ndarray:
    """Fills in the NaN of cells [I, R]; all runs must be connected by shared items."""
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
