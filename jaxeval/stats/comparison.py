"""Models compared pair by pair, with one correction over everything that is looked at.

The *verdict* on a pair rests on two tests, chosen before the scores are seen: one of location
(Wilcoxon's signed-rank where units pair the models, else Mann-Whitney U) and one of spread
(Brown-Forsythe), corrected over all pairs and data sets. All other tests are corrected together as
a second family, and carry no verdict.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import pairwise, planning
from jaxeval.stats.equivalence import Rope
from jaxeval.stats.pairwise import FEW, Rules, Scores
from jaxeval.stats.results import Effect, HypothesisTest, gaps

_LEAST = 2


@dataclasses.dataclass(frozen=True)
class Pair:
    """What was found for two models on one data set; function name -> result."""

    scores: Scores
    tests: Mapping[str, HypothesisTest]
    adjusted: Mapping[str, float]
    effects: Mapping[str, Effect]
    rope: Rope | None
    plan: planning.Plan


@dataclasses.dataclass(frozen=True)
class Comparison:
    """All pairs, and how many tests each family of the correction has."""

    pairs: tuple[Pair, ...]
    rules: Rules
    verdict_tests: int
    further_tests: int


def compare(scores: Sequence[Scores], rules: Rules) -> Comparison:
    """Tests, effects and planning for all pairs of models on all data sets.

    Raises:
      DataError: a model has one score only, which says nothing of a distribution.
    """
    for one in scores:
        for name, values in ((one.a, one.first), (one.b, one.second)):
            if len(values) < _LEAST:
                where = f" on {one.dataset}" if one.dataset else ""
                raise DataError(
                    f"{name}{where}: {len(values)} score, which says nothing of a distribution; "
                    "expected at least 2, better 5 or more (other seeds, other splits)"
                )
    found = [pairwise.tests(one, rules) for one in scores]
    adjusted, verdict, further = pairwise.corrected(
        found, [one.verdict_tests for one in scores], rules
    )
    return Comparison(
        tuple(
            Pair(
                one,
                tests,
                p_values,
                pairwise.sizes(one, rules, len(scores)),
                pairwise.rope(one, rules),
                planning.plan(one, rules, verdict),
            )
            for one, tests, p_values in zip(scores, found, adjusted, strict=True)
        ),
        rules,
        verdict,
        further,
    )


def location(pair: Pair, rules: Rules) -> int:
    """1: A's scores are higher, -1: B's are, 0: not shown (or too few scores to say)."""
    if len(pair.scores.compared[0]) < FEW or not _shown(pair, pair.scores.location_test, rules):
        return 0
    if pair.scores.by_pairs:
        found = gaps(*pair.scores.compared)
        return int(np.sign(np.median(found)) or np.sign(np.mean(found)))
    better = int(np.sign(pair.effects["probability_of_improvement"].estimate - 0.5))
    return better if rules.higher_is_better else -better


def spread(pair: Pair, rules: Rules) -> int:
    """1: A's scores are spread wider, -1: B's are, 0: not shown (or too few scores to say)."""
    if not _shown(pair, "brown_forsythe", rules):
        return 0
    gap = np.std(pair.scores.first, ddof=1) - np.std(pair.scores.second, ddof=1)
    return int(np.sign(gap))


def _shown(pair: Pair, test: str, rules: Rules) -> bool:
    return min(pair.scores.n) >= FEW and pair.adjusted.get(test, 1.0) <= rules.alpha
