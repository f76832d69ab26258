"""What a design could have shown, and how many units would show a difference."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import describe, effects, ranks, spread_power
from jaxeval.stats.pairwise import FEW, Rules, Scores
from jaxeval.stats.power import detectable_difference, power, required_by_t, required_seeds
from jaxeval.stats.results import gaps

MOST_REQUIRED = 10_000  # units that are named
_ON_A_LINE = 1e-12  # share of the variance that pairs do not share: rounding
_MOST = 1000  # units at which every rank test can reach every level in use


@dataclasses.dataclass(frozen=True)
class PowerPlan:
    """Of the verdict's test of location on normal scores with these sds, at the Bonferroni level.

    Attributes:
      least_p: the smallest p-value that the verdict's test of location has at these n, corrected;
        above alpha, no difference however large could have been shown.
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


def plan(scores: Scores, rules: Rules, comparisons: int) -> PowerPlan:
    """What the verdict's own test could have shown, and what it would need."""
    x, y = scores.compared
    n, m = len(x), len(y)
    design: dict[str, Any] = {
        "sd": describe.sd(gaps(x, y) if scores.by_pairs else x),
        "sd_other": None if scores.by_pairs else describe.sd(y),
        "paired": scores.by_pairs,
        "alpha": rules.alpha,
        "comparisons": max(1, comparisons),
        "test": scores.location_test,
    }
    difference = abs(float(np.mean(x) - np.mean(y))) if rules.margin is None else rules.margin
    least = least_p(scores.by_pairs, n, m) * design["comparisons"]
    spread = bool(design["sd"] or design["sd_other"])
    ratio = _detectable_ratio(scores, design["alpha"] / design["comparisons"], rules.target_power)
    required = _required(difference, rules, design, required_seeds) if spread else None
    needed = required, _range(scores, rules, design, required)
    if not spread or least > rules.alpha or min(n, m) < FEW:
        unseen = 0.0 if spread else None
        return PowerPlan(min(1.0, least), None, difference, unseen, *needed, ratio)
    return PowerPlan(
        min(1.0, least),
        detectable_difference(n=n, n_other=m, power=rules.target_power, **design),
        difference,
        power(difference, n=n, n_other=m, **design),
        *needed,
        ratio,
    )


def _detectable_ratio(scores: Scores, level: float, power: float) -> float | None:
    x, y = scores.compared
    unknown = min(len(x), len(y)) < FEW or not (describe.sd(x) and describe.sd(y))
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
    scores: Scores, rules: Rules, design: dict[str, Any], required: int | None
) -> tuple[int | None, int | None] | None:
    """Units that the differences at the ends of the interval need: this one is an estimate.

    By the efficiency of the test against t, without simulation, as ends are no more exact.
    """
    of = effects.paired_difference if scores.by_pairs else effects.difference
    low, high, *_ = interval = of(*scores.compared, confidence=rules.confidence).interval
    if interval.absent or rules.margin is not None or required is None:
        return None
    far, near = max(abs(low), abs(high)), 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    fewest = _required(far, rules, design, required_by_t)
    most = _required(near, rules, design, required_by_t)
    ends = min(fewest or required, required), None if most is None else max(most, required)
    named = [n if n is not None and n <= MOST_REQUIRED else None for n in ends]
    return named[0], named[1]


def _required(
    difference: float, rules: Rules, design: dict[str, Any], seeds: Callable[..., int]
) -> int | None:
    try:
        by_power = seeds(difference, power=rules.target_power, **design)
    except DataError:  # no difference at all, or one that millions of seeds do not show
        return None
    level, paired = rules.alpha / design["comparisons"], bool(design["paired"])
    by_test = next(n for n in range(FEW, _MOST) if least_p(paired, n, n) <= level)
    return max(by_power, by_test)
