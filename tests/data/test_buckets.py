"""Length buckets: against all choices of widths on small inputs."""

import itertools
from collections.abc import Sequence

import hypothesis
import numpy as np
from hypothesis import strategies

from jaxeval.data import buckets

LENGTHS = strategies.lists(strategies.integers(1, 9), min_size=1, max_size=20)


def _cost(lengths: Sequence[int], widths: Sequence[int], batch: int, shape: float) -> float:
    """The cost as the docstring states it, row by row."""
    fits = [min(w for w in widths if w >= length) for length in lengths]
    return sum(-(-fits.count(w) // batch) * batch * w + shape for w in widths)


@hypothesis.given(
    lengths=LENGTHS,
    batch=strategies.integers(1, 5),
    most=strategies.integers(1, 4),
    shape=strategies.sampled_from([0.0, 2.5, 10.0, 40.0]),
)
def test_no_choice_of_widths_costs_less(
    lengths: list[int], batch: int, most: int, shape: float
) -> None:
    """Dies if a last batch is not rounded up, the limit is off by one or widths are greedy."""
    widths = buckets.choose_widths(lengths, batch, most, shape)
    others = sorted({*lengths} - {max(lengths)})
    choices = [
        [*chosen, max(lengths)]
        for count in range(most)
        for chosen in itertools.combinations(others, count)
    ]
    assert widths in choices
    assert _cost(lengths, widths, batch, shape) == min(
        _cost(lengths, choice, batch, shape) for choice in choices
    )


def test_a_free_width_for_every_length_and_a_dear_one_for_all() -> None:
    """Dies if the cost of a width is ignored."""
    lengths = [3, 3, 7, 12]
    assert buckets.choose_widths(lengths, 1, 12, 0.0) == [3, 7, 12]
    assert buckets.choose_widths(lengths, 1, 12, 1e6) == [12]


@hypothesis.given(lengths=LENGTHS, cuts=strategies.sets(strategies.integers(1, 8)))
def test_each_row_lies_in_the_narrowest_width_that_holds_it(
    lengths: list[int], cuts: set[int]
) -> None:
    """Dies if a row as long as a width goes to the next, is lost or stands twice."""
    widths = sorted({w for w in cuts if w < max(lengths)} | {max(lengths)})
    rows = buckets.assign(lengths, widths)
    assert sorted(np.concatenate(rows).tolist()) == [*range(len(lengths))]
    for bucket, (chosen, width) in enumerate(zip(rows, widths, strict=True)):
        below = widths[bucket - 1] if bucket else 0
        assert all(below < lengths[row] <= width for row in chosen)
        assert chosen.tolist() == sorted(chosen.tolist())
