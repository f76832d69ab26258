"""Rank statistics of many samples at once, and their null distributions.

Notation: N = n + m pooled scores in rising order; labels[..., k] is True if the k-th is A's. Only
ranks count, so samples without ties share one null distribution for each (n, m).
"""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
import scipy

from jaxeval.stats import blocks

_ENUMERATED = 100_000  # labellings that are all enumerated: 10 against 10 have 92,378
_DRAWN, _FEWEST_DRAWN = 19_999, 1_999  # random labellings; the more scores, the fewer
_MOST_PERMUTED = 30  # scores of the smaller sample from which t is as good, far into its tails
_CELLS = 4_000_000  # of an array [labellings, N] in memory
_FEW_SUMMED = 20  # scores of the smaller sample up to which rank sums are exact
_ADDITIONS = 200_000_000  # most work for exact rank sums: 8 scores against 1,240, 20 against 480
_MOST_SIGNED = 50  # pairs up to which signed ranks are exact
_MOST_ORDERS = 8  # pairs up to which all orders are enumerated


class _Ties(NamedTuple):
    """Blocks of equal scores: [begin, end) for each of N places in rising order."""

    begin: np.ndarray
    end: np.ndarray


class _Studentized(NamedTuple):
    """P(A > B) + P(A = B) / 2, its standard error and degrees of freedom; [...] each."""

    probability: np.ndarray
    error: np.ndarray
    freedom: np.ndarray

    @property
    def statistic(self) -> np.ndarray:
        """(P - 1/2) / standard error; infinite if one sample lies above the other."""
        gap = self.probability - 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap == 0, 0.0, gap / self.error)


def brunner_munzel(first: np.ndarray, second: np.ndarray) -> tuple[_Studentized, _Ties]:
    """Brunner and Munzel's statistic of scores [n] and [m], and the ties among all of them."""
    pooled = np.concatenate([first, second])
    order = np.argsort(pooled, kind="stable")
    rising = pooled[order]
    ties = _Ties(np.searchsorted(rising, rising, "left"), np.searchsorted(rising, rising, "right"))
    return studentized(order < len(first), ties), ties


def studentized(labels: np.ndarray, ties: _Ties | None = None) -> _Studentized:
    """Brunner & Munzel (2000), equations 4 to 6, of labels [..., N] with as many True in each row.

    Without ties the labels are [R, N]. The placement of a score is the share of the other sample
    below it, ties 1/2.
    """
    size = labels.shape[-1]
    n = int(labels.sum(axis=-1).flat[0])
    if ties is None:  # the k-th of A's scores, at place p, has p - k of B's below it
        below_b, below_a = (
            2.0 * (np.nonzero(own)[1].reshape(len(labels), -1) - np.arange(count))
            for own, count in ((labels, n), (~labels, size - n))
        )
    else:
        counts = np.zeros((*labels.shape[:-1], size + 1))
        np.cumsum(labels, axis=-1, out=counts[..., 1:])
        twice_a = counts[..., ties.begin] + counts[..., ties.end]  # a whole number
        below_b = np.where(labels, (ties.begin + ties.end) - twice_a, 0.0)
        below_a = np.where(labels, 0.0, twice_a)
    parts, totals = [], []
    for values, own, other in ((below_b, n, size - n), (below_a, size - n, n)):
        totals.append(values.sum(axis=-1))
        squares = np.einsum("...k,...k->...", values, values)
        parts.append((squares - totals[-1] ** 2 / own) / (own - 1) / (4 * own * other**2))
    variance = parts[0] + parts[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variance**2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (size - n - 1))
    freedom = np.where(variance > 0, freedom, np.inf)
    return _Studentized(totals[0] / (2 * n * (size - n)), np.sqrt(variance), freedom)


def separation_p(n: int, m: int) -> float:
    """Two-sided p-value of complete separation: 2 of C(n + m, n) labellings."""
    log_ways = math.lgamma(n + m + 1) - math.lgamma(n + 1) - math.lgamma(m + 1)
    return min(1.0, 2.0 * math.exp(-log_ways))


def p_values(
    test: _Studentized, n: int, m: int, ties: _Ties | None = None, seed: int = 0
) -> tuple[np.ndarray, str]:
    """Two-sided p-values [...] of samples with the same ties, and the method.

    Small samples: the permutation distribution of the studentized statistic (Neubert & Brunner
    2007).
    """
    equal = "exact if the distributions are equal"
    statistics = np.abs(test.statistic)
    exact = min(n, m) < _MOST_PERMUTED and _labellings(n, m) <= _ENUMERATED
    if min(n, m) >= _MOST_PERMUTED:
        p = 2 * scipy.special.stdtr(test.freedom, -statistics)
        method = "t approximation"
    else:
        ends = np.arange(1, n + m + 1) if ties is None else np.unique(ties.end)
        null = _permuted(min(n, m), n + m, tuple(ends.tolist()), seed)
        extreme = len(null) - np.searchsorted(null, statistics * (1 - 1e-12))
        if exact:
            method = f"all permutations of the studentised statistic, {equal}"
            return extreme / len(null), method
        p = (1 + extreme) / (1 + len(null))
        method = f"{len(null)} random permutations, seed {seed}, of the studentised statistic"
    apart = np.isinf(statistics)
    method = f"complete separation, {equal}" if apart.all() else method
    return np.where(apart, separation_p(n, m), p), method


def _labellings(n: int, m: int) -> int:
    """Ways to label the pooled scores; if n = m, exchanging A and B counts once."""
    return math.comb(n + m, n) // (2 if n == m else 1)


@functools.lru_cache(maxsize=256)
def _permuted(few: int, size: int, ends: tuple[int, ...], seed: int) -> np.ndarray:
    """Sorted |statistics| [labellings] of all labellings, or of random ones.

    Labels of the smaller sample are drawn, so that A and B may be exchanged.
    """
    edges = np.array((0, *ends))
    most = max(1, _CELLS // size)  # rows in memory at a time
    block = np.searchsorted(edges, np.arange(size), "right")
    ties = _Ties(edges[block - 1], edges[block])
    if _labellings(few, size - few) <= _ENUMERATED:
        halved = 2 * few == size  # the lowest score is always A's
        rest = itertools.combinations(range(int(halved), size), few - halved)
        chosen = np.array([(0,) * halved + places for places in rest])
    else:
        draws = min(_DRAWN, max(_FEWEST_DRAWN, 2 * _CELLS // size))
        generator = np.random.default_rng(seed)
        rows = blocks(draws, size, _CELLS)
        drawn = [np.argpartition(generator.random((n, size)), few - 1, axis=1) for n in rows]
        chosen = np.concatenate([order[:, :few] for order in drawn])
    found = []
    for part in np.array_split(chosen, -(-len(chosen) // most)):
        labels = np.zeros((len(part), size), bool)
        np.put_along_axis(labels, part, True, axis=1)
        found.append(np.abs(studentized(labels, ties).statistic))
    return np.sort(np.concatenate(found))


def rank_sum_p(first: np.ndarray, second: np.ndarray) -> float | None:
    """Exact two-sided p-value of Mann and Whitney's U of [n] and [m], with ties.

    It is the share of labellings whose rank sum lies as far from its mean; None for large samples.
    """
    pooled = np.concatenate([first, second])
    size = min(len(first), len(second))
    if size > _FEW_SUMMED or 2 * (size * len(pooled)) ** 2 > _ADDITIONS:
        return None
    doubled = np.rint(2 * scipy.stats.rankdata(pooled)).astype(int)
    few = min(doubled[: len(first)], doubled[len(first) :], key=len)
    null = _rank_sum_null(tuple(sorted(doubled.tolist())), len(few))
    gaps = np.abs(np.arange(len(null)) * len(pooled) - len(few) * doubled.sum())
    return min(1.0, float(null[gaps >= gaps[few.sum()]].sum()))  # sums of shares round


@functools.lru_cache(maxsize=256)
def _rank_sum_null(doubled: tuple[int, ...], few: int) -> np.ndarray:
    """Probability of each sum of `few` doubled ranks, drawn without replacement."""
    ways = np.zeros((few + 1, sum(doubled[-few:]) + 1))  # of k ranks so far, to each sum
    ways[0, 0] = 1
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, :-rank]
    return np.asarray(ways[few] / ways[few].sum())


def signed_ranks(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Wilcoxon's signed ranks of differences [..., n], all rows with the ties of the first.

    Zeros have ranks and no sign (Pratt 1959).

    Returns:
      Sums of the positive and of the negative ranks and two-sided p-values, [...] each, and the
      method: "exact" up to 50 pairs, else "normal".
    """
    ranks = scipy.stats.rankdata(np.abs(differences), axis=-1)
    sums = [(ranks * own).sum(axis=-1) for own in (differences > 0, differences < 0)]
    if differences.shape[-1] > _MOST_SIGNED and differences.any():
        result = scipy.stats.wilcoxon(
            differences, zero_method="pratt", method="asymptotic", axis=-1
        )
        return sums[0], sums[1], result.pvalue, "normal"
    row = (0,) * (differences.ndim - 1)
    doubled = np.rint(2 * ranks[row])[differences[row] != 0].astype(int)
    below = np.cumsum(_signed_null(tuple(sorted(doubled.tolist()))))
    p = np.minimum(1.0, 2 * below[np.rint(2 * np.minimum(*sums)).astype(int)])
    return sums[0], sums[1], p, "exact"


@functools.lru_cache(maxsize=256)
def _signed_null(doubled: tuple[int, ...]) -> np.ndarray:
    """Probability of each sum of doubled ranks if every sign is a fair coin's."""
    null = np.ones(1)
    for rank in doubled:
        longer = np.zeros(len(null) + rank)
        longer[: len(null)] += null / 2
        longer[rank:] += null / 2
        null = longer
    return null


def spearman(x: np.ndarray, y: np.ndarray) -> tuple[float, float, str]:
    """Rank correlation of [n] and [n], its two-sided p-value and the method.

    Up to 8 pairs p is the share of orders with as large a correlation, else that of Student's t.
    The correlation is 0 if x or y does not vary.
    """
    first, second = scipy.stats.rankdata(x), scipy.stats.rankdata(y)
    n = len(x)
    rho = float(_correlations(first, second))
    if n <= _MOST_ORDERS:
        null = _correlation_null(*(tuple(sorted(of.tolist())) for of in (first, second)))
        extreme = len(null) - int(np.searchsorted(null, abs(rho) - 1e-9))
        return rho, extreme / len(null), "all orders"
    with np.errstate(divide="ignore"):
        t = abs(rho) * np.sqrt((n - 2) / np.maximum(1 - rho * rho, 0.0))
    p = max(2 * float(scipy.special.stdtr(n - 2, -t)), 2 * math.exp(-math.lgamma(n + 1)))
    return rho, p, "t approximation"


def _correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson's correlations [...] of ranks [..., n]; 0 if either does not vary."""
    x, y = (of - of.mean(axis=-1, keepdims=True) for of in (first, second))
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    together: np.ndarray = np.where(scale > 0, (x * y).sum(axis=-1), 0.0)
    return together / np.where(scale > 0, scale, 1.0)


@functools.lru_cache(maxsize=64)
def _correlation_null(first: tuple[float, ...], second: tuple[float, ...]) -> np.ndarray:
    """Sorted |correlations| [n!] of all orders of the second."""
    orders = np.array(list(itertools.permutations(second)))
    return np.sort(np.abs(_correlations(np.array(first), orders)))
