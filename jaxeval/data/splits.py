"""Which rows are train, dev and test: as given, or drawn anew from a split number.

All splits of a corpus have arrays of the same shapes, so that their members train in one compiled
program. A random split of rows keeps the proportions of the parts *within each length bucket*. One
of groups keeps groups of rows whole (a text's targets are never parted): where a part has fewer
rows in a bucket than that of another split can have, -1 stands behind them.

Notation: G groups in the order in which they first stand in the corpus, N_b rows of bucket b,
P parts (train, dev, test) by number, B buckets.
"""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxeval.contracts import GIVEN_SPLIT, Split, Tree
from jaxeval.errors import ConfigError

Rows = Mapping[str, Sequence[np.ndarray]]  # part -> bucket b: row numbers
PARTS = ("train", "dev", "test")
_TRAIN, _DEV, _TEST = range(len(PARTS))


def given_split(parts: Mapping[str, Sequence], buckets: Sequence[np.ndarray]) -> Rows:
    """The corpus's own split: for each part and bucket, row numbers within the bucket.

    Args:
      parts: the rows of each part, which stand in the corpus in the order train, dev, test.
      buckets: bucket b: numbers of its rows in the corpus.
    """
    names = np.repeat(PARTS, [len(parts[part]) for part in PARTS])
    return {p: [np.flatnonzero(names[rows] == p) for rows in buckets] for p in PARTS}


def numbered(split: Rows, number: int, pooled: bool = True) -> Rows:
    """The rows of split `number`: 0 is the given one, others deal each bucket's rows anew.

    Each part gets as many rows of a bucket as it has in the given split.

    Args:
      pooled: as of `refuse_foreign_vocabulary`.
    """
    refuse_foreign_vocabulary(number, pooled)
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


def refuse_foreign_vocabulary(number: int, pooled: bool) -> None:
    """Raises ConfigError for a random split unless the vocabulary is of all parts (pooled)."""
    if number != GIVEN_SPLIT and not pooled:
        raise ConfigError(
            f"split {number}: this corpus has the vocabulary of the given split; random ones need "
            "data.vocabulary=all (prepare it with random_splits)"
        )


def split_of(rows: Rows, tables: Tree) -> Split:
    """What a member of a split reads."""
    return Split(tuple(rows["train"]), tuple(rows["dev"]), tuple(rows["test"]), tables)


def fingerprint(parts: Mapping[str, Iterable[tuple]]) -> str:
    """Hash of the items of all parts, in their order: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in PARTS:
        for item in parts[part]:
            digest.update(repr((part, *item)).encode())
    return digest.hexdigest()[:16]


class Groups(NamedTuple):
    """What is dealt as a whole; rows of a group lie in one bucket."""

    of_row: Sequence[np.ndarray]  # bucket b: [N_b] group of each row
    bucket: np.ndarray  # [G] in which its rows lie
    rows: np.ndarray  # [G] how many it has
    items: np.ndarray  # [G] how many targets these hold
    labels: np.ndarray  # [G] equal for groups with the same labels
    part: np.ndarray  # [G] that of its first row in the corpus's own split

    def row_counts(self, part: np.ndarray) -> np.ndarray:
        """[P, B] rows of each part and bucket if groups go to these parts [G]."""
        counts = np.zeros((len(PARTS), len(self.of_row)), np.int64)
        np.add.at(counts, (part, self.bucket), self.rows)
        return counts


def collect(
    keys: Sequence[Hashable],
    labels: Sequence[Sequence[str]],
    parts: Sequence[str],
    buckets: Sequence[np.ndarray],
) -> Groups:
    """The groups of a corpus' rows: those with equal keys.

    Args:
      keys, labels, parts: of each row its key, the labels of its targets, its part.
      buckets: bucket b: numbers of its rows in the corpus.
    """
    number = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    group = np.array([number[key] for key in keys])
    collected: list[list[str]] = [[] for _ in number]
    for n, of_row in zip(group, labels, strict=True):
        collected[n] += of_row
    alike = [tuple(sorted(of_group)) for of_group in collected]
    rank = {names: n for n, names in enumerate(sorted({*alike}))}
    bucket = np.zeros(len(keys), int)
    for b, rows in enumerate(buckets):
        bucket[rows] = b
    _, first, rows = np.unique(group, return_index=True, return_counts=True)
    return Groups(
        [group[rows_of] for rows_of in buckets],
        bucket[first],
        rows,
        np.array([len(of_group) for of_group in collected]),
        np.array([rank[names] for names in alike]),
        np.array([PARTS.index(parts[row]) for row in first]),
    )


class Fractions(NamedTuple):
    """How much is test, and how much of the rest is dev."""

    dev: float
    test: float


def stratified(groups: Groups, number: int) -> np.ndarray:
    """Parts [G] of split `number`: within each stratum as many groups a part as in the own split.

    A stratum is the groups of a bucket with as many rows and items. Groups with the same labels
    are spread over the parts as evenly as whole groups can be.
    """
    generator = np.random.default_rng(number)
    part = np.empty_like(groups.part)
    keys = np.stack([groups.bucket, groups.rows, groups.items])
    for key in np.unique(keys, axis=1).T:
        members = np.flatnonzero((keys == key[:, None]).all(axis=0))
        order = generator.permutation(members)
        order = order[np.argsort(groups.labels[order], kind="stable")]
        # the parts in an order in which every stretch has about the proportions of all
        counts = np.bincount(groups.part[members], minlength=len(PARTS))
        places = np.concatenate([(np.arange(count) + 0.5) / max(count, 1) for count in counts])
        mixed = np.repeat(np.arange(len(counts)), counts)[np.argsort(places, kind="stable")]
        # rotated at random, so that each group is as often in a part as any other
        part[order] = np.roll(mixed, int(generator.integers(len(members))))
    return part


def block(groups: Groups, number: int, fractions: Fractions) -> np.ndarray:
    """Parts [G] of split `number`: test and dev are blocks of neighbours (Moss et al. 2019).

    As published (the notebook of FIESTA, `split_data`): of n items a start from 0 to n is drawn,
    the next int(.2 n) are test, going on at the first behind the last; of the rest, which begins
    behind test, dev is drawn in the same way. Corrected: both ends of a block move on to the end
    of the text that they fall in.
    """
    generator = np.random.default_rng(number)
    part = np.full(len(groups.part), _TRAIN)
    rest = np.arange(len(part))
    for name, fraction in ((_TEST, fractions.test), (_DEV, fractions.dev)):
        start = int(generator.integers(int(groups.items[rest].sum()) + 1))
        inside, behind = cut(groups.items[rest], start, fraction)
        part[rest[inside]] = name
        rest = rest[behind]
    return part


def cut(items: np.ndarray, start: int, fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Which groups a block of a circle takes, and the others, from the first behind it on.

    A group is taken if its first item lies in the block: borders move to ends of groups.

    Args:
      items: [G] of each group.
      start: number of the block's first item; that of all is that of none, 0.
      fraction: of the items, rounded down.
    """
    total = int(items.sum())
    offsets = (np.cumsum(items) - items - start) % total  # of a group's first item in the circle
    order = np.argsort(offsets)
    taken = int(np.sum(offsets < int(fraction * total)))
    return order[:taken], order[taken:]


def most_rows(groups: Groups, fractions: Fractions) -> np.ndarray:
    """[P, B] the most rows that a part has in a bucket in any split of `block`."""
    items = groups.items
    total = int(items.sum())
    rows = np.zeros((len(groups.of_row), 2 * total), np.int32)  # at each group's first item
    np.add.at(rows, (groups.bucket, np.cumsum(items) - items), groups.rows)
    rows[:, total:] = rows[:, :total]
    upto = np.pad(np.cumsum(rows, axis=1, dtype=np.int32), ((0, 0), (1, 0)))
    most = np.zeros((len(PARTS), len(rows)), np.int64)
    for begin, end in _blocks(items, int(fractions.test * total)):
        test = upto[:, end] - upto[:, begin]
        behind = upto[:, end : begin + total + 1]
        low, high = _extremes(behind - behind[:, :1], fractions.dev)
        most = np.maximum(most, np.stack([upto[:, total] - test - low, high, test]))
    return most


def _blocks(items: np.ndarray, size: int) -> Iterator[tuple[int, int]]:
    """From which to before which item the blocks of `size` items reach, ends moved; each once."""
    ends = np.concatenate([[0], np.cumsum(items), np.cumsum(items) + items.sum()])
    starts = np.arange(items.sum())
    moved = (ends[np.searchsorted(ends, starts + shift)] for shift in (0, size))
    yield from sorted({*zip(*(each.tolist() for each in moved), strict=True)})


def _extremes(upto: np.ndarray, fraction: float) -> tuple[np.ndarray, np.ndarray]:
    """[B] fewest and most rows in a block of a circle of n items, by rows before each [B, n + 1].

    A block that goes on at the front is what a stretch of the other items leaves.
    """
    size = upto.shape[1] - 1
    length = int(fraction * size)
    inside = upto[:, length:] - upto[:, : size + 1 - length]
    across = upto[:, -1:] - (upto[:, size - length :] - upto[:, : length + 1])
    both = np.concatenate([inside, across], axis=1)
    return both.min(axis=1), both.max(axis=1)


def to_rows(groups: Groups, part: np.ndarray) -> Rows:
    """The rows of groups that go to these parts [G]."""
    return {
        name: [np.flatnonzero(part[of_row] == number) for of_row in groups.of_row]
        for number, name in enumerate(PARTS)
    }


def pad(rows: Rows, sizes: np.ndarray) -> Rows:
    """The same with -1 behind the rows of each part and bucket, `sizes` [P, B] in all."""
    return {
        name: [
            np.pad(of_bucket, (0, size - len(of_bucket)), constant_values=-1)
            for of_bucket, size in zip(rows[name], sizes[number].tolist(), strict=True)
        ]
        for number, name in enumerate(PARTS)
    }
