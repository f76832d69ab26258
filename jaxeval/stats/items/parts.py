"""The variance of a model's mean over items and runs, in parts.

Notation: I items, R runs, C clusters of items. With the cells x_ir of a model and c the cluster
of an item, parts of the variance are sums over clusters of

    g_cr = sum of (x_ir - mean of run r) over the items i of c, over I;    g_c its mean over runs

each divided by 1 - n_c / I, which makes them unbiased for independent items (Bell & McCaffrey
2002, CR2; of equal clusters C / (C - 1); without clusters the usual variance). Parts have
leading axes [...] of many tables of one shape.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


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
