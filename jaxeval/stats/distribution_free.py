"""Comparisons of pairs that stay valid however often one looks, whatever the distribution.

`wins` needs nothing of the scores, `betting` scores from 0 to 1. Pairs are independent.
"""

import bisect
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from jaxeval.errors import DataError
from jaxeval.stats.sequential import Alternative

_STEPS = 2001  # of the grid of differences from -1 to 1
_TRUNCATION = 0.5  # c: most of the capital that one pair may take


class Course(NamedTuple):
    """What is known at each look.

    The ends of intervals are open: an end that is itself rejected is moved by one float, so that
    "above a margin" and "the margin is rejected" are one thing.
    """

    scores: np.ndarray
    """[L] scores of each model (pairs) that the look has seen."""
    low: np.ndarray
    """[L] lower ends of intervals that all hold the difference with probability 1 - alpha."""
    high: np.ndarray
    """[L]"""
    p_values: np.ndarray
    """[L] p-values of no difference, each valid whenever one stops."""
    log_e: np.ndarray
    """[L] log e against "A is no better than B"."""


def log_e_wins(
    wins: np.ndarray | int, losses: np.ndarray | int, alternative: Alternative = "two-sided"
) -> np.ndarray:
    """Returns log e of wins among untied pairs against a probability of 1/2.

    The probability of a win has the prior Beta(1, 1), for a one-sided alternative cut at 1/2
    (Robbins 1970, "Statistical methods related to the law of the iterated logarithm"). Then the
    e-value is one of the whole null hypothesis "at most 1/2" (or "at least").
    """
    w, n = np.asarray(wins, float), np.asarray(wins, float) + losses
    log_e = n * np.log(2) + scipy.special.betaln(w + 1, n - w + 1)
    if alternative == "two-sided":
        return log_e
    won, lost = (w, n - w) if alternative == "greater" else (n - w, w)
    with np.errstate(divide="ignore"):  # log 0: there is no such effect for sure
        return log_e + np.log(2) + np.log(scipy.special.betainc(lost + 1, won + 1, 0.5))


def wins(differences: np.ndarray, alpha: float = 0.05) -> Course:
    """Returns the course of a sign test: where do as many differences lie above as below?

    A difference d is rejected when those above d are too many, or too few, among all that are not
    d itself. For a continuous distribution this bounds the median, for d = 0 it asks which model
    wins more often.

    Args:
      differences: [n] A - B within pairs; infinite where one of the two failed.
    """
    d = np.asarray(differences, np.float64)
    below, above = _low_ends(d, alpha), _low_ends(-d, alpha)
    won, lost = np.cumsum(d > 0), np.cumsum(d < 0)
    greater, less = log_e_wins(won, lost, "greater"), log_e_wins(won, lost, "less")
    return _course(below, -above, greater, less)


def _course(low: np.ndarray, high: np.ndarray, greater: np.ndarray, less: np.ndarray) -> Course:
    p_values = np.minimum(1, 2 * np.exp(-np.maximum(0, np.maximum(greater, less))))
    return Course(
        np.arange(1, len(low) + 1),
        np.maximum.accumulate(low),
        np.minimum.accumulate(high),
        p_values,
        greater,
    )


def _low_ends(d: np.ndarray, alpha: float) -> np.ndarray:
    """Returns the lower end of each look: differences below it are rejected as too small."""
    most = -1  # the most losses with which so many pairs reject
    ordered: list[float] = []
    ends = np.full(len(d), -np.inf)
    for n, value in enumerate(d.tolist(), 1):
        bisect.insort(ordered, value)
        most += n >= _fewest(most + 1, alpha)
        if most >= 0:
            end = ordered[most]
            losses = bisect.bisect_left(ordered, end)
            untied = n - (bisect.bisect_right(ordered, end) - losses)
            rejected = untied >= _fewest(losses, alpha)
            ends[n - 1] = np.nextafter(end, np.inf) if rejected and np.isfinite(end) else end
    return ends


@functools.cache
def _fewest(losses: int, alpha: float) -> int:
    """Returns the fewest untied pairs that reject with so many losses."""
    n = 1 + (_fewest(losses - 1, alpha) if losses else 0)
    while log_e_wins(n - losses, losses, "greater") < np.log(2 / alpha):
        n += 1
    return n


def betting(
    differences: np.ndarray, alpha: float = 0.05, margins: Sequence[float] = (0.0,)
) -> Course:
    """Returns the course of bets on the mean difference of scores from 0 to 1.

    Hedged capital with predictable plug-in bets (Waudby-Smith & Ramdas 2024, "Estimating means of
    bounded random variables by betting", section 4.1, equations 25 and 26): exact for any
    distribution of the pairs. Ends are on a grid of .001, rounded outwards.

    Args:
      differences: [n] A - B within pairs.
      margins: differences that the grid holds.

    Raises:
      DataError: a difference is not between -1 and 1.
    """
    x = (np.asarray(differences, np.float64) + 1) / 2
    if not np.all((x >= 0) & (x <= 1)):
        raise DataError("expected scores from 0 to 1 for bets on their mean")
    grid = np.union1d(np.linspace(-1, 1, _STEPS), [[-m, m] for m in margins])
    low, log_up = _rejected(x, grid, alpha)
    high, log_down = _rejected(1 - x, -grid[::-1], alpha)
    return _course(low, -high, log_up, log_down)


def _rejected(x: np.ndarray, grid: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the largest difference that bets on larger ones reject, and log e at 0, by look."""
    t = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    before = np.append(0.25, variance)[: len(x)]
    stakes = np.sqrt(2 * np.log(2 / alpha) / (t * np.log(t + 1) * before))
    means, capital = (grid + 1) / 2, np.zeros(len(grid))
    with np.errstate(divide="ignore"):
        largest = _TRUNCATION / means
    ends, at_zero = np.full(len(x), grid[0]), np.zeros(len(x))
    place = int(np.searchsorted(grid, 0.0))
    for k, (value, stake) in enumerate(zip(x.tolist(), stakes.tolist(), strict=True)):
        capital += np.log1p(np.minimum(stake, largest) * (value - means))
        count = int(np.argmin(capital >= np.log(2 / alpha)))  # it falls with the difference
        ends[k] = np.nextafter(grid[count - 1], np.inf) if count else grid[0]
        at_zero[k] = capital[place]
    return ends, at_zero
