"""What may be claimed of two models, by one of three statistics, however often one has looked."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import argument
from jaxeval.stats import distribution_free, results, sequential
from jaxeval.stats.distribution_free import Course
from jaxeval.stats.sequential import FIRST_LOOK

_SKEWED, _SKEWED_FROM = 1.0, 20  # skewness of A - B that is warned of, from so many scores

Statistic = Literal["t", "wins", "betting"]
_Verdict = Literal["better", "worse", "equal", "undecided"]


class Settled(NamedTuple):
    """What may be said of A and B after the last look."""

    verdict: _Verdict
    looks: int
    decided: int | None
    """Scores of each model at the look that decided, those known before not counted."""
    difference: float
    """A - B: of the means; of wins the median within pairs. NaN if a model has no score."""
    interval: tuple[float, float]
    """Infinite before the first look, while no score varies, and where it bounds nothing; the
    lower end above the upper one where the looks `contradict` each other."""
    p_value: float
    """Anytime p-value of equal means, or of as many wins as losses: the least of all looks."""
    log_e: float
    """log e of the last look against "A is no better than B", for `sequential.merge`."""
    wins: tuple[int, int] | None
    """Pairs that A has won and lost, if they are what counts."""
    warnings: tuple[str, ...]
    """Sentences: why nothing can be claimed, or where wrong claims are not as rare as alpha."""


@np.errstate(over="ignore", invalid="ignore")
def settle(
    a: results.Sample,
    b: results.Sample | None = None,
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
    if statistic == "wins":
        first, second = results.floats(a, "differences: expected numbers"), None
    else:
        first = results.sample(a, "scores of A", 0)
        second = None if b is None else results.sample(b, "scores of B", 0)
    seen = _course(first, second, statistic, known, margin, alpha)
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
        warnings=(*_contradicting(*ends), *(_warnings(first, second) if statistic == "t" else ())),
    )


def contradict(low: float, high: float) -> bool:
    """Returns whether no difference fits all looks: scores drift, or the looks were a rare chance.

    Ends of `wins` that are one score, and rejected as an end, differ by one float.
    """
    return low > np.nextafter(high, np.inf)


def _contradicting(low: float, high: float) -> Iterator[str]:
    if contradict(low, high):
        yield (
            "early and late scores disagree: no difference fits all looks, so nothing is claimed; "
            "did code, data or machine change between them?"
        )


def _claim(seen: Course, margin: float) -> tuple[_Verdict, int | None]:
    """Returns the first claim that a look allows, and which look it is."""
    shown: dict[_Verdict, np.ndarray] = {
        "better": seen.low > margin,
        "worse": seen.high < -margin,
        "equal": (seen.low >= -margin) & (seen.high <= margin) & (margin > 0),
    }
    first = {claim: int(np.argmax(hit)) for claim, hit in shown.items() if hit.any()}
    verdict: _Verdict = min(first, key=lambda claim: first[claim], default="undecided")
    return verdict, first.get(verdict)


def _course(
    a: np.ndarray,
    b: np.ndarray | None,
    statistic: Statistic,
    known: int,
    margin: float,
    alpha: float,
) -> Course:
    if statistic == "wins":
        return distribution_free.wins(a, alpha)
    if statistic == "betting":
        return distribution_free.betting(a, alpha, (0.0, margin))
    seen = sequential.looks(a, b, known)
    ends = sequential.confidence_sequence(seen, alpha)
    better = sequential.e_process(seen, alternative="greater")
    return Course(seen.scores, *ends, sequential.p_values(seen), better)


def _difference(a: np.ndarray, b: np.ndarray | None, statistic: Statistic) -> float:
    if not len(a) or (b is not None and not len(b)):
        return float("nan")
    if b is not None:
        return results.location_gap(a, b)
    return float(np.median(a) if statistic == "wins" else np.mean(a))


def _warnings(a: np.ndarray, b: np.ndarray | None) -> Iterator[str]:
    samples = [a] if b is None else [a, b]
    few = min(map(len, samples))
    if few >= FIRST_LOOK and not any(map(results.varies, samples)):
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
        n, apart = len(x), x - np.mean(x)
        variance += np.sum(apart**2) / (n - 1)
        third += sign * n * np.sum(apart**3) / ((n - 1) * (n - 2))
    return float(abs(third) / variance**1.5)
