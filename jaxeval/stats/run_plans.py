"""Which test a design takes, what it could have shown, and how many units would show more."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import describe, effects, ranks, run_pairs, spread_power
from jaxeval.stats.power import detectable_difference, power, required_by_t, required_seeds
from jaxeval.stats.results import gaps
from jaxeval.stats.rules import Rules
from jaxeval.stats.run_pairs import FEW_SPREADS, Families, RunScores

MOST_REQUIRED = 10_000  # units that are named
_ON_A_LINE = 1e-12  # share of the variance that pairs do not share: rounding
_MOST = 1000  # units at which every rank test can reach every level in use
_RANKED = 10  # scores of each model, or pairs, from which one comparison is made by ranks
PLANNED_SDS = 3.0  # the difference that `Primary.needed` is for


@dataclasses.dataclass(frozen=True)
class Primary:
    """The primary tests: one of location for each pair of models and data set.

    Attributes:
      tests: their names, such as "welch_t"; two where only some pairs share units, none without
        pairs.
      correction: of `multiple`; "bergmann_hommel" is Holm's sharpened (`run_pairs.correction`).
      level: family-wise, two-sided.
      fewest: scores of a model, or pairs, in the smallest of the comparisons.
      detectable: smallest difference in sds (of scores; on pairs of their differences) that this
        smallest comparison sees with the target power at the Bonferroni level; None: none, however
        large.
      needed: scores of each model, or pairs, with which `PLANNED_SDS` sds would be seen so.
    """

    tests: tuple[str, ...]
    correction: str
    comparisons: int
    level: float
    fewest: int | None
    detectable: float | None
    needed: int | None


def by_ranks(scores: Sequence[RunScores]) -> bool:
    """Whether location is tested by ranks: one comparison of ten scores each or more; data sets.

    Brunner-Munzel and Wilcoxon see more of skewed scores and of runs that fail (of two models
    with ten runs each, one in ten of which fails, 79 % for 56 % at two sds), and of normal scores
    nearly as much. But at the levels that several comparisons leave, a permutation test of few
    scores cannot reject at all (5 models x 5 seeds), or rejects 1.2 to 2 times too often where
    spreads are 3:1, as it does at .05 with seven scores (.061). Welch's t, and t on pairs, keep
    both from three scores on (`benchmarks/verdict_levels.py`). Differences on unlike data sets
    have no common scale: they are ranked.
    """
    if any(pair.unit == "data set" for pair in scores):
        return True
    return len(scores) == 1 and min(map(len, scores[0].compared)) >= _RANKED


def primary(scores: Sequence[RunScores], rules: Rules) -> Primary:
    """The primary tests of a design, and what it can show; scores enter by their numbers only."""
    tests = tuple(dict.fromkeys(pair.location_test for pair in scores))
    smallest = min(scores, key=lambda pair: sorted(map(len, pair.compared)), default=None)
    how, seen, needed = run_pairs.correction(scores, rules), None, None
    if smallest is not None:
        n, m = map(len, smallest.compared)
        design = _design(smallest, 1.0, None, rules, len(scores))
        needed = _required(PLANNED_SDS, smallest, rules, design, required_seeds)
        reached = _least(smallest, len(scores)) <= rules.alpha
        if reached and min(n, m) >= smallest.fewest:
            seen = detectable_difference(n=n, n_other=m, power=rules.power, **design)
    fewest = min((min(map(len, pair.compared)) for pair in scores), default=None)
    return Primary(tests, how, len(scores), rules.alpha, fewest, seen, needed)


def _design(
    scores: RunScores, sd: float, other: float | None, rules: Rules, comparisons: int
) -> dict[str, Any]:
    """A `power.TestDesign` of the primary test."""
    return {
        "sd": sd,
        "sd_other": other,
        "paired": scores.by_pairs,
        "alpha": rules.alpha,
        "comparisons": max(1, comparisons),
        "test": scores.location_test if scores.by_ranks else "t",
    }


@dataclasses.dataclass(frozen=True)
class PowerPlan:
    """Of the verdict's test of location on normal scores with these sds, at the Bonferroni level.

    Attributes:
      least_p: the smallest p-value that the test of location has at these n, corrected: 0 of a t
        test; above alpha, no difference however large could have been shown.
      detectable_difference: smallest difference of means that is seen with the target power; None
        where none could be, by rule of fewer scores than a conclusion takes, and of scores without
        spread, from which no power follows.
      planned_difference: what `power` and `required_seeds` are for: the margin, else the one seen.
      power: to see that difference with these n; None of scores without spread.
      required_seeds: units a model that see it with the target power; None if it is 0 or millions,
        and of scores without spread.
      required_range: the same of the ends of the interval of the difference seen, fewest first;
        None for more than MOST_REQUIRED, as of an interval that holds 0. None instead of both with
        a margin, and without an interval.
      detectable_ratio: smallest ratio of sds, of whichever model is wider, that the verdict's test
        of spread sees with the target power; infinite where it sees none, None where there is no
        such test, by rule of fewer scores than a conclusion takes, without spread, and of pairs on
        one line, which leave nothing to chance.
    """

    least_p: float
    detectable_difference: float | None
    planned_difference: float
    power: float | None
    required_seeds: int | None
    required_range: tuple[int | None, int | None] | None
    detectable_ratio: float | None


def plan(scores: RunScores, rules: Rules, families: Families) -> PowerPlan:
    """What the verdict's own tests could have shown, and what they would need."""
    x, y = scores.compared
    n, m = len(x), len(y)
    sd, other = (
        (describe.sd(gaps(x, y)), None) if scores.by_pairs else (describe.sd(x), describe.sd(y))
    )
    design = _design(scores, sd, other, rules, families.location)
    difference = abs(float(np.mean(x) - np.mean(y))) if rules.margin is None else rules.margin
    least = _least(scores, families.location)
    spread = bool(sd or other)
    ratio = _detectable_ratio(scores, rules.alpha / max(1, families.spread), rules.power)
    required = _required(difference, scores, rules, design, required_seeds) if spread else None
    needed = required, _range(scores, rules, design, required)
    if not spread or least > rules.alpha or min(n, m) < scores.fewest:
        unseen = 0.0 if spread else None
        return PowerPlan(least, None, difference, unseen, *needed, ratio)
    return PowerPlan(
        least,
        detectable_difference(n=n, n_other=m, power=rules.power, **design),
        difference,
        power(difference, n=n, n_other=m, **design),
        *needed,
        ratio,
    )


def _least(scores: RunScores, comparisons: int) -> float:
    """The smallest corrected p-value of the primary test; that of t has no least one."""
    n, m = map(len, scores.compared)
    return min(1.0, comparisons * least_p(scores.by_pairs, n, m)) if scores.by_ranks else 0.0


def _detectable_ratio(scores: RunScores, level: float, power: float) -> float | None:
    x, y = scores.compared
    unknown = min(len(x), len(y)) < FEW_SPREADS or not (describe.sd(x) and describe.sd(y))
    if scores.spread_test is None or unknown:
        return None
    if not scores.by_pairs:
        return spread_power.of_samples(len(x), len(y), level, power)
    correlation = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    if 1 - correlation**2 < _ON_A_LINE:
        return None
    return spread_power.of_pairs(len(x), correlation, level, power)


def least_p(by_pairs: bool, n: int, m: int) -> float:
    """Of Wilcoxon's signed-rank test on n pairs, or Brunner-Munzel's on n and m, two-sided."""
    return min(1.0, 2.0 ** (1 - n)) if by_pairs else ranks.separation_p(n, m)


def _range(
    scores: RunScores, rules: Rules, design: dict[str, Any], required: int | None
) -> tuple[int | None, int | None] | None:
    """Units that the differences at the ends of the interval need: this one is an estimate.

    By the efficiency of the test against t, without simulation, as ends are no more exact.
    """
    of = effects.paired_difference if scores.by_pairs else effects.difference
    low, high, *_ = interval = of(*scores.compared, confidence=rules.confidence).interval
    if interval.absent or rules.margin is not None or required is None:
        return None
    far, near = max(abs(low), abs(high)), 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    fewest = _required(far, scores, rules, design, required_by_t)
    most = _required(near, scores, rules, design, required_by_t)
    ends = min(fewest or required, required), None if most is None else max(most, required)
    named = [n if n is not None and n <= MOST_REQUIRED else None for n in ends]
    return named[0], named[1]


def _required(
    difference: float,
    scores: RunScores,
    rules: Rules,
    design: dict[str, Any],
    seeds: Callable[..., int],
) -> int | None:
    try:
        by_power = seeds(difference, power=rules.power, **design)
    except DataError:  # no difference at all, or one that millions of seeds do not show
        return None
    level, fewest = rules.alpha / design["comparisons"], scores.fewest
    if scores.by_ranks:
        paired = scores.by_pairs
        fewest = next(n for n in range(fewest, _MOST) if least_p(paired, n, n) <= level)
    return max(by_power, fewest)
