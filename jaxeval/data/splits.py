"""Splits into train, dev and test: the given one, or drawn from a split number.

All splits of a corpus have arrays of the same shapes, so that their members train in one compiled
program. A random split of rows keeps the proportions of the parts *within each bucket*. A split of
groups keeps groups of rows whole (a text's targets stay together); -1 pads a part that has fewer
rows in a bucket than in another split.

Notation: G groups in the order of their first rows in the corpus, N_b rows of bucket b, P parts
(train, dev, test) by number, B buckets.
"""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.contracts import GIVEN_SPLIT, Split, Tree
from jaxeval.errors import ConfigError

Rows = Mapping[str, Sequence[np.ndarray]]  # part -> bucket b: row numbers
PARTS = ("train", "dev", "test")
_TRAIN, _DEV, _TEST = range(len(PARTS))


def given(parts: Mapping[str, Sequence], buckets: Sequence[np.ndarray]) -> Rows:
    """Returns the corpus's own split: for each part and bucket, row numbers within the bucket.

    Args:
      parts: rows of each part, which lie in the corpus in the order train, dev, test.
      buckets: bucket b: numbers of its rows in the corpus.
    """
    names = np.repeat(PARTS, [len(parts[part]) for part in PARTS])
    return {p: [np.flatnonzero(names[rows] == p) for rows in buckets] for p in PARTS}


def split_rows(split: Rows, number: int) -> Rows:
    """Returns the rows of split `number`: 0 is the given one, others draw each bucket anew.

    Each part gets as many rows of a bucket as it has in the given split.
    """
    if number == GIVEN_SPLIT:
        return split
    drawn: dict[str, list[np.ndarray]] = {part: [] for part in PARTS}
    for bucket, pieces in enumerate(zip(*(split[part] for part in PARTS), strict=True)):
        pool = np.sort(np.concatenate(pieces))
        order = np.random.default_rng([number, bucket]).permutation(pool)
        ends = np.cumsum([len(piece) for piece in pieces])[:-1]
        for part, rows in zip(PARTS, np.split(order, ends), strict=True):
            drawn[part].append(np.sort(rows))
    return drawn


def to_split(rows: Rows, tables: Tree) -> Split:
    """Returns the split that a member reads."""
    return Split(tuple(rows["train"]), tuple(rows["dev"]), tuple(rows["test"]), tables)


def fingerprint(parts: Mapping[str, Iterable[tuple]]) -> str:
    """Returns a hash of the items of all parts, in order: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in PARTS:
        for item in parts[part]:
            digest.update(repr((part, *item)).encode())
    return digest.hexdigest()[:16]


class Groups(NamedTuple):
    """Groups of rows that random splits keep whole; rows of a group lie in one bucket."""

    row_groups: Sequence[np.ndarray]  # bucket b: [N_b] group of each row
    bucket: np.ndarray  # [G] in which its rows lie
    rows: np.ndarray  # [G] number of rows
    items: np.ndarray  # [G] number of targets in these rows
    labels: np.ndarray  # [G] equal for groups with the same labels
    part: np.ndarray  # [G] that of its first row in the given split
    # fractions of dev (in the rest) and test, as blocks of neighbours; None: stratified splits
    blocks: tuple[float, float] | None

    def split_rows(self, number: int) -> Rows:
        """Returns the rows of split `number`; raises ConfigError if a part is empty."""
        part = _stratified(self, number) if self.blocks is None else _block(self, number)
        for name, count in zip(PARTS, np.bincount(part, minlength=len(PARTS)), strict=True):
            if not count:
                raise ConfigError(f"split {number}: no text is left for {name}, of {len(part)}")
        return {
            name: [np.flatnonzero(part[row_groups] == number) for row_groups in self.row_groups]
            for number, name in enumerate(PARTS)
        }

    def most_rows(self) -> np.ndarray:
        """Returns the most rows [P, B] that a part has in a bucket in any random split.

        Stratified splits all have those of the groups' own parts.
        """
        if self.blocks is not None:
            return _most_rows(self, *self.blocks)
        counts = np.zeros((len(PARTS), len(self.row_groups)), np.int64)
        np.add.at(counts, (self.part, self.bucket), self.rows)
        return counts


def collect(
    keys: Sequence[Hashable],
    labels: Sequence[Sequence[str]],
    parts: Sequence[str],
    buckets: Sequence[np.ndarray],
    blocks: tuple[float, float] | None,
) -> Groups:
    """Returns the groups of rows with equal keys.

    Args:
      keys, labels, parts: of each row its key, the labels of its targets, its part.
      buckets: bucket b: numbers of its rows in the corpus.
    """
    number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    group = np.array([number[key] for key in keys])
    collected: list[list[str]] = [[] for _ in number]
    for n, names in zip(group, labels, strict=True):
        collected[n] += names
    alike = [tuple(sorted(names)) for names in collected]
    rank = {names: n for n, names in enumerate(sorted({*alike}))}
    bucket = np.repeat(np.arange(len(buckets)), [len(rows) for rows in buckets])
    bucket[np.concatenate(buckets)] = bucket.copy()
    _, first, sizes = np.unique(group, return_index=True, return_counts=True)
    return Groups(
        [group[rows] for rows in buckets],
        bucket[first],
        sizes,
        np.array([len(names) for names in collected]),
        np.array([rank[names] for names in alike]),
        np.array([PARTS.index(parts[row]) for row in first]),
        blocks,
    )


def _stratified(groups: Groups, number: int) -> np.ndarray:
    """Returns the parts [G] of split `number`, with the given split's counts in each stratum.

    A stratum is the groups of a bucket with equal numbers of rows and items. Groups with the same
    labels are spread over the parts as evenly as whole groups can be.
    """
    generator = np.random.default_rng(number)
    part = np.empty_like(groups.part)
    keys = np.stack([groups.bucket, groups.rows, groups.items])
    for key in np.unique(keys, axis=1).T:
        members = np.flatnonzero((keys == key[:, None]).all(axis=0))
        order = generator.permutation(members)
        order = order[np.argsort(groups.labels[order], kind="stable")]
        # an order of the parts in which every stretch has about the proportions of all
        counts = np.bincount(groups.part[members], minlength=len(PARTS))
        shares = [(np.arange(count) + 0.5) / max(count, 1) for count in counts.tolist()]
        places = np.concatenate(shares)
        mixed = np.repeat(np.arange(len(counts)), counts)[np.argsort(places, kind="stable")]
        # rotated at random, so that all groups are equally likely to be in a part
        part[order] = np.roll(mixed, int(generator.integers(len(members))))
    return part


def _block(groups: Groups, number: int) -> np.ndarray:
    """Returns parts [G] of split `number` in which test and dev are blocks (Moss et al. 2019).

    As in the notebook of FIESTA (`split_data`): of n items a start from 0 to n is drawn, and the
    next int(.2 n) are test, continuing at the first item after the last; dev is drawn in the same
    way from the rest, which begins after test. Corrected: both ends of a block move to the end of
    the text that they fall in.
    """
    assert groups.blocks is not None
    generator = np.random.default_rng(number)
    part = np.full(len(groups.part), _TRAIN)
    rest = np.arange(len(part))
    for name, fraction in zip((_TEST, _DEV), groups.blocks[::-1], strict=True):
        start = int(generator.integers(int(groups.items[rest].sum()) + 1))
        inside, behind = _cut(groups.items[rest], start, fraction)
        part[rest[inside]] = name
        rest = rest[behind]
    return part


def _cut(items: np.ndarray, start: int, fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the groups in a block of a circle, and the others, beginning after the block.

    A group is in the block if its first item is: ends of blocks move to ends of groups.

    Args:
      items: [G] number of items of each group.
      start: number of the block's first item, modulo the number of items.
      fraction: of the items, rounded down.
    """
    total = int(items.sum())
    offsets = (np.cumsum(items) - items - start) % total  # of a group's first item in the circle
    order = np.argsort(offsets)
    taken = int(np.sum(offsets < int(fraction * total)))
    return order[:taken], order[taken:]


def _most_rows(groups: Groups, dev: float, test: float) -> np.ndarray:
    """Returns the most rows [P, B] that a part has in any split of `_block`."""
    total = int(groups.items.sum())
    rows = np.zeros((len(groups.row_groups), total), np.int32)
    before = np.cumsum(groups.items) - groups.items  # each group's first item
    np.add.at(rows, (groups.bucket, before), groups.rows)
    upto = np.cumsum(np.concatenate([rows, rows], axis=1), axis=1, dtype=np.int32)
    upto = np.pad(upto, ((0, 0), (1, 0)))
    most = np.zeros((len(PARTS), len(rows)), np.int64)
    # first item of each different block, and the one after its last
    ends = np.array([*before, *before + total, 2 * total])
    starts = np.arange(total)
    moved = (ends[np.searchsorted(ends, starts + size)] for size in (0, int(test * total)))
    for begin, end in {*zip(*(each.tolist() for each in moved), strict=True)}:
        inside = upto[:, end] - upto[:, begin]
        rest = upto[:, end : begin + total + 1] - upto[:, end : end + 1]  # before each item
        size = rest.shape[1] - 1
        length = int(dev * size)
        circle = np.concatenate([rest, rest[:, 1:] + rest[:, -1:]], axis=1)
        blocks = circle[:, length : length + size] - circle[:, :size]
        # there are none if all groups are in test
        train = rest[:, -1] - blocks.min(1, initial=total)
        dev_rows = blocks.max(1, initial=0)
        most = np.maximum(most, np.stack([train, dev_rows, inside]))
    return most


def pad(rows: Rows, sizes: np.ndarray) -> Rows:
    """Pads the rows of each part and bucket with -1 to `sizes` [P, B]."""
    return {
        name: [
            np.pad(own, (0, size - len(own)), constant_values=-1)
            for own, size in zip(rows[name], sizes[number].tolist(), strict=True)
        ]
        for number, name in enumerate(PARTS)
    }
