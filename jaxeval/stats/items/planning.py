"""How many items, samples or runs show a difference, and which of them is cheapest.

The variance of the difference of two models with I items, R runs and K samples each is

    v_items / I + v_runs / R + v_items_x_runs / (I R) + v_samples / (I R K)

of one run without v_runs: other runs are not spoken of. The power is that of the test, which
estimates this variance: the noncentral t distribution, of several runs `over_both`. Miller's
equation (2024, section 5), which takes it as known, has one or two items less.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from jaxeval.errors import DataError
from jaxeval.stats.items import cells
from jaxeval.stats.items.cells import Part, Parts, RunPart
from jaxeval.stats.items.pilots import Pilot, Size, Spread
from jaxeval.stats.power import fewest, t_test_power
from jaxeval.stats.results import fraction

_MOST_ITEMS, _MOST_RUNS = 10_000_000, 1_000
_SAMPLES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 100)


@dataclasses.dataclass(frozen=True)
class Design:
    """What is to be had in all."""

    size: Size
    answers: int  # new ones, of both models
    power: float  # to show the difference


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to buy next; None where nothing reaches the power."""

    difference: float
    target: float
    now: Design  # what is there
    ways: Mapping[
        Literal["items", "samples", "runs"], Design | None
    ]  # the least of one kind alone
    cheapest: Design | None  # in answers, of all designs with at least what is there


def power(difference: float, of: Spread, size: Size, *, alpha: float = 0.05) -> float:
    """Probability that the test of a design shows a difference, of normal scores."""
    alpha = fraction(alpha, "alpha")
    if not (math.isfinite(difference) and size.items >= 2 and all(n >= 1 for n in size)):
        raise DataError(
            "power: expected a finite difference, two or more items and one or more runs and "
            f"samples, found {difference:g} and {', '.join(map(str, size))}"
        )
    items, runs, samples = size
    crossed = (of.items_x_runs + of.samples / samples) / (items * runs)
    # clusters less one; a pilot's may be cut into fewer items than two whole clusters
    df, by_items = max(1.0, items / of.cluster_size - 1), of.items / items + crossed
    if runs == 1:
        if by_items == 0:
            return 1.0
        return t_test_power(abs(difference) / math.sqrt(by_items), df, alpha)
    if by_items + of.runs / runs == 0:
        return 1.0
    variances = by_items, of.runs / runs + crossed, crossed
    return over_both(abs(difference), *variances, df_items=df, runs=runs, alpha=alpha)


def expected_power(pilot: Pilot, difference: float, size: Size, *, alpha: float = 0.05) -> float:
    """The power of a design, averaged over what the pilot leaves open ("assurance")."""
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
    """What to buy after a pilot (`now`): of items, samples and runs alone, and of all together."""
    if difference == 0 or not math.isfinite(difference):
        raise DataError(f"difference: expected a number other than 0, found {difference:g}")
    levels = fraction(power, "power"), fraction(alpha, "alpha")
    target = _Target(abs(difference), *levels, of, now)
    ways: dict = {way: size and target.of_size(size) for way, size in _alone(target).items()}
    cheapest = min(filter(None, ways.values()), key=_order, default=None)
    cheapest = target.cheaper(_with_more(of, now), cheapest)
    if cheapest is not None:
        cheapest = target.cheaper(_with_about_as_many(cheapest.size, now), cheapest)
    return Plan(difference, power, target.of_size(now), ways, cheapest)


class _Target(NamedTuple):
    """A difference to be shown, and what designs cost beside what is there, in answers."""

    difference: float
    power: float
    alpha: float
    spread: Spread
    now: Size

    def of_size(self, size: Size) -> Design:
        """A design with its cost and power."""
        answers = 2 * (math.prod(size) - math.prod(self.now))
        return Design(size, answers, power(self.difference, self.spread, size, alpha=self.alpha))

    def reached(self, size: Size) -> bool:
        """Whether a design shows the difference with the probability asked for."""
        return power(self.difference, self.spread, size, alpha=self.alpha) >= self.power

    def by_normal(self, size: Size) -> float:
        """How many items are needed, if the variance were known; inf where no number does."""
        from scipy import special

        of, (_, runs, samples) = self.spread, size
        reach = -sum(float(special.ndtri(p)) for p in (self.alpha / 2, 1 - self.power))
        if reach <= 0:
            return 1.0  # a power below half the level is there without a difference
        left = (self.difference / reach) ** 2 - (of.runs / runs if runs > 1 else 0.0)
        each = of.items + (of.items_x_runs + of.samples / samples) / runs
        return each / left if left > 0 else math.inf

    def fewest_items(self, least: Size) -> Size | None:
        """The fewest, at least those of a size, with its runs and samples."""
        if self.reached(least):
            return least
        if not self.reached(least._replace(items=_MOST_ITEMS)):
            return None
        guess = int(max(least.items, min(_MOST_ITEMS / 2, self.by_normal(least))))
        found = fewest(lambda n: self.reached(least._replace(items=n)), guess)
        return None if found is None else least._replace(items=max(found, least.items))

    def cheaper(self, sizes: Iterable[Size], cheapest: Design | None) -> Design | None:
        """The cheapest known, or a cheaper one with the runs and samples of some sizes."""
        for least in sorted(sizes, key=math.prod):
            if cheapest is not None and math.prod(least) > math.prod(cheapest.size):
                break  # more items cost no less
            size = self.fewest_items(least)
            other = None if size is None else self.of_size(size)
            if other is not None and (cheapest is None or _order(other) < _order(cheapest)):
                cheapest = other
        return cheapest


def _alone(target: _Target) -> dict[str, Size | None]:
    """The least of each kind, the others as they are."""
    of, now, samples, runs = target.spread, target.now, None, None
    if of.samples:
        least = fewest(lambda k: target.reached(now._replace(samples=k)), now.samples)
        samples = None if least is None else now._replace(samples=max(least, now.samples))
    if now.runs > 1:
        least = fewest(lambda r: target.reached(now._replace(runs=r)), now.runs)
        if least is not None and least <= _MOST_RUNS:
            runs = now._replace(runs=max(least, now.runs))
    return {"items": target.fewest_items(now), "samples": samples, "runs": runs}


def _order(design: Design) -> tuple[int, Size]:
    return design.answers, design.size


def _with_more(of: Spread, now: Size) -> Iterator[Size]:
    """All numbers of runs and samples that are tried, with the items that are there."""
    samples = [now.samples, *(k for k in _SAMPLES if k > now.samples and of.samples)]
    runs = now.runs
    while runs <= _MOST_RUNS:
        yield from (now._replace(runs=runs, samples=k) for k in samples)
        if now.runs == 1:
            break
        runs += max(1, runs // 10)  # every number for a while, then about a tenth more


def _with_about_as_many(best: Size, now: Size) -> Iterator[Size]:
    """Numbers of runs about the best one that were passed over: to a hundredth of them."""
    if best.runs > 1:
        about = best.runs // 10
        most = min(max(now.runs, _MOST_RUNS), best.runs + about)
        for runs in range(max(now.runs, best.runs - about), most + 1, max(1, about // 10)):
            yield now._replace(runs=runs, samples=best.samples)


_POINTS, _GENERATOR = 1_024, 363  # of Korobov's lattice, the best of 19 tried
_WILSON_HILFERTY = 50.0  # df from which their approximation errs by less than 1e-4
_LARGEST_INVERSE_DF = 2.0
_TABLE = 8_001  # inverse degrees of freedom of which critical values are kept


def over_both(
    difference: float,
    items: float,
    between: float,
    interaction: float,
    df_items: float,
    runs: int,
    alpha: float,
) -> float:
    """Probability that the two-sided test over items and runs shows a true difference.

    Args:
      items: variance of the mean difference over items, of these runs, with `df_items`.
      between: of the two models' means over runs, summed; interaction: of items x runs of either.
    """
    from scipy import special

    def drawn(dimension: int, variance: float, df: float) -> Part:
        return Part(variance * _mean_squares(dimension, df), np.asarray(df))

    df, rest = runs - 1.0, (runs - 1.0) * df_items
    of_models = tuple(
        RunPart(drawn(k, between / 2, df), drawn(k + 2, interaction / 2, rest)) for k in (1, 2)
    )
    part = cells.total(Parts(drawn(0, items, df_items), of_models), ("items", "runs"))
    true = items + between - interaction
    limit = _critical(part.df, alpha) * np.sqrt(part.variance / true)
    shift = difference / np.sqrt(true)
    return float(np.mean(special.ndtr(shift - limit) + special.ndtr(-shift - limit)))


@functools.lru_cache(maxsize=1)
def _lattice() -> tuple[np.ndarray, np.ndarray]:
    """[5, P] probabilities, and their normal quantiles."""
    from scipy import special

    steps = np.array([[pow(_GENERATOR, k, _POINTS)] for k in range(5)])
    whole = (steps * np.arange(_POINTS) % _POINTS + 0.5) / _POINTS
    places = 1 - np.abs(2 * whole - 1)  # the baker's transformation: as if periodic
    places = np.clip(places, 1e-9, 1 - 1e-9)
    return places, special.ndtri(places)


def _mean_squares(dimension: int, df: float) -> np.ndarray:
    """[P] chi-squared over its degrees of freedom; of many by Wilson & Hilferty (1931)."""
    if df <= _WILSON_HILFERTY:
        return _few(dimension, df)
    spread = 2 / (9 * df)
    return np.asarray((1 - spread + _lattice()[1][dimension] * np.sqrt(spread)) ** 3)


@functools.lru_cache(maxsize=1024)
def _few(dimension: int, df: float) -> np.ndarray:
    from scipy import special

    return np.asarray(special.chdtri(df, 1 - _lattice()[0][dimension]) / df)


def _critical(df: np.ndarray, alpha: float) -> np.ndarray:
    """[P] of the t distribution, two-sided."""
    return np.interp(1 / df, *_limits(alpha))


@functools.lru_cache(maxsize=8)
def _limits(alpha: float) -> tuple[np.ndarray, np.ndarray]:
    from scipy import special

    inverse = np.linspace(0, _LARGEST_INVERSE_DF, _TABLE)
    of_t = special.stdtrit(1 / inverse[1:], alpha / 2)
    return inverse, -np.concatenate([[special.ndtri(alpha / 2)], of_t])
