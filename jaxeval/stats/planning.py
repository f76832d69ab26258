"""Numbers of items, samples or runs that show a difference, and what a design can show.

The variance of the difference of two models with I items, R runs and K samples each is

    v_items / I + v_runs / R + v_items_x_runs / (I R) + v_samples / (I R K)

With one run v_runs is left out: nothing is said of other runs. The power is that of the test with
its estimated variance: the noncentral t distribution, or a quadrature for several runs.
Miller's equation (2024, section 5) takes the variance as known and needs one or two items less.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from jaxeval.errors import DataError
from jaxeval.stats import power, variances
from jaxeval.stats.crossed import Variance
from jaxeval.stats.estimates import Estimate
from jaxeval.stats.pilots import Size, Spread
from jaxeval.stats.power import fewest, t_test_power
from jaxeval.stats.variances import Parts

POWER = 0.8
_FAR = 60.0  # standard errors: what a test does not show there it never shows
_MOST_ITEMS, _MOST_RUNS = 10_000_000, 1_000
_POINTS, _GENERATOR = 1_024, 363  # of Korobov's lattice, the best of 19 tried
_WILSON_HILFERTY = 50.0  # df from which their approximation errs by less than 1e-4
_LARGEST_INVERSE_DF, _TABLE = 2.0, 8_001  # of the grid of critical values
_SAMPLES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100)


@dataclasses.dataclass(frozen=True)
class Design:
    """A size, its number of answers of both models, and its power."""

    size: Size
    answers: int
    power: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """The pilot's design and those that reach the power; None if nothing reaches it."""

    difference: float
    target: float
    now: Design  # the pilot
    ways: Mapping[Literal["items", "samples", "runs"], Design | None]  # more of one kind alone
    cheapest: Design | None  # fewest answers of all designs at least as large as the pilot


def _power(difference: float, spread: Spread, size: Size, *, alpha: float = 0.05) -> float:
    """Computes the probability that the test of a design shows a difference of normal scores."""
    if not (math.isfinite(difference) and size.items >= 2 and all(n >= 1 for n in size)):
        raise DataError(
            "power: expected a finite difference, two or more items and one or more runs and "
            f"samples, found {difference:g} and {', '.join(map(str, size))}"
        )
    items, runs, samples = size
    crossed = (spread.items_x_runs + spread.samples / samples) / (items * runs)
    # clusters less one; a pilot's may be cut into fewer items than two whole clusters
    df = max(1.0, items / spread.cluster_size - 1)
    by_items = spread.items / items + crossed
    if by_items + (spread.runs / runs if runs > 1 else 0.0) == 0:
        return 1.0
    if runs == 1:
        return t_test_power(abs(difference) / math.sqrt(by_items), df, alpha)
    # over items and runs, by quadrature over the mean squares (see `Parts`)
    between = spread.runs / runs + crossed  # of the two models' runs, summed, as is `crossed`
    more = runs - 1.0
    rest = (runs - 1.0) * df

    def drawn(dimension: int, variance: float, df: float) -> Variance:
        return Variance(variance * _mean_squares(dimension, df), np.asarray(df))

    of_runs = tuple(drawn(k, between / 2, more) for k in (1, 2))
    of_rest = tuple(drawn(k, crossed / 2, rest) for k in (3, 4))
    part = variances.total(Parts(drawn(0, by_items, df), of_runs, of_rest), ("items", "runs"))
    true = by_items + between - crossed
    limit = np.interp(1 / part.df, *_critical(alpha)) * np.sqrt(part.value / true)
    shift = abs(difference) / np.sqrt(true)
    return float(np.mean(scipy.special.ndtr(shift - limit) + scipy.special.ndtr(-shift - limit)))


def plan(
    difference: float, spread: Spread, now: Size, *, power: float = POWER, alpha: float = 0.05
) -> Plan:
    """Plans what to evaluate after a pilot (`now`): items, samples or runs alone, or all together.

    Raises:
      DataError: a difference of 0.
    """
    if difference == 0 or not math.isfinite(difference):
        raise DataError(f"difference: expected a number other than 0, found {difference:g}")
    target = _Target(abs(difference), power, alpha, spread, now)
    more = {"items": target.fewest_items(now), "samples": target.fewest("samples", math.inf)}
    more["runs"] = target.fewest("runs", _MOST_RUNS)
    ways: dict = {way: size and target.design(size) for way, size in more.items()}
    cheapest = min(filter(None, ways.values()), key=_order, default=None)
    cheapest = target.cheaper(_with_more(spread, now), cheapest)
    if cheapest is not None:
        cheapest = target.cheaper(_nearby(cheapest.size, now), cheapest)
    return Plan(difference, power, target.design(now), ways, cheapest)


class _Target(NamedTuple):
    """A difference to be shown with a power, and the search for designs that do."""

    difference: float
    power: float
    alpha: float
    spread: Spread
    now: Size

    def design(self, size: Size) -> Design:
        power = _power(self.difference, self.spread, size, alpha=self.alpha)
        return Design(size, 2 * math.prod(size), power)

    def is_reached(self, size: Size) -> bool:
        return self.design(size).power >= self.power

    def fewest(self, way: str, most: float) -> Size | None:
        """The design with the fewest runs or samples, at least those of the pilot."""
        now = self.now
        start = getattr(self.now, way)
        if (way == "runs" and now.runs == 1) or (way == "samples" and not self.spread.samples):
            return None
        found = fewest(lambda n: self.is_reached(now._replace(**{way: n})), start)
        if found is None or found > most:
            return None
        return now._replace(**{way: max(found, start)})

    def fewest_items(self, least: Size) -> Size | None:
        """The design with the fewest items, and the runs and samples of `least`."""
        if self.is_reached(least):
            return least
        if not self.is_reached(least._replace(items=_MOST_ITEMS)):
            return None
        guess = int(max(least.items, min(_MOST_ITEMS / 2, self._normal_items(least))))
        found = fewest(lambda n: self.is_reached(least._replace(items=n)), guess)
        return None if found is None else least._replace(items=max(found, least.items))

    def _normal_items(self, size: Size) -> float:
        """The number of items if the variance were known; infinity if no number suffices."""
        spread, (_, runs, samples) = self.spread, size
        reach = -sum(float(scipy.special.ndtri(p)) for p in (self.alpha / 2, 1 - self.power))
        if reach <= 0:
            return 1.0  # a power below half the level is there without a difference
        left = (self.difference / reach) ** 2 - (spread.runs / runs if runs > 1 else 0.0)
        each = spread.items + (spread.items_x_runs + spread.samples / samples) / runs
        return each / left if left > 0 else math.inf

    def cheaper(self, sizes: Iterable[Size], cheapest: Design | None) -> Design | None:
        """The cheapest design with the runs and samples of some sizes, or the one known."""
        for least in sorted(sizes, key=math.prod):
            if cheapest is not None and math.prod(least) > math.prod(cheapest.size):
                break  # more items cost no less
            if size := self.fewest_items(least):
                both = [of for of in (cheapest, self.design(size)) if of is not None]
                cheapest = min(both, key=_order)
        return cheapest


def _order(design: Design) -> tuple[int, Size]:
    return design.answers, design.size


def _with_more(spread: Spread, now: Size) -> Iterator[Size]:
    """Sizes with the items of the pilot and all tried numbers of runs and samples."""
    samples = [now.samples, *(k for k in _SAMPLES if k > now.samples and spread.samples)]
    runs = now.runs
    while runs <= _MOST_RUNS:
        yield from (now._replace(runs=runs, samples=k) for k in samples)
        if now.runs == 1:
            break
        runs += max(1, runs // 10)  # every number for a while, then about a tenth more


def _nearby(best: Size, now: Size) -> Iterator[Size]:
    """Sizes with numbers of runs near the best one, in steps of a hundredth."""
    if best.runs > 1:
        about = best.runs // 10
        most = min(max(now.runs, _MOST_RUNS), best.runs + about)
        for runs in range(max(now.runs, best.runs - about), most + 1, max(1, about // 10)):
            yield now._replace(runs=runs, samples=best.samples)


@functools.lru_cache(maxsize=1)
def _lattice() -> tuple[np.ndarray, np.ndarray]:
    """Points [5, P] of Korobov's lattice in (0, 1), and their normal quantiles."""
    steps = np.array([[pow(_GENERATOR, k, _POINTS)] for k in range(5)])
    whole = (steps * np.arange(_POINTS) % _POINTS + 0.5) / _POINTS
    places = 1 - np.abs(2 * whole - 1)  # the baker's transformation: as if periodic
    places = np.clip(places, 1e-9, 1 - 1e-9)
    return places, scipy.special.ndtri(places)


@functools.lru_cache(maxsize=1024)
def _mean_squares(dimension: int, df: float) -> np.ndarray:
    """Chi-squared values [P] over their df; by Wilson & Hilferty (1931) if these are many."""
    if df <= _WILSON_HILFERTY:
        return np.asarray(scipy.special.chdtri(df, 1 - _lattice()[0][dimension]) / df)
    spread = 2 / (9 * df)
    return np.asarray((1 - spread + _lattice()[1][dimension] * np.sqrt(spread)) ** 3)


@functools.lru_cache(maxsize=8)
def _critical(alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided critical values of t, on a grid of inverse degrees of freedom."""
    inverse = np.linspace(0, _LARGEST_INVERSE_DF, _TABLE)
    limits = scipy.special.stdtrit(1 / inverse[1:], alpha / 2)
    return inverse, -np.concatenate([[scipy.special.ndtri(alpha / 2)], limits])


class Detectable(NamedTuple):
    """Differences that a design shows with a probability of `POWER`, over some pairs of models."""

    smallest: float | None  # for the pair with the least error; None: for no pair
    largest: float | None  # for the pair with the most error; None: not known for all pairs
    never: bool  # whether no difference of some pair is ever shown: too few runs or items
    unknown: bool  # whether the error of some pair is unknown: its difference is always the same


def detectable(compared: Sequence[Estimate], level: float) -> Detectable:
    """Computes detectable differences at the level of the first step of Holm's correction."""
    known = [(of.error, of.df) for of in compared if not math.isnan(of.error)]
    unknown = len(known) < len(compared)
    if not known:
        return Detectable(None, None, False, True)
    ends = [[_shift(df, level) * error for error, df in power.extremes(known, s)] for s in (1, -1)]
    smallest, largest = min(ends[0]), max(ends[1])
    never = math.isinf(_shift(min(df for _, df in known), level))
    least = None if math.isinf(smallest) else smallest
    most = None if unknown else largest
    return Detectable(least, None if never else most, never, unknown)


@functools.lru_cache(maxsize=1 << 12)
def _shift(df: float, level: float) -> float:
    """Computes the standard errors that a t test shows with `POWER`; infinity if none."""
    if t_test_power(_FAR, df, level) < POWER:
        return math.inf
    return float(
        scipy.optimize.brentq(lambda s: t_test_power(s, df, level) - POWER, 0.0, _FAR, xtol=1e-6)
    )
