"""The setting that a search ends with, trained again: what its score was worth.

The best of many noisy scores is best by luck too. Melis et al. (2018, section 5.1) found it one
standard deviation from the mean of the same setting with other seeds.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.stats import describe
from jaxeval.stats.results import Interval

FIRST_SEED = 1_000_001  # beyond the seeds of all evaluations


class Optimism(NamedTuple):
    """How much more a search promises than the setting that it ends with keeps.

    Attributes:
      seen: a score of the search.
      mean: of the setting's scores with fresh seeds.
      value: seen - mean, mean - seen where lower is better: positive where the search was too
        hopeful.
      interval: of the value, for a search that has ended; None for one fresh score, and for equal
        ones, whose spread is not known.
    """

    seen: float
    mean: float
    value: float
    interval: Interval | None


def seeds(count: int) -> range:
    """So many seeds that no evaluation has had."""
    return range(FIRST_SEED, FIRST_SEED + count)


def optimism(seen: float, fresh: Sequence[float], higher_is_better: bool) -> Optimism:
    """How much better a score that was seen is than the mean with fresh seeds, and its t interval.

    Args:
      seen: the best score of the search, or that of the setting that was taken; the mean of its
        seeds, where a setting has several.
    """
    sign = 1.0 if higher_is_better else -1.0
    mean = statistics.fmean(fresh)
    interval = None
    if len(set(fresh)) > 1:
        of_mean = describe.t_interval(np.asarray(fresh, np.float64), 0.95)
        low, high = sorted(sign * (seen - end) + 0.0 for end in (of_mean.low, of_mean.high))
        interval = Interval(low, high, of_mean.confidence, of_mean.method)
    return Optimism(seen, mean, sign * (seen - mean) + 0.0, interval)  # never -0
