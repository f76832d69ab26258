"""All tests and effects for the scores of two models on one data set, one a unit of replication.

The primary test of a pair is one of location, chosen by the design before the scores are seen
(`run_plans.by_ranks`) and corrected over all pairs and data sets. A second family has the tests of
spread (Pitman-Morgan on pairs, else Brown-Forsythe; none where the units are data sets). What is
said of location and spread takes its direction from these tests' own statistics. All other tests
are a third family, and secondary.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.stats import describe, effects, equivalence, hypotheses, multiple, permutation
from jaxeval.stats.results import Effect, HypothesisTest, gaps, location_gap
from jaxeval.stats.rules import Rules

FEW = 3  # fewer scores than this allow no conclusion on location
FEW_SPREADS = FEW_DATA_SETS = 5  # nor on spread; fewer data sets none at all

_Two = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class RunScores:
    """The scores of two models on one data set.

    Attributes:
      paired: scores of the units that both models have, row by row; None without such.
      by_pairs: whether the verdict rests on the pairs, as it should where a unit (split, data
        set) moves both models.
      unit: what one score stands for, as sentences call it: run, seed, split, data set.
      counted: all scores, and for each run that failed one that is worse than all of them; None
        where none failed. How often a model is better is said of these.
      counted_pairs: the same of the units that both models have.
      by_ranks: whether location is tested by ranks, else by means.
    """

    a: str
    b: str
    data_set: str
    first: np.ndarray
    second: np.ndarray
    paired: _Two | None = None
    by_pairs: bool = False
    unit: str = "run"
    counted: _Two | None = None
    counted_pairs: _Two | None = None
    by_ranks: bool = False

    @property
    def location_test(self) -> str:
        """The primary test: of location, chosen by the design before scores are seen."""
        if self.by_pairs:
            return "wilcoxon_signed_rank" if self.by_ranks else "paired_t"
        return "brunner_munzel" if self.by_ranks else "welch_t"

    @property
    def spread_test(self) -> str | None:
        """That of spread; None where scores are of different data sets, whose spread is theirs."""
        if self.unit == "data set":
            return None
        return "pitman_morgan" if self.by_pairs else "brown_forsythe"

    @property
    def compared(self) -> _Two:
        """The scores that location is judged by: the pairs where they decide, else all."""
        return self.paired if self.by_pairs and self.paired else (self.first, self.second)

    @property
    def n(self) -> tuple[int, int]:
        """Units of each model."""
        return len(self.first), len(self.second)

    @property
    def fewest(self) -> int:
        """Scores of each model, or pairs, that a conclusion on location takes."""
        return FEW_DATA_SETS if self.unit == "data set" else FEW

    @property
    def units(self) -> int:
        """Of the model with fewer; pairs where these decide."""
        return min(*self.n, *map(len, self.compared))

    @property
    def resampled(self) -> bool:
        """Whether permutations and bootstraps pay; above, the other tests say the same."""
        return max(self.n) <= describe.MOST_RESAMPLED


def against(scores: RunScores, shown: int) -> tuple[str, ...]:
    """Measures of location that point away from a direction that was shown; none for 0.

    A few far scores move a mean, many near ones a median or a probability. Of pairs the median is
    that of the differences: the difference of the two medians compares scores of different units
    (an easy split of A, a hard one of B).
    """
    x, y = scores.compared
    if scores.by_pairs:
        between = gaps(x, y)
        measures = {"median of the differences": float(np.median(between))}
        won = float(np.mean(np.sign(between)))
    else:
        measures = {"median": location_gap(x, y, "median")}
        won = effects.probability_of_superiority(x, y) - 0.5
    measures |= {"mean": location_gap(x, y, "mean"), "probability": won}
    return tuple(name for name, value in measures.items() if shown * value < 0)


def tests(scores: RunScores, rules: Rules) -> dict[str, HypothesisTest]:
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


def sizes(
    scores: RunScores, rules: Rules, pairs: int, higher_is_better: bool
) -> dict[str, Effect]:
    """Function name -> effect.

    `difference` and `difference_of_medians` are A - B in the unit of the scores, whichever is
    better; all others speak of A being better. `difference` and `probability_of_improvement` are
    of the scores that location is judged by (within pairs where these decide); all others are of
    all scores, unpaired. `probability_of_improvement` and `cliffs_delta` count runs that failed as
    the worst.

    Args:
      pairs: pairs of models looked at, for almost stochastic order.
    """
    sign, level = 1 if higher_is_better else -1, rules.confidence
    u, v = (sign * values for values in scores.counted or (scores.first, scores.second))
    of_all = within = effects.probability_of_improvement(u, v, confidence=level)
    gap = effects.paired_difference if scores.by_pairs else effects.difference
    if scores.by_pairs:
        x, y = (sign * values for values in scores.counted_pairs or scores.compared)
        within = effects.paired_probability_of_improvement(x, y, confidence=level)
    results = {
        "difference": gap(*scores.compared, confidence=level),
        "probability_of_improvement": within,
        "a12": of_all,
        "cliffs_delta": effects.delta_of(of_all),
    }
    if scores.resampled:
        results["difference_of_medians"] = effects.difference(
            *(scores.first, scores.second),
            statistic="median",
            confidence=level,
            resamples=rules.resamples,
            seed=rules.seed,
        )
        results["almost_stochastic_order"] = effects.almost_stochastic_order(
            *(sign * scores.first, sign * scores.second),
            comparisons=pairs,
            seed=rules.seed,
            confidence=level,
        )
    return results


class Families(NamedTuple):
    """How many tests each family of the correction has."""

    location: int
    spread: int
    further: int


def corrected(
    results: Sequence[Mapping[str, HypothesisTest]], scores: Sequence[RunScores], rules: Rules
) -> tuple[list[dict[str, float]], Families]:
    """P-values of all pairs, corrected in three families: of location, of spread, all others.

    Holm's procedure is sharpened for location by means, whose equality is transitive
    (`multiple.adjust_equalities`); P(A > B) = 1/2 is not.

    Returns:
      for each pair name -> corrected p-value.
    """
    families: dict[str, list[tuple[int, str]]] = {"location": [], "spread": [], "further": []}
    for k, of_pair in enumerate(results):
        kinds = {scores[k].location_test: "location", scores[k].spread_test: "spread"}
        for name in of_pair:
            families[kinds.get(name, "further")].append((k, name))
    adjusted: list[dict[str, float]] = [{} for _ in results]
    for kind, family in families.items():
        p_values = [results[k][name].p_value for k, name in family]
        if kind == "location" and correction(scores, rules) == "bergmann_hommel":
            found = multiple.adjust_equalities(p_values, [_equal(scores[k]) for k, _ in family])
        else:
            found = multiple.adjust_p_values(p_values, rules.correction)
        for (k, name), p in zip(family, found, strict=True):
            adjusted[k][name] = float(p)
    return adjusted, Families(*map(len, families.values()))


def _equal(of: RunScores) -> multiple.Compared:
    return of.data_set, of.a, of.b


def correction(scores: Sequence[RunScores], rules: Rules) -> str:
    """How the primary tests are corrected: "bergmann_hommel" where that is sharper than Holm."""
    means = not any(pair.by_ranks for pair in scores)
    logical = means and multiple.logical([*map(_equal, scores)])
    return "bergmann_hommel" if logical and rules.correction == "holm" else rules.correction
