"""Means of scores that equal scores do not tear apart by rounding."""

import numpy as np

ROUNDING = 1e-12  # of the largest mean: means that are nearer to each other are equal


def mean(scores: np.ndarray) -> float:
    """Of [n] scores; of equal ones exactly their value, however many there are.

    Ten and eleven copies of .7 have sums over n that differ by a rounding, which would be the
    whole difference between two models that always score .7.
    """
    return float(scores[0] + (scores - scores[0]).mean())


def highest(means: np.ndarray) -> np.ndarray:
    """Which means are the highest, but for rounding; -inf of what has none. [..., N] each."""
    size = np.where(np.isfinite(means), np.abs(means), 0.0).max(axis=-1, keepdims=True)
    found: np.ndarray = means >= means.max(axis=-1, keepdims=True) - ROUNDING * size
    return found & np.isfinite(means)
