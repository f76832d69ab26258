"""What is said of means and differences over items and runs: sizes, estimates, warnings."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Literal

from jaxeval.errors import DataError
from jaxeval.stats.items.tables import Groups, Table
from jaxeval.stats.results import Interval, Wrong

Factor = Literal["items", "runs"]
FACTORS: tuple[Factor, ...] = ("items", "runs")
FEW_CLUSTERS = 30
_OFTEN_MISSING = 0.05


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

        NaN where the error is not known.

        Raises:
          DataError: the estimate is a mean.
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
    """The factors in order, each once, of a collection or of a text such as "items,runs".

    Raises:
      error: none, or an unknown one.
    """
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
