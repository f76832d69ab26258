"""Scores that follow from the counts of items, summed: F1, macro-F1, shares."""

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError

Score = Callable[[np.ndarray], np.ndarray]  # sums [..., K] -> [...]
_STEP = 1e-4  # of a sum, for derivatives
_OF_CLASS = re.compile("gold_[0-9]+")


class CountScoring(NamedTuple):
    """How a metric follows from the counts of items, summed: their names, and the score."""

    columns: tuple[str, ...]
    score: Score


def f1(counts: np.ndarray) -> np.ndarray:
    """F1 of summed counts [..., 3]: true positives, predicted, gold; 0 where nothing is found."""
    hits, predicted, gold = _kinds(counts, "true positives, predicted, gold")
    total = predicted + gold
    return np.where(total > 0, 2 * hits / np.where(total > 0, total, 1.0), 0.0)


def ratio(counts: np.ndarray) -> np.ndarray:
    """Right ones over all, of summed counts [..., 2]: accuracy."""
    right, total = _kinds(counts, "right, all")
    return np.where(total > 0, right / np.where(total > 0, total, 1.0), 0.0)


def macro_f1(counts: np.ndarray) -> np.ndarray:
    """Mean F1 of Y classes, of summed counts [..., 3 Y]: those of `f1` for each class in turn."""
    counts = np.asarray(counts, np.float64)
    return f1(counts.reshape(*counts.shape[:-1], -1, 3)).mean(axis=-1)


def _kinds(counts: np.ndarray, names: str) -> np.ndarray:
    """[K, ...] of counts [..., K]."""
    by_kind = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    if len(by_kind) != len(names.split(", ")):
        raise DataError(f"counts: expected columns {names}, found {len(by_kind)}")
    return by_kind


def of_items(counts: np.ndarray, score: Score) -> np.ndarray:
    """[N] values of items whose mean is the score of all, and whose spread is that of its error.

    Value of item i: score(T) + N g.(c_i - T / N), with T the sums, g the score's gradient there:
    the delta method. Of a share of rows with one total each they are the rows' own scores, and
    exactly so: 0 and 1 are told by them.

    Args:
      counts: [N, K] of items.
      score: of sums; its gradient is taken by central differences.
    """
    counts = np.asarray(counts, np.float64)
    if score is ratio and np.ptp(counts[:, 1]) == 0:
        return ratio(counts)
    sums = counts.sum(0)
    steps = np.diag(_STEP * np.maximum(sums, 1.0))
    gradient = (score(sums + steps) - score(sums - steps)) / (2 * np.diag(steps))
    centred = counts - sums / len(counts)
    return np.asarray(float(score(sums)) + len(counts) * centred @ gradient)


def scoring(metric: str, names: Sequence[str]) -> CountScoring | None:
    """How a metric is computed from counts of these names; None: unknown."""
    known = _SCORINGS.get(metric, ())
    if metric == "macro_f1":
        classes = sum(bool(_OF_CLASS.fullmatch(name)) for name in names)
        kinds = ("right", "predicted", "gold")
        columns = tuple(f"{kind}_{k}" for k in range(classes) for kind in kinds)
        known = (CountScoring(columns, macro_f1),) if classes else ()
    return next((s for s in known if set(s.columns) <= set(names)), None)


def _best_f1(counts: np.ndarray) -> np.ndarray:
    """The better F1 of two repairs, of counts [..., 5] (the rule `ukp`)."""
    gold = counts[..., 4:]
    return np.maximum(*(f1(np.append(counts[..., k : k + 2], gold, axis=-1)) for k in (0, 2)))


_SPANS = ("right_spans", "predicted_spans")
_DROPPED = ("right_spans_dropped", "predicted_spans_dropped")
# by metric; the first whose counts were kept holds
_SCORINGS = {
    "f1": (
        CountScoring((*_SPANS, *_DROPPED, "gold_spans"), _best_f1),
        CountScoring((*_SPANS, "gold_spans"), f1),
    ),
    "accuracy": (
        CountScoring(("right_words", "words"), ratio),
        CountScoring(("right", "items"), ratio),
        CountScoring(("right", "targets"), ratio),
    ),
    "perplexity": (CountScoring(("nats", "tokens"), lambda counts: np.exp(ratio(counts))),),
    "bits": (CountScoring(("nats", "tokens"), lambda counts: ratio(counts) / math.log(2)),),
}


def values(counts: np.ndarray, names: Sequence[str], metric: str) -> np.ndarray | None:
    """[I, R, 1] scores of items by `of_items`, of counts [I, R, C]; None: they do not give it."""
    how = scoring(metric, names)
    if how is None:
        return None
    columns = [list(names).index(name) for name in how.columns]
    runs = [of_items(counts[:, run][:, columns], how.score) for run in range(counts.shape[1])]
    return np.stack(runs, axis=1)[..., np.newaxis]
