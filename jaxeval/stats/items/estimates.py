"""A model's mean over items and runs, and the difference of two models, with honest errors.

Scores are crossed: every run answers every item, x_ir = mean + item + run + rest. What a standard
error speaks of is named by `over`:

    items   other items, these runs:  Miller (2024), clustered by Bell & McCaffrey (2002)
    runs    other runs, these items:  the means of runs as a sample; of two models Welch's t
    both    other items and other runs: the items' part and what runs bring beyond it

Notation: I items, R runs, C clusters.
"""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import crossed
from jaxeval.stats.items import errors_of_means, pairs, proportions, tables
from jaxeval.stats.items.errors_of_means import Part, Parts
from jaxeval.stats.items.tables import Groups, Labels, Scores, Table
from jaxeval.stats.results import Interval, fraction

Factor = Literal["items", "runs"]
FACTORS: tuple[Factor, ...] = ("items", "runs")
FEW_CLUSTERS = 30
_OFTEN_MISSING = 0.05
_T = "t, Satterthwaite"


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What an estimate rests on.

    Attributes:
      items: with a score of every model.
      dropped: items left out, since a model has no score of them.
      runs: of each model.
      samples: most answers to an item in a run.
      missing: cells (item, run) without a score, of all models.
    """

    items: int
    dropped: int
    clusters: int
    runs: tuple[int, ...]
    samples: int
    missing: int


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean, or the difference of two means.

    Attributes:
      over: what the error generalises over.
      se, df: standard error, and its degrees of freedom by Satterthwaite (1946).
      interval: of a mean of right and wrong answers Jeffreys', of a difference of such t with two
        items added; otherwise t.
      p_value: two-sided, that the difference is 0, of the test that the interval inverts; None of
        a mean.
      unpaired_se: of a difference, had the models been scored on different items; None of a mean.
      correlation: of the two models' scores over items, each the mean of its runs; None of a mean
        and where a model's scores are all equal.
      warnings: what a reader must know, a sentence each.
    """

    value: float
    se: float
    df: float
    interval: Interval
    over: tuple[Factor, ...]
    sizes: Sizes
    p_value: float | None = None
    unpaired_se: float | None = None
    correlation: float | None = None
    warnings: tuple[str, ...] = ()

    def p_above(self, margin: float = 0.0) -> float:
        """One-sided p-value that the true difference is not above `margin`: small says it is.

        Below: `1 - p_above(-margin)` is that of "not below -margin".

        Raises:
          DataError: the estimate is a mean.
        """
        from scipy import special

        if self.p_value is None:
            raise DataError("p_above: expected a difference, found a mean")
        low, high, confidence, _ = self.interval
        above = (low + high) / 2 - margin
        if high == low:
            return float(above <= 0)
        se = (high - low) / 2 / -float(special.stdtrit(self.df, (1 - confidence) / 2))
        return float(special.stdtr(self.df, -above / se))


def mean(
    scores: Scores,
    *,
    over: Collection[Factor] | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Mean score of a model.

    Args:
      scores: [I], [I, R] or [I, R, K]: item, run, sample; NaN where a score is missing.
      over: what the interval is to generalise over; None: items and, with two or more runs, runs.
      clusters: [I] labels of items that belong together, such as questions on one text.

    Raises:
      DataError: shapes; `over` runs with a single run; a single item or cluster.
    """
    fraction(confidence, "confidence")
    table = tables.table(scores)
    groups = tables.groups(clusters, table, len(scores))
    sizes = _sizes([table], groups, len(scores) - len(table.kept))
    factors = _factors(over, sizes)
    part = errors_of_means.total(parts_of_mean(table, groups), factors)
    value = table.cells.mean()
    if table.binary:
        low, high = binary_limits(value, part, sizes, factors, confidence)
        method = "Jeffreys, effective number of answers"
    else:
        low, high = t_limits(value, part, confidence)
        method = _T
    return Estimate(
        float(value),
        float(np.sqrt(part.variance)),
        float(part.df),
        Interval(float(low), float(high), confidence, method),
        factors,
        sizes,
        warnings=_warnings(sizes, factors, clusters is not None),
    )


def difference(
    a: Scores,
    b: Scores,
    *,
    over: Collection[Factor] | None = None,
    clusters: Labels | None = None,
    paired_runs: bool = False,
    confidence: float = 0.95,
) -> Estimate:
    """Mean of A less that of B, on the same items.

    Items that one of them has no score of are left out and counted.

    Args:
      a, b: as of `mean`; row i is the same item in both. Numbers of runs may differ.
      paired_runs: whether column r of both is one run (the same split and seed of the training):
        its own effect cancels.

    Raises:
      DataError: as of `mean`; different items; paired runs of different number.
    """
    fraction(confidence, "confidence")
    pair = pairs.pair(a, b, clusters, paired_runs)
    sizes = _sizes([pair.a, pair.b], pair.groups, pair.dropped)
    factors = _factors(over, sizes)
    parts, gaps = pair.parts(), pair.gaps
    part, value = errors_of_means.total(parts, factors), gaps.mean()
    middle, tested = value, part
    if pair.binary and "items" in factors:
        middle, parts = with_two_items(value, parts, len(gaps))
        tested = errors_of_means.total(parts, factors)
    low, high = t_limits(middle, tested, confidence)
    method = _T + ", two items added" * (pair.binary and "items" in factors)
    apart = [parts_of_mean(table, pair.groups) for table in (pair.a, pair.b)]
    unpaired = errors_of_means.total(_summed(apart), factors)
    return Estimate(
        float(value),
        float(np.sqrt(part.variance)),
        float(tested.df),
        Interval(float(low), float(high), confidence, method),
        factors,
        sizes,
        _two_sided(float(middle), tested),
        float(np.sqrt(unpaired.variance)),
        _correlation(pair),
        _warnings(sizes, factors, clusters is not None),
    )


def default_over(runs: Sequence[int]) -> tuple[Factor, ...]:
    """Items, and runs where every model has two or more."""
    return FACTORS if min(runs) > 1 else ("items",)


def parts_of_mean(table: Table, groups: Groups) -> Parts:
    """Of the variance of one model's mean."""
    runs = ()
    if table.cells.shape[1] > 1:
        runs = (errors_of_means.run_part(table.cells, groups, table.inflation),)
    return Parts(errors_of_means.items_part(table.cells.mean(1), groups), runs)


def t_limits(value: np.ndarray, part: Part, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of the t interval."""
    half = np.sqrt(part.variance) * crossed.t_quantile(part.df, confidence)
    return value - half, value + half


def binary_limits(
    share: np.ndarray, part: Part, sizes: Sizes, over: tuple[Factor, ...], confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of Jeffreys' interval, with as many answers as the variance is worth.

    One answer to each of independent items is Jeffreys' own interval.
    """
    answers = sizes.items * sizes.runs[0] * sizes.samples
    if answers == sizes.clusters:
        n = np.full(np.shape(share), float(answers))
    else:
        units = sizes.clusters if "items" in over else answers
        n = proportions.effective(share, part.variance, part.df, units, answers, confidence)
    return proportions.limits(share, n, confidence)


def with_two_items(value: np.ndarray, parts: Parts, items: int) -> tuple[np.ndarray, Parts]:
    """[...] mean difference and its parts with two more items, on which each model wins one.

    Bonett & Price (2012): without them the interval of models that agree on all items but a few
    is too short, and has width 0 where they agree on all.
    """
    more = items + 2
    variance = (parts.items.variance * items**2 + 2 * items * value**2 / more + 2) / more**2
    return value * items / more, parts._replace(items=Part(variance, parts.items.df))


def _two_sided(value: float, part: Part) -> float:
    from scipy import special

    if part.variance <= 0:
        return float(value == 0)
    return float(2 * special.stdtr(part.df, -abs(value) / np.sqrt(part.variance)))


def _sizes(of: list[Table], groups: Groups, dropped: int) -> Sizes:
    return Sizes(
        len(of[0].kept),
        dropped,
        len(groups.sizes),
        tuple(table.cells.shape[1] for table in of),
        max(table.samples for table in of),
        sum(table.missing for table in of),
    )


def _factors(over: Collection[Factor] | None, sizes: Sizes) -> tuple[Factor, ...]:
    """In order, each once."""
    if over is None:
        over = default_over(sizes.runs)
    wrong = set(over) - set(FACTORS)
    if wrong or not over:
        raise DataError(f"over: expected items, runs or both, found {', '.join(over) or 'none'}")
    if "runs" in over and min(sizes.runs) < 2:
        raise DataError(
            "over runs: expected two or more runs of every model; one says nothing of others"
        )
    return tuple(factor for factor in FACTORS if factor in over)


def _summed(parts: list[Parts]) -> Parts:
    """Of a difference of independent means."""
    runs = tuple(run for each in parts for run in each.runs)
    return Parts(errors_of_means.added([each.items for each in parts]), runs)


def _correlation(pair: pairs.Pair) -> float | None:
    a, b = (table.cells.mean(1) for table in (pair.a, pair.b))
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _warnings(sizes: Sizes, over: tuple[Factor, ...], clustered: bool) -> tuple[str, ...]:
    lines = []
    if min(sizes.runs) == 1:
        lines.append("One run of a model: this says nothing of other runs.")
    if "items" in over and sizes.clusters < FEW_CLUSTERS:
        what = "clusters" if clustered else "items"
        lines.append(
            f"Only {sizes.clusters} {what}: fewer than {FEW_CLUSTERS} tell little of others."
        )
    cells = sizes.items * sum(sizes.runs)
    if sizes.missing > _OFTEN_MISSING * cells:
        lines.append(
            f"{sizes.missing} of {cells} scores are missing: expected as item and run suggest."
        )
    return tuple(lines)
