"""Rank statistics of many samples at once, and their distributions when labels are exchanged.

Notation: N = n + m pooled scores in rising order; labels[..., k] says whether the k-th is A's.
No value enters but through its rank, so samples without ties share one permutation distribution
for each (n, m).
"""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

_ENUMERATED = 100_000  # labellings up to which all are looked at: 10 against 10 have 92,378
_DRAWN, _FEWEST_DRAWN = 19_999, 1_999  # random ones above, the fewer the more scores there are
_MOST_PERMUTED = 30  # scores of the smaller sample from which t is as good, far into its tails
_CELLS = 4_000_000  # of an array [labellings, N] at a time
_FEW_SUMMED = 20  # scores of the smaller sample up to which rank sums are exact
_ADDITIONS = 200_000_000  # that this may take: 8 scores against 1,240, 20 against 480
_MOST_SIGNED = 50  # pairs up to which signed ranks are exact
EXACT_ORDERS = 8  # pairs up to which all orders are looked at


class Ties(NamedTuple):
    """For each of N places in rising order, the block of equal scores it lies in: [begin, end)."""

    begin: np.ndarray
    end: np.ndarray


class Studentized(NamedTuple):
    """P(A > B) + P(A = B) / 2, its standard error and degrees of freedom; [...] each."""

    probability: np.ndarray
    error: np.ndarray
    freedom: np.ndarray

    @property
    def statistic(self) -> np.ndarray:
        """(P - 1/2) / standard error; infinite where one sample lies above the other."""
        gap = self.probability - 0.5
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gap == 0, 0.0, gap / self.error)


def ordered(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, Ties]:
    """Labels [N] of the pooled scores in rising order, and their ties."""
    pooled = np.concatenate([first, second])
    order = np.argsort(pooled, kind="stable")
    rising = pooled[order]
    ties = Ties(np.searchsorted(rising, rising, "left"), np.searchsorted(rising, rising, "right"))
    return order < len(first), ties


def studentized(labels: np.ndarray, ties: Ties) -> Studentized:
    """Brunner & Munzel (2000), equations 4 to 6. labels: [..., N], as many True in every row.

    A score's placement is the share of the other sample below it, ties 1/2.
    """
    size = labels.shape[-1]
    n = int(labels.sum(axis=-1).flat[0])
    counts = np.zeros((*labels.shape[:-1], size + 1))
    np.cumsum(labels, axis=-1, out=counts[..., 1:])
    below_a = counts[..., ties.begin] + counts[..., ties.end]  # twice A's scores below: whole
    below_b = (ties.begin + ties.end) - below_a
    placements = np.where(labels, below_b, 0.0), np.where(labels, 0.0, below_a)
    return _of_placements(*placements, n, size - n)


def studentized_untied(labels: np.ndarray) -> Studentized:
    """The same of scores of which no two are equal. labels: [R, N]."""
    rows, size = labels.shape
    n = int(labels[0].sum())
    # the k-th of A's scores, at place p, has p - k of B's below it
    below_b, below_a = (
        2.0 * (np.nonzero(own)[1].reshape(rows, -1) - np.arange(count))
        for own, count in ((labels, n), (~labels, size - n))
    )
    return _of_placements(below_b, below_a, n, size - n)


def _of_placements(below_b: np.ndarray, below_a: np.ndarray, n: int, m: int) -> Studentized:
    """Of twice the placements of A's n scores and of B's m, among zeros, along the last axis."""
    parts, totals = [], []
    for values, own, other in ((below_b, n, m), (below_a, m, n)):
        totals.append(values.sum(axis=-1))
        squares = np.einsum("...k,...k->...", values, values)
        parts.append((squares - totals[-1] ** 2 / own) / (own - 1) / (4 * own * other**2))
    variance = parts[0] + parts[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = variance**2 / (parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1))
    freedom = np.where(variance > 0, freedom, np.inf)
    return Studentized(totals[0] / (2 * n * m), np.sqrt(variance), freedom)


def separation_p(n: int, m: int) -> float:
    """Two-sided p-value of one sample lying above the other: 2 of C(n + m, n) labellings do."""
    log_ways = math.lgamma(n + m + 1) - math.lgamma(n + 1) - math.lgamma(m + 1)
    return min(1.0, 2.0 * math.exp(-log_ways))


def p_values(test: Studentized, n: int, m: int, ties: Ties, seed: int) -> tuple[np.ndarray, str]:
    """Two-sided p-values [...] of samples with the same ties, and how they were found."""
    equal, statistics = "exact if the distributions are equal", np.abs(test.statistic)
    exact = _labellings(n, m) <= _ENUMERATED
    if not exact and min(n, m) >= _MOST_PERMUTED:
        from scipy import special

        p = 2 * special.stdtr(test.freedom, -statistics)
        method = "t approximation"
    else:
        null = permuted(n, m, ties, seed)
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
    """Ways to label the pooled scores; exchanged labels of equally many count once."""
    return math.comb(n + m, n) // (2 if n == m else 1)


def permuted(n: int, m: int, ties: Ties, seed: int) -> np.ndarray:
    """[labellings] |T| of all labellings of the pooled scores, or of random ones, sorted.

    The smaller sample is drawn, so that A and B may be exchanged (Neubert & Brunner 2007).
    """
    return _permuted(min(n, m), n + m, tuple(np.unique(ties.end).tolist()), seed)


@functools.lru_cache(maxsize=256)
def _permuted(few: int, size: int, ends: tuple[int, ...], seed: int) -> np.ndarray:
    edges, most = np.array((0, *ends)), max(1, _CELLS // size)  # rows in memory at a time
    block = np.searchsorted(edges, np.arange(size), "right")
    ties = Ties(edges[block - 1], edges[block])
    if _labellings(few, size - few) <= _ENUMERATED:
        halved = 2 * few == size  # the lowest score is always A's
        rest = itertools.combinations(range(int(halved), size), few - halved)
        chosen = np.array([(0,) * halved + places for places in rest])
    else:
        draws = min(_DRAWN, max(_FEWEST_DRAWN, 2 * _CELLS // size))
        generator = np.random.default_rng(seed)
        rows = (min(most, draws - begin) for begin in range(0, draws, most))
        drawn = [np.argpartition(generator.random((n, size)), few - 1, axis=1) for n in rows]
        chosen = np.concatenate([order[:, :few] for order in drawn])
    found = []
    for part in np.array_split(chosen, -(-len(chosen) // most)):
        labels = np.zeros((len(part), size), bool)
        np.put_along_axis(labels, part, True, axis=1)
        found.append(np.abs(studentized(labels, ties).statistic))
    return np.sort(np.concatenate(found))


def exact_rank_sum_p(first: np.ndarray, second: np.ndarray) -> float | None:
    """Two-sided p-value of Mann and Whitney's U [n], [m], ties kept; None of too many scores.

    The share of labellings whose rank sum lies as far from its mean.
    """
    from scipy import stats

    pooled = np.concatenate([first, second])
    size = min(len(first), len(second))
    if size > _FEW_SUMMED or 2 * (size * len(pooled)) ** 2 > _ADDITIONS:
        return None
    doubled = np.rint(2 * stats.rankdata(pooled)).astype(int)
    few = min(doubled[: len(first)], doubled[len(first) :], key=len)
    null = _rank_sum_null(tuple(sorted(doubled.tolist())), len(few))
    gaps = np.abs(np.arange(len(null)) * len(pooled) - len(few) * doubled.sum())
    return min(1.0, float(null[gaps >= gaps[few.sum()]].sum()))  # sums of shares round


@functools.lru_cache(maxsize=256)
def _rank_sum_null(doubled: tuple[int, ...], few: int) -> np.ndarray:
    """Probability of each sum of so few ranks, drawn without replacement. doubled: 2 x each."""
    ways = np.zeros((few + 1, sum(doubled[-few:]) + 1))  # of k ranks so far, to each sum
    ways[0, 0] = 1
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, :-rank]
    return np.asarray(ways[few] / ways[few].sum())


def signed(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the ranks of positive and of negative differences [..., n], zeros ranked first.

    Zeros have ranks and no sign (Pratt 1959).
    """
    from scipy import stats

    ranks = stats.rankdata(np.abs(differences), axis=-1)
    return (ranks * (differences > 0)).sum(axis=-1), (ranks * (differences < 0)).sum(axis=-1)


def signed_p(differences: np.ndarray) -> tuple[float, str]:
    """Two-sided p-value of differences [n], ties and zeros kept, and how it was found."""
    from scipy import stats

    if len(differences) > _MOST_SIGNED:
        result = stats.wilcoxon(differences, zero_method="pratt", method="asymptotic")
        return float(result.pvalue), "normal"
    doubled = np.rint(2 * stats.rankdata(np.abs(differences)))[differences != 0].astype(int)
    return float(exact_signed_p(np.minimum(*signed(differences)), doubled)), "exact"


def exact_signed_p(least: np.ndarray, doubled: np.ndarray) -> np.ndarray:
    """Two-sided p-values of smaller sums of ranks [...]. doubled: twice the ranks with a sign."""
    below = np.cumsum(_signed_null(tuple(sorted(doubled.tolist()))))
    return np.minimum(1.0, 2 * below[np.rint(2 * least).astype(int)])


@functools.lru_cache(maxsize=256)
def _signed_null(doubled: tuple[int, ...]) -> np.ndarray:
    """Probability of each sum of ranks when every sign is a coin's. doubled: 2 x mid-ranks."""
    null = np.ones(1)
    for rank in doubled:
        longer = np.zeros(len(null) + rank)
        longer[: len(null)] += null / 2
        longer[rank:] += null / 2
        null = longer
    return null


def spearman(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Rank correlation of [n] and [n], ties with their mean rank, and its two-sided p-value.

    The share of orders with as large a correlation, up to 8 pairs; above, Student's t.
    """
    from scipy import stats

    rho = float(correlations(stats.rankdata(x), stats.rankdata(y)))
    return rho, float(correlation_p(np.array([rho]), stats.rankdata(x), stats.rankdata(y))[0])


def correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson's along the last axis, of [..., n] ranks each; 0 where either does not vary."""
    x, y = (of - of.mean(axis=-1, keepdims=True) for of in (first, second))
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    together: np.ndarray = np.where(scale > 0, (x * y).sum(axis=-1), 0.0)
    return together / np.where(scale > 0, scale, 1.0)


def correlation_p(rho: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Two-sided p-values of correlations [...] of samples with such ranks [n], [n]."""
    from scipy import special

    n = len(first)
    if n <= EXACT_ORDERS:
        null = _correlation_null(tuple(sorted(first.tolist())), tuple(sorted(second.tolist())))
        return (len(null) - np.searchsorted(null, np.abs(rho) - 1e-9)) / len(null)
    with np.errstate(divide="ignore"):
        t = np.abs(rho) * np.sqrt((n - 2) / np.maximum(1 - rho**2, 0.0))
    return np.maximum(2 * special.stdtr(n - 2, -t), 2 * math.exp(-math.lgamma(n + 1)))


@functools.lru_cache(maxsize=64)
def _correlation_null(first: tuple[float, ...], second: tuple[float, ...]) -> np.ndarray:
    """[n!] sizes of the correlation in all orders of the second, sorted."""
    orders = np.array(list(itertools.permutations(second)))
    return np.sort(np.abs(correlations(np.array(first), orders)))
