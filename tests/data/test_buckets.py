"""Buckets: against all choices of widths, and of shapes, on small inputs."""

import itertools
from collections.abc import Sequence

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from jaxeval.data import buckets
from jaxeval.data.buckets import Shape

ROWS = strategies.lists(
    strategies.tuples(strategies.integers(1, 4), strategies.integers(1, 3)), min_size=1, max_size=9
)


def _shapes_cost(
    rows: Sequence[tuple[int, int]], shapes: Sequence[Shape], batch: int, cost: float
) -> float:
    """The cost as the docstring states it; infinite where a row fits no shape."""
    total = cost * len(shapes)
    for shape, inside in zip(shapes, _inside(rows, shapes), strict=True):
        total += -(-len(inside) // batch) * batch * shape.width * shape.targets
    fits = sum(map(len, _inside(rows, shapes))) == len(rows)
    return total if fits else np.inf


def _inside(rows: Sequence[tuple[int, int]], shapes: Sequence[Shape]) -> list[list[int]]:
    """Row numbers of each shape, row by row: fewest targets first, then the narrowest."""
    inside: list[list[int]] = [[] for _ in shapes]
    for number, (length, targets) in enumerate(rows):
        least = min((s.targets for s in shapes if s.targets >= targets), default=0)
        fitting = [s for s in shapes if s.targets == least and s.width >= length]
        if fitting:
            inside[shapes.index(min(fitting))].append(number)
    return inside


@hypothesis.given(
    rows=ROWS,
    batch=strategies.integers(1, 3),
    most=strategies.integers(1, 3),
    cost=strategies.sampled_from([0.0, 2.5, 10.0]),
)
def test_no_choice_of_shapes_costs_less(
    rows: list[tuple[int, int]], batch: int, most: int, cost: float
) -> None:
    """Dies if targets do not count as work, a range of them is not tried or the limit is off."""
    lengths, targets = zip(*rows, strict=True)
    shapes = buckets.choose_shapes(lengths, targets, batch, most, cost)
    every = [Shape(w, k) for k in {*targets} for w in {*lengths}]
    choices = (c for n in range(1, most + 1) for c in itertools.combinations(every, n))
    least = min(_shapes_cost(rows, choice, batch, cost) for choice in choices)
    assert len(shapes) <= most
    assert _shapes_cost(rows, shapes, batch, cost) == least
    assert [*map(list, buckets._assign(lengths, targets, shapes))] == _inside(rows, shapes)


def test_rows_lie_where_their_targets_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a row's targets do not choose its bucket, or it is padded to another's width."""
    monkeypatch.setattr(buckets, "choose_shapes", lambda *_: [Shape(2, 1), Shape(3, 2)])
    bucketed = buckets.to_buckets({"forms": [[5], [6, 7], [8, 9, 4]]}, 2, 9, targets=[1, 2, 2])
    assert [rows.tolist() for rows in bucketed.rows] == [[0], [1, 2]]
    assert [each["forms"].tolist() for each in bucketed.columns] == [
        [[5, 0]],
        [[6, 7, 0], [8, 9, 4]],
    ]
    assert bucketed.columns[1]["length"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("trained", "cost", "expected"),
    [
        (2, 4, [[0], [1, 2, 3, 4]]),
        (2, 3, [[0, 2, 3], [1, 4]]),  # four more padded positions cost more than a shape
        (0, 9, [[0, 2, 3], [1, 4]]),  # the first bucket would be empty
    ],
)
def test_rows_to_evaluate_lie_together(
    trained: int, cost: int, expected: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if few rows are evaluated in several shapes, or many in one; or a bucket is empty."""
    monkeypatch.setattr(buckets, "_EVALUATED_SHAPE_COST", cost)
    monkeypatch.setattr(buckets, "choose_shapes", lambda *_: [Shape(1), Shape(3)])
    sequences = {"forms": [[5], [6, 7], [8], [9], [4, 3]]}
    bucketed = buckets.to_buckets(sequences, 2, 9, trained=trained)
    assert [rows.tolist() for rows in bucketed.rows] == expected
    assert bucketed.columns[1]["forms"].shape == (len(expected[1]), 3)
