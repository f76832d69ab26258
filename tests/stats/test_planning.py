"""Plans over items, samples and runs: Miller's example, simulation, costs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from jaxeval.errors import DataError
from jaxeval.stats import pilots, planning
from tests.stats.cubes import estimate

SPREAD = pilots.Spread(0.1, 0.0004, 0.05, 0.2)


def _target(difference: float, of: pilots.Spread, power: float = 0.8) -> planning._Target:
    return planning._Target(abs(difference), power, 0.05, of, pilots.Size(2))


def _millers(difference: float, of: pilots.Spread) -> int:
    return int(np.ceil(_target(difference, of)._normal_items(pilots.Size(2))))


def _required(difference: float, of: pilots.Spread, runs: int = 1, samples: int = 1) -> int | None:
    size = _target(difference, of).fewest_items(pilots.Size(2, runs, samples))
    return None if size is None else size.items


def test_millers_number_of_items() -> None:
    """Dies if the equation changes: omega^2 1/9, many samples, 3 points, power .8 -> 969."""
    assert _millers(0.03, pilots.Spread(1 / 9)) == _millers(-0.03, pilots.Spread(1 / 9)) == 969


@pytest.mark.parametrize(("difference", "of_normal"), [(0.03, 969), (0.3, 10)])
def test_items_are_as_many_as_the_t_test_needs(difference: float, of_normal: int) -> None:
    """Dies if the variance counts as known: fewest n with power .8 by scipy's noncentral t."""

    def power(n: int) -> float:
        shift, critical = difference * 3 * np.sqrt(n), stats.t.isf(0.025, n - 1)
        return float(stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift))

    spread = pilots.Spread(1 / 9)
    assert _millers(difference, spread) == of_normal
    expected = next(n for n in range(of_normal, 2_000) if power(n) >= 0.8)
    assert of_normal < expected == _required(difference, spread)
    clustered = pilots.Spread(1 / 9, cluster_size=2)
    assert planning._power(difference, clustered, pilots.Size(12)) == pytest.approx(
        float(
            stats.nct.sf(stats.t.isf(0.025, 5), 5, difference * 3 * np.sqrt(12))
            + stats.nct.cdf(-stats.t.isf(0.025, 5), 5, difference * 3 * np.sqrt(12))
        ),
        abs=1e-6,
    )


@pytest.mark.parametrize(("runs", "difference"), [(2, 2.256), (3, 0.98), (6, 0.605)])
def test_power_is_what_the_test_has(runs: int, difference: float) -> None:
    """Dies if the degrees of freedom of few runs are taken as known: with two runs the noncentral
    t distribution has .98 for these .80; 400 experiments of 40 items."""
    generator, count = np.random.default_rng(1), 400
    spread, size = pilots.Spread(0.5, 0.16, 0.5), pilots.Size(40, runs)
    item = np.sqrt(0.5) * generator.normal(size=(count, 40, 1))
    a, b = (
        np.sqrt(0.08) * generator.normal(size=(count, 1, runs))
        + 0.5 * generator.normal(size=(count, 40, runs))
        for _ in range(2)
    )
    p_values = [estimate(*of).p_value for of in zip(a + item + difference, b, strict=True)]
    shown = np.mean([p is not None and p < 0.05 for p in p_values])
    power = planning._power(difference, spread, size)
    assert shown == pytest.approx(power, abs=0.05)
    assert power == pytest.approx(0.8, abs=0.005)


def test_cheapest_is_found_by_trying_all() -> None:
    """Dies if a cheaper design than the plan's exists: all of up to 12 runs and 6 samples."""
    plan = planning.plan(0.06, SPREAD, pilots.Size(100, 2))
    best = np.inf
    for runs, samples in itertools.product(range(2, 13), (1, 2, 3, 4, 5, 6)):
        n = _required(0.06, SPREAD, runs=runs, samples=samples)
        if n is not None:
            n = max(n, 100)
            best = min(best, 2 * n * runs * samples)
    assert plan.cheapest is not None
    assert plan.cheapest.answers == best
    assert plan.cheapest.power >= 0.8


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: planning.plan(0, SPREAD, pilots.Size(2)), "other than 0"),
        (lambda: pilots.Spread(0.0), "above 0"),
        (lambda: planning.plan(float("nan"), SPREAD, pilots.Size(2)), "other than 0, found nan"),
        (lambda: planning._power(0.1, SPREAD, pilots.Size(1)), "two or more items"),
    ],
)
def test_impossible_plans_are_errors(call: object, words: str) -> None:
    """Dies if a check is lost."""
    with pytest.raises(DataError, match=words):
        call()  # type: ignore[operator]


def test_no_number_of_items_makes_up_for_few_runs() -> None:
    """Dies if the variance of runs falls with items: .02 between runs, two runs, one point."""
    assert _required(0.01, SPREAD, runs=2) is None
    assert _required(0.05, SPREAD, runs=3) is not None
