"""Scores nested in splits: several seeds for each of several data splits."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.results import HypothesisTest, Sample, gaps, sample, sign, varies


@dataclasses.dataclass(frozen=True)
class Components:
    """Where the variance of scores comes from (one-way random effects, method of moments)."""

    splits: int
    n: int  # all scores
    mean: float  # of the split means
    sd_split: float  # between splits, the share of seeds taken out
    sd_seed: float  # between seeds of one split
    share_split: float | None  # intraclass correlation; None without any spread


def variance_components(scores: Sequence[Sample]) -> Components:
    """Splits' and seeds' share of the spread, with any number of seeds per split.

    Args:
      scores: for each of at least two splits the scores of its seeds, two or more somewhere.

    Raises:
      DataError: fewer splits or seeds.
    """
    groups = [sample(group, f"split {k}") for k, group in enumerate(scores)]
    counts = np.array([len(group) for group in groups])
    n, splits = int(counts.sum()), len(groups)
    if splits < 2 or n == splits:
        raise DataError(f"nested scores: expected 2 splits and 2 seeds in one, found {counts}")
    means = np.array([group.mean() for group in groups])
    grand = float(np.concatenate(groups).mean())
    within = sum(squares_within(g) for g in groups) / (n - splits)
    between = float(np.sum(counts * (means - grand) ** 2)) / (splits - 1)
    size = (n - float(np.sum(counts**2)) / n) / (splits - 1)
    varying = varies(np.concatenate(groups))  # or means differ by rounding alone
    of_split = max(0.0, (between - within) / size) if varying else 0.0
    total = of_split + within
    return Components(
        splits,
        n,
        float(means.mean()),
        math.sqrt(of_split),
        math.sqrt(within),
        of_split / total if total else None,
    )


def squares_within(scores: np.ndarray) -> float:
    """Sum of squared deviations of [n] from the mean; exactly 0 for equal scores of any size."""
    apart = scores - scores[0]
    return float(np.sum((apart - apart.mean()) ** 2))


def split_means_test(a: Sequence[Sample], b: Sequence[Sample]) -> HypothesisTest:
    """Paired t test on the means of splits: the split is the unit of replication.

    Seeds of one split share its data; counted one by one they would pretend to more evidence than
    there is.

    Args:
      a, b: for each split the scores of its seeds; the k-th split is the same for both.

    Raises:
      DataError: fewer than two splits, or not as many of both.
    """
    from scipy import stats

    if len(a) != len(b) or len(a) < 2:
        raise DataError(
            f"splits: expected the same 2 or more of both, found {len(a)} and {len(b)}"
        )
    first, second = (
        np.array([sample(x, f"{name}, split {k}").mean() for k, x in enumerate(of)])
        for name, of in (("A", a), ("B", b))
    )
    between = gaps(first, second)
    if np.ptp(between) == 0:
        statistic, p_value = (
            (0.0, 1.0) if between[0] == 0 else (math.copysign(math.inf, between[0]), math.nan)
        )
    else:
        result = stats.ttest_1samp(between, 0.0)
        statistic, p_value = float(result.statistic), float(result.pvalue)
    return HypothesisTest(
        "paired t on split means",
        statistic,
        p_value,
        (len(between),),
        "both models have the same mean over splits",
        "t distribution",
        sign(statistic),
    )
