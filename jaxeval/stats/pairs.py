"""Two models compared: one type for whole runs and for items, on a data set and over several.

The tests of a pair of runs form four families: one primary test of location, chosen by the design
before scores are seen (`power.by_ranks`); one of spread (none if the units are data sets); one of
equivalence, if a margin is given; all others.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval import stats
from jaxeval.stats import (
    Effect,
    HypothesisTest,
    Interval,
    Later,
    PowerPlan,
    Rules,
    Two,
    describe,
    hypotheses,
    multiple,
    samples,
    sequential,
)
from jaxeval.stats.estimates import Estimate

FEW_DATA_SETS = 5  # fewer allow no conclusion
_FEW_SPREADS = 5  # fewer scores allow no conclusion on spread
Outcome = Literal["better", "not shown", "worse"]


@dataclasses.dataclass(frozen=True, eq=False)
class RunScores:
    """The scores of two models on one data set."""

    a: str
    b: str
    data_set: str
    first: np.ndarray
    second: np.ndarray
    paired: Two | None = None  # scores of the units that both have, row by row
    by_pairs: bool = False  # the verdict rests on pairs, as a unit (split) moves both models
    unit: str = "run"  # what one score stands for: run, seed, split, data set
    # the same with a score worse than all others for each run that failed; None: none failed
    with_failed: "RunScores | None" = None
    by_ranks: bool = False  # location is tested by ranks, else by means
    overlap: float = 0.0  # of the splits of several cross-validations: `describe.mean_gap`
    looks: int = 1  # at scores that grew in between; after several, tests hold at any look
    resampled: bool = True  # False for very many scores: no permutations and bootstraps

    @property
    def location_test(self) -> str:
        """The primary test, of location."""
        if self.looks > 1:
            return "anytime_t"
        if self.overlap:
            return "corrected_t"
        if self.by_pairs:
            return "wilcoxon_signed_rank" if self.by_ranks else "paired_t"
        return "brunner_munzel" if self.by_ranks else "welch_t"

    @property
    def spread_test(self) -> str | None:
        """The test of spread; None for data sets, whose spread is not the models'.

        None too after several looks and for splits that overlap, which it does not carry.
        """
        if self.unit == "data set" or self.looks > 1 or self.overlap:
            return None
        return "pitman_morgan" if self.by_pairs else "brown_forsythe"

    @property
    def compared(self) -> Two:
        """The scores that location is judged by: the pairs if they decide, else all."""
        return self.paired if self.by_pairs and self.paired else (self.first, self.second)

    @property
    def n(self) -> tuple[int, int]:
        """Units of each model."""
        return len(self.first), len(self.second)

    @property
    def fewest(self) -> int:
        """Scores of each model, or pairs, needed for a conclusion on location."""
        return FEW_DATA_SETS if self.unit == "data set" else samples.FEWEST

    @property
    def units(self) -> int:
        """Units of the model with fewer; pairs if these decide."""
        return min(*self.n, *map(len, self.compared))

    def contradicting(self, shown: int) -> tuple[str, ...]:
        """Measures of location that point away from the direction shown; none for 0.

        For pairs the median is that of the differences: two medians are of different units.
        """
        x, y = self.compared
        if self.by_pairs:
            between = stats.gaps(x, y)
            measures = {"median of the differences": float(np.median(between))}
            won = float(np.mean(np.sign(between)))
        else:
            measures = {"median": stats.location_gap(x, y, median=True)}
            won = describe.probability_of_superiority(x, y) - 0.5
        measures |= {"mean": stats.location_gap(x, y), "probability": won}
        return tuple(name for name, value in measures.items() if shown * value < 0)

    def tests(self, rules: Rules) -> Mapping[str, HypothesisTest]:
        """Returns all tests, by name; those on pairs if there are two pairs or more.

        Of splits that overlap the corrected test and equivalence: no other test allows for that.
        """
        a, b = self.first, self.second
        x, y = self.compared
        paired, overlap = self.by_pairs, self.overlap
        found = Later()
        if overlap:
            found["corrected_t"] = lambda: hypotheses.t_test(x, y, paired=paired, overlap=overlap)
        if (margin := rules.margin) is not None:
            found["tost"] = lambda: hypotheses.tost(x, y, margin, paired=paired, overlap=overlap)
        if overlap:
            return found
        found["brunner_munzel"] = lambda: hypotheses.brunner_munzel(a, b, seed=rules.seed)
        for name, (_, test) in hypotheses.FURTHER.items():
            found[name] = functools.partial(test, a, b)
        found["welch_t"] = lambda: hypotheses.welch_t(a, b)
        if self.spread_test is not None and min(self.n) > 2:
            # two scores lie equally far from their median: their deviations have no spread
            found["brown_forsythe"] = lambda: hypotheses.brown_forsythe(a, b)
        if paired:
            found["paired_t"] = lambda: hypotheses.t_test(x, y, paired=True)
        if self.spread_test == "pitman_morgan":
            found["pitman_morgan"] = lambda: hypotheses.pitman_morgan(x, y)
        if (both := self.paired) is not None:
            found["wilcoxon_signed_rank"] = lambda: hypotheses.wilcoxon_signed_rank(*both)
            found["sign_test"] = lambda: hypotheses.sign_test(*both)
        if self.resampled:
            found["permutation_test"] = lambda: hypotheses.permutation_test(
                x, y, paired=paired, resamples=rules.resamples, seed=rules.seed
            )
        if self.looks > 1:
            found |= sequential.tests(x, y, paired=paired, margin=margin)
        return found

    def difference(self, rules: Rules) -> Effect:
        """Computes the mean of A less that of B; of pairs if these decide."""
        return describe.difference(
            *self.compared, paired=self.by_pairs, confidence=rules.confidence, overlap=self.overlap
        )

    def effects(
        self, rules: Rules, higher_is_better: bool, bounds: tuple[float, float] | None
    ) -> Mapping[str, Effect]:
        """Returns all effects, by name; the interval of the difference lies within the bounds.

        `difference` is A - B, all others say how much better A is. It and the probability of
        improvement are of pairs if these decide. Failed runs count as the worst.
        """
        sign = 1 if higher_is_better else -1
        of, level = self.with_failed or self, rules.confidence
        improvement = functools.partial(describe.probability_of_improvement, confidence=level)
        gap = self.difference(rules)
        low, high = bounds or (-math.inf, math.inf)
        gap = dataclasses.replace(gap, interval=gap.interval.clip(low - high, high - low))

        def won(x: np.ndarray, y: np.ndarray, paired: bool) -> Effect:
            found = improvement(sign * x, sign * y, paired=paired)
            unknown = Interval.none(level, "splits overlap")
            return dataclasses.replace(found, interval=unknown) if self.overlap else found

        return Later(
            difference=gap,
            probability_of_improvement=lambda: won(*of.compared, self.by_pairs),
            a12=lambda: won(of.first, of.second, False),
        )


def groups(scores: Sequence[RunScores]) -> list[tuple[str, str, str]]:
    return [(of.data_set, of.a, of.b) for of in scores]


def correction(scores: Sequence[RunScores], rules: Rules, left_out: int = 0) -> str:
    """The correction of the primary tests: "bergmann_hommel" where it is sharper than Holm's."""
    means = not left_out and not any(pair.by_ranks for pair in scores)
    logical = means and len(scores) > 2 and multiple.logical(groups(scores))
    return "bergmann_hommel" if logical and rules.correction == "holm" else rules.correction


class ByMargin(NamedTuple):
    """A difference compared with a margin; p-values are Holm's, NaN if the error is unknown."""

    outcome: Outcome  # of A against B
    p_outcome: float  # two-sided: the difference is no larger than the margin; of 0 if margin is 0
    equivalent: bool  # the difference was shown to lie within the margin
    p_equivalent: float  # the difference is no smaller than the margin, twice that of TOST


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
    # after the correction over pairs and data sets; after several looks that of any look
    p_adjusted: float
    shown: int = 0  # 1: A's scores were shown to be higher by the test's own statistic, -1: B's
    against: tuple[str, ...] = ()  # measures of location that point away from that
    equivalent: bool = False  # the means were shown to differ by less than the margin
    n: tuple[int, ...] = ()  # units of each model (of items, items)
    pairs: int = 0  # units that both have
    unit: str = "item"  # what one unit is, as a word of a sentence
    tests: Mapping[str, HypothesisTest] = dataclasses.field(default_factory=dict)
    adjusted: Mapping[str, float] = dataclasses.field(default_factory=dict)  # p-value by test
    # of whole runs
    effects: Mapping[str, Effect] = dataclasses.field(default_factory=dict)
    looks: int = 1  # at scores that grew in between
    # of items
    difference: Estimate | None = None  # that decides: value, interval, p-value are its own
    means: tuple[Estimate, ...] = ()  # of A and of B
    over: tuple[Estimate, ...] = ()  # the difference over items, runs and both, where known
    by_margin: ByMargin | None = None
    scores: RunScores | None = dataclasses.field(default=None, repr=False)
    rules: Rules = dataclasses.field(default=Rules(), repr=False)
    planned: Callable[[], PowerPlan | None] | None = dataclasses.field(default=None, repr=False)

    @functools.cached_property
    def plan(self) -> PowerPlan | None:
        """What this design of whole runs could have shown, at a single look."""
        return self.planned() if self.planned else None

    @functools.cached_property
    def wider(self) -> int:
        """1: A's scores were shown to be spread wider, -1: B's."""
        if self.scores is None or self.scores.units < _FEW_SPREADS:
            return 0
        spread = self.scores.spread_test or ""
        shown = spread in self.adjusted and self.adjusted[spread] <= self.rules.alpha
        return self.tests[spread].direction or 0 if shown else 0

    @property
    def names(self) -> tuple[str, str]:
        """A and B."""
        return self.a, self.b

    @property
    def better(self) -> int:
        """1: A was shown to be better, -1: B, 0: neither, also if measures disagree."""
        sign = 1 if self.higher_is_better else -1
        return 0 if self.against else sign * self.shown
