"""Variances as combinations of independent mean squares, and their intervals.

All for normal scores, where a mean square over its expectation is chi-squared over its degrees of
freedom. Values are [...]: one number, or one for each of many tables of the same shape.
"""

from typing import NamedTuple

import numpy as np

METHOD = "modified large-sample"


class MeanSquare(NamedTuple):
    """A sum of squares over its degrees of freedom."""

    value: np.ndarray  # [...]
    df: float | np.ndarray  # [...] or one of all


class Term(NamedTuple):
    """A mean square times a number of at least 0."""

    coefficient: float
    square: MeanSquare

    @property
    def value(self) -> np.ndarray:
        """[...]"""
        return self.coefficient * self.square.value


class Combination(NamedTuple):
    """A variance: a sum of terms, or one term less another."""

    plus: tuple[Term, ...]
    minus: Term | None = None

    @property
    def estimate(self) -> np.ndarray:
        """[...] unbiased; a difference is below 0 by chance."""
        whole = np.sum([term.value for term in self.plus], axis=0)
        return whole if self.minus is None else whole - self.minus.value


def limits(of: Combination, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of the modified large-sample interval of a variance, cut at 0.

    Graybill & Wang (1980) for sums, Ting, Burdick, Graybill, Jeyaratnam & Lu (1990) for
    differences; both in Burdick & Graybill (1992). Of one mean square: the chi-squared interval.
    """
    tail = (1 - confidence) / 2
    if of.minus is None:
        below, above = _sum_distances(of.plus, tail)
    else:
        below, above = _difference_distances(of.plus[0], of.minus, tail)
    estimate = of.estimate
    return np.maximum(0.0, estimate - below), np.maximum(0.0, estimate + above)


def _sum_distances(terms: tuple[Term, ...], tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Exact as all terms but one go to 0."""
    ends = [_chi_squared_distances(term.square.df, tail) for term in terms]
    below, above = zip(
        *((g * term.value, h * term.value) for (g, h), term in zip(ends, terms, strict=True)),
        strict=True,
    )
    return np.sqrt(np.sum(np.square(below), axis=0)), np.sqrt(np.sum(np.square(above), axis=0))


def _difference_distances(plus: Term, minus: Term, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Exact as the second goes to 0, and where a limit is 0: there it is an F test.

    g12 and h12 are what makes the latter so.
    """
    from scipy import special

    df = plus.square.df, minus.square.df
    (g1, h1), (g2, h2) = (_chi_squared_distances(each, tail) for each in df)
    upper, lower = (special.fdtri(*df, p) for p in (1 - tail, tail))
    g12 = ((upper - 1) ** 2 - (g1 * upper) ** 2 - h2**2) / upper
    h12 = ((1 - lower) ** 2 - (h1 * lower) ** 2 - g2**2) / lower
    first, second = plus.value, minus.value
    below = (g1 * first) ** 2 + (h2 * second) ** 2 + g12 * first * second
    above = (h1 * first) ** 2 + (g2 * second) ** 2 + h12 * first * second
    return np.sqrt(np.maximum(0.0, below)), np.sqrt(np.maximum(0.0, above))


def _chi_squared_distances(df: float | np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """G and H: how far the limits of a mean square lie below and above it, in its own size."""
    from scipy import special

    low, high = special.chdtri(df, tail), special.chdtri(df, 1 - tail)
    return 1 - df / low, df / high - 1
