"""Components of the variance of a mean over items, runs and tasks.

With the scores x_ir of a model on item i in run r, the variance of its mean is made of sums over
clusters of items

    g_cr = sum of (x_ir - mean of run r) over the items i of cluster c, divided by I

and of their means over runs, each divided by 1 - n_c / I, which makes it unbiased for independent
items (Bell & McCaffrey 2002, CR2). Notation: I items, R runs, C clusters, T tasks; [...] are many
tables of one shape.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from jaxeval.stats.crossed import Variance

_QUARTER = 0.25  # of an item
_Ends = tuple[np.ndarray, np.ndarray]


class Groups(NamedTuple):
    """Clusters of items: `order` [I] sorts items by cluster, `starts` [C] and `sizes` [C]."""

    order: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums [..., I, R] over the items of each cluster: [..., C, R]."""
        if len(self.sizes) == len(self.order):
            return values
        return np.add.reduceat(values[..., self.order, :], self.starts, axis=-2)


class Parts(NamedTuple):
    """Components of the variance of a mean, or of the difference of two models' means."""

    items: Variance
    between: tuple[Variance, ...] = ()  # of each model with several runs: of its run means, over R
    interaction: tuple[Variance, ...] = ()  # the share of items x runs in `between` and in `items`


def items_part(means: np.ndarray, groups: Groups) -> Variance:
    """Computes the variance of the mean of item means [..., I] over items."""
    count = means.shape[-1]
    centred = (means - means.mean(-1, keepdims=True))[..., np.newaxis]
    sums = groups.sums(centred)[..., 0] / count
    return Variance(np.sum(sums**2 / (1 - groups.sizes / count), axis=-1), _df(means, groups))


def run_parts(
    cells: np.ndarray, groups: Groups, inflation: float = 1.0
) -> tuple[Variance, Variance]:
    """Computes `between` and `interaction` (see `Parts`) of cells [..., I, R] with R > 1."""
    items, runs = cells.shape[-2:]
    run_means = cells.mean(-2, keepdims=True)
    sums = groups.sums(cells - run_means) / items  # [..., C, R]
    rest = sums - sums.mean(-1, keepdims=True)
    shrink = (1 - groups.sizes / items)[:, np.newaxis]
    interaction = inflation * np.sum(rest**2 / shrink, axis=(-2, -1)) / (runs - 1) / runs
    between = run_means[..., 0, :].var(-1, ddof=1) / runs
    df = np.asarray(runs - 1.0)
    return Variance(between, df), Variance(interaction, df * (len(groups.sizes) - 1))


def total(parts: Parts, over: tuple[str, ...]) -> Variance:
    """Combines components to the variance of the mean over items, runs or both.

    Degrees of freedom are Satterthwaite's. The interaction is in the items' and in the runs'
    component; over both factors it is subtracted once.
    """
    if over == ("items",):
        return parts.items
    if over == ("runs",):
        return add(parts.between)
    rest = add(parts.interaction)
    by_items = parts.items.value >= rest.value
    variance, df = (
        np.where(by_items, of, other) for of, other in zip(parts.items, rest, strict=True)
    )
    spread = variance**2 / df
    for between, interaction in zip(parts.between, parts.interaction, strict=True):
        more = between.value - interaction.value
        squares = between.value**2 / between.df + interaction.value**2 / interaction.df
        variance = variance + np.maximum(more, 0.0)
        spread = spread + np.where(more > 0, squares, 0.0)
    return _satterthwaite(variance, spread, df)


def add(parts: Sequence[Variance]) -> Variance:
    """Computes the variance of a sum of independent means (Satterthwaite 1946; Welch 1947)."""
    variance = np.sum([part.value for part in parts], axis=0)
    spread = np.sum([part.value**2 / part.df for part in parts], axis=0)
    return _satterthwaite(variance, spread, np.sum([part.df for part in parts], axis=0))


def _satterthwaite(variance: np.ndarray, spread: np.ndarray, otherwise: np.ndarray) -> Variance:
    known = spread > 0
    return Variance(
        variance, np.where(known, variance**2 / np.where(known, spread, 1.0), otherwise)
    )


def _df(means: np.ndarray, groups: Groups) -> np.ndarray:
    """Bell & McCaffrey's degrees of freedom [...] of the mean of [..., I].

    They are tr(B)^2 / tr(B^2), with B the scaled covariance of the cluster sums under equal
    correlation within clusters (Imbens & Kolesar 2016): a diagonal plus a matrix of rank 2.
    """
    sizes = groups.sizes.astype(np.float64)
    count = means.shape[-1]
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
    squares = np.sum((a * tau) ** 2 + 2 * a * tau * corner, -1) + s11**2 + 2 * s12 * s21 + s22**2
    return np.sum(a * tau + corner, -1) ** 2 / squares


def _intraclass(means: np.ndarray, groups: Groups) -> np.ndarray:
    """Intraclass correlation [...], from 0 to 1, by one-way analysis of variance."""
    sizes = groups.sizes
    count = means.shape[-1]
    centred = means - means.mean(-1, keepdims=True)
    between = np.sum(groups.sums(centred[..., np.newaxis])[..., 0] ** 2 / sizes, -1)
    within = (np.sum(centred**2, -1) - between) / (count - len(sizes))
    between = between / (len(sizes) - 1)
    size = (count - np.sum(sizes**2) / count) / (len(sizes) - 1)
    whole = between + (size - 1) * within
    return np.clip((between - within) / np.where(whole > 0, whole, 1.0), 0.0, 1.0)


def average(each: Sequence[Parts], levels: Sequence[np.ndarray] | None) -> Parts:
    """Computes the components of a mean over tasks.

    `levels` are the means [T, R] of each model, if runs are shared by all tasks.
    """
    if len(each) == 1:
        return each[0]
    share = 1 / len(each) ** 2

    def scaled(*parts: Variance) -> Variance:
        return add([Variance(share * part.value, part.df) for part in parts])

    items = scaled(*(parts.items for parts in each))
    if levels is None:
        between = tuple(scaled(of) for parts in each for of in parts.between)
        return Parts(items, between, tuple(scaled(of) for p in each for of in p.interaction))
    means = [level.mean(0) for level in levels]
    each_of = ((of.var(ddof=1) / len(of), len(of) - 1.0) for of in means)
    between = tuple(Variance(*map(np.asarray, both)) for both in each_of)
    models = zip(*(parts.interaction for parts in each), strict=True)
    return Parts(items, between, tuple(scaled(*of) for of in models))


def add_two_items(gaps: np.ndarray, parts: Parts) -> tuple[np.ndarray, Parts]:
    """Adds two items to differences [..., I] of right and wrong answers; each model wins one.

    Without them the interval of models that agree on nearly all items is too short (Bonett & Price
    2012). For several runs the two items differ by sum d^2 / sum |d|. Returns the mean [...] too.
    """
    items = gaps.shape[-1]
    value = gaps.mean(-1)
    size = np.abs(gaps).sum(-1)
    squares = np.sum(gaps**2, -1)
    more = np.where(size > 0, squares / np.where(size > 0, size, 1.0), 1.0)
    centred = parts.items.value * items * (items - 1)
    variance = (centred + 2 * items * value**2 / (items + 2) + 2 * more**2) / (items + 2) ** 2
    return value * items / (items + 2), parts._replace(items=Variance(variance, parts.items.df))


def jeffreys_limits(
    shares: Sequence[np.ndarray],
    each: Sequence[Parts],
    counts: Sequence[tuple[int, int, int]],
    over: tuple[str, ...],
    confidence: float,
    levels: Sequence[np.ndarray] | None = None,
) -> _Ends:
    """Computes Jeffreys' interval of the mean of shares [...] of right answers, one of each task.

    It is that of the effective number of answers, to which a quarter of an item, half of it right,
    is added. One answer to each of independent items gives Jeffreys' own interval. Several tasks
    are the strata of a stratified sample (Korn & Graubard 1998).

    Args:
      each, counts: components of variance, and numbers of items, clusters and answers, by task.
      levels: as of `average`.
    """
    items, clusters, answers = zip(*counts, strict=True)
    value = np.mean(shares, axis=0)
    most = np.inf
    units = float(clusters[0])
    if len(shares) > 1:
        units = len(shares) ** 2 / sum(1 / count for count in clusters)
    elif answers == clusters:
        return _jeffreys(value, np.asarray(units), confidence)
    elif "items" in over:
        most = float(answers[0])
    else:  # answers to fixed items spread less than those of a coin
        units = float(answers[0])
    with_quarter = []
    for share, parts, count in zip(shares, each, items, strict=True):
        more = _QUARTER / 2 * (share**2 + (1 - share) ** 2)
        variance = (parts.items.value * count**2 + more) / (count + _QUARTER) ** 2
        with_quarter.append(parts._replace(items=Variance(variance, parts.items.df)))
    part = total(average(with_quarter, levels), over)
    tail = (1 - confidence) / 2
    spread = value * (1 - value)
    ratio = scipy.special.ndtri(tail) / scipy.special.stdtrit(part.df, tail)
    known = (spread > 0) & (part.value > 0)  # otherwise all answers are alike
    effective = np.minimum(spread * ratio**2 / np.where(known, part.value, 1.0), most)
    return _jeffreys(value, np.where(known, effective, units), confidence)


def _jeffreys(share: np.ndarray, n: np.ndarray, confidence: float) -> _Ends:
    """Computes Jeffreys' interval of shares [...] of n right and wrong answers."""
    tail = (1 - confidence) / 2
    right = share * n
    wrong = (1 - share) * n
    low, high = (scipy.special.betaincinv(right + 0.5, wrong + 0.5, p) for p in (tail, 1 - tail))
    return np.where(right == 0, 0.0, low), np.where(wrong == 0, 1.0, high)
