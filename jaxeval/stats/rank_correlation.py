"""Spearman's rank correlation and its p-value, which is exact for few pairs."""

import functools
import itertools
import math

import numpy as np

EXACT = 8  # pairs up to which all orders are looked at


def spearman(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Rank correlation of [n] and [n], ties with their mean rank, and its two-sided p-value.

    The share of orders with as large a correlation, up to 8 pairs; above, Student's t, though
    never below the 2 / n! of complete agreement. (0, 1) where either does not vary.
    """
    from scipy import stats

    rho = float(correlations(stats.rankdata(x), stats.rankdata(y)))
    return rho, float(p_values(np.array([rho]), stats.rankdata(x), stats.rankdata(y))[0])


def correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pearson's along the last axis, of [..., n] ranks each; 0 where either does not vary."""
    x, y = (of - of.mean(axis=-1, keepdims=True) for of in (first, second))
    scale = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    together: np.ndarray = np.where(scale > 0, (x * y).sum(axis=-1), 0.0)
    return together / np.where(scale > 0, scale, 1.0)


def p_values(rho: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Two-sided p-values of correlations [...] of samples with such ranks [n], [n]."""
    from scipy import special

    n = len(first)
    if n <= EXACT:
        null = _null(tuple(sorted(first.tolist())), tuple(sorted(second.tolist())))
        return (len(null) - np.searchsorted(null, np.abs(rho) - 1e-9)) / len(null)
    with np.errstate(divide="ignore"):
        t = np.abs(rho) * np.sqrt((n - 2) / np.maximum(1 - rho**2, 0.0))
    return np.maximum(2 * special.stdtr(n - 2, -t), 2 * math.exp(-math.lgamma(n + 1)))


@functools.lru_cache(maxsize=64)
def _null(first: tuple[float, ...], second: tuple[float, ...]) -> np.ndarray:
    """[n!] sizes of the correlation in all orders of the second, sorted."""
    orders = np.array(list(itertools.permutations(second)))
    return np.sort(np.abs(correlations(np.array(first), orders)))
