"""Buckets: few padded shapes, chosen so that compiling and padding together cost least.

Every shape is one more compiled branch of the training step, every padded position is work for
nothing. Shapes are found exactly, by dynamic programming over the lengths that occur.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

# a compiled width costs about as much as training so many padded positions in each of ten epochs
_SHAPE_COST = 3000.0


class Shape(NamedTuple):
    """What the rows of a bucket are padded to."""

    width: int
    targets: int


class Encoded(NamedTuple):
    """Items as arrays, by the vocabulary of a trained model."""

    shared: dict[str, np.ndarray]  # of all word forms
    numbers: Sequence[np.ndarray]  # of each bucket the items in it
    columns: Sequence[dict[str, np.ndarray]]  # of each bucket its arrays


# of each bucket: its rows, its width, its arrays NAME [N, T] and NAME_length [N]
LaidOut = tuple[list[np.ndarray], list[int], list[dict[str, np.ndarray]]]


def lay_out(
    sequences: Mapping[str, Sequence[Sequence[int]]],
    batch_size: int,
    most: int,
    tight: bool = False,
) -> LaidOut:
    """Sequences of numbers by name, padded to `most` widths; row n is the n-th of each name.

    Args:
      tight: those of a name are padded to the longest of it in a bucket, not to its width.
    """
    lengths = [max(map(len, row)) for row in zip(*sequences.values(), strict=True)]
    widths = choose_widths(lengths, batch_size, most)
    rows, columns = assign(lengths, widths), []
    for of_bucket, width in zip(rows, widths, strict=True):
        arrays = {}
        for name, of_name in sequences.items():
            inside = [of_name[row] for row in of_bucket]
            arrays[f"{name}_length"] = lengths_of(inside)
            arrays[name] = pad(inside, arrays[f"{name}_length"].max() if tight else width)
        columns.append(arrays)
    return rows, widths, columns


def choose_widths(
    lengths: Sequence[int], batch_size: int, most: int = 12, shape_cost: float = _SHAPE_COST
) -> list[int]:
    """As `choose_shapes` of rows with one target: the widths, ascending."""
    ones = [1] * len(lengths)
    return [shape.width for shape in choose_shapes(lengths, ones, batch_size, most, shape_cost)]


def choose_shapes(
    lengths: Sequence[int],
    targets: Sequence[int],
    batch_size: int,
    most: int = 12,
    shape_cost: float = _SHAPE_COST,
) -> list[Shape]:
    """Padded shapes of rows that have a length and a number of targets, ascending by targets.

    Rows are parted by their number of targets first, and those of each range by length. A bucket
    of n rows costs ceil(n / batch_size) * batch_size * width * targets positions, plus
    `shape_cost`; no other choice of `most` shapes or fewer costs less.
    """
    sizes, numbers = np.asarray(lengths), np.asarray(targets)
    values = np.unique(numbers).tolist()
    # best[j][k]: the least cost of rows with one of the j smallest numbers, in k shapes
    best = [{0: _Choice(0.0, [])}]
    for last, number in enumerate(values):
        costs: dict[int, _Choice] = {}
        for first in range(last + 1):
            inside = sizes[(numbers >= values[first]) & (numbers <= number)]
            for choice in _best_shapes(inside, batch_size, most, shape_cost, number):
                for before in best[first].values():
                    both = _Choice(before.cost + choice.cost, [*before.shapes, *choice.shapes])
                    count = len(both.shapes)
                    if count <= most and both.cost < costs.get(count, _NONE).cost:
                        costs[count] = both
        best.append(costs)
    return min(best[-1].values(), key=lambda choice: choice.cost).shapes


class _Choice(NamedTuple):
    cost: float
    shapes: list[Shape]


_NONE = _Choice(np.inf, [])


def _best_shapes(
    lengths: np.ndarray, batch_size: int, most: int, shape_cost: float, targets: int
) -> list[_Choice]:
    """The cheapest choice of 1, 2 ... widths, `most` at most, of rows with so many targets."""
    values, counts = np.unique(lengths, return_counts=True)
    upto = np.concatenate([[0], np.cumsum(counts)])
    # cost[i, j]: of a bucket of the lengths from the i-th up to before the j-th
    rows = -(-(upto[None] - upto[:, None]) // batch_size) * batch_size
    cost = rows * np.concatenate([[0.0], values])[None] * targets + shape_cost
    cost[np.tril_indices(len(upto))] = np.inf
    least, chosen = np.where(upto > 0, np.inf, 0.0), []
    cuts: list[np.ndarray] = []  # of each number of buckets: where the last one begins
    for _ in range(min(most, len(values))):
        total = least[:, None] + cost
        cuts.append(np.argmin(total, axis=0))
        least = np.min(total, axis=0)
        widths, end = [], len(values)
        for cut in reversed(cuts):
            widths.append(int(values[end - 1]))
            end = int(cut[end])
        chosen.append(_Choice(float(least[-1]), [Shape(width, targets) for width in widths[::-1]]))
    return chosen


def assign(lengths: Sequence[int] | np.ndarray, widths: Sequence[int]) -> list[np.ndarray]:
    """Row numbers of each bucket: the rows that fit its width and no smaller one, in order."""
    bucket = np.searchsorted(np.asarray(widths), np.asarray(lengths))
    return [np.flatnonzero(bucket == b) for b in range(len(widths))]


def assign_shapes(
    lengths: Sequence[int], targets: Sequence[int], shapes: Sequence[Shape]
) -> list[np.ndarray]:
    """Row numbers of each bucket: shapes of fewest targets first, then the narrowest that fits."""
    sizes, limits = np.asarray(lengths), sorted({shape.targets for shape in shapes})
    limit = np.searchsorted(limits, np.asarray(targets))
    assigned = []
    for number, most in enumerate(limits):
        inside = np.flatnonzero(limit == number)
        widths = [shape.width for shape in shapes if shape.targets == most]
        assigned += [inside[rows] for rows in assign(sizes[inside], widths)]
    return assigned


def pad(sequences: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """Sequences of numbers, with zeros behind them: [N, width] int32."""
    array = np.zeros((len(sequences), width), np.int32)
    for row, sequence in enumerate(sequences):
        array[row, : len(sequence)] = sequence
    return array


def lengths_of(sequences: Sequence[Sequence[object]]) -> np.ndarray:
    """[N] int32."""
    return np.array([len(sequence) for sequence in sequences], np.int32)
