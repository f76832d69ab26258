"""Tests of two models item by item, beside the interval of their difference.

They speak of other items and these runs (the mean of each model's runs).
"""

from collections.abc import Mapping

from jaxeval.stats.items.tables import Labels, Scores
from jaxeval.stats.results import Effect, HypothesisTest

PERMUTATIONS = 1_000_000


def tests(
    a: Scores,
    b: Scores,
    *,
    clusters: Labels | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Mapping[str, HypothesisTest]:
    """ "permutation": signs of items' (clusters') differences flipped; "mcnemar" (exact): only for
    one run each of right and wrong answers without clusters."""
    raise NotImplementedError


def bootstrap(
    a: Scores,
    b: Scores,
    *,
    clusters: Labels | None = None,
    confidence: float = 0.95,
    resamples: int = 9_999,
    seed: int = 0,
) -> Effect:
    """The difference with the percentile interval of clusters (items) drawn anew."""
    raise NotImplementedError
