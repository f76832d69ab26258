"""Two models compared: one type for whole runs and for items, on a data set and over several."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from jaxeval.stats import multiple
from jaxeval.stats.equivalence import Rope
from jaxeval.stats.results import Effect, HypothesisTest, Interval
from jaxeval.stats.run_pairs import RunScores
from jaxeval.stats.run_plans import PowerPlan

if TYPE_CHECKING:
    from jaxeval.stats.items.estimates import Estimate

Outcome = Literal["better", "not shown", "worse"]


class ByMargin(NamedTuple):
    """A difference beside a margin; p-values are Holm's, NaN where the error is not known.

    Attributes:
      outcome: of A against B.
      p_outcome: of the difference being no larger than the margin, two-sided; without a margin
        that of the difference.
      equivalent: whether the difference is shown to lie within the margin.
      p_equivalent: of the difference being no smaller than the margin, twice that of TOST.
    """

    outcome: Outcome
    p_outcome: float
    equivalent: bool
    p_equivalent: float


def by_margin(
    differences: "Sequence[Estimate]",
    higher_is_better: Sequence[bool],
    margin: float,
    alpha: float,
) -> list[ByMargin]:
    """What is shown of each, corrected (Holm) over all differences.

    An outcome is a one-sided test at half the level, and so at a margin of 0 the two-sided test
    of the difference. Equivalence is two one-sided tests (TOST) at half the level each, where
    `stats.tost` has the whole level: so a single difference is equivalent where the interval that
    stands beside it, of confidence 1 - alpha, lies within the margin.
    """
    above = np.array([d.p_above(margin) for d in differences])
    below = np.array([d.p_below(-margin) for d in differences])
    inside = np.maximum(
        [d.p_below(margin) for d in differences], [d.p_above(-margin) for d in differences]
    )
    higher = np.array(higher_is_better, bool)
    p_better, p_worse = np.where(higher, above, below), np.where(higher, below, above)
    p_outcome, p_equivalent = (
        multiple.adjust_p_values(np.minimum(1.0, 2 * p))
        for p in (np.minimum(p_better, p_worse), inside)
    )
    return [
        ByMargin(
            ("better" if is_better else "worse") if p <= alpha else "not shown",  # NaN: unknown
            float(p),
            bool(p_same <= alpha) and margin > 0,
            float(p_same),
        )
        for p, p_same, is_better in zip(p_outcome, p_equivalent, p_better < p_worse, strict=True)
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Models A and B on a data set, or on average over several.

    Attributes:
      data_set: "" of a single nameless one; None: the mean over data sets.
      value, interval: mean of A less that of B.
      primary: the test that decides, a key of `adjusted`.
      p_value, p_adjusted: of that test, before and after the correction over pairs and data sets.
      shown: 1: A's scores were shown to be higher, -1: B's, 0: neither was, or nothing may be
        said. The direction is that of the test's own statistic.
      against: measures of location that point away from what was shown.
      equivalent: whether the means were shown to differ by less than the margin.
      n: units of each model (of items, items); `pairs` of these that both have.
      unit: what one of them is, in the words of a sentence.
      tests, adjusted: function name -> test; its p-value after the correction.

    Of whole runs:
      effects: function name -> effect.
      rope, plan: where the difference lies beside the margin; what this design could have shown.
      wider: 1: A's scores were shown to be spread wider, -1: B's, 0: not shown.

    Of items:
      difference: with its error over what decides (`value`, `interval` and p-values are its own).
      means: of A and of B.
      over: the difference over items, over runs and over both, as far as can be said.
      by_margin: A against B beside the margin.
      as_sample: of a mean over data sets, these as a sample of such data sets.
    """

    a: str
    b: str
    data_set: str | None
    metric: str
    higher_is_better: bool
    value: float
    interval: Interval
    primary: str
    p_value: float
    p_adjusted: float
    shown: int = 0
    against: tuple[str, ...] = ()
    equivalent: bool = False
    n: tuple[int, ...] = ()
    pairs: int = 0
    unit: str = "item"
    tests: Mapping[str, HypothesisTest] = dataclasses.field(default_factory=dict)
    adjusted: Mapping[str, float] = dataclasses.field(default_factory=dict)
    effects: Mapping[str, Effect] = dataclasses.field(default_factory=dict)
    rope: Rope | None = None
    plan: PowerPlan | None = None
    wider: int = 0
    difference: "Estimate | None" = None
    means: "tuple[Estimate, ...]" = ()
    over: "tuple[Estimate, ...]" = ()
    by_margin: ByMargin | None = None
    as_sample: "Estimate | None" = None
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
