"""What is shown of differences beside a margin: better or worse by more than it, or within it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.stats import multiple
from jaxeval.stats.items.results import Estimate

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
    differences: Sequence[Estimate],
    higher_is_better: Sequence[bool],
    margin: float,
    alpha: float,
) -> tuple[ByMargin, ...]:
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
    return tuple(
        ByMargin(
            ("better" if is_better else "worse") if p <= alpha else "not shown",  # NaN: unknown
            float(p),
            bool(p_same <= alpha) and margin > 0,
            float(p_same),
        )
        for p, p_same, is_better in zip(p_outcome, p_equivalent, p_better < p_worse, strict=True)
    )


def nothing_shown(of: ByMargin) -> ByMargin:
    """The same where nothing may be said."""
    return of._replace(outcome="not shown", equivalent=False)
