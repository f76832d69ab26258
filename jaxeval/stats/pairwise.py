"""All tests and effects for the scores of two models on one data set."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

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

FEW = 3  # fewer scores than this allow no conclusion on location
FEW_SPREADS = FEW_DATA_SETS = 5  # nor on spread; fewer data sets none at all


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
      counted: all scores, and for each run that failed one that is worse than all of them; None
        where none failed. How often a model is better is said of these.
      counted_pairs: the same of the units that both models have.
      by_ranks: whether location is tested by ranks, else by means (`planning.by_ranks`, which
        `comparison.compare` asks).
    """

    a: str
    b: str
    dataset: str
    first: np.ndarray
    second: np.ndarray
    paired: tuple[np.ndarray, np.ndarray] | None = None
    by_pairs: bool = False
    unit: str = "run"
    counted: tuple[np.ndarray, np.ndarray] | None = None
    counted_pairs: tuple[np.ndarray, np.ndarray] | None = None
    by_ranks: bool = False

    @property
    def location_test(self) -> str:
        """The primary test: of location, chosen by the design before scores are seen."""
        if self.by_pairs:
            return "wilcoxon_signed_rank" if self.by_ranks else "paired_t"
        return "brunner_munzel" if self.by_ranks else "welch_t"

    @property
    def fewest(self) -> int:
        """Scores of each model, or pairs, that a conclusion on location takes."""
        return FEW_DATA_SETS if self.unit == "data set" else FEW

    @property
    def spread_test(self) -> str | None:
        """That of spread; None where scores are of different data sets, whose spread is theirs."""
        if self.unit == "data set":
            return None
        return "pitman_morgan" if self.by_pairs else "brown_forsythe"

    @property
    def verdict_tests(self) -> tuple[str, ...]:
        """The tests that sentences on location and on spread rest on, each of its own family."""
        spread = self.spread_test
        return (self.location_test,) if spread is None else (self.location_test, spread)

    @property
    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores that location is judged by: the pairs where they decide, else all."""
        return self.paired if self.by_pairs and self.paired else (self.first, self.second)

    @property
    def compares(self) -> multiple.Compared:
        """Data set and models."""
        return self.dataset, self.a, self.b

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
    if scores.by_pairs:
        results["paired_t"] = hypotheses.paired_t(*scores.compared)
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
    all scores, unpaired. `probability_of_improvement`, `a12` and `cliffs_delta` count runs that
    failed as the worst.

    Args:
      pairs: pairs of models looked at on this data set, for almost stochastic order.
    """
    a, b = scores.first, scores.second
    x, y = (a, b) if rules.higher_is_better else (-a, -b)
    level = rules.confidence
    every = scores.counted or (a, b)
    u, v = every if rules.higher_is_better else [-values for values in every]
    of_all = effects.probability_of_improvement(u, v, confidence=level)
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
    every = scores.counted_pairs or scores.compared
    x, y = every if rules.higher_is_better else [-v for v in every]
    return effects.paired_probability_of_improvement(x, y, confidence=rules.confidence)


def rope(scores: Scores, rules: Rules) -> equivalence.Rope | None:
    """Where the difference lies against the margin; None without one."""
    if rules.margin is None:
        return None
    return equivalence.rope(*scores.compared, rules.margin, paired=scores.by_pairs)


class Families(NamedTuple):
    """How many tests each family of the correction has."""

    location: int
    spread: int
    further: int


def corrected(
    results: list[dict[str, HypothesisTest]], scores: Sequence[Scores], rules: Rules
) -> tuple[list[Mapping[str, float]], Families]:
    """P-values of all pairs, corrected in three families: of location, of spread, all others.

    Holm's procedure is sharpened for location by means, whose equality is transitive
    (`multiple.adjust_equalities`); P(A > B) = 1/2 is not.

    Args:
      results: for each pair its tests.

    Returns:
      for each pair name -> corrected p-value.
    """
    keys = [(k, name) for k, tests in enumerate(results) for name in tests]
    families: dict[str, list[tuple[int, str]]] = {"location": [], "spread": [], "further": []}
    for k, name in keys:
        kinds = {scores[k].location_test: "location", scores[k].spread_test: "spread"}
        families[kinds.get(name, "further")].append((k, name))
    adjusted: list[dict[str, float]] = [{} for _ in results]
    for kind, family in families.items():
        p_values = [results[k][name].p_value for k, name in family]
        if kind == "location" and correction(scores, rules) == "bergmann_hommel":
            found = multiple.adjust_equalities(p_values, [scores[k].compares for k, _ in family])
        else:
            found = multiple.adjust_p_values(p_values, rules.correction)
        for (k, name), p in zip(family, found, strict=True):
            adjusted[k][name] = float(p)
    return list(adjusted), Families(*map(len, families.values()))


def correction(scores: Sequence[Scores], rules: Rules) -> str:
    """How the primary tests are corrected: "bergmann_hommel" where that is sharper than Holm."""
    means = not any(pair.by_ranks for pair in scores)
    logical = means and multiple.logical([pair.compares for pair in scores])
    return "bergmann_hommel" if logical and rules.correction == "holm" else rules.correction
