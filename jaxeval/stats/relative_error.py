"""Relative error reduction against a baseline, over tasks, with what other seeds leave open.

Notation: s and b mean scores of a model and of the baseline on a task, from 0 to 1, S seeds that
both were trained with, T tasks.

    RER = ((1 - b) - (1 - s)) / (1 - b) = (s - b) / (1 - b)

0 is the baseline, 1 no error left; it has no lower end (b = .9 and s = 0: -9). The mean over tasks
has no weights (Nayak, Angeli & Manning 2016).
"""

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import Effect, Interval, fraction, no_interval

FEWEST = 5  # seeds of an interval, as of any conclusion
_TINY = 1e-12  # a standard error below it is rounding
_NAME = "relative error reduction"


def reduction(score: np.ndarray | float, baseline: np.ndarray | float) -> np.ndarray:
    """RER of scores; any shapes that fit one another.

    Raises:
      DataError: a baseline without errors, or scores that are no fractions.
    """
    s, b = np.asarray(score, float), np.asarray(baseline, float)
    if not (np.all((s >= 0) & (s <= 1)) and np.all((b >= 0) & (b <= 1))):
        raise DataError("relative error reduction: expected scores from 0 to 1")
    if np.any(b == 1):
        raise DataError(
            "relative error reduction: the baseline makes no error (score 1), so that there is "
            "none to reduce; expected another baseline or a harder task"
        )
    return (s - b) / (1 - b)


def reductions(
    scores: np.ndarray, baseline: np.ndarray, *, confidence: float = 0.95
) -> tuple[list[Effect], Effect | None]:
    """RER of each task, and the mean of all, with intervals over seeds.

    t intervals of the logarithm of the error left, log(1 - RER), so that none goes beyond 1. Its
    standard error is linearised (delta method, Casella & Berger 2002, section 5.5.4), from what
    each seed contributes by the model, the baseline and all tasks together. Intervals speak of
    other seeds on these data.

    Args:
      scores, baseline: [T, S] of the same tasks and seeds.

    Returns:
      T effects; their mean, None where there is no task. Ends of intervals are NaN with fewer than
      `FEWEST` seeds, where the model makes no error, and where nothing varies over seeds.

    Raises:
      DataError: as `reduction`, or arrays of different shapes.
    """
    s, b = np.asarray(scores, float), np.asarray(baseline, float)
    confidence = fraction(confidence, "confidence")
    if s.shape != b.shape or s.ndim != 2 or not s.shape[1]:
        raise DataError("relative error reduction: expected as many tasks and seeds of both")
    if not len(s):
        return [], None
    left, influence = _error_left(s, b)
    tasks = [_effect(_NAME, *task, confidence) for task in zip(left, influence, strict=True)]
    mean = _effect(f"mean {_NAME}", left.mean(), influence.mean(axis=0), confidence)
    return tasks, mean


def _error_left(s: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - RER [T] of the means over seeds, and each seed's influence on it [T, S].

    d(1 - RER) = -ds / (1 - b) + db (1 - s) / (1 - b)^2.
    """
    mean_s, mean_b = s.mean(axis=1, keepdims=True), b.mean(axis=1, keepdims=True)
    left = 1 - reduction(mean_s, mean_b)
    influence = ((b - mean_b) * left - (s - mean_s)) / (1 - mean_b)
    return left[:, 0], influence


def _effect(name: str, left: float, influence: np.ndarray, confidence: float) -> Effect:
    """1 - left, with the interval that the seeds' influence [S] leaves."""
    from scipy import stats

    seeds = len(influence)
    error = np.sqrt(np.sum(influence**2) / (max(seeds - 1, 1) * seeds))
    without = _reason(seeds, left, error)
    if without:
        return Effect(name, float(1 - left), no_interval(confidence, without), (seeds,))
    half = float(stats.t.ppf((1 + confidence) / 2, seeds - 1)) * error / left
    with np.errstate(over="ignore"):
        low, high = (float(1 - left * np.exp(side)) for side in (half, -half))
    method = "t of log(1 - RER) over seeds, linearised"
    return Effect(name, float(1 - left), Interval(low, high, confidence, method), (seeds,))


def _reason(seeds: int, left: float, error: float) -> str:
    """Why there is no interval; "" where there is one."""
    if seeds < FEWEST:
        return f"fewer than {FEWEST} seeds"
    if left <= _TINY:
        return "no error is left"
    return "nothing varies over seeds" if error <= _TINY else ""
