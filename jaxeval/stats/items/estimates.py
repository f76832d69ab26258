"""A model's mean over items and runs, with an honest error.

Every run answers every item, x_ir = mean + item + run + rest. An error speaks, by `over`, of

    items   other items, these runs:  Miller (2024), clustered by Bell & McCaffrey (2002)
    runs    other runs, these items:  the means of runs as a sample; of two models Welch's t
    both    the items' part and what runs bring beyond it
"""

import dataclasses
from collections.abc import Collection, Sequence

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import crossed
from jaxeval.stats.items import cells, proportions
from jaxeval.stats.items.cells import Labels, Part, Parts, Scores, Table
from jaxeval.stats.results import Factor, Interval, fraction

FACTORS: tuple[Factor, ...] = ("items", "runs")
FEW_CLUSTERS = 30
JEFFREYS = "Jeffreys, effective number of answers"
T = "t, Satterthwaite"
_OFTEN_MISSING = 0.05
_QUARTER = 0.25  # of an item
ROUNDING = 1e-12  # of the largest score


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What an estimate rests on."""

    items: int  # with a score of every model
    dropped: int  # items left out, since a model has no score of them
    clusters: int
    runs: tuple[int, ...]  # of each model
    samples: int  # most answers to an item in a run
    missing: int  # cells (item, run) without a score, of all models


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean, or the difference of two means.

    An error that is estimated as 0 is not known: the p-value and the ends of the interval are NaN.
    """

    value: float
    se: float
    df: float  # degrees of freedom of `se` by Satterthwaite (1946)
    interval: Interval  # Jeffreys' of right and wrong answers, else t (two items added to those)
    over: tuple[str, ...]  # what the error generalises over: items, runs, tasks
    sizes: Sizes
    # of a difference; None of a mean
    p_value: float | None = None  # two-sided, that it is 0, of the test that the interval inverts
    unpaired_se: float | None = None  # had the models been scored on different items
    correlation: float | None = None  # of both over items; None where one's scores are all equal
    warnings: tuple[str, ...] = ()  # what a reader must know, a sentence each
    binary: bool = False  # whether it is a difference of right and wrong answers

    @property
    def possible(self) -> Interval:
        """The interval without what differences of right and wrong answers cannot be."""
        if not self.binary:
            return self.interval
        low, high = (min(max(end, -1.0), 1.0) for end in self.interval[:2])
        return self.interval._replace(low=low, high=high)

    @property
    def error(self) -> float:
        """The standard error of which the t interval is made; NaN where it is not known."""
        from scipy import special

        low, high, confidence, _ = self.interval
        return (high - low) / 2 / -float(special.stdtrit(self.df, (1 - confidence) / 2))

    @property
    def swapped(self) -> "Estimate":
        """The difference B - A of a difference A - B."""
        interval = self.interval._replace(low=-self.interval.high, high=-self.interval.low)
        return dataclasses.replace(self, value=-self.value, interval=interval)

    def p_above(self, margin: float = 0.0) -> float:
        """One-sided p-value that a true difference is not above `margin`: small says it is."""
        return self._tail(margin, -1)

    def p_below(self, margin: float = 0.0) -> float:
        """The same of "not below": 1 - `p_above`, to the last digit of a small one."""
        return self._tail(margin, 1)

    def _tail(self, margin: float, side: int) -> float:
        from scipy import special

        beyond = side * ((self.interval.low + self.interval.high) / 2 - margin)
        return float(special.stdtr(self.df, beyond / self.error))


def default_over(runs: Sequence[int]) -> tuple[Factor, ...]:
    """Items, and runs where every model has two or more."""
    return FACTORS if min(runs) > 1 else ("items",)


def sizes_of(of: Sequence[Table], dropped: int = 0) -> Sizes:
    """Of one model, or of several on the same items."""
    return Sizes(
        *(len(of[0].kept), dropped, len(of[0].groups.sizes), tuple(table.runs for table in of)),
        *(max(table.samples for table in of), sum(table.missing for table in of)),
    )


def named(
    over: str | Collection[Factor], error: type[Exception] = DataError
) -> tuple[Factor, ...]:
    """The factors in order, each once, of a collection or "items,runs"; else raises `error`."""
    words = [word.strip() for word in over.split(",")] if isinstance(over, str) else over
    factors = tuple(f for f in FACTORS if isinstance(words, Collection) and f in words)
    if not factors or any(word not in FACTORS for word in words):
        raise error(f"over: expected items, runs or items,runs, found {over!r}")
    return factors


def factors_of(over: str | Collection[Factor] | None, sizes: Sizes) -> tuple[Factor, ...]:
    """The factors in order, each once; None: as `default_over`."""
    over = default_over(sizes.runs) if over is None else named(over)
    if "runs" in over and min(sizes.runs) < 2:
        raise DataError(
            "over runs: expected two or more runs of every model; one says nothing of others"
        )
    return over


def warnings_of(sizes: Sizes, over: tuple[Factor, ...], clustered: bool) -> list[str]:
    """What a reader must know, a sentence each."""
    lines, few = [], "clusters" if clustered else "items"
    if min(sizes.runs) == 1:
        lines.append("One run of a model: this says nothing of other runs.")
    if "items" in over and sizes.clusters < FEW_CLUSTERS:
        lines.append(
            f"Only {sizes.clusters} {few}: fewer than {FEW_CLUSTERS} tell little of others."
        )
    cells = sizes.items * sum(sizes.runs)
    if sizes.missing > _OFTEN_MISSING * cells:
        lines.append(
            f"{sizes.missing} of {cells} scores are missing: filled in by least squares, "
            "from item and run."
        )
    return lines


def mean(
    scores: Scores,
    *,
    over: str | Collection[Factor] | None = None,
    clusters: Labels | None = None,
    confidence: float = 0.95,
    from_0_to_1: bool = True,
) -> Estimate:
    """Mean score of a model.

    Args:
      scores: [I], [I, R] or [I, R, K]: item, run, sample; NaN where a score is missing.
      over: what the interval generalises over, as "items,runs"; None: runs too where known.
      clusters: [I] labels of items that belong together, such as questions on one text.
      from_0_to_1: whether scores that are all 0 or 1 are right and wrong answers, and no losses.
    """
    confidence = fraction(confidence, "confidence")
    (table,) = cells.tables([scores], clusters)
    sizes = sizes_of([table], len(scores) - len(table.kept))
    return of_table(
        table, sizes, factors_of(over, sizes), confidence, clusters is not None, from_0_to_1
    )


def of_table(
    table: Table,
    sizes: Sizes,
    over: tuple[Factor, ...],
    confidence: float,
    clustered: bool,
    from_0_to_1: bool,
) -> Estimate:
    """The mean of a model with its error over the factors named."""
    value, right = float(table.cells.mean()), table.binary and from_0_to_1
    limits = binary_limits(value, table.parts, sizes, over, confidence) if right else None
    level = value, table.parts, table.largest
    return of_level(*level, limits, sizes, over, confidence, clustered)


def of_level(
    value: float,
    parts: Parts,
    largest: float,
    limits: tuple[np.ndarray, np.ndarray] | None,
    sizes: Sizes,
    over: tuple[Factor, ...],
    confidence: float,
    clustered: bool,
) -> Estimate:
    """A mean with the parts of its variance, the largest score, and Jeffreys' limits if binary."""
    part, lines = cells.total(parts, over), warnings_of(sizes, over, clustered)
    se, df = float(np.sqrt(part.variance)), float(part.df)
    if limits is not None:
        interval = Interval(float(limits[0]), float(limits[1]), confidence, JEFFREYS)
    elif se <= ROUNDING * largest:
        interval = Interval.none(confidence, "the scores do not vary")
        lines.append(
            f"The score is the same over all {' and '.join(over)}: its error cannot be told."
        )
    else:
        interval = t_interval(value, part, confidence, T)
    return Estimate(value, se, df, interval, over, sizes, warnings=tuple(lines))


def t_interval(value: float, part: Part, confidence: float, method: str) -> Interval:
    """Of a mean or difference with this variance."""
    half = float(np.sqrt(part.variance) * crossed.t_quantile(part.df, confidence))
    return Interval(value - half, value + half, confidence, method)


def binary_limits(
    share: float, parts: Parts, sizes: Sizes, over: tuple[str, ...], confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Jeffreys' interval, with as many answers as the variance is worth.

    One answer to each of independent items is Jeffreys' own. Otherwise a quarter of an item, half
    of it right, is added to the items' part, and there are no more answers than were given.
    """
    answers = sizes.items * sizes.runs[0] * sizes.samples
    units, most, value = sizes.clusters, float(answers), np.asarray(share)
    if answers == sizes.clusters:
        return proportions.limits(value, np.asarray(most), confidence)
    if "items" in over:
        parts = with_quarter(share, parts, sizes.items)
    else:
        units, most = answers, np.inf  # answers to fixed items spread less than a coin's
    part = cells.total(parts, over)
    n = proportions.effective(value, part.variance, part.df, units, most, confidence)
    return proportions.limits(value, n, confidence)


def with_quarter(share: float, parts: Parts, items: int) -> Parts:
    """Parts of a mean of right and wrong answers with a quarter of an item, half of it right."""
    value = np.asarray(share)
    more = _QUARTER / 2 * (value**2 + (1 - value) ** 2)
    variance = (parts.items.variance * items**2 + more) / (items + _QUARTER) ** 2
    return parts._replace(items=Part(variance, parts.items.df))
