"""All tests and effects for the scores of two models on one data set."""

import dataclasses
import math
from collections.abc import Mapping
from typing import get_args

import numpy as np

from jaxeval.errors import ConfigError
from jaxeval.stats import describe, effects, equivalence, hypotheses, multiple, permutation
from jaxeval.stats.results import (
    Effect,
    HypothesisTest,
    between,
    count,
    fraction,
    gaps,
    location_gap,
)

FEW = 5  # fewer scores than this allow no conclusion


@dataclasses.dataclass(frozen=True)
class Rules:
    """How models are compared.

    Attributes:
      alpha: level, after correction.
      margin: smallest difference that matters, in the unit of the scores: for the equivalence
        tests and the seeds that would be needed.
      target_power: of the seeds needed and of the difference that could have been seen.
      resamples: of permutations and bootstraps.
    """

    alpha: float = 0.05
    correction: multiple.Method = "holm"
    margin: float | None = None
    target_power: float = 0.8
    confidence: float = 0.95
    resamples: int = 9999
    seed: int = 0
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        if self.correction not in get_args(multiple.Method):
            allowed = ", ".join(get_args(multiple.Method))
            raise ConfigError(f"correction: expected one of {allowed}, got {self.correction!r}")
        object.__setattr__(self, "alpha", fraction(self.alpha, "alpha", ConfigError))
        if self.margin is not None:
            if not between(self.margin, 0, math.inf):
                raise ConfigError(f"margin: expected a number above 0, got {self.margin}")
            object.__setattr__(self, "margin", float(self.margin))
        for name, value, least in (("resamples", self.resamples, 1), ("seed", self.seed, 0)):
            object.__setattr__(self, name, count(value, name, least, ConfigError))


@dataclasses.dataclass(frozen=True)
class Scores:
    """The scores of two models on one data set, one a unit of replication.

    Attributes:
      paired: scores of the units that both models have, row by row; None without such.
      by_pairs: whether the verdict rests on the pairs, as it should where a unit (split, data
        set) moves both models.
      unit: what one score stands for, as sentences call it: run, seed, split, data set.
    """

    a: str
    b: str
    dataset: str
    first: np.ndarray
    second: np.ndarray
    paired: tuple[np.ndarray, np.ndarray] | None = None
    by_pairs: bool = False
    unit: str = "run"

    @property
    def location_test(self) -> str:
        """The test of location that the verdict rests on, chosen before scores are seen."""
        return "wilcoxon_signed_rank" if self.by_pairs else "brunner_munzel"

    @property
    def spread_test(self) -> str | None:
        """That of spread; None where scores are of different data sets, whose spread is theirs."""
        if self.unit == "data set":
            return None
        return "pitman_morgan" if self.by_pairs else "brown_forsythe"

    @property
    def verdict_tests(self) -> tuple[str, ...]:
        """The tests that the verdict rests on."""
        spread = self.spread_test
        return (self.location_test,) if spread is None else (self.location_test, spread)

    @property
    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores that location is judged by: the pairs where they decide, else all."""
        return self.paired if self.by_pairs and self.paired else (self.first, self.second)

    @property
    def n(self) -> tuple[int, int]:
        """Units of each model."""
        return len(self.first), len(self.second)

    @property
    def resampled(self) -> bool:
        """Whether permutations and bootstraps pay; above, the other tests say the same."""
        return max(self.n) <= describe.MOST_RESAMPLED


def differences(scores: Scores) -> dict[str, float]:
    """Measures of location, A - B, of the scores that location is judged by; 0 is none.

    They need not agree: a few far scores move a mean, many near ones a median or a probability.
    Of pairs the median is that of the differences: the difference of the two medians compares
    scores of different units (an easy split of A, a hard one of B).
    """
    x, y = scores.compared
    if scores.by_pairs:
        median = {"median of the differences": float(np.median(gaps(x, y)))}
        won = float(np.mean(np.sign(gaps(x, y))))
    else:
        median = {"median": location_gap(x, y, "median")}
        won = effects.probability_of_superiority(x, y) - 0.5
    return {**median, "mean": location_gap(x, y, "mean"), "probability": won}


def against(scores: Scores, shown: int) -> tuple[str, ...]:
    """Measures of location that point away from a direction that was shown; none for 0."""
    return tuple(name for name, value in differences(scores).items() if shown * value < 0)


def tests(scores: Scores, rules: Rules) -> dict[str, HypothesisTest]:
    """Function name -> test; paired ones where there are two pairs or more."""
    a, b = scores.first, scores.second
    results = {
        "brunner_munzel": hypotheses.brunner_munzel(a, b, seed=rules.seed),
        "mann_whitney_u": hypotheses.mann_whitney_u(a, b),
        "kolmogorov_smirnov": hypotheses.kolmogorov_smirnov(a, b),
        "welch_t": hypotheses.welch_t(a, b),
    }
    if scores.spread_test is not None and min(scores.n) > 2:
        # two scores lie equally far from their median: no spread of spreads
        results["brown_forsythe"] = hypotheses.brown_forsythe(a, b)
    if scores.spread_test == "pitman_morgan":
        results["pitman_morgan"] = hypotheses.pitman_morgan(*scores.compared)
    if scores.paired is not None:
        results["wilcoxon_signed_rank"] = hypotheses.wilcoxon_signed_rank(*scores.paired)
        results["sign_test"] = hypotheses.sign_test(*scores.paired)
    if scores.resampled:
        results["permutation_test"] = permutation.permutation_test(
            *scores.compared, paired=scores.by_pairs, resamples=rules.resamples, seed=rules.seed
        )
    if rules.margin is not None:
        results["tost"] = equivalence.tost(*scores.compared, rules.margin, paired=scores.by_pairs)
    return results


def sizes(scores: Scores, rules: Rules, pairs: int) -> dict[str, Effect]:
    """Function name -> effect.

    `difference` and `difference_of_medians` are A - B in the unit of the scores, whichever is
    better; all others speak of A being better. `difference` and `probability_of_improvement` are
    of the scores that location is judged by (within pairs where these decide); all others are of
    all scores, unpaired.

    Args:
      pairs: pairs of models looked at on this data set, for almost stochastic order.
    """
    a, b = scores.first, scores.second
    x, y = (a, b) if rules.higher_is_better else (-a, -b)
    level = rules.confidence
    of_all = effects.probability_of_improvement(x, y, confidence=level)
    results = {
        "difference": (effects.paired_difference if scores.by_pairs else effects.difference)(
            *scores.compared, confidence=level
        ),
        "probability_of_improvement": _within_pairs(scores, rules) if scores.by_pairs else of_all,
        "a12": of_all,
        "cliffs_delta": effects.delta_of(of_all),
    }
    if scores.resampled:
        results["difference_of_medians"] = effects.difference(
            a, b, statistic="median", confidence=level, resamples=rules.resamples, seed=rules.seed
        )
        results["almost_stochastic_order"] = effects.almost_stochastic_order(
            x, y, comparisons=pairs, resamples=1000, seed=rules.seed, confidence=level
        )
    return results


def _within_pairs(scores: Scores, rules: Rules) -> Effect:
    """The probability that A is better within a pair."""
    x, y = scores.compared if rules.higher_is_better else [-v for v in scores.compared]
    return effects.paired_probability_of_improvement(x, y, confidence=rules.confidence)


def rope(scores: Scores, rules: Rules) -> equivalence.Rope | None:
    """Where the difference lies against the margin; None without one."""
    if rules.margin is None:
        return None
    return equivalence.rope(*scores.compared, rules.margin, paired=scores.by_pairs)


def corrected(
    results: list[dict[str, HypothesisTest]], named: list[tuple[str, ...]], rules: Rules
) -> tuple[list[Mapping[str, float]], int, int]:
    """P-values of all pairs, corrected in two families: the verdict's tests and all others.

    Args:
      results: for each pair its tests.
      named: for each pair the names of the tests that its verdict rests on.

    Returns:
      for each pair name -> corrected p-value, and how many tests the two families have.
    """
    keys = [(k, name) for k, tests in enumerate(results) for name in tests]
    families = (
        [key for key in keys if key[1] in named[key[0]]],
        [key for key in keys if key[1] not in named[key[0]]],
    )
    adjusted: list[dict[str, float]] = [{} for _ in results]
    for family in families:
        p_values = [results[k][name].p_value for k, name in family]
        for (k, name), p in zip(
            family, multiple.adjust_p_values(p_values, rules.correction), strict=True
        ):
            adjusted[k][name] = float(p)
    return list(adjusted), len(families[0]), len(families[1])
