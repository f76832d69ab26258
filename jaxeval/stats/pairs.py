"""Two models compared: one type for whole runs and for items, on a data set and over several.

Tests of a pair of runs are three families: one of location each, chosen by the design before
scores are seen (`run_plans.by_ranks`), the primary one; one of spread (none where the units are
data sets); all others.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from jaxeval.stats import effects, hypotheses, multiple, permutation
from jaxeval.stats.results import Effect, HypothesisTest, Interval, gaps, location_gap
from jaxeval.stats.rules import Rules

if TYPE_CHECKING:
    from jaxeval.stats.items.estimates import Estimate
    from jaxeval.stats.run_plans import PowerPlan

_FEW = 3  # fewer scores than this allow no conclusion on location
FEW_SPREADS = FEW_DATA_SETS = 5  # nor on spread; fewer data sets none at all
Outcome = Literal["better", "not shown", "worse"]
_Two = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class RunScores:
    """The scores of two models on one data set."""

    a: str
    b: str
    data_set: str
    first: np.ndarray
    second: np.ndarray
    paired: _Two | None = None  # of units that both have, row by row; None without such
    by_pairs: bool = False  # the verdict rests on pairs, as a unit (split) moves both models
    unit: str = "run"  # what one score stands for: run, seed, split, data set
    # with a score for each run that failed, worse than all others: how often a model is better
    counted: _Two | None = None
    counted_pairs: _Two | None = None
    by_ranks: bool = False  # location is tested by ranks, else by means
    resampled: bool = True  # permutations and bootstraps pay; of very many scores they do not

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
        return FEW_DATA_SETS if self.unit == "data set" else _FEW

    @property
    def units(self) -> int:
        """Of the model with fewer; pairs where these decide."""
        return min(*self.n, *map(len, self.compared))


def against(scores: RunScores, shown: int) -> tuple[str, ...]:
    """Measures of location that point away from a direction that was shown; none for 0.

    Of pairs the median is that of the differences: two medians are of scores of different units.
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
        results["tost"] = hypotheses.tost(*scores.compared, rules.margin, paired=scores.by_pairs)
    return results


def sizes(
    scores: RunScores, rules: Rules, comparisons: int, higher_is_better: bool
) -> dict[str, Effect]:
    """Function name -> effect, of so many comparisons.

    `difference` and `difference_of_medians` are A - B in the unit of the scores, all others speak
    of A being better. The first two are of the scores that location is judged by, all others of
    all scores, unpaired. Runs that failed count as the worst in probabilities of improvement.
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
        "cliffs_delta": effects.cliffs_delta(of_all),
    }
    if scores.resampled:
        a, b = scores.first, scores.second
        results["difference_of_medians"] = effects.difference(
            *(a, b),
            statistic="median",
            confidence=level,
            resamples=rules.resamples,
            seed=rules.seed,
        )
        results["almost_stochastic_order"] = effects.almost_stochastic_order(
            sign * a, sign * b, comparisons=comparisons, seed=rules.seed, confidence=level
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
    """For each pair name -> p-value, corrected in three families.

    Holm's procedure is sharpened for location by means, whose equality is transitive
    (`multiple.adjust_equalities`); P(A > B) = 1/2 is not.
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


class ByMargin(NamedTuple):
    """A difference beside a margin; p-values are Holm's, NaN where the error is not known."""

    outcome: Outcome  # of A against B
    p_outcome: float  # of being no larger than the margin, two-sided; at 0 of the difference
    equivalent: bool  # the difference is shown to lie within the margin
    p_equivalent: float  # of being no smaller than the margin, twice that of TOST


def by_margin(
    differences: "Sequence[Estimate]",
    higher_is_better: Sequence[bool],
    margin: float,
    alpha: float,
) -> list[ByMargin]:
    """What is shown of each, corrected (Holm) over all differences.

    An outcome is a one-sided test at half the level, equivalence two of them (TOST): so a
    difference is equivalent where the interval that stands beside it, of confidence 1 - alpha, is
    in the margin.
    """
    above = np.array([d.p_above(margin) for d in differences])
    below = np.array([d.p_below(-margin) for d in differences])
    inside = np.maximum(
        [d.p_below(margin) for d in differences], [d.p_above(-margin) for d in differences]
    )
    higher = np.array(higher_is_better, bool)
    p_better, p_worse = np.where(higher, above, below), np.where(higher, below, above)
    p_outcome, p_equivalent = (
        multiple.adjust_p_values(np.minimum(1.0, 2 * p)).tolist()
        for p in (np.minimum(p_better, p_worse), inside)
    )
    return [
        ByMargin(
            ("better" if is_better else "worse") if p <= alpha else "not shown",  # NaN: unknown
            p,
            p_same <= alpha and margin > 0,
            p_same,
        )
        for p, p_same, is_better in zip(p_outcome, p_equivalent, p_better < p_worse, strict=True)
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Models A and B on a data set, or on average over several."""

    a: str
    b: str
    data_set: str | None  # "" of a single nameless one; None: the mean over data sets
    metric: str
    higher_is_better: bool
    value: float  # mean of A less that of B
    interval: Interval
    primary: str  # the test that decides, a key of `adjusted`
    p_value: float
    p_adjusted: float  # after the correction over pairs and data sets
    shown: int = 0  # 1: A's scores were shown to be higher by the test's own statistic, -1: B's
    against: tuple[str, ...] = ()  # measures of location that point away from that
    equivalent: bool = False  # the means were shown to differ by less than the margin
    n: tuple[int, ...] = ()  # units of each model (of items, items)
    pairs: int = 0  # of these that both have
    unit: str = "item"  # what one of them is, in the words of a sentence
    tests: Mapping[str, HypothesisTest] = dataclasses.field(default_factory=dict)
    adjusted: Mapping[str, float] = dataclasses.field(default_factory=dict)  # p-value by test
    # of whole runs
    effects: Mapping[str, Effect] = dataclasses.field(default_factory=dict)
    plan: "PowerPlan | None" = None  # what this design could have shown
    wider: int = 0  # 1: A's scores were shown to be spread wider, -1: B's
    # of items
    difference: "Estimate | None" = None  # over what decides: value, interval, p-value are its own
    means: "tuple[Estimate, ...]" = ()  # of A and of B
    over: "tuple[Estimate, ...]" = ()  # the difference over items, runs and both, where known
    by_margin: ByMargin | None = None
    as_sample: "Estimate | None" = None  # of a mean over data sets: these as a sample of such
    scores: RunScores | None = dataclasses.field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, str]:
        """A and B."""
        return self.a, self.b

    @property
    def better(self) -> int:
        """1: A was shown to be better, -1: B, 0: neither, also where measures disagree."""
        sign = 1 if self.higher_is_better else -1
        return 0 if self.against else sign * self.shown

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval, which is not corrected, lies beside 0."""
        return self.interval.low > 0 or self.interval.high < 0
