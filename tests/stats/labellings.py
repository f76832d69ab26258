"""All ways to exchange the labels of two samples."""

import itertools

import numpy as np


def labellings(a: np.ndarray, b: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """All ways to call len(a) of the pooled scores A."""
    pooled = np.concatenate([a, b])
    chosen = [list(c) for c in itertools.combinations(range(len(pooled)), len(a))]
    return [(pooled[c], np.delete(pooled, c)) for c in chosen]
