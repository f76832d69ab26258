"""A model's mean over items and runs, with an honest error.

Scores are crossed: every run answers every item, x_ir = mean + item + run + rest. What a standard
error speaks of is named by `over`:

    items   other items, these runs:  Miller (2024), clustered by Bell & McCaffrey (2002)
    runs    other runs, these items:  the means of runs as a sample; of two models Welch's t
    both    other items and other runs: the items' part and what runs bring beyond it

Notation: I items, R runs, C clusters.
"""

import dataclasses
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats import crossed
from jaxeval.stats.items import cells, proportions
from jaxeval.stats.items import parts as parts_of
from jaxeval.stats.items.cells import Groups, Labels, Scores, Table
from jaxeval.stats.items.parts import Part, Parts
from jaxeval.stats.results import Interval, Wrong, fraction, no_interval
from jaxeval.stats.rules import Factor

FACTORS: tuple[Factor, ...] = ("items", "runs")
FEW_CLUSTERS = 30
_OFTEN_MISSING = 0.05
T = "t, Satterthwaite"
_QUARTER = 0.25  # of an item
ROUNDING = 1e-12  # of the largest score
_SAME_MEAN = "The score is the same over all {}: its error cannot be told."


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
      over: what the error generalises over: items, runs; over several tasks also tasks.
      se, df: standard error, and its degrees of freedom by Satterthwaite (1946).
      interval: of a mean of right and wrong answers Jeffreys', of a difference of such t with two
        items added; otherwise t.
      p_value: two-sided, that the difference is 0, of the test that the interval inverts; None of
        a mean. NaN, as are the ends of the interval, where a difference has no spread at all: an
        error that is estimated as 0 is not known.
      unpaired_se: of a difference, had the models been scored on different items; None of a mean.
      correlation: of the two models' scores over items, each the mean of its runs; None of a mean
        and where a model's scores are all equal.
      warnings: what a reader must know, a sentence each.
      binary: whether it is a difference of right and wrong answers.
    """

    value: float
    se: float
    df: float
    interval: Interval
    over: tuple[str, ...]
    sizes: Sizes
    p_value: float | None = None
    unpaired_se: float | None = None
    correlation: float | None = None
    warnings: tuple[str, ...] = ()
    binary: bool = False

    @property
    def possible(self) -> Interval:
        """The interval without what differences of right and wrong answers cannot be."""
        if not self.binary:
            return self.interval
        low, high = (min(max(end, -1.0), 1.0) for end in self.interval[:2])
        return self.interval._replace(low=low, high=high)

    @property
    def swapped(self) -> "Estimate":
        """The difference B - A of a difference A - B."""
        interval = self.interval._replace(low=-self.interval.high, high=-self.interval.low)
        return dataclasses.replace(self, value=-self.value, interval=interval)

    def p_above(self, margin: float = 0.0) -> float:
        """One-sided p-value that the true difference is not above `margin`: small says it is.

        NaN where the error is not known. Raises DataError of a mean.
        """
        return self._tail(margin, -1)

    def p_below(self, margin: float = 0.0) -> float:
        """The same of "not below": 1 - `p_above`, to the last digit of a small one."""
        return self._tail(margin, 1)

    def _tail(self, margin: float, side: int) -> float:
        """P(T < `side` times the difference's distance from `margin`, in standard errors)."""
        from scipy import special

        if self.p_value is None:
            raise DataError("p_above, p_below: expected a difference, found a mean")
        low, high, confidence, _ = self.interval
        beyond = side * ((low + high) / 2 - margin)
        se = (high - low) / 2 / -float(special.stdtrit(self.df, (1 - confidence) / 2))
        return float(special.stdtr(self.df, beyond / se))


def default_over(runs: Sequence[int]) -> tuple[Factor, ...]:
    """Items, and runs where every model has two or more."""
    return FACTORS if min(runs) > 1 else ("items",)


def sizes_of(of: Sequence[Table], groups: Groups, dropped: int) -> Sizes:
    """Of one model, or of several on the same items."""
    return Sizes(
        len(of[0].kept),
        dropped,
        len(groups.sizes),
        tuple(table.cells.shape[1] for table in of),
        max(table.samples for table in of),
        sum(table.missing for table in of),
    )


def named(over: str | Collection[Factor], error: Wrong = DataError) -> tuple[Factor, ...]:
    """The factors in order, each once, of a collection or "items,runs"; else raises `error`."""
    words = [word.strip() for word in over.split(",")] if isinstance(over, str) else over
    factors = tuple(f for f in FACTORS if isinstance(words, Collection) and f in words)
    if not factors or any(word not in FACTORS for word in words):
        raise error(f"over: expected items, runs or items,runs, found {over!r}")
    return factors


def factors_of(over: str | Collection[Factor] | None, sizes: Sizes) -> tuple[Factor, ...]:
    """The factors in order, each once; None: as `default_over`.

    Raises:
      DataError: none, an unknown one, or runs of which a model has one.
    """
    over = default_over(sizes.runs) if over is None else named(over)
    if "runs" in over and min(sizes.runs) < 2:
        raise DataError(
            "over runs: expected two or more runs of every model; one says nothing of others"
        )
    return over


def warnings_of(sizes: Sizes, over: tuple[Factor, ...], clustered: bool) -> tuple[str, ...]:
    """What a reader must know, a sentence each."""
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
            f"{sizes.missing} of {cells} scores are missing: filled in by least squares, "
            "from item and run."
        )
    return tuple(lines)


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
      over: what the interval is to generalise over, as "items,runs" or ["items", "runs"]; None:
        items and, with two or more runs, runs.
      clusters: [I] labels of items that belong together, such as questions on one text.
      from_0_to_1: whether scores are from 0 to 1, so that those that are all 0 or 1 are right and
        wrong answers; False: they may be losses that happen to be so.

    Raises:
      DataError: shapes; `over` runs with a single run; a single item or cluster.
    """
    confidence = fraction(confidence, "confidence")
    table = cells.table(scores)
    groups = cells.groups(clusters, table, len(scores))
    sizes = sizes_of([table], groups, len(scores) - len(table.kept))
    factors = factors_of(over, sizes)
    level = Level(
        float(table.cells.mean()),
        parts_of_mean(table, groups),
        table.binary and from_0_to_1,
        float(np.abs(table.cells).max()),
    )
    return of_level(level, sizes, factors, confidence, clusters is not None)


class Level(NamedTuple):
    """A model's mean before its error is known.

    Attributes:
      largest: absolute score, by which rounding is told.
    """

    value: float
    parts: Parts
    binary: bool
    largest: float


def of_level(
    level: Level, sizes: Sizes, over: tuple[Factor, ...], confidence: float, clustered: bool
) -> Estimate:
    """A mean with its error over the factors named."""
    part = parts_of.total(level.parts, over)
    value, warnings = np.asarray(level.value), warnings_of(sizes, over, clustered)
    if level.binary:
        low, high = map(float, binary_limits(value, level.parts, sizes, over, confidence))
        interval = Interval(low, high, confidence, "Jeffreys, effective number of answers")
    elif np.sqrt(part.variance) <= ROUNDING * level.largest:
        interval = no_interval(confidence, "the scores do not vary")
        warnings = (*warnings, _SAME_MEAN.format(" and ".join(over)))
    else:
        low, high = map(float, t_limits(value, part, confidence))
        interval = Interval(low, high, confidence, T)
    return Estimate(
        level.value,
        float(np.sqrt(part.variance)),
        float(part.df),
        interval,
        over,
        sizes,
        warnings=warnings,
    )


def parts_of_mean(table: Table, groups: Groups) -> Parts:
    """Of the variance of one model's mean."""
    items = parts_of.items_part(table.cells.mean(1), groups)
    if table.cells.shape[1] == 1:
        return Parts(items, ())
    return Parts(items, (parts_of.run_part(table.cells, groups, table.inflation),))


def t_limits(value: np.ndarray, part: Part, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of the t interval."""
    half = np.sqrt(part.variance) * crossed.t_quantile(part.df, confidence)
    return value - half, value + half


def binary_limits(
    share: np.ndarray, parts: Parts, sizes: Sizes, over: tuple[str, ...], confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """[...] ends of Jeffreys' interval, with as many answers as the variance is worth.

    One answer to each of independent items is Jeffreys' own interval. Otherwise a quarter of an
    item, half right and half wrong, is added to the items' part, which a few rare failures tell
    too low, and there are no more answers than were given.
    """
    answers = sizes.items * sizes.runs[0] * sizes.samples
    units, most = sizes.clusters, float(answers)
    if answers == sizes.clusters:
        return proportions.limits(share, np.full(np.shape(share), most), confidence)
    if "items" in over:
        parts = with_quarter(share, parts, sizes.items)
    else:
        units, most = answers, np.inf  # answers to fixed items spread less than a coin's
    part = parts_of.total(parts, over)
    n = proportions.effective(share, part.variance, part.df, units, most, confidence)
    return proportions.limits(share, n, confidence)


def with_quarter(share: np.ndarray, parts: Parts, items: int) -> Parts:
    """Parts of a mean of right and wrong answers with a quarter of an item, half of it right."""
    more = _QUARTER / 2 * (share**2 + (1 - share) ** 2)
    variance = (parts.items.variance * items**2 + more) / (items + _QUARTER) ** 2
    return parts._replace(items=Part(variance, parts.items.df))
