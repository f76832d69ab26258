"""Differences of V scores that are computed anew on the same resamples of the items they rest on.

One set of resamples serves all scores, so that their differences are paired.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import (
    Effect,
    HypothesisTest,
    Interval,
    Sample,
    count,
    no_interval,
    percentile_interval,
    sample,
    sign,
)

_AT_ONCE = 2_000_000  # weights
_MOST_UNDEFINED = 0.05  # of the resamples; the others are no fair sample where they are fewer


def difference(
    estimates: tuple[float, float],
    draws: tuple[np.ndarray, np.ndarray],
    n: int,
    *,
    method: str,
    confidence: float = 0.95,
) -> tuple[Effect, HypothesisTest]:
    """Score A minus score B of n items, and the test whether they are equal.

    p = 2 (1 + k) / (1 + B), k the draws [B] on the rarer side of 0, those at 0 included, of the B
    that have a value; NaN where too many have none.
    """
    gap, gaps = estimates[0] - estimates[1], draws[0] - draws[1]
    effect = Effect("difference", gap, interval(gaps, confidence, method), (n,))
    p_value, direction = math.nan, 0
    if np.isnan(gaps).mean() <= _MOST_UNDEFINED:
        gaps = gaps[~np.isnan(gaps)]
        rarer = min(int(np.sum(gaps <= 0)), int(np.sum(gaps >= 0)))
        p_value = min(1.0, 2 * (1 + rarer) / (1 + len(gaps)))
        direction = sign(float(np.median(gaps)))
    null = "both scores are equal on all such items"
    return effect, HypothesisTest("paired bootstrap", gap, p_value, (n,), null, method, direction)


def interval(draws: np.ndarray, confidence: float, method: str) -> Interval:
    """Of the draws [B] that have a value, others are NaN; none where too many are."""
    share = float(np.isnan(draws).mean())
    if share > _MOST_UNDEFINED:
        reason = f"{100 * share:.0f} % of the resamples draw too few different items for a score"
        return no_interval(confidence, reason)
    return percentile_interval(draws[~np.isnan(draws)], confidence, method)


def spearman(gold: Sample, scores: np.ndarray) -> np.ndarray:
    """Spearman's correlation [V] of each row of scores [V, n] with the gold scores, tied means."""
    ranks = _ranks(gold, scores)
    return _correlations(ranks, np.ones((1, len(ranks[0].group)), np.int64))[0]


def spearman_draws(
    gold: Sample, scores: np.ndarray, *, resamples: int = 9999, seed: int = 0
) -> np.ndarray:
    """The same on resamples of the items, drawn with replacement: [B, V].

    Ranks are those within each resample; NaN where all scores of a resample are equal.
    """
    ranks, generator = _ranks(gold, scores), np.random.default_rng(seed)
    items = len(ranks[0].group)
    drawn = (
        generator.multinomial(items, np.full(items, 1 / items), size)
        for size in _blocks(count(resamples, "resamples"), items)
    )
    return np.concatenate([_correlations(ranks, weights) for weights in drawn])


class _Ranked(NamedTuple):
    """Items sorted once, so that the ranks within any resample are a cumulated sum."""

    order: np.ndarray
    first: np.ndarray  # of each group of ties
    group: np.ndarray  # of each item

    def centred(self, weights: np.ndarray) -> np.ndarray:
        """Tied mean ranks [B, n], less their mean, where items count so often [B, n]."""
        tied = np.add.reduceat(weights[:, self.order], self.first, axis=1)
        total = tied.sum(axis=1, keepdims=True)
        ranks = np.cumsum(tied, axis=1) - tied / 2 - total / 2
        return ranks[:, self.group]


def _ranks(gold: Sample, scores: np.ndarray) -> list[_Ranked]:
    """Of the gold scores, then of each row."""
    rows = [sample(gold, "gold scores", 3), *(sample(row, "scores", 3) for row in scores)]
    ranked = []
    for row in rows:
        if len(row) != len(rows[0]):
            raise DataError(f"expected {len(rows[0])} scores, found {len(row)}")
        if (row == row[0]).all():
            raise DataError("all scores are equal; their ranks correlate with nothing")
        order, group = np.argsort(row, kind="stable"), np.empty(len(row), np.int64)
        new = np.concatenate([[True], row[order][1:] != row[order][:-1]])
        group[order] = np.cumsum(new) - 1
        ranked.append(_Ranked(order, np.flatnonzero(new), group))
    return ranked


def _correlations(ranks: list[_Ranked], weights: np.ndarray) -> np.ndarray:
    """[B, V], where items count so often [B, n]."""
    gold, *others = (ranked.centred(weights) for ranked in ranks)
    weighted = gold * weights
    own, columns = (weighted * gold).sum(axis=1), []
    for other in others:
        scale = np.sqrt(own * (other * other * weights).sum(axis=1))
        unknown = np.full_like(scale, np.nan)
        products = (weighted * other).sum(axis=1)
        columns.append(np.divide(products, scale, out=unknown, where=scale > 0))
    return np.stack(columns, axis=1)


def crossed_draws(
    right: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    strata: np.ndarray,
    *,
    resamples: int = 9999,
    seed: int = 0,
) -> np.ndarray:
    """Shares of right answers on resamples of questions that combine two units each: [B, V].

    Units are drawn within their stratum and with replacement; a question counts as often as both
    of its units were drawn, multiplied (Owen 2007, "The pigeonhole bootstrap"). NaN: none was
    drawn.

    Args:
      right: [V, Q] bool, of V systems; first, second: [Q] numbers of the units of each question.
      strata: [units] number of each unit's stratum.
    """
    starts = np.flatnonzero(np.concatenate([[True], strata[1:] != strata[:-1]]))
    sizes = np.diff(np.append(starts, len(strata)))
    generator, answers, draws = np.random.default_rng(seed), right.T.astype(np.float64), []
    for rounds in _blocks(count(resamples, "resamples"), len(first)):
        drawn = [generator.multinomial(size, np.full(size, 1 / size), rounds) for size in sizes]
        units = np.concatenate(drawn, axis=1).astype(np.float64)
        weights = units[:, first] * units[:, second]
        total = weights.sum(axis=1, keepdims=True)
        draws.append(weights @ answers / np.where(total > 0, total, np.nan))
    return np.concatenate(draws)


def _blocks(resamples: int, width: int) -> Iterator[int]:
    """How many resamples at a time: bounds memory."""
    size = max(1, _AT_ONCE // width)
    return (min(size, resamples - begin) for begin in range(0, resamples, size))
