"""What may be claimed of two models, by one of three statistics, however often one has looked.

`t` is exact for normal scores. `wins` needs nothing of the scores, `betting` scores from 0 to 1;
both are of independent pairs.
"""

import bisect
import functools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from jaxeval import stats
from jaxeval.errors import DataError, argument
from jaxeval.stats import sequential

_SKEWED, _SKEWED_FROM = 1.0, 20  # skewness of A - B that is warned of, from so many scores
_STEPS = 2001  # of the grid of differences from -1 to 1
_TRUNCATION = 0.5  # c: most of the capital that one pair may take
_DISAGREE = (
    "early and late scores disagree: no difference fits all looks, so nothing is claimed; did "
    "code, data or machine change between them?"
)

Statistic = Literal["t", "wins", "betting"]
_Verdict = Literal["better", "worse", "equal", "undecided"]


class _Course(NamedTuple):
    """What is known at each look.

    The ends of intervals are open: an end that is itself rejected is moved by one float, so that
    "above a margin" and "the margin is rejected" are one thing.
    """

    scores: np.ndarray  # [L] scores of each model (pairs) that the look has seen
    # [L] lower ends of intervals that all hold the difference with probability 1 - alpha
    low: np.ndarray
    high: np.ndarray  # [L]
    p_values: np.ndarray  # [L] p-values of no difference, each valid whenever one stops
    log_e: np.ndarray  # [L] log e against "A is no better than B"


def _log_e_wins(
    wins: np.ndarray | int,
    losses: np.ndarray | int,
    alternative: sequential.Alternative = "two-sided",
) -> np.ndarray:
    """Returns log e of wins among untied pairs against a probability of 1/2.

    The probability of a win has the prior Beta(1, 1), for a one-sided alternative cut at 1/2
    (Robbins 1970, "Statistical methods related to the law of the iterated logarithm"). Then the
    e-value is one of the whole null hypothesis "at most 1/2" (or "at least").
    """
    w = np.asarray(wins, float)
    n = np.asarray(wins, float) + losses
    log_e = n * np.log(2) + scipy.special.betaln(w + 1, n - w + 1)
    if alternative == "two-sided":
        return log_e
    won, lost = (w, n - w) if alternative == "greater" else (n - w, w)
    with np.errstate(divide="ignore"):  # log 0: there is no such effect for sure
        return log_e + np.log(2) + np.log(scipy.special.betainc(lost + 1, won + 1, 0.5))


def wins(differences: np.ndarray, alpha: float = 0.05) -> _Course:
    """Returns the course of a sign test: where do as many differences lie above as below?

    A difference d is rejected when those above d are too many, or too few, among all that are not
    d itself. For a continuous distribution this bounds the median, for d = 0 it asks which model
    wins more often.

    Args:
      differences: [n] A - B within pairs; infinite where one of the two failed.
    """
    d = np.asarray(differences, np.float64)
    below = _low_ends(d, alpha)
    above = _low_ends(-d, alpha)
    won = np.cumsum(d > 0)
    lost = np.cumsum(d < 0)
    greater, less = _log_e_wins(won, lost, "greater"), _log_e_wins(won, lost, "less")
    return _both_sides(below, -above, greater, less)


def _both_sides(
    low: np.ndarray, high: np.ndarray, greater: np.ndarray, less: np.ndarray
) -> _Course:
    p_values = np.minimum(1, 2 * np.exp(-np.maximum(0, np.maximum(greater, less))))
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
    return _Course(np.arange(1, len(low) + 1), low, high, p_values, greater)


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
    while _log_e_wins(n - losses, losses, "greater") < np.log(2 / alpha):
        n += 1
    return n


def _betting(
    differences: np.ndarray, alpha: float = 0.05, margins: Sequence[float] = (0.0,)
) -> _Course:
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
    return _both_sides(low, -high, log_up, log_down)


def _rejected(x: np.ndarray, grid: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the largest difference that bets on larger ones reject, and log e at 0, by look."""
    t = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    before = np.append(0.25, variance)[: len(x)]
    stakes = np.sqrt(2 * np.log(2 / alpha) / (t * np.log(t + 1) * before))
    means = (grid + 1) / 2
    capital = np.zeros(len(grid))
    with np.errstate(divide="ignore"):
        largest = _TRUNCATION / means
    ends = np.full(len(x), grid[0])
    at_zero = np.zeros(len(x))
    place = int(np.searchsorted(grid, 0.0))
    for k, (value, stake) in enumerate(zip(x.tolist(), stakes.tolist(), strict=True)):
        capital += np.log1p(np.minimum(stake, largest) * (value - means))
        count = int(np.argmin(capital >= np.log(2 / alpha)))  # it falls with the difference
        ends[k] = np.nextafter(grid[count - 1], np.inf) if count else grid[0]
        at_zero[k] = capital[place]
    return ends, at_zero


class Settled(NamedTuple):
    """What may be said of A and B after the last look."""

    verdict: _Verdict
    looks: int
    # scores of each model at the look that decided, those known before not counted
    decided: int | None
    # A - B: of the means; of wins the median within pairs. NaN if a model has no score
    difference: float
    # infinite before the first look, while no score varies, and where it bounds nothing; the lower
    # end above the upper one where the looks `contradict` each other
    interval: tuple[float, float]
    # anytime p-value of equal means, or of as many wins as losses: the least of all looks
    p_value: float
    log_e: float  # log e of the last look against "A is no better than B", for `sequential.merge`
    wins: tuple[int, int] | None  # pairs that A has won and lost, if they are what counts
    # sentences: why nothing can be claimed, or where wrong claims are not as rare as alpha
    warnings: tuple[str, ...]


@np.errstate(over="ignore", invalid="ignore")
def settle(
    a: stats.Sample,
    b: stats.Sample | None = None,
    *,
    statistic: Statistic = "t",
    known: int = 0,
    margin: float = 0.0,
    alpha: float = 0.05,
) -> Settled:
    """Decides whether A is better or worse than B by more than the margin, or equal within it.

    A claim is one about the confidence sequence: better is above the margin, worse below it, equal
    within. With probability 1 - alpha no wrong claim is ever made. Without a margin no two models
    are called equal. Nothing is claimed where looks contradict each other.

    Args:
        a, b, known: scores as of `sequential.looks`, of which higher is better; for wins and
            betting differences within pairs only.
        statistic: "t" is exact for normal scores, "wins" asks which model wins more of the pairs
            (one that failed has an infinite difference), "betting" holds for the mean of any
            scores from 0 to 1.

    Raises:
        DataError: a score is not a finite number, or not from 0 to 1 for betting.
    """
    first = stats.floats(a, "differences: expected numbers")
    second = None
    if statistic == "wins":
        seen = wins(first, alpha)
    elif statistic == "betting":
        seen = _betting(stats.sample(a, "scores of A", 0), alpha, (0.0, margin))
    else:
        first = stats.sample(a, "scores of A", 0)
        second = None if b is None else stats.sample(b, "scores of B", 0)
        looks = sequential.looks(first, second, known)
        better = sequential.e_process(looks, alternative="greater")
        bounds = sequential.confidence_sequence(looks, alpha)
        seen = _Course(looks.scores, *bounds, sequential.p_values(looks), better)
    ends = (float(seen.low[-1]), float(seen.high[-1])) if len(seen.low) else (-np.inf, np.inf)
    verdict, at = ("undecided", None) if contradict(*ends) else _claim(seen, margin)
    return Settled(
        verdict,
        looks=len(seen.scores),
        decided=None if at is None else int(seen.scores[at]),
        difference=_difference(first, second, statistic),
        interval=ends,
        p_value=float(seen.p_values.min(initial=1.0)),
        log_e=float(seen.log_e[-1]) if len(seen.log_e) else 0.0,
        wins=(int(np.sum(first > 0)), int(np.sum(first < 0))) if statistic == "wins" else None,
        warnings=(
            *((_DISAGREE,) if contradict(*ends) else ()),
            *(_warnings(first, second) if statistic == "t" else ()),
        ),
    )


def contradict(low: float, high: float) -> bool:
    """Returns whether no difference fits all looks: scores drift, or the looks were a rare chance.

    Ends of `wins` that are one score, and rejected as an end, differ by one float.
    """
    return low > np.nextafter(high, np.inf)


def _claim(seen: _Course, margin: float) -> tuple[_Verdict, int | None]:
    """Returns the first claim that a look allows, and which look it is."""
    shown: dict[_Verdict, np.ndarray] = {
        "better": seen.low > margin,
        "worse": seen.high < -margin,
        "equal": (seen.low >= -margin) & (seen.high <= margin) & (margin > 0),
    }
    first = {claim: int(np.argmax(hit)) for claim, hit in shown.items() if hit.any()}
    verdict: _Verdict = min(first, key=lambda claim: first[claim], default="undecided")
    return verdict, first.get(verdict)


def _difference(a: np.ndarray, b: np.ndarray | None, statistic: Statistic) -> float:
    if not len(a) or (b is not None and not len(b)):
        return float("nan")
    if b is not None:
        return stats.location_gap(a, b)
    return float(np.median(a) if statistic == "wins" else np.mean(a))


def _warnings(a: np.ndarray, b: np.ndarray | None) -> Iterator[str]:
    samples = [a] if b is None else [a, b]
    few = min(map(len, samples))
    if few >= sequential.FIRST_LOOK and not any(map(stats.varies, samples)):
        yield (
            "all scores of a model are equal" if b is not None else "all differences are equal"
        ) + ": they count as one score, and nothing is claimed; do they depend on the seed?"
    elif few >= _SKEWED_FROM // len(samples) and (skewness := _skewness(samples)) > _SKEWED:
        yield (
            f"the differences are skewed ({skewness:.1f}): wrong claims can be three times as "
            f"frequent as alpha; {argument('statistic', 'wins')} asks who wins more pairs, and "
            "holds for any distribution"
        )


def _skewness(samples: list[np.ndarray]) -> float:
    """Returns |skewness| of A - B, from each sample's unbiased cumulants; they add up."""
    variance = third = 0.0
    for x, sign in zip(samples, (1, -1), strict=False):
        n = len(x)
        apart = x - np.mean(x)
        variance += np.sum(apart**2) / (n - 1)
        third += sign * n * np.sum(apart**3) / ((n - 1) * (n - 2))
    return float(abs(third) / variance**1.5)
