"""What the setting that a search ends with is worth, and the noise of a score."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from jaxeval.runs import metrics
from jaxeval.stats import describe
from jaxeval.stats.results import Interval

LEAST_DF = 4  # of the noise, below which little is said by it


@dataclasses.dataclass(frozen=True)
class Retrained:
    """The setting that is taken with fresh seeds.

    The best of many noisy scores is best by luck too: Melis et al. (2018, section 5.1) found it
    one standard deviation from the mean of the same setting with other seeds.

    Attributes:
      scores: part of the data -> those of seeds that have one; the first is what was searched by.
      failures: causes, of the other seeds.
      parts: part -> its scores in numbers.
      optimism: by how much its score in the search is better than the mean of fresh ones; None
        where no seed has a score.
      interval: of the optimism, by Student's t; None where fresh scores do not differ.
    """

    scores: Mapping[str, Sequence[float]]
    failures: Sequence[str]
    parts: Mapping[str, describe.Summary]
    optimism: float | None
    interval: Interval | None


def retrained(
    seen: float,
    higher_is_better: bool,
    fresh: Mapping[str, Sequence[float]],
    failures: Sequence[str],
    metric: str,
    unit: str,
) -> Retrained:
    """What fresh seeds say of a score that was seen in the search.

    Args:
      fresh: part of the data -> scores; the first is what was searched by.
    """
    parts = {}
    for part, sample in ((part, of) for part, of in fresh.items() if of):
        parts[part] = of = describe.summarize(sample)
        bounds = metrics.bounds(metric, np.array(sample), unit)
        if bounds is not None and of.mean_interval is not None:
            cut = of.mean_interval.clip(*bounds)
            parts[part] = dataclasses.replace(of, mean_interval=cut)
    searched, interval = next(iter(fresh.values())), None
    if not searched:
        return Retrained(fresh, failures, parts, None, None)
    sign = 1.0 if higher_is_better else -1.0
    of_mean = describe.summarize(searched).mean_interval
    if of_mean is not None:
        low, high = sorted(sign * (seen - end) + 0.0 for end in of_mean[:2])
        interval = of_mean._replace(low=low, high=high)
    optimism = sign * (seen - statistics.fmean(searched)) + 0.0  # never -0
    return Retrained(fresh, failures, parts, optimism, interval)


def noise(samples: Sequence[Sequence[float]]) -> tuple[float | None, int]:
    """Standard deviation of one seed's score, pooled over settings, and its degrees of freedom."""
    several = [np.asarray(sample, np.float64) for sample in samples if len(sample) > 1]
    if not any(np.ptp(sample) for sample in several):
        return None, 0
    freedom = sum(len(sample) - 1 for sample in several)
    squares = sum(float(np.sum((s - s.mean()) ** 2)) for s in several)
    return math.sqrt(squares / freedom), freedom


def two_sided(df: int) -> float:
    """Student's t quantile that 95 % of |t| are below."""
    return float(special.stdtrit(df, 0.975))
