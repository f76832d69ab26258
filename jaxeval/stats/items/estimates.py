"""A model's mean over items and runs, and the difference of two models, with honest errors.

Scores are crossed: every run answers every item, x_ir = mean + item + run + rest. What a standard
error speaks of is named by `over`:

    items   other items, these runs:  Miller (2024), clustered by Bell & McCaffrey (2002)
    runs    other runs, these items:  the means of runs as a sample; of two models Welch's t
    both    other items and other runs: the item part and the runs' own variance

Notation: I items, R runs, C clusters of items.
"""

import dataclasses
import math
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import tables
from jaxeval.stats.items.tables import Labels, Scores
from jaxeval.stats.results import Interval

Factor = Literal["items", "runs"]
FACTORS: tuple[Factor, ...] = ("items", "runs")
FEW_CLUSTERS = 30


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What an estimate rests on.

    Attributes:
      items: with a score of every model.
      dropped: items left out, since a model has no score of them.
      runs: of each model.
      samples: most answers to an item in a run.
      missing: cells (item, run) without a score, of all models.
    """

    items: int
    dropped: int
    clusters: int
    runs: tuple[int, ...]
    samples: int
    missing: int


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean, or the difference of two means.

    Attributes:
      over: what the error generalises over.
      se, df: standard error, and its degrees of freedom by Satterthwaite (1946).
      p_value: two-sided, that the difference is 0; None of a mean.
      unpaired_se: of a difference, had the models been scored on different items; None of a mean
        and where items are fixed.
      correlation: of the two models' scores over items, each the mean of its runs; None of a mean
        and where a model's scores are all equal.
      warnings: what a reader must know, a sentence each.
    """

    value: float
    se: float
    df: float
    interval: Interval
    over: tuple[Factor, ...]
    sizes: Sizes
    p_value: float | None = None
    unpaired_se: float | None = None
    correlation: float | None = None
    warnings: tuple[str, ...] = ()

    def p_above(self, margin: float = 0.0) -> float:
        """One-sided p-value that the value is not above `margin`: small says that it is."""
        raise NotImplementedError


def mean(
    scores: Scores,
    *,
    over: Collection[Factor] | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Mean score of a model.

    Args:
      scores: [I], [I, R] or [I, R, K]: item, run, sample; NaN where a score is missing.
      over: what the interval is to generalise over; None: items and, with two or more runs, runs.
      clusters: [I] labels of items that belong together, such as questions on one text.

    Raises:
      DataError: shapes; `over` runs with a single run; a single item or cluster.
    """
    raise NotImplementedError


def difference(
    a: Scores,
    b: Scores,
    *,
    over: Collection[Factor] | None = None,
    clusters: Labels | None = None,
    paired_runs: bool = False,
    confidence: float = 0.95,
) -> Estimate:
    """Mean of A less that of B, on the same items.

    Items that one of them has no score of are left out and counted.

    Args:
      a, b: as of `mean`; row i is the same item in both. Numbers of runs may differ.
      paired_runs: whether column r of both is one run (the same split and seed of the training):
        its own effect cancels.

    Raises:
      DataError: as of `mean`; different items; paired runs of different number.
    """
    raise NotImplementedError


def default_over(runs: Sequence[int]) -> tuple[Factor, ...]:
    """Items, and runs where every model has two or more."""
    return FACTORS if min(runs) > 1 else ("items",)
