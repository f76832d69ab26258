"""Runs nested in seeds, and what to train for a precision of the mean."""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy

from jaxeval.stats import crossed
from jaxeval.stats.crossed import Crossed
from jaxeval.stats.results import Interval, varies


@dataclasses.dataclass(frozen=True)
class Nested:
    """Variance components of repeated runs of each seed; intervals hold for normal scores.

    There is no interval for a part that does not vary, such as runs repeated on a CPU.
    """

    seeds: int
    repeats: int
    mean: float
    sd_repeat: float  # of runs with the same seed
    sd_repeat_interval: Interval
    sd_seed: float  # between seeds, without the share of repeats
    sd_seed_interval: Interval
    sd: float  # of one run with any seed


def components(scores: Sequence[Sequence[float]], confidence: float = 0.95) -> Nested:
    """Computes the spread of seeds and of repeated runs from scores [S][R], S and R > 1.

    The interval of the repeats is chi-squared, that of the seeds Williams' and Tukey's (Searle,
    Casella & McCulloch 1992, section 3.8), which covers at least as often as it says.
    """
    table = np.array(scores, float)
    (seeds, repeats), varying = table.shape, varies(table.ravel())
    between, within = seeds - 1, seeds * (repeats - 1)
    means, apart = table.mean(axis=1), table - table[:, :1]  # apart: exactly 0 of equal scores
    ssb = repeats * float(np.sum((means - table.mean()) ** 2))
    ssw = sum(float(np.sum((row - row.mean()) ** 2)) for row in apart)
    of_means = float(np.sum(repeats * (means - table.mean()) ** 2)) / between
    variance = max(0.0, (of_means - ssw / within) / repeats) if varying else 0.0

    def of_seeds(tail: float) -> float:
        # F_tail times the mean square of repeats: what it would add to the seeds' sum of squares
        noise = between * scipy.stats.f.ppf(tail, between, within) * ssw / within
        return math.sqrt(max(0.0, ssb - noise) / (repeats * scipy.stats.chi2.ppf(tail, between)))

    tails = (1 + confidence) / 2, (1 - confidence) / 2
    of_repeat = Interval.none(confidence, "repeats of a seed do not vary")
    of_seed = Interval.none(confidence, "the scores do not vary")
    if ssw:
        low, high = (math.sqrt(ssw / scipy.stats.chi2.ppf(tail, within)) for tail in tails)
        of_repeat = Interval(low, high, confidence, "chi-squared")
    if varying:
        low, high = map(of_seeds, tails)
        of_seed = Interval(low, high, confidence, "Williams-Tukey")
    sd_repeat, sd_seed = math.sqrt(ssw / within), math.sqrt(variance)
    both, whole = (sd_repeat, of_repeat, sd_seed, of_seed), math.hypot(sd_seed, sd_repeat)
    return Nested(seeds, repeats, float(means.mean()), *both, whole)


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """Runs to train for a precision of the mean, each with its own split and seed.

    As many runs of a crossed or nested design are never more precise.
    """

    precision: float  # half-width of the mean's interval, at most
    runs: int | None  # None: more than `MOST`
    cautious_runs: int | None  # at the upper end of the interval of a run's sd
    MOST: ClassVar[int] = 10_000


def plan(of: Crossed, precision: float) -> TrainingPlan:
    """Plans what to train next for a precision of the mean, from scores that vary."""
    runs = np.arange(2, TrainingPlan.MOST + 1)
    reached = crossed.t_quantile(runs - 1, of.mean_interval.confidence) / np.sqrt(runs)
    found = []
    for sd in (of.total.sd, of.total.sd_interval.high):
        enough = runs[sd * reached <= precision]
        found.append(int(enough[0]) if len(enough) else None)
    return TrainingPlan(precision, *found)
