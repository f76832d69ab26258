"""Splits: of rows, and of groups that stay whole."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from jaxeval.data import splits
from jaxeval.data.splits import Groups

TRAIN, DEV, TEST = range(3)

NAMES = {"train": range(60), "dev": range(20), "test": range(30)}
BUCKETS = [np.arange(0, 110, 2), np.arange(1, 109, 2), np.array([109])]


def test_random_deals_every_row_once_and_as_many_to_each_part() -> None:
    """Dies if parts share a row, a row is lost or shapes differ between splits."""
    own = splits.given(NAMES, BUCKETS)
    for number in (1, 2, 3):
        drawn = splits.split_rows(own, number)
        for bucket, rows in enumerate(BUCKETS):
            dealt = np.concatenate([drawn[part][bucket] for part in splits.PARTS])
            assert sorted(dealt.tolist()) == [*range(len(rows))]
            for part in splits.PARTS:
                assert len(drawn[part][bucket]) == len(own[part][bucket])
                assert (np.diff(drawn[part][bucket]) > 0).all()


FRACTIONS = 0.2, 0.2
SIZES = strategies.lists(strategies.integers(1, 4), min_size=3, max_size=12)


def _groups(
    sizes: Sequence[int],
    seed: int = 0,
    buckets: int = 3,
    blocks: tuple[float, float] | None = FRACTIONS,
) -> Groups:
    """Groups of these sizes, a row an item, dealt at random into buckets, parts and labels."""
    generator = np.random.default_rng(seed)
    bucket, part = (generator.integers(n, size=len(sizes)) for n in (buckets, 3))
    labels = [generator.choice(["good", "bad"], size=size).tolist() for size in sizes]
    rows = [(g, label) for g, of_group in enumerate(labels) for label in of_group]
    keys = [g for g, _ in rows]
    return splits.collect(
        keys,
        [[label] for _, label in rows],
        [splits.PARTS[part[g]] for g in keys],
        [np.flatnonzero(bucket[keys] == b) for b in range(buckets)],
        blocks,
    )


def test_rows_with_equal_keys_are_a_group() -> None:
    """Dies if a text that stands again is another group, or is numbered by its last place."""
    groups = splits.collect(
        ["b", "a", "b", "c"],
        [["x"], ["y", "x"], ["y"], ["x", "y"]],
        ["train", "dev", "test", "test"],
        [np.array([1]), np.array([0, 2, 3])],
        None,
    )
    assert [rows.tolist() for rows in groups.row_groups] == [[1], [0, 0, 2]]
    assert groups.bucket.tolist() == [1, 0, 1]
    assert groups.rows.tolist() == [2, 1, 1] and groups.items.tolist() == [2, 2, 2]
    assert groups.part.tolist() == [TRAIN, DEV, TEST]
    assert len({*groups.labels.tolist()}) == 1  # x and y each
    assert groups.most_rows().tolist() == [[0, 2], [1, 0], [0, 1]]


GROUPS = _groups(np.random.default_rng(5).integers(1, 4, size=300).tolist())


@pytest.mark.parametrize("number", [1, 2, 3])
def test_strata_keep_the_rows_of_every_part(number: int) -> None:
    """Dies if a part gets more rows of a bucket, or more groups of a size, than it had."""
    part = splits._stratified(GROUPS, number)
    rows = GROUPS._replace(part=part, blocks=None).most_rows()
    np.testing.assert_array_equal(rows, GROUPS._replace(blocks=None).most_rows())
    assert Counter(zip(part, GROUPS.items, strict=True)) == Counter(
        zip(GROUPS.part, GROUPS.items, strict=True)
    )
    assert (part != GROUPS.part).any()
    np.testing.assert_array_equal(part, splits._stratified(GROUPS, number))
    assert (part != splits._stratified(GROUPS, number + 1)).any()


def test_labels_are_spread_over_the_parts() -> None:
    """Dies if labels are dealt by chance. With one stratum of 60 groups of two kinds and parts of
    30, 10 and 20, each kind of n groups has its share n/2, n/6, n/3 to within one group."""
    names = ["good"] * 24 + ["bad"] * 36
    parts = [p for p, n in zip(splits.PARTS, (30, 10, 20), strict=True) for _ in range(n)]
    groups = splits.collect(range(60), [[name] for name in names], parts, [np.arange(60)], None)
    for number in range(1, 40):
        part = splits._stratified(groups, number)
        for kind, size in ((slice(24), 24), (slice(24, 60), 36)):
            counts = np.bincount(part[kind], minlength=3)
            assert np.abs(counts - size * np.array([1 / 2, 1 / 6, 1 / 3])).max() <= 1


def test_every_group_is_in_every_part_of_some_split() -> None:
    """Dies if groups with the same labels as no other are always in the same part."""
    parts = ["train"] * 4 + ["dev", "test"]
    groups = splits.collect(range(6), [[name] for name in "abcdef"], parts, [np.arange(6)], None)
    drawn = np.stack([splits._stratified(groups, number) for number in range(1, 80)])
    assert all({*column} == {TRAIN, DEV, TEST} for column in drawn.T.tolist())


def _published(data: list[Any], start: int) -> tuple[list[Any], list[Any]]:
    """Rest and block by the rule of the notebook: a list, from `start`, over its end."""
    size, doubled = int(len(data) * 0.2), [*data, *data]
    end = start + size
    if end > len(data):
        return data[end - len(data) : start], doubled[start:end]
    return data[end:] + data[:start], data[start:end]


@hypothesis.given(strategies.integers(5, 40), strategies.integers(1, 10**6))
def test_blocks_of_single_items_are_the_published_ones(size: int, number: int) -> None:
    """Dies if a block is not rounded down, does not wrap, may not begin behind the last item, or
    dev is not drawn from what follows test."""
    generator = np.random.default_rng(number)
    rest, test = _published([*range(size)], int(generator.integers(0, size + 1)))
    train, dev = _published(rest, int(generator.integers(0, len(rest) + 1)))
    part = splits._block(_groups([1] * size), number)
    actual = [np.flatnonzero(part == p).tolist() for p in (TRAIN, DEV, TEST)]
    assert actual == [sorted(of_part) for of_part in (train, dev, test)]


@pytest.mark.slow
@hypothesis.settings(max_examples=40)
@hypothesis.given(
    *(SIZES, strategies.integers(0, 5), strategies.sampled_from([0.2, 0.35, 0.6])),
    strategies.sampled_from([0.2, 0.999]),
)
def test_the_most_rows_of_any_block_split(
    sizes: list[int], seed: int, dev: float, test: float
) -> None:
    """Dies if a start is left out, or a bound is loose: against all starts of test and dev. With a
    fraction near 1, test may hold all groups."""
    groups = _groups(sizes, seed, blocks=(dev, test))
    most = np.zeros((3, 3), int)
    for start in range(sum(sizes) + 1):
        _, rest = splits._cut(groups.items, start, test)
        items = groups.items[rest]
        for begin in range(int(items.sum()) + 1):
            of_dev, of_train = splits._cut(items, begin, dev)
            part = np.full(len(sizes), TEST)
            part[rest[of_dev]], part[rest[of_train]] = DEV, TRAIN
            most = np.maximum(most, groups._replace(part=part, blocks=None).most_rows())
    np.testing.assert_array_equal(groups.most_rows(), most)
