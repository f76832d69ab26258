"""Scores that follow from summed counts of items: F1, macro-F1, accuracy, perplexity."""

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError

Score = Callable[[np.ndarray], np.ndarray]  # sums [..., K] -> [...]
_STEP = 1e-4  # of a sum, for derivatives
_OF_CLASS = re.compile("gold_[0-9]+")


class _CountScoring(NamedTuple):
    """Rule that computes a metric from summed counts: the names of the counts, and the score."""

    columns: tuple[str, ...]
    score: Score


def f1(counts: np.ndarray) -> np.ndarray:
    """F1 of counts [..., 3]: true positives, predicted, gold; 0 if nothing is found."""
    hits, predicted, gold = _by_kind(counts, "true positives, predicted, gold")
    total = predicted + gold
    return np.where(total > 0, 2 * hits / np.where(total > 0, total, 1.0), 0.0)


def ratio(counts: np.ndarray) -> np.ndarray:
    """Share of the right ones, of counts [..., 2]: right, all."""
    right, total = _by_kind(counts, "right, all")
    return np.where(total > 0, right / np.where(total > 0, total, 1.0), 0.0)


def _macro_f1(counts: np.ndarray) -> np.ndarray:
    """Mean F1 of Y classes, of counts [..., 3 Y]: those of `f1` for each class in turn."""
    counts = np.asarray(counts, np.float64)
    return f1(counts.reshape(*counts.shape[:-1], -1, 3)).mean(axis=-1)


def _by_kind(counts: np.ndarray, names: str) -> np.ndarray:
    by_kind = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    if len(by_kind) != len(names.split(", ")):
        raise DataError(f"counts: expected columns {names}, found {len(by_kind)}")
    return by_kind


def _best_f1(counts: np.ndarray) -> np.ndarray:
    """The better F1 of two repairs, of counts [..., 5] (the rule `ukp`)."""
    gold = counts[..., 4:]
    return np.maximum(*(f1(np.append(counts[..., k : k + 2], gold, axis=-1)) for k in (0, 2)))


_SPANS = ("right_spans", "predicted_spans")
_DROPPED = ("right_spans_dropped", "predicted_spans_dropped")
# by metric; the first whose counts are known holds
_SCORINGS = {
    "f1": (
        _CountScoring((*_SPANS, *_DROPPED, "gold_spans"), _best_f1),
        _CountScoring((*_SPANS, "gold_spans"), f1),
    ),
    "accuracy": (
        _CountScoring(("right_words", "words"), ratio),
        _CountScoring(("right", "items"), ratio),
        _CountScoring(("right", "targets"), ratio),
    ),
    "perplexity": (_CountScoring(("nats", "tokens"), lambda counts: np.exp(ratio(counts))),),
    "bits": (_CountScoring(("nats", "tokens"), lambda counts: ratio(counts) / math.log(2)),),
}


def scoring(metric: str, names: Sequence[str]) -> _CountScoring | None:
    """Returns how a metric is computed from counts of these names; None if unknown."""
    known = _SCORINGS.get(metric, ())
    if metric == "macro_f1":
        classes = sum(bool(_OF_CLASS.fullmatch(name)) for name in names)
        kinds = ("right", "predicted", "gold")
        columns = tuple(f"{kind}_{k}" for k in range(classes) for kind in kinds)
        known = (_CountScoring(columns, _macro_f1),) if classes else ()
    return next((s for s in known if set(s.columns) <= set(names)), None)


def _delta_values(counts: np.ndarray, score: Score) -> np.ndarray:
    """Returns [N] values of items whose mean is the score of all, with its standard error.

    The delta method: the value of item i is score(T) + N g.(c_i - T / N), with the sums T and the
    score's gradient g at T, by central differences. For a share of items with one total each the
    values are exactly the items' own scores.

    Args:
      counts: [N, K] of items.
    """
    counts = np.asarray(counts, np.float64)
    if score is ratio and np.ptp(counts[:, 1]) == 0:
        return ratio(counts)
    sums = counts.sum(0)
    steps = np.diag(_STEP * np.maximum(sums, 1.0))
    gradient = (score(sums + steps) - score(sums - steps)) / (2 * np.diag(steps))
    centred = counts - sums / len(counts)
    return np.asarray(float(score(sums)) + len(counts) * centred @ gradient)


def item_values(counts: np.ndarray, names: Sequence[str], metric: str) -> np.ndarray | None:
    """Returns [I, R, 1] `_delta_values` of counts [I, R, C]; None if the metric needs others."""
    how = scoring(metric, names)
    if how is None:
        return None
    columns = [list(names).index(name) for name in how.columns]
    runs = [_delta_values(counts[:, run][:, columns], how.score) for run in range(counts.shape[1])]
    return np.stack(runs, axis=1)[..., np.newaxis]
