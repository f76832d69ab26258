"""Runs as a table of splits and seeds: order, what is incomplete, what is not crossed."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from jaxeval.errors import DataError
from jaxeval.stats import nested


def _runs(score: Callable[[int, int], float | None]) -> tuple[list, list, list]:
    cells = list(itertools.product(range(1, 5), range(1, 4)))
    splits, seeds = ([cell[axis] for cell in cells] for axis in (0, 1))
    return splits, seeds, [score(*cell) for cell in cells]


def test_a_table_in_any_order() -> None:
    """Dies if a score lands in another cell: rows and columns may come in any order."""
    splits, seeds, scores = _runs(lambda split, seed: 10.0 * split + seed)
    order = np.random.default_rng(0).permutation(len(scores))
    table = nested.balanced(*([column[k] for k in order] for column in (splits, seeds, scores)))
    expected = [[[10.0 * split + seed] for seed in table.seeds] for split in table.splits]
    assert table.scores.tolist() == expected and table.dropped == ()


def test_what_is_incomplete_goes_whole_and_is_said() -> None:
    """Dies if a hole is filled, more goes than must, or nothing says so.

    Split 2 lacks 2 of 3 cells and goes first; then seed 3 lacks 1 of the 3 that are left, split
    4 1 of 3 too, and of equals a seed goes.
    """
    failed = {(2, 1), (2, 2), (4, 3)}
    runs = _runs(lambda split, seed: None if (split, seed) in failed else 1.0 * split)
    table = nested.balanced(*runs)
    assert (table.splits, table.seeds) == ((1, 3, 4), (1, 2))
    assert table.scores.tolist() == [[[1.0], [1.0]], [[3.0], [3.0]], [[4.0], [4.0]]]
    assert [line.split(":")[0] for line in table.dropped] == [
        "split 2 is left out",
        "seed 3 is left out",
    ]
    assert "2 of its 3" in table.dropped[0]


def test_runs_that_are_not_crossed_are_refused() -> None:
    """Dies if runs with a split and a seed each of their own become a table."""
    with pytest.raises(DataError, match=r"every seed on every split.*5 runs of 5 splits"):
        nested.balanced(range(5), range(5), [0.1] * 5)
    with pytest.raises(DataError, match="every seed on every split"):
        nested.balanced([], [], [])
