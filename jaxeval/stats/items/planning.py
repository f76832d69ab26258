"""How many items, samples or runs show a difference, and which of them is cheapest.

The variance of the difference of two models that answer the same I items, each with R runs and K
samples of every answer, is

    v_items / I + v_runs / R + v_items_x_runs / (I R) + v_samples / (I R K)

where one run each is taken as fixed: without v_runs, and other runs are not spoken of. The power
is that of the test, which estimates this variance: of one run the noncentral t distribution with
one degree of freedom less than items (clusters), of several `crossed_power`. Miller's equation
(2024, section 5), which takes the variance as known, has one or two items less.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import crossed_power, pilots
from jaxeval.stats.items.pilots import Pilot, Size, Spread
from jaxeval.stats.power import fewest, t_test_power
from jaxeval.stats.results import fraction

MOST_ITEMS, MOST_RUNS = 10_000_000, 1_000
_SAMPLES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100)
Way = Literal["items", "samples", "runs"]


@dataclasses.dataclass(frozen=True)
class Design:
    """What is to be had in all.

    Attributes:
      answers: new ones, of both models.
      power: to show the difference.
    """

    size: Size
    answers: int
    power: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to buy next.

    Attributes:
      now: what is there.
      ways: the least of one kind alone that reaches the power; None where none does.
      cheapest: in answers, of all designs with at least what is there; None where none
        reaches the power.
    """

    difference: float
    target: float
    now: Design
    ways: Mapping[Way, Design | None]
    cheapest: Design | None


def power(difference: float, of: Spread, size: Size, *, alpha: float = 0.05) -> float:
    """Probability that the test of a design shows a difference, of normal scores.

    Raises:
      DataError: fewer than two items, or a difference or level that is none.
    """
    alpha = fraction(alpha, "alpha")
    if not (math.isfinite(difference) and size.items >= 2 and all(n >= 1 for n in size)):
        raise DataError(
            "power: expected a finite difference, two or more items and one or more runs and "
            f"samples, found {difference:g} and {', '.join(map(str, size))}"
        )
    variance, df = pilots.error(of, size)
    if variance == 0:
        return 1.0
    if size.runs == 1:
        return t_test_power(abs(difference) / math.sqrt(variance), df, alpha)
    crossed = pilots.interaction(of, size)
    return crossed_power.over_both(
        abs(difference),
        of.items / size.items + crossed,
        of.runs / size.runs + crossed,
        crossed,
        df_items=pilots.df_items(of, size),
        runs=size.runs,
        alpha=alpha,
    )


def required_items(
    difference: float,
    of: Spread,
    *,
    runs: int = 1,
    samples: int = 1,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int | None:
    """Fewest items that show a difference.

    Returns:
      None where no number does: the runs alone leave too much open.

    Raises:
      DataError: a difference of 0, or numbers that are none.
    """
    target = _target(difference, power, alpha)
    size = _items(target, of, Size(2, runs, samples))
    return None if size is None else size.items


def expected_power(pilot: Pilot, difference: float, size: Size, *, alpha: float = 0.05) -> float:
    """The power of a design, averaged over what the pilot leaves open ("assurance").

    A design whose power is .8 at the estimates has less on average: power falls faster where
    variances are larger than estimated than it rises where they are smaller. Of one run each it is
    what such designs reach; of several it is up to .08 less (docs/items_and_runs_measured.md).
    """
    each = [1.0 if of is None else power(difference, of, size, alpha=alpha) for of in pilot.draws]
    return float(np.mean(each))


def plan(
    difference: float,
    of: Spread,
    now: Size,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> Plan:
    """What to buy after a pilot: of items, samples and runs alone, and of all together.

    Args:
      difference: that is to be shown, in the unit of the scores.
      now: what is there already.

    Raises:
      DataError: a difference of 0.
    """
    target = _target(difference, power, alpha)
    designs = _Designs(target, of, now)
    alone = _alone(target, of, now)
    ways = {way: None if size is None else designs.of_size(size) for way, size in alone.items()}
    cheapest = min(filter(None, ways.values()), key=_order, default=None)
    cheapest = designs.cheaper(_with_more(of, now), cheapest)
    if cheapest is not None:
        cheapest = designs.cheaper(_with_about_as_many(cheapest.size, now), cheapest)
    return Plan(difference, power, designs.of_size(now), ways, cheapest)


class _Target(NamedTuple):
    difference: float
    power: float
    alpha: float

    def of(self, spread: Spread, size: Size) -> float:
        """The power of a design."""
        return power(self.difference, spread, size, alpha=self.alpha)

    def reached(self, spread: Spread, size: Size) -> bool:
        """Whether a design shows the difference with the probability asked for."""
        return self.of(spread, size) >= self.power

    def by_normal(self, spread: Spread, size: Size) -> float:
        """How many items are needed, if the variance were known; inf where no number does."""
        from scipy import special

        _, runs, samples = size
        reach = -sum(float(special.ndtri(p)) for p in (self.alpha / 2, 1 - self.power))
        if reach <= 0:
            return 1.0  # a power below half the level is there without a difference
        left = (self.difference / reach) ** 2 - (spread.runs / runs if runs > 1 else 0.0)
        each = spread.items + (spread.items_x_runs + spread.samples / samples) / runs
        return each / left if left > 0 else math.inf


def _target(difference: float, power: float, alpha: float) -> _Target:
    if difference == 0 or not math.isfinite(difference):
        raise DataError(f"difference: expected a number other than 0, found {difference:g}")
    return _Target(abs(difference), fraction(power, "power"), fraction(alpha, "alpha"))


class _Designs(NamedTuple):
    """What designs cost beside what is there, in answers, and show."""

    target: _Target
    spread: Spread
    there: Size

    def cost(self, size: Size) -> int:
        """New answers of both models."""
        return 2 * (math.prod(size) - math.prod(self.there))

    def of_size(self, size: Size) -> Design:
        """With its cost and power."""
        return Design(size, self.cost(size), self.target.of(self.spread, size))

    def cheaper(self, sizes: Iterable[Size], cheapest: Design | None) -> Design | None:
        """The cheapest known, or a cheaper one with the runs and samples of some sizes."""
        for least in sorted(sizes, key=self.cost):
            if cheapest is not None and self.cost(least) > cheapest.answers:
                break  # more items cost no less
            size = _items(self.target, self.spread, least)
            other = None if size is None else self.of_size(size)
            if other is not None and (cheapest is None or _order(other) < _order(cheapest)):
                cheapest = other
        return cheapest


def _alone(target: _Target, of: Spread, now: Size) -> dict[Way, Size | None]:
    """The least of each kind, the others as they are."""
    items = _items(target, of, now)
    samples = runs = None
    if of.samples:
        least = fewest(lambda k: target.reached(of, now._replace(samples=k)), now.samples)
        samples = None if least is None else now._replace(samples=max(least, now.samples))
    if now.runs > 1:
        least = fewest(lambda r: target.reached(of, now._replace(runs=r)), now.runs)
        if least is not None and least <= MOST_RUNS:
            runs = now._replace(runs=max(least, now.runs))
    return {"items": items, "samples": samples, "runs": runs}


def _order(design: Design) -> tuple[int, Size]:
    return design.answers, design.size


def _with_more(of: Spread, now: Size) -> Iterator[Size]:
    """All numbers of runs and samples that are tried, with the items that are there."""
    runs = _rising(now.runs) if now.runs > 1 else [1]
    samples = [now.samples, *(k for k in _SAMPLES if k > now.samples and of.samples)]
    for r, k in itertools.product(runs, samples):
        yield now._replace(runs=r, samples=k)


def _with_about_as_many(best: Size, now: Size) -> Iterator[Size]:
    """Numbers of runs about the best one that `_rising` passes over: to a hundredth of them."""
    if best.runs > 1:
        about = best.runs // 10
        most = min(max(now.runs, MOST_RUNS), best.runs + about)
        for runs in range(max(now.runs, best.runs - about), most + 1, max(1, about // 10)):
            yield now._replace(runs=runs, samples=best.samples)


def _items(target: _Target, of: Spread, now: Size) -> Size | None:
    """The fewest items, at least those that are there, with the runs and samples of `now`."""
    if target.reached(of, now):
        return now
    if not target.reached(of, now._replace(items=MOST_ITEMS)):
        return None
    guess = int(max(now.items, min(MOST_ITEMS / 2, target.by_normal(of, now))))
    least = fewest(lambda n: target.reached(of, now._replace(items=n)), guess)
    return None if least is None else now._replace(items=max(least, now.items))


def _rising(runs: int) -> Iterator[int]:
    """Every number for a while, then about a tenth more each time."""
    while runs <= MOST_RUNS:
        yield runs
        runs += max(1, runs // 10)
