"""Which rows are train, dev and test: as given, or drawn anew from a split number.

A random split keeps the proportions of the parts *within each length bucket*, so that all splits
of a corpus have arrays of the same shapes and their members train in one compiled program.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jaxeval.contracts import GIVEN_SPLIT, Split, Tree
from jaxeval.errors import ConfigError

Rows = Mapping[str, Sequence[np.ndarray]]  # part -> bucket b: row numbers
PARTS = ("train", "dev", "test")


def given_split(parts: Sequence[str], buckets: Sequence[np.ndarray]) -> Rows:
    """The corpus's own split.

    Args:
      parts: the part of each row of the corpus.
      buckets: bucket b: numbers of its rows in the corpus.

    Returns:
      For each part and bucket, row numbers within the bucket.
    """
    names = np.asarray(parts)
    return {p: [np.flatnonzero(names[rows] == p) for rows in buckets] for p in PARTS}


def random(split: Rows, number: int) -> Rows:
    """Split `number` > 0: each bucket's rows dealt anew, as many to each part as in `split`."""
    drawn: dict[str, list[np.ndarray]] = {part: [] for part in PARTS}
    for bucket, pieces in enumerate(zip(*(split[part] for part in PARTS), strict=True)):
        pool = np.sort(np.concatenate(pieces))
        order = np.random.default_rng([number, bucket]).permutation(pool)
        ends = np.cumsum([len(piece) for piece in pieces])[:-1]
        for part, rows in zip(PARTS, np.split(order, ends), strict=True):
            drawn[part].append(np.sort(rows))
    return drawn


def refuse_foreign_vocabulary(number: int, pooled: bool) -> None:
    """Raises ConfigError for a random split of a corpus with the vocabulary of the given one.

    Args:
      pooled: whether the vocabulary is that of all parts.
    """
    if number != GIVEN_SPLIT and not pooled:
        raise ConfigError(
            f"split {number}: this corpus has the vocabulary of the given split; random ones need "
            "data.vocabulary=all (prepare it with random_splits)"
        )


def numbered(rows: Rows, number: int) -> Rows:
    """The rows of split `number`: 0 is the given one, others are drawn anew."""
    return rows if number == GIVEN_SPLIT else random(rows, number)


def split_of(rows: Rows, tables: Tree) -> Split:
    """What a member of a split reads."""
    train, dev, test = (tuple(rows[part]) for part in PARTS)
    return Split(train, dev, test, tables)


def fingerprint(parts: Mapping[str, Iterable[tuple]]) -> str:
    """Hash of the items of all parts, in their order: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in PARTS:
        for item in parts[part]:
            digest.update(repr((part, *item)).encode())
    return digest.hexdigest()[:16]
