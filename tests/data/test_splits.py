"""Splits: the given one by hand, random ones by their laws."""

import numpy as np

from jaxeval.data import splits

NAMES = ["train"] * 60 + ["dev"] * 20 + ["test"] * 30
BUCKETS = [np.arange(0, 110, 2), np.arange(1, 109, 2), np.array([109])]


def _plain(rows: splits.Rows) -> dict[str, list[list[int]]]:
    return {part: [piece.tolist() for piece in pieces] for part, pieces in rows.items()}


def test_given_counts_within_each_bucket() -> None:
    """Dies if rows are numbered in the corpus instead of in their bucket."""
    rows = splits.given_split(
        ["dev", "train", "test", "train"], [np.array([1, 2]), np.array([0, 3])]
    )
    assert _plain(rows) == {"train": [[0], [1]], "dev": [[], [0]], "test": [[1], []]}


def test_random_deals_every_row_once_and_as_many_to_each_part() -> None:
    """Dies if parts share a row, a row is lost or shapes differ between splits."""
    own = splits.given_split(NAMES, BUCKETS)
    for number in (1, 2, 3):
        drawn = splits.random(own, number)
        for bucket, rows in enumerate(BUCKETS):
            dealt = np.concatenate([drawn[part][bucket] for part in splits.PARTS])
            assert sorted(dealt.tolist()) == [*range(len(rows))]
            for part in splits.PARTS:
                assert len(drawn[part][bucket]) == len(own[part][bucket])


def test_numbers_name_splits() -> None:
    """Dies if the split depends on anything but its number, or on nothing."""
    own = splits.given_split(NAMES, BUCKETS)
    first, second = (_plain(splits.random(own, number)) for number in (1, 2))
    assert first == _plain(splits.random(own, 1))
    assert first != second and first != _plain(own)


def test_a_split_does_not_depend_on_the_one_it_was_drawn_from() -> None:
    """Dies if drawing from a split that was drawn before gives other rows."""
    own = splits.given_split(NAMES, BUCKETS)
    assert _plain(splits.random(splits.random(own, 5), 3)) == _plain(splits.random(own, 3))


def test_rows_are_dealt_evenly() -> None:
    """Dies if some rows never leave their part: over 300 splits each is near its share."""
    own = splits.given_split(NAMES, BUCKETS)
    counts = np.zeros(len(BUCKETS[0]))
    for number in range(1, 301):
        counts[splits.random(own, number)["test"][0]] += 1
    share = len(own["test"][0]) / len(counts)
    spread = np.sqrt(share * (1 - share) / 300)
    assert np.abs(counts / 300 - share).max() < 5 * spread
