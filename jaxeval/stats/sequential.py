"""Comparisons that stay valid however often one looks: e-processes and confidence sequences.

A fixed-n p-value is wrong as soon as somebody looks, adds seeds and looks again. An e-process is
nonnegative, and its expectation under the null hypothesis is at most 1 at any stopping time. By
Ville's inequality it ever reaches 1 / alpha with probability alpha at most. All e-values here are
natural logarithms.
"""

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import scipy

from jaxeval import stats
from jaxeval.stats import HypothesisTest

FIRST_LOOK = 3
"""Scores of each model before the first look: with two, a spread that is 0 by chance decides."""

_PRIOR_VARIANCE = 2.0
"""Variance g of the normal prior of the effect, in variances of one score."""

_LENT = 30  # scores with which a larger sample steadies the variance of a smaller one
_ROUNDS = 20

Alternative = Literal["two-sided", "greater", "less"]


class Looks(NamedTuple):
    """What the t statistic is made of, at each look; `error` is NaN while no score varies."""

    scores: np.ndarray  # [L] scores of each model (pairs, if paired) that the look has seen
    estimate: np.ndarray  # [..., L]
    error: np.ndarray  # [..., L] standard error of the estimate
    df: np.ndarray  # [..., L] or [L] degrees of freedom of the error
    # [L] effective size n: the variance of the estimate is that of one score divided by n
    effective: np.ndarray


@np.errstate(over="ignore", invalid="ignore")  # scores that diverged: no claim
def looks(a: np.ndarray, b: np.ndarray | None = None, known: int = 0) -> Looks:
    """Returns the estimate A - B and its error after each score, from the third on.

    There is no look while one of the models has fewer than `FIRST_LOOK` scores. The error of two
    samples is Welch's (1947), and so are its degrees of freedom, but for the smaller sample's
    variance: a few scores often lie close together by chance (`benchmarks/settle_errors.py`).

    Args:
        a: [..., n] scores in the order in which they came, or differences within pairs.
        b: [..., m] scores of the other model; None: `a` holds differences. The look at k scores
            sees the first k of each model, or all where there are fewer.
        known: scores of B that stood before the first one of A came: every look sees them.
    """
    a = np.asarray(a, np.float64)
    if b is None:
        count = np.arange(FIRST_LOOK, a.shape[-1] + 1)
        estimate, variance = _running(a, count)
        squared = variance / count
        df = count - 1.0
        effective = count.astype(float)
    else:
        b = np.asarray(b, np.float64)
        few, many = sorted((a.shape[-1], b.shape[-1]))
        last = a.shape[-1] if b.shape[-1] <= known else many
        count = np.arange(FIRST_LOOK, (last if few >= FIRST_LOOK else 0) + 1)
        n = np.minimum(count, a.shape[-1])
        m = np.minimum(np.maximum(count, known), b.shape[-1])
        (mean_a, variance_a), (mean_b, variance_b) = _running(a, n), _running(b, m)
        of_a, of_b = variance_a / n, variance_b / m
        df = (of_a + of_b) ** 2 / (of_a**2 / (n - 1) + of_b**2 / (m - 1))
        squared = _steadied(variance_a, n, variance_b, m) / n
        squared += _steadied(variance_b, m, variance_a, n) / m
        estimate = mean_a - mean_b
        effective = n * m / (n + m)
    error = np.sqrt(np.where(squared > 0, squared, np.nan))
    return Looks(count, estimate, error, df, effective)


def _steadied(variance: np.ndarray, n: np.ndarray, other: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Returns the variance of n scores, pooled with that of m others where this makes it larger.

    The other counts as one of min(m - n, 30) scores, so that samples of one size keep theirs.
    """
    lent = np.clip(m - n, 0, _LENT)
    return np.maximum(variance, ((n - 1) * variance + lent * other) / (n - 1 + lent))


def _running(x: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances [..., L] of the first scores; the variance of equal ones is 0."""
    shifted = x - x[..., :1]
    mean = np.cumsum(shifted, axis=-1)[..., count - 1] / count
    squares = np.cumsum(shifted**2, axis=-1)[..., count - 1] - count * mean**2
    apart = np.abs(shifted) > stats.rounding_unit(x)
    varies = np.logical_or.accumulate(apart, axis=-1)[..., count - 1]
    return x[..., :1] + mean, np.where(varies, np.maximum(squares, 0), 0) / (count - 1)


def _log_side(t: np.ndarray, df: np.ndarray, shrunk: np.ndarray) -> np.ndarray:
    """Returns the log posterior probability of a positive effect, whose posterior is a t."""
    with np.errstate(invalid="ignore"):
        standardised = t * np.sqrt((1 - 1 / shrunk) * (df + 1) / (df + t**2 / shrunk))
    limit = np.sqrt((shrunk - 1) * (df + 1))  # of an infinite t
    standardised = np.where(np.isinf(t), limit, standardised)
    with np.errstate(divide="ignore"):  # log 0: the effect is negative for sure
        return np.log(scipy.special.stdtr(df + 1, standardised))


def e_process(
    seen: Looks, *, g: float = _PRIOR_VARIANCE, alternative: Alternative = "two-sided"
) -> np.ndarray:
    """Returns log e [..., L] of the t statistic against equal means of normal scores at each look.

    The effect in standard deviations has the prior N(0, g), for a one-sided alternative cut at 0;
    the standard deviation has the right Haar prior (Rouder et al. 2009; Wang & Ramdas 2024,
    "Anytime-valid t-tests"; Grünwald, de Heide & Koolen 2024). A one-sided e-value increases with
    t, so that it is one of the whole null hypothesis "at most" (or "at least"). A look at scores
    that do not vary yet has log e = 0: it says nothing.
    """
    raw = seen.estimate / seen.error
    df = seen.df
    shrunk = 1 + seen.effective * g
    t = np.nan_to_num(raw)
    log_e = -0.5 * np.log(shrunk) + 0.5 * (df + 1) * (
        np.log1p(t**2 / df) - np.log1p(t**2 / (df * shrunk))
    )
    if alternative != "two-sided":
        log_e = log_e + np.log(2) + _log_side(t if alternative == "greater" else -t, df, shrunk)
    return np.where(np.isnan(raw), 0.0, log_e)


def p_values(seen: Looks) -> np.ndarray:
    """Returns p-values [..., L] of equal means at each look, each valid whenever one stops.

    They are 2 / e of the side that looks better, at most 1.
    """
    greater, less = (e_process(seen, alternative=side) for side in ("greater", "less"))
    return np.minimum(1, 2 * np.exp(-np.maximum(greater, less)))


def tests(
    x: np.ndarray, y: np.ndarray, *, paired: bool, margin: float | None = None
) -> dict[str, HypothesisTest]:
    """Returns tests that hold at any look: of equal means and, with a margin, of equivalence.

    They are of all scores [n] and [m], whose order cannot change them; p is 1 where there are too
    few. The statistics are log e.
    """
    seen = looks(stats.gaps(x, y)) if paired else looks(x, y)
    n = (len(x),) if paired else (len(x), len(y))
    method = "e-process of t"

    def log_e(shift: float, alternative: Alternative) -> float:
        shifted = seen._replace(estimate=seen.estimate - shift)
        return float(e_process(shifted, alternative=alternative)[-1]) if len(seen.scores) else 0.0

    higher, lower = log_e(0.0, "greater"), log_e(0.0, "less")
    most = max(higher, lower)
    sign = stats.sign(higher - lower)
    p_value = math.exp(min(0.0, math.log(2) - most))
    found = {"anytime_t": HypothesisTest(most, p_value, n, method, sign)}
    if margin is not None:
        within = min(log_e(margin, "less"), log_e(-margin, "greater"))
        found["tost"] = HypothesisTest(within, math.exp(min(0.0, -within)), n, method)
    return found


def confidence_sequence(seen: Looks, alpha: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Returns both ends [..., L] of intervals that all hold the difference (1 - alpha).

    Each end is where a one-sided e-process has reached 2 / alpha: that of a look, or of the looks
    before. An end beyond a margin and a claim about this margin are one thing.
    """
    half = _critical_t(seen.df, seen.effective, alpha) * seen.error
    half = np.where(np.isnan(half), np.inf, half)
    low = np.maximum.accumulate(seen.estimate - half, axis=-1)
    return low, np.minimum.accumulate(seen.estimate + half, axis=-1)


def _critical_t(df: np.ndarray, effective: np.ndarray, alpha: float) -> np.ndarray:
    """Returns the t with a one-sided e of 2 / alpha; infinite where no t has it."""
    shrunk = 1 + effective * _PRIOR_VARIANCE
    needed = np.full(np.shape(df), np.log(2 / alpha))
    two_sided = needed - np.log(2)
    t = np.zeros(np.shape(df))
    for _ in range(_ROUNDS):  # from below: the larger t, the less the cut at 0 takes
        ratio = np.exp((2 * two_sided + np.log(shrunk)) / (df + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(ratio < shrunk, np.sqrt(df * (ratio - 1) / (1 - ratio / shrunk)), np.inf)
        two_sided = needed - np.log(2) - _log_side(t, df, shrunk)
    return t


def level(alpha: float, k: int, kept: int, rule: Literal["e-lond", "spending"]) -> float:
    """Returns the level of the k-th comparison (from 1) after `kept` rejections.

    "spending" bounds the probability of any false rejection by alpha, "e-lond" the expected share
    of false ones among all, under any dependence of e-values (Xu & Ramdas 2024).
    """
    return alpha * _share(k) * (kept + 1 if rule == "e-lond" else 1)


def _share(k: int) -> float:
    """Returns the share of the k-th comparison, from 1; all shares add up to 1."""
    return float(6 / (np.pi * k) ** 2)


def merge(log_e: Mapping[int, float]) -> float:
    """Returns log e against the null hypotheses of all comparisons at once, begun one by one.

    The mean of e-values with weights fixed beforehand is an e-value, however they depend on one
    another (Vovk & Wang 2021, section 3), as those of candidates with one base do. A comparison
    has the weight that "spending" gives its level, so that further ones may follow.

    Args:
        log_e: of comparisons, by their places from 1; one that is left out counts as e = 0.
    """
    weighted = [e + np.log(_share(k)) for k, e in log_e.items()]
    return float(np.logaddexp.reduce([-np.inf, *weighted]))


def smallest_difference(n: int, sd: float, *, alpha: float = 0.05) -> float:
    """Returns the least difference of two means of n scores that `settle` decides at this look.

    It is infinite where no difference is large enough.

    Args:
        sd: standard deviation of the scores of each model.
    """
    (t,) = _critical_t(np.array([2.0 * n - 2]), np.array([n / 2]), alpha)
    return float(sd * np.sqrt(2 / n) * t)
