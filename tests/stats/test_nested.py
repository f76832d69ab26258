"""Seeds within splits, runs repeated with one seed, balanced tables of both."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from jaxeval.errors import DataError
from jaxeval.stats import crossed, variances


def _runs(score: Callable[[int, int], float | None]) -> tuple[list, list, list]:
    cells = list(itertools.product(range(1, 5), range(1, 4)))
    splits, seeds = ([cell[axis] for cell in cells] for axis in (0, 1))
    return splits, seeds, [score(*cell) for cell in cells]


def test_what_is_incomplete_goes_whole_and_is_said() -> None:
    """Dies if a hole is filled, more goes than must, or nothing says so.

    Split 2 lacks 2 of 3 cells and goes first; then seed 3 lacks 1 of the 3 that are left, split
    4 1 of 3 too, and of equals a seed goes.
    """
    failed = {(2, 1), (2, 2), (4, 3)}
    runs = _runs(lambda split, seed: None if (split, seed) in failed else 1.0 * split)
    table, dropped = crossed.balanced(*runs)
    assert table.tolist() == [[[1.0], [1.0]], [[3.0], [3.0]], [[4.0], [4.0]]]
    assert [line.split(":")[0] for line in dropped] == [
        "split 2 is left out",
        "seed 3 is left out",
    ]
    assert "2 of its 3" in dropped[0]


def test_runs_that_are_not_crossed_are_refused() -> None:
    """Dies if runs with a split and a seed each of their own become a table."""
    with pytest.raises(DataError, match=r"every seed on every split.*5 runs .*of 5 splits"):
        crossed.balanced(range(5), range(5), [0.1] * 5)
    with pytest.raises(DataError, match="every seed on every split"):
        crossed.balanced([], [], [])


def test_components_of_a_small_table() -> None:
    """Dies if a mean square has wrong degrees of freedom; by hand: MSW 1, MSB 18."""
    components = variances.nested([[0.0, math.sqrt(2)], [3.0, 3 + math.sqrt(2)]])
    assert (components.seeds, components.repeats) == (2, 2)
    assert components.sd_repeat == pytest.approx(1.0)
    assert components.sd_seed == pytest.approx(math.sqrt((9 - 1) / 2))
    assert components.sd == pytest.approx(math.sqrt(1 + 4))
    low, high = components.sd_repeat_interval[:2]
    assert low == pytest.approx(math.sqrt(2 / stats.chi2.ppf(0.975, 2)))
    assert high == pytest.approx(math.sqrt(2 / stats.chi2.ppf(0.025, 2)))


def test_intervals_hold_what_they_promise() -> None:
    """Dies if an interval leaves out the truth more often than it says (95 %, 600 tables)."""
    draw, hits = np.random.default_rng(0), np.zeros(2)
    for _ in range(600):
        table = 0.5 * draw.normal(size=(8, 1)) + 0.3 * draw.normal(size=(8, 4))
        components = variances.nested(table.tolist())
        hits[0] += components.sd_repeat_interval[0] <= 0.3 <= components.sd_repeat_interval[1]
        hits[1] += components.sd_seed_interval[0] <= 0.5 <= components.sd_seed_interval[1]
    assert 0.92 < hits[0] / 600 < 0.98
    assert hits[1] / 600 > 0.93
