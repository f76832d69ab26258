"""Runs repeated with the same seed: what the seed decides, and what the machine does."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.nested import squares_within, variance_components
from jaxeval.stats.results import Interval, fraction, no_interval, varies


@dataclasses.dataclass(frozen=True)
class Noise:
    """Where the spread of scores comes from; intervals hold for normal scores.

    Of what does not vary, such as runs repeated on a CPU, there is no interval.
    """

    seeds: int
    repeats: int
    mean: float
    sd_repeat: float  # of runs with the same seed
    sd_repeat_interval: Interval
    sd_seed: float  # between seeds, the share of repeats taken out
    sd_seed_interval: Interval
    sd: float  # of one run with any seed


def noise(scores: Sequence[Sequence[float]], confidence: float = 0.95) -> Noise:
    """Variance components of equally many runs of each seed, with intervals.

    The interval of the repeats is the chi-squared one, that of the seeds Williams' and Tukey's
    (Searle, Casella & McCulloch 1992, section 3.8), at least as wide as it says.

    Args:
      scores: [S][R], for each of S >= 2 seeds the scores of R >= 2 runs.

    Raises:
      DataError: fewer, or not equally many.
    """
    if len({len(row) for row in scores}) != 1 or len(scores) < 2 or len(scores[0]) < 2:
        sizes = [len(row) for row in scores]
        raise DataError(f"noise: expected 2 or more runs of 2 or more seeds each, found {sizes}")
    table = np.array(scores, float)
    components = variance_components(list(table))
    seeds, repeats = table.shape
    of_repeats, of_seeds = _sd_intervals(table, confidence)
    return Noise(
        seeds,
        repeats,
        components.mean,
        components.sd_seed,
        of_repeats,
        components.sd_split,
        of_seeds,
        math.hypot(components.sd_split, components.sd_seed),
    )


def _sd_intervals(table: np.ndarray, confidence: float) -> tuple[Interval, Interval]:
    """Of the repeats' standard deviation and of the seeds', from scores [S, R]."""
    from scipy import stats

    confidence = fraction(confidence, "confidence")
    seeds, repeats = table.shape
    between, within = seeds - 1, seeds * (repeats - 1)
    ssb = repeats * float(np.sum((table.mean(axis=1) - table.mean()) ** 2))
    ssw = sum(squares_within(row) for row in table)

    def of_repeats(tail: float) -> float:
        return math.sqrt(ssw / stats.chi2.ppf(tail, within))

    def of_seeds(tail: float) -> float:
        # F_tail times the mean square of repeats: what it would add to the seeds' sum of squares
        noise = between * stats.f.ppf(tail, between, within) * ssw / within
        return math.sqrt(max(0.0, ssb - noise) / (repeats * stats.chi2.ppf(tail, between)))

    low, high = (1 + confidence) / 2, (1 - confidence) / 2
    still = no_interval(confidence, "repeats of a seed do not vary")
    equal = no_interval(confidence, "the scores do not vary")
    return (
        Interval(of_repeats(low), of_repeats(high), confidence, "chi-squared") if ssw else still,
        Interval(of_seeds(low), of_seeds(high), confidence, "Williams-Tukey")
        if varies(table.ravel())
        else equal,
    )
