"""Seeds within splits, runs repeated with one seed, balanced tables of both."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from jaxeval.errors import DataError
from jaxeval.stats import crossed


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
    few = r"2 or more runs of each seed; found 6 runs \(3 without a score\) of 1 split and 3 seeds"
    with pytest.raises(DataError, match=few):
        crossed.balanced([0] * 6, [1, 1, 2, 2, 3, 3], [None, None, 0.5, 0.6, 0.5, None])
    table, dropped = crossed.balanced([0] * 6, [1, 1, 2, 2, 3, 3], [0.5, None, 0.5, 0.6, 0.5, 0.1])
    assert table.shape == (1, 2, 2) and dropped == ("seed 1 is left out: no score of a run",)


def test_components_of_repeated_seeds() -> None:
    """Dies if a mean square has wrong degrees of freedom; by hand: 1 within, 9 between seeds."""
    table = np.array([[[0.0, math.sqrt(2)], [3.0, 3 + math.sqrt(2)]]])
    study = crossed.components(table)
    seed, error = study.components["seed"], study.components["error"]
    assert [*study.components] == ["seed", "error"]
    sds = [error.sd, seed.sd, study.total.sd, study.mean_se]
    np.testing.assert_allclose(sds, np.sqrt([1, 4, 5, 9 / 4]))
    ends = [math.sqrt(2 / stats.chi2.ppf(p, 2)) for p in (0.975, 0.025)]
    np.testing.assert_allclose(error.sd_interval[:2], ends)
    assert study.mean_df == 1
    alike = crossed.components(table[..., [0, 0]])
    assert alike.components["error"].sd_interval.absent and not alike.mean_interval.absent
