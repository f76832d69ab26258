"""Which test a design takes, what it could have shown, and how many units would show more."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import describe, effects, pairs, ranks
from jaxeval.stats.pairs import Families, RunScores
from jaxeval.stats.power import TestDesign
from jaxeval.stats.results import gaps
from jaxeval.stats.rules import Rules

MOST_REQUIRED = 10_000  # units that are named
PLANNED_SDS = 3.0  # the difference that `Primary.needed` is for
_MOST = 1000  # units at which every rank test can reach every level in use
_RANKED = 10  # scores of each model, or pairs, from which one comparison is made by ranks


@dataclasses.dataclass(frozen=True)
class Primary:
    """The primary tests: one of location for each pair of models and data set.

    `tests`: their names, such as "welch_t"; two where only some pairs share units, none without
    pairs. `correction`: "bergmann_hommel" is Holm's sharpened (`pairs.correction`).
    """

    tests: tuple[str, ...]
    correction: str
    comparisons: int
    level: float  # family-wise, two-sided
    fewest: int | None  # scores of a model, or pairs, in the smallest of the comparisons
    detectable: float | None  # sds of scores (differences) that this sees, Bonferroni; None: never
    needed: int | None  # scores of each model, or pairs, with which `PLANNED_SDS` would be seen


def by_ranks(scores: Sequence[RunScores]) -> bool:
    """Whether location is tested by ranks: one comparison of ten scores each or more; data sets.

    Ranks see more of skewed scores and of runs that fail. But at the levels that several
    comparisons leave, a permutation test of few scores cannot reject at all, or rejects too often
    where spreads differ; t keeps both from three scores on (`benchmarks/verdict_levels.py`).
    """
    if any(pair.unit == "data set" for pair in scores):
        return True
    return len(scores) == 1 and min(map(len, scores[0].compared)) >= _RANKED


def primary(scores: Sequence[RunScores], rules: Rules) -> Primary:
    """The primary tests of a design, and what it can show; scores enter by their numbers only."""
    tests = tuple(dict.fromkeys(pair.location_test for pair in scores))
    smallest = min(scores, key=lambda pair: sorted(map(len, pair.compared)), default=None)
    fewest = seen = needed = None
    if smallest is not None:
        n, m = map(len, smallest.compared)
        fewest = min(min(map(len, pair.compared)) for pair in scores)
        design = _design(smallest, (1.0, None), rules, len(scores))
        needed = _required(PLANNED_SDS, smallest, rules, design)
        if _least(smallest, len(scores)) <= rules.alpha and min(n, m) >= smallest.fewest:
            seen = design.detectable_difference(n, m, rules.power)
    how = pairs.correction(scores, rules)
    return Primary(tests, how, len(scores), rules.alpha, fewest, seen, needed)


def _design(
    scores: RunScores, sds: tuple[float, float | None], rules: Rules, comparisons: int
) -> TestDesign:
    test: Any = scores.location_test if scores.by_ranks else "t"
    return TestDesign(*sds, rules.alpha, max(1, comparisons), test, scores.by_pairs)


@dataclasses.dataclass(frozen=True)
class PowerPlan:
    """Of the verdict's test of location on normal scores with these sds, at the Bonferroni level.

    Scores without spread have no power. None is also what fewer scores than a conclusion takes
    detect, and what no difference, however large, shows.
    """

    least_p: float  # the smallest corrected p-value at these n; 0 of a t test
    detectable_difference: float | None  # smallest one seen with the target power
    planned_difference: float  # what the next two are for: the margin, else the one seen
    power: float | None  # to see it with these n
    required_seeds: int | None  # units a model that see it; None for 0 or millions
    # the same of the ends of the interval of the difference seen, fewest first; None for more than
    # MOST_REQUIRED; None instead of both with a margin, and without an interval
    required_range: tuple[int | None, int | None] | None


def plan(scores: RunScores, rules: Rules, families: Families) -> PowerPlan:
    """What the verdict's own tests could have shown, and what they would need."""
    x, y = scores.compared
    n, m = len(x), len(y)
    paired = scores.by_pairs
    sds = (describe.sd(gaps(x, y)), None) if paired else (describe.sd(x), describe.sd(y))
    design = _design(scores, sds, rules, families.location)
    difference = abs(float(np.mean(x) - np.mean(y))) if rules.margin is None else rules.margin
    least, spread = _least(scores, families.location), any(sds)
    required = _required(difference, scores, rules, design) if spread else None
    needed = required, _range(scores, rules, design, required)
    if not spread or least > rules.alpha or min(n, m) < scores.fewest:
        return PowerPlan(least, None, difference, 0.0 if spread else None, *needed)
    seen, reached = design.detectable_difference(n, m, rules.power), design.power(difference, n, m)
    return PowerPlan(least, seen, difference, reached, *needed)


def _least(scores: RunScores, comparisons: int) -> float:
    """The smallest corrected p-value of the primary test; that of t has no least one."""
    n, m = map(len, scores.compared)
    return min(1.0, comparisons * least_p(scores.by_pairs, n, m)) if scores.by_ranks else 0.0


def least_p(by_pairs: bool, n: int, m: int) -> float:
    """Of Wilcoxon's signed-rank test on n pairs, or Brunner-Munzel's on n and m, two-sided."""
    return min(1.0, 2.0 ** (1 - n)) if by_pairs else ranks.separation_p(n, m)


def _range(
    scores: RunScores, rules: Rules, design: TestDesign, required: int | None
) -> tuple[int | None, int | None] | None:
    """Units that the differences at the ends of the interval need: this one is an estimate.

    By the efficiency of the test against t, without simulation, as ends are no more exact.
    """
    of = effects.paired_difference if scores.by_pairs else effects.difference
    low, high, *_ = interval = of(*scores.compared, confidence=rules.confidence).interval
    if interval.absent or rules.margin is not None or required is None:
        return None
    far, near = max(abs(low), abs(high)), 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    fewest, most = (_required(end, scores, rules, design, False) for end in (far, near))
    ends = min(fewest or required, required), None if most is None else max(most, required)
    named = [n if n is not None and n <= MOST_REQUIRED else None for n in ends]
    return named[0], named[1]


def _required(
    difference: float, scores: RunScores, rules: Rules, design: TestDesign, simulated: bool = True
) -> int | None:
    try:
        seeds = design.required_seeds(difference, rules.power, simulated=simulated)
    except DataError:  # no difference at all, or one that millions of seeds do not show
        return None
    fewest = scores.fewest
    if scores.by_ranks:
        reached = (n for n in range(fewest, _MOST) if least_p(design.paired, n, n) <= design.level)
        fewest = next(reached)
    return max(seeds, fewest)
