"""Intervals of 95 % that are common elsewhere, of E simulated experiments at once."""

import numpy as np
from scipy import special

Z = 1.959964
RESAMPLES, MOST_BOOTSTRAPPED = 400, 1_000  # of an experiment; experiments
Limits = tuple[np.ndarray, np.ndarray]  # [E] each


def normal(value: np.ndarray, variance: np.ndarray) -> Limits:
    """By the central limit theorem, of values [E] with these variances."""
    half = Z * np.sqrt(variance)
    return value - half, value + half


def t_of_runs(cells: np.ndarray) -> Limits | None:
    """Student's t of the means of runs, of cells [E, I, R]; None of one run."""
    means, runs = cells.mean(1), cells.shape[-1]
    if runs == 1:
        return None
    half = special.stdtrit(runs - 1, 0.975) * means.std(-1, ddof=1) / np.sqrt(runs)
    return means.mean(-1) - half, means.mean(-1) + half


def normal_of_runs(cells: np.ndarray) -> Limits | None:
    """As `t_of_runs`, by the central limit theorem."""
    means, runs = cells.mean(1), cells.shape[-1]
    return None if runs == 1 else normal(means.mean(-1), means.var(-1, ddof=1) / runs)


def bootstrap(generator: np.random.Generator, values: np.ndarray, runs: int) -> Limits:
    """Percentiles of items [E, I] drawn anew; values are multiples of 1 / runs."""
    values = values[:MOST_BOOTSTRAPPED]
    items = values.shape[1]
    levels = np.arange(-runs, runs + 1)
    counts = np.stack([np.sum(np.rint(values * runs) == k, axis=1) for k in levels], axis=-1)
    drawn = generator.multinomial(
        items, counts[:, np.newaxis] / items, size=(len(values), RESAMPLES)
    )
    low, high = np.quantile(drawn @ levels / (items * runs), [0.025, 0.975], axis=1)
    return low, high
