"""Scores of one model by item and run, checked and completed, and the variance of their mean.

Notation: I items, R runs, K samples (repeated answers) of an item in a run, C clusters of items.
With the cells x_ir of a model and c the cluster of an item, parts of the variance of its mean are
sums over clusters of

    g_cr = sum of (x_ir - mean of run r) over the items i of c, over I;    g_c its mean over runs

each divided by 1 - n_c / I, which makes them unbiased for independent items (Bell & McCaffrey
2002, CR2). Parts have leading axes [...] of many tables of one shape.
"""

import dataclasses
import functools
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import floats

Scores = Sequence | np.ndarray  # [I], [I, R] or [I, R, K]; NaN where a score is missing
Labels = Sequence[Hashable] | np.ndarray
_ROUNDS, _CLOSE = 10_000, 1e-12


class Groups(NamedTuple):
    """Clusters of items: [I] that puts those of a cluster side by side; [C] where each begins."""

    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """[..., C, R] of [..., I, R]."""
        if len(self.sizes) == len(self.order):
            return values
        return np.add.reduceat(values[..., self.order, :], self.starts, axis=-2)


class Part(NamedTuple):
    """A part of the variance of a mean, [...], and its degrees of freedom."""

    variance: np.ndarray
    df: np.ndarray


class RunPart(NamedTuple):
    """What a model's runs bring to the variance of its mean."""

    between: Part  # of the means of runs, over R; it contains the interaction
    interaction: Part  # what items x runs bring to it, and to the items' part


class Parts(NamedTuple):
    """Of the variance of a mean (one model's runs) or of a difference (those of both)."""

    items: Part
    runs: tuple[RunPart, ...]  # none where a model has a single run


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


def items_part(means: np.ndarray, groups: Groups) -> Part:
    """Variance of the mean of items [..., I], each the mean of its runs."""
    count = means.shape[-1]
    centred = (means - means.mean(-1, keepdims=True))[..., np.newaxis]
    sums = groups.sums(centred)[..., 0] / count
    return Part(np.sum(sums**2 / (1 - groups.sizes / count), axis=-1), _df(means, groups))


def run_part(cells: np.ndarray, groups: Groups, inflation: float = 1.0) -> RunPart:
    """Of two or more runs, cells [..., I, R]; `inflation` is that of `Table`."""
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

    Over both the interaction is in the items' part and in that of runs, and is subtracted once.
    """
    if over == ("items",):
        return parts.items
    if over == ("runs",):
        return added([run.between for run in parts.runs])
    rest = added([run.interaction for run in parts.runs])
    by_items = parts.items.variance >= rest.variance
    variance = np.where(by_items, parts.items.variance, rest.variance)
    df = np.where(by_items, parts.items.df, rest.df)
    spread = variance**2 / df
    for between, interaction in parts.runs:  # what runs add beyond the interaction
        more = between.variance - interaction.variance
        squares = between.variance**2 / between.df + interaction.variance**2 / interaction.df
        variance = variance + np.maximum(more, 0.0)
        spread = spread + np.where(more > 0, squares, 0.0)
    return Part(variance, _satterthwaite(variance, spread, df))


def added(parts: Sequence[Part]) -> Part:
    """The variance of a sum of independent means (Welch 1947; Satterthwaite 1946)."""
    variance = np.sum([part.variance for part in parts], axis=0)
    spread = np.sum([part.variance**2 / part.df for part in parts], axis=0)
    return Part(variance, _satterthwaite(variance, spread, np.sum([p.df for p in parts], axis=0)))


def _satterthwaite(variance: np.ndarray, spread: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    known = spread > 0
    return np.where(known, variance**2 / np.where(known, spread, 1.0), otherwise)


def _df(means: np.ndarray, groups: Groups) -> np.ndarray:
    """Bell & McCaffrey's degrees of freedom of a mean, [...].

    tr(B)^2 / tr(B^2), B the covariance of the sums of clusters, scaled, under equal correlation of
    the items of a cluster (Imbens & Kolesar 2016): diagonal plus U S U' of rank 2.
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
    centred = means - means.mean(-1, keepdims=True)
    sums = groups.sums(centred[..., np.newaxis])[..., 0]
    between = np.sum(sums**2 / sizes, -1)
    within = (np.sum(centred**2, -1) - between) / (count - len(sizes))
    between = between / (len(sizes) - 1)
    size = (count - np.sum(sizes**2) / count) / (len(sizes) - 1)
    whole = between + (size - 1) * within
    return np.clip((between - within) / np.where(whole > 0, whole, 1.0), 0.0, 1.0)
