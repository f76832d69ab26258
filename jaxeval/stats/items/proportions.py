"""Intervals of proportions: of answers that are right or wrong (Brown, Cai & DasGupta 2001)."""

import math
from typing import Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import Interval, count, fraction

Method = Literal["jeffreys", "wilson", "clopper_pearson", "beta"]


def proportion(
    right: int, n: int, *, method: Method = "jeffreys", confidence: float = 0.95
) -> Interval:
    """Interval of a proportion, from n independent right or wrong answers.

    `method`: "jeffreys" (Beta(1/2, 1/2) prior), "wilson" (1927), "clopper_pearson" (1934: at least
    as sure as it says), "beta" (Beta(1, 1) prior).
    """
    confidence = fraction(confidence, "confidence")
    right, n = count(right, "right", 0), count(n, "n")
    if right > n:
        raise DataError(f"right: expected at most n, found {right} of {n}")
    low, high = limits(np.asarray(right / n), np.asarray(float(n)), confidence, method)
    return Interval(float(low), float(high), confidence, method.replace("_", "-").title())


def difference(
    first: tuple[int, int], second: tuple[int, int], *, confidence: float = 0.95
) -> Interval:
    """Of the difference of two independent proportions, right and n (Newcombe 1998, method 10)."""
    a, b = (proportion(*of, method="wilson", confidence=confidence) for of in (first, second))
    p, q = first[0] / first[1], second[0] / second[1]
    low = p - q - math.hypot(p - a.low, b.high - q)
    high = p - q + math.hypot(a.high - p, q - b.low)
    return Interval(low, high, confidence, "Newcombe 1998, of Wilson's")


def limits(
    share: np.ndarray, n: np.ndarray, confidence: float, method: Method = "jeffreys"
) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends; n need not be whole: the effective number of answers (Korn & Graubard 1998)."""
    from scipy import special

    tail = (1 - confidence) / 2
    if method == "wilson":
        z2 = special.ndtri(tail) ** 2
        half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2)))
        middle = share + z2 / (2 * n)
        low, high = (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)
        return np.maximum(low, 0.0), np.minimum(high, 1.0)  # rounding alone leads beyond
    known = {"jeffreys": (0.5, 0.5), "beta": (1.0, 1.0), "clopper_pearson": (0.0, 1.0)}
    if method not in known:
        raise DataError(f"method: expected wilson, {', '.join(known)}, not {method}")
    less, more = known[method]
    right, wrong = share * n, (1 - share) * n
    low = special.betaincinv(np.maximum(right + less, 1e-300), wrong + more, tail)
    high = special.betaincinv(right + more, np.maximum(wrong + less, 1e-300), 1 - tail)
    if method == "beta":
        return low, high
    return np.where(right == 0, 0.0, low), np.where(wrong == 0, 1.0, high)


def effective(
    share: np.ndarray,
    variance: np.ndarray,
    df: np.ndarray,
    units: float,
    most: float,
    confidence: float,
) -> np.ndarray:
    """[...] independent answers that would know a proportion as well (Korn & Graubard 1998).

    At most `most`; as many as there are `units` where all answers are alike.
    """
    from scipy import special

    tail = (1 - confidence) / 2
    ratio = special.ndtri(tail) / special.stdtrit(df, tail)
    spread = share * (1 - share)
    known = (spread > 0) & (variance > 0)
    n = spread * ratio**2 / np.where(known, variance, 1.0)
    return np.where(known, np.minimum(n, most), units)
