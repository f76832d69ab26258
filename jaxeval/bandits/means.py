"""Means of scores that equal scores do not tear apart by rounding."""

import numpy as np

ROUNDING = 1e-12  # of the largest mean: means that are nearer to each other are equal


def mean(scores: np.ndarray) -> float:
    """Of [n] scores; of equal ones exactly their value, however many there are.

    Ten and eleven copies of .7 have sums over n that differ by a rounding, which would be the
    whole difference between two models that always score .7.
    """
    return float(scores[0] + (scores - scores[0]).mean())


def levelled(means: np.ndarray) -> np.ndarray:
    """Each mean, or the highest of those that it equals but for rounding. [..., N] each.

    -inf stands for what has none.
    """
    order = np.argsort(-means, axis=-1, kind="stable")
    falling = np.take_along_axis(means, order, axis=-1)
    size = np.where(np.isfinite(means), np.abs(means), 0.0).max(axis=-1, keepdims=True)
    parted = falling[..., 1:] < falling[..., :-1] - ROUNDING * size
    highest_first = np.pad(parted, [(0, 0)] * (means.ndim - 1) + [(1, 0)], constant_values=True)
    shared = np.minimum.accumulate(np.where(highest_first, falling, np.inf), axis=-1)
    level = np.empty(means.shape)
    np.put_along_axis(level, order, shared, axis=-1)
    return level


def highest(means: np.ndarray) -> np.ndarray:
    """Which means are the highest, but for rounding; -inf of what has none. [..., N] each."""
    level = levelled(means)
    found: np.ndarray = level == level.max(axis=-1, keepdims=True)
    return found & np.isfinite(means)
