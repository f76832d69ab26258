"""Scores of one model by item and run, checked and completed, and the variance of their mean.

Notation: I items, R runs, K samples (repeated answers) of an item in a run, C clusters of items.
With the cells x_ir of a model and c the cluster of an item, parts of the variance are sums over
clusters of

    g_cr = sum of (x_ir - mean of run r) over the items i of c, over I;    g_c its mean over runs

each divided by 1 - n_c / I, which makes them unbiased for independent items (Bell & McCaffrey
2002, CR2; of equal clusters C / (C - 1); without clusters the usual variance). Parts have
leading axes [...] of many tables of one shape.
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


class Part(NamedTuple):
    """A part of the variance of a mean, [...], and its degrees of freedom."""

    variance: np.ndarray
    df: np.ndarray


class RunPart(NamedTuple):
    """What a model's runs bring to the variance of its mean.

    Attributes:
      between: of the means of runs, over R; it contains the interaction.
      interaction: what items x runs bring to it, and to the items' part.
    """

    between: Part
    interaction: Part


class Parts(NamedTuple):
    """Of the variance of a mean (one model's runs) or of a difference (those of both)."""

    items: Part
    runs: tuple[RunPart, ...]


def items_part(means: np.ndarray, groups: Groups) -> Part:
    """Variance of the mean of items, each the mean of its runs.

    Args:
      means: [..., I].
    """
    count = means.shape[-1]
    centred = (means - means.mean(-1, keepdims=True))[..., np.newaxis]
    sums = groups.sums(centred)[..., 0] / count
    shrink = 1 - groups.sizes / count
    return Part(np.sum(sums**2 / shrink, axis=-1), _df(means, groups))


def run_part(cells: np.ndarray, groups: Groups, inflation: float = 1.0) -> RunPart:
    """Of two or more runs.

    Args:
      cells: [..., I, R].
      inflation: `Table.inflation`.
    """
    items, runs = cells.shape[-2:]
    of_runs = cells.mean(-2, keepdims=True)
    sums = groups.sums(cells - of_runs) / items  # [..., C, R]
    rest = sums - sums.mean(-1, keepdims=True)
    shrink = (1 - groups.sizes / items)[:, np.newaxis]
    interaction = inflation * np.sum(rest**2 / shrink, axis=(-2, -1)) / (runs - 1) / runs
    between = of_runs[..., 0, :].var(-1, ddof=1) / runs
    df = np.asarray(runs - 1.0)
    return RunPart(Part(between, df), Part(interaction, df * (len(groups.sizes) - 1)))


def total(parts: Parts, over: tuple[str, ...]) -> Part:
    """The variance of the mean over the factors named, with Satterthwaite's degrees of freedom.

    Over both the interaction is in the items' part and in that of runs, and is subtracted once; a
    part that is smaller than the interaction is estimated as 0, as in `crossed.mean_variance`.
    """
    if over == ("items",):
        return parts.items
    if over == ("runs",):
        return added([run.between for run in parts.runs])
    rest = added([run.interaction for run in parts.runs])
    by_items = parts.items.variance >= rest.variance
    base = Part(
        np.where(by_items, parts.items.variance, rest.variance),
        np.where(by_items, parts.items.df, rest.df),
    )
    beyond = [_beyond(run) for run in parts.runs]
    variance = base.variance + sum(more for more, _ in beyond)
    spread = base.variance**2 / base.df + sum(squares for _, squares in beyond)
    return Part(variance, _satterthwaite(variance, spread, base.df))


def added(parts: list[Part]) -> Part:
    """The variance of a sum of independent means (Welch 1947; Satterthwaite 1946)."""
    variance = np.sum([part.variance for part in parts], axis=0)
    spread = np.sum([part.variance**2 / part.df for part in parts], axis=0)
    return Part(variance, _satterthwaite(variance, spread, np.sum([p.df for p in parts], axis=0)))


def scaled(part: Part, factor: float) -> Part:
    """The variance of a mean times the root of `factor`."""
    return Part(factor * part.variance, part.df)


def _satterthwaite(variance: np.ndarray, spread: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    known = spread > 0
    return np.where(known, variance**2 / np.where(known, spread, 1.0), otherwise)


def _beyond(run: RunPart) -> tuple[np.ndarray, np.ndarray]:
    """What runs add beyond the interaction, and its share of Satterthwaite's denominator."""
    between, interaction = run
    more = between.variance - interaction.variance
    squares = between.variance**2 / between.df + interaction.variance**2 / interaction.df
    return np.maximum(more, 0.0), np.where(more > 0, squares, 0.0)


def _df(means: np.ndarray, groups: Groups) -> np.ndarray:
    """Bell & McCaffrey's degrees of freedom of a mean, [...].

    tr(B)^2 / tr(B^2), B the covariance of the sums of clusters, scaled, under equal correlation of
    the items of a cluster (Imbens & Kolesar 2016). B is diagonal plus U S U' of rank 2, so that
    no C x C matrix is made. C - 1 of clusters of equal size.
    """
    sizes, count = groups.sizes.astype(np.float64), means.shape[-1]
    if np.ptp(sizes) == 0:
        return np.full(means.shape[:-1], len(sizes) - 1.0)
    correlation = _intraclass(means, groups)[..., np.newaxis]
    a = 1 / (1 - sizes / count)
    tau = sizes * (1 + (sizes - 1) * correlation)  # [..., C] variances of the sums
    whole = tau.sum(-1)
    corner = a * (sizes**2 * whole[..., np.newaxis] / count**2 - 2 * sizes * tau / count)
    tt, tn, nn = (np.sum(a * x * y, -1) for x, y in ((tau, tau), (tau, sizes), (sizes, sizes)))
    s11, s12 = -tn / count, -nn / count
    s21, s22 = whole * tn / count**2 - tt / count, whole * nn / count**2 - tn / count
    trace = np.sum(a * tau + corner, -1)
    squares = np.sum((a * tau) ** 2 + 2 * a * tau * corner, -1) + s11**2 + 2 * s12 * s21 + s22**2
    return trace**2 / squares


def _intraclass(means: np.ndarray, groups: Groups) -> np.ndarray:
    """[...] from 0 to 1: correlation of items of one cluster, by one-way analysis of variance."""
    sizes, count = groups.sizes, means.shape[-1]
    if len(sizes) == count:
        return np.zeros(means.shape[:-1])
    centred = means - means.mean(-1, keepdims=True)
    sums = groups.sums(centred[..., np.newaxis])[..., 0]
    between = np.sum(sums**2 / sizes, -1)
    within = (np.sum(centred**2, -1) - between) / (count - len(sizes))
    between = between / (len(sizes) - 1)
    size = (count - np.sum(sizes**2) / count) / (len(sizes) - 1)
    whole = between + (size - 1) * within
    return np.clip((between - within) / np.where(whole > 0, whole, 1.0), 0.0, 1.0)
