"""Rows in buckets of equal shape, padded.

Every shape is one more compiled branch of the training step, and every padded position costs time.
Shapes are found exactly, by dynamic programming over the lengths that occur.

Notation: N rows of a bucket, T their width.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.data.word_table import SavedWords, WordSettings

# a compiled shape costs about as much as training so many padded positions in each of ten epochs
_SHAPE_COST = 3000.0
# compiling evaluation for one more shape costs about as much as evaluating so many padded
# positions of dev and test in each of ten epochs of eight members
_EVALUATED_SHAPE_COST = 10_000


class Shape(NamedTuple):
    """The shape to which the rows of a bucket are padded."""

    width: int
    targets: int = 1


class BucketedRows(NamedTuple):
    """Rows in buckets."""

    rows: Sequence[np.ndarray]  # of each bucket the numbers of its rows
    shapes: Sequence[Shape]
    columns: Sequence[dict[str, np.ndarray]]  # of each bucket its arrays


Encoded = tuple[dict[str, np.ndarray], BucketedRows]  # arrays of all word forms, and the rows
_Sentences = Mapping[str, Sequence[Sequence[str]]]  # name -> words of each row


def words_to_buckets(
    sentences: _Sentences,
    forms: Sequence[str],
    batch_size: int,
    settings: WordSettings,
    targets: Sequence[int] | None = None,
    trained: int | None = None,
) -> BucketedRows:
    """Returns sentences as numbers of their forms in buckets, as `to_buckets` does."""
    number = {form: n for n, form in enumerate(forms)}
    numbers = {
        name: [[number[word] for word in sentence] for sentence in own]
        for name, own in sentences.items()
    }
    return to_buckets(numbers, batch_size, settings.max_widths, targets=targets, trained=trained)


def encode(
    vocabulary: SavedWords,
    sentences: _Sentences,
    batch_size: int,
    settings: WordSettings,
    targets: Sequence[int] | None = None,
) -> tuple[list[str], Encoded]:
    """Returns the forms of sentences, and these as arrays by the vocabulary of a trained model."""
    found = {word for own in sentences.values() for sentence in own for word in sentence}
    forms = ["", *sorted(found - {""})]
    bucketed = words_to_buckets(sentences, forms, batch_size, settings, targets)
    return forms, ({"row": vocabulary.lookup(forms, settings.fold)}, bucketed)


def to_buckets(
    sequences: Mapping[str, Sequence[Sequence[int]]],
    batch_size: int,
    most: int,
    tight: bool = False,
    targets: Sequence[int] | None = None,
    trained: int | None = None,
) -> BucketedRows:
    """Pads sequences of numbers to `most` widths or fewer; row n is the n-th of each name.

    A bucket's arrays are NAME [N, T] and NAME_length [N] (of "forms": length). If `tight`,
    sequences are padded to the longest of their name in a bucket. `targets`: of each row, 1 by
    default. `trained`: number of leading rows if they are train in every split; the others, dev
    and test, may then lie in the last bucket only (`evaluate_together`).
    """
    lengths = [max(map(len, row)) for row in zip(*sequences.values(), strict=True)]
    targets = [1] * len(lengths) if targets is None else targets
    shapes = choose_shapes(lengths, targets, batch_size, most)
    rows = _assign(lengths, targets, shapes)
    columns = []
    if trained is not None:
        rows = _evaluate_together(rows, shapes, trained)
    for inside, shape in zip(rows, shapes, strict=True):
        arrays = {}
        for name, each in sequences.items():
            own = [each[row] for row in inside]
            sizes = arrays["length" if name == "forms" else f"{name}_length"] = count(own)
            arrays[name] = pad(own, sizes.max() if tight else shape.width)
        columns.append(arrays)
    return BucketedRows(rows, shapes, columns)


def choose_shapes(
    lengths: Sequence[int],
    targets: Sequence[int],
    batch_size: int,
    most: int = 12,
    shape_cost: float = _SHAPE_COST,
) -> list[Shape]:
    """Returns the padded shapes of rows with these lengths and numbers of targets, ascending.

    Rows are divided by their number of targets first, and those of each range by length. A bucket
    of n rows costs ceil(n / batch_size) * batch_size * width * targets positions, plus
    `shape_cost`. No other choice of `most` shapes or fewer costs less.
    """
    sizes, numbers = np.asarray(lengths), np.asarray(targets)
    values = np.unique(numbers).tolist()
    # best[j][k]: least cost and shapes of rows with one of the j smallest numbers, in k shapes
    best: list[dict[int, _Choice]] = [{0: (0.0, [])}]
    for last, number in enumerate(values):
        costs: dict[int, _Choice] = {}
        for first in range(last + 1):
            inside = sizes[(numbers >= values[first]) & (numbers <= number)]
            for cost, shapes in _best_shapes(inside, batch_size, most, shape_cost, number):
                for before, own in best[first].values():
                    total = before + cost
                    count = len(own) + len(shapes)
                    if count <= most and total < costs.get(count, (np.inf, []))[0]:
                        costs[count] = total, [*own, *shapes]
        best.append(costs)
    return min(best[-1].values(), key=lambda choice: choice[0])[1]


_Choice = tuple[float, list[Shape]]


def _best_shapes(
    lengths: np.ndarray, batch_size: int, most: int, shape_cost: float, targets: int
) -> list[_Choice]:
    """Returns the cheapest choice of 1, 2, ... up to `most` widths for rows with `targets`."""
    values, counts = np.unique(lengths, return_counts=True)
    upto = np.concatenate([[0], np.cumsum(counts)])
    # cost[i, j]: of a bucket of the lengths from the i-th up to before the j-th
    rows = -(-(upto[None] - upto[:, None]) // batch_size) * batch_size
    cost = rows * np.concatenate([[0.0], values])[None] * targets + shape_cost
    cost[np.tril_indices(len(upto))] = np.inf
    least = np.where(upto > 0, np.inf, 0.0)
    chosen = []
    cuts: list[np.ndarray] = []  # of each number of buckets: where the last one begins
    for _ in range(min(most, len(values))):
        total = least[:, None] + cost
        cuts.append(np.argmin(total, axis=0))
        least = np.min(total, axis=0)
        widths = []
        end = len(values)
        for cut in reversed(cuts):
            widths.append(int(values[end - 1]))
            end = int(cut[end])
        chosen.append((float(least[-1]), [Shape(width, targets) for width in widths[::-1]]))
    return chosen


def _assign(
    lengths: Sequence[int], targets: Sequence[int], shapes: Sequence[Shape]
) -> list[np.ndarray]:
    """Returns the rows of each bucket: fewest targets first, then the narrowest fitting shape."""
    sizes = np.asarray(lengths)
    limits = sorted({shape.targets for shape in shapes})
    limit = np.searchsorted(limits, np.asarray(targets))
    assigned = []
    for number, most in enumerate(limits):
        inside = np.flatnonzero(limit == number)
        widths = [shape.width for shape in shapes if shape.targets == most]
        bucket = np.searchsorted(widths, sizes[inside])
        assigned += [inside[bucket == b] for b in range(len(widths))]
    return assigned


def _evaluate_together(
    rows: list[np.ndarray], shapes: Sequence[Shape], trained: int
) -> list[np.ndarray]:
    """Moves the rows from number `trained` on, dev and test, to the last bucket, the widest.

    Evaluation is then compiled for one shape. All rows stay if padding would cost more, or if a
    bucket would be empty. Rows before `trained` keep their places.
    """
    first = [own[own < trained] for own in rows]
    moved = np.sort(np.concatenate([own[own >= trained] for own in rows]))
    pairs = zip(rows, first, shapes, strict=True)
    before = sum((len(own) - len(kept)) * shape.width for own, kept, shape in pairs)
    padding = len(moved) * shapes[-1].width - before
    if padding > _EVALUATED_SHAPE_COST * (len(shapes) - 1) or not all(map(len, first[:-1])):
        return rows
    return [*first[:-1], np.concatenate([first[-1], moved])]


def pad(sequences: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """Returns sequences of numbers, padded with zeros: [N, width] int32."""
    array = np.zeros((len(sequences), width), np.int32)
    for row, sequence in enumerate(sequences):
        array[row, : len(sequence)] = sequence
    return array


def count(sequences: Sequence[Sequence[object]]) -> np.ndarray:
    """Returns the lengths of sequences: [N] int32."""
    return np.array([len(sequence) for sequence in sequences], np.int32)
