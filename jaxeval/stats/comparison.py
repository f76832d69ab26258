"""Models compared pair by pair, with one correction over everything that is looked at.

The *verdict* on a pair rests on two tests, chosen before the scores are seen: one of location
(Wilcoxon's signed-rank where units pair the models, else Mann-Whitney U) and one of spread
(Brown-Forsythe), corrected over all pairs and data sets. All other tests are corrected together as
a second family, and carry no verdict.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import pairwise
from jaxeval.stats.equivalence import Rope
from jaxeval.stats.pairwise import Rules, Scores
from jaxeval.stats.power import detectable_difference, power, required_seeds
from jaxeval.stats.results import Effect, HypothesisTest

FEW = 5  # fewer scores than this say little
_LEAST = 2


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the design could see, by Welch's t (or t on pairs) at the Bonferroni level.

    Attributes:
      detectable_difference: smallest difference of means that it sees with the target power.
      planned_difference: what `power` and `required_seeds` are for: the margin, else the one seen.
      power: to see that difference with these n.
      required_seeds: units a model that see it with the target power; None if the difference is 0
        or cannot be seen.
    """

    detectable_difference: float
    planned_difference: float
    power: float
    required_seeds: int | None


@dataclasses.dataclass(frozen=True)
class Pair:
    """What was found for two models on one data set; function name -> result."""

    scores: Scores
    tests: Mapping[str, HypothesisTest]
    adjusted: Mapping[str, float]
    effects: Mapping[str, Effect]
    rope: Rope | None
    plan: Plan


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
                _plan(one, rules, verdict),
            )
            for one, tests, p_values in zip(scores, found, adjusted, strict=True)
        ),
        rules,
        verdict,
        further,
    )


def _plan(scores: Scores, rules: Rules, comparisons: int) -> Plan:
    """Planning by t tests: their power is known, and rank tests lose little against them."""
    if scores.by_pairs and scores.paired is not None:
        gaps = scores.paired[0] - scores.paired[1]
        seen, n, m = float(np.mean(gaps)), len(gaps), len(gaps)
        design: dict[str, Any] = {"sd": float(np.std(gaps, ddof=1)), "paired": True}
    else:
        seen = float(np.mean(scores.first) - np.mean(scores.second))
        n, m = scores.n
        design = {
            "sd": float(np.std(scores.first, ddof=1)),
            "sd_other": float(np.std(scores.second, ddof=1)),
        }
    level = {**design, "alpha": rules.alpha, "comparisons": max(1, comparisons)}
    wanted = abs(seen) if rules.margin is None else rules.margin
    return Plan(
        detectable_difference(n=n, n_other=m, power=rules.target_power, **level),
        wanted,
        power(wanted, n=n, n_other=m, **level),
        _required(wanted, rules.target_power, level),
    )


def _required(difference: float, target: float, level: Mapping) -> int | None:
    try:
        return required_seeds(difference, power=target, **level)
    except DataError:  # no difference at all, or one that millions of seeds do not show
        return None


def location(pair: Pair, rules: Rules) -> int:
    """1: A's scores are higher, -1: B's are, 0: not shown (or too few scores to say)."""
    if not _shown(pair, pair.scores.location_test, rules):
        return 0
    if pair.scores.by_pairs and pair.scores.paired is not None:
        x, y = pair.scores.paired
        return int(np.sign(np.median(x - y)) or np.sign(np.mean(x - y)))
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
