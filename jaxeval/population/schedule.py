"""Which rows make up which batch: one sequence of shapes for all members, contents of their own.

Notation: N_b train rows in bucket b, B rows a batch. A batch comes from one bucket. The sequence
of buckets is drawn once from the corpus and is the same in every epoch and for every member, so
that the shape of a step is the same in all lanes; which rows fill a bucket's batches is drawn by
member and epoch.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array


class Steps(NamedTuple):
    """The steps of an epoch."""

    bucket: Array | np.ndarray  # [steps] int32, counted over the buckets that have train rows
    batch: Array | np.ndarray  # [steps] int32, number of the batch within its bucket
    count: Any  # [] int32, steps that are taken; those behind them are padding


def steps(sizes: Sequence[int], batch_size: int) -> Steps:
    """The steps of an epoch over buckets of `sizes` train rows, in one fixed shuffled order."""
    filled = [size for size in sizes if size]
    pairs = [(b, s) for b, size in enumerate(filled) for s in range(-(-size // batch_size))]
    order = np.random.default_rng([len(pairs), batch_size]).permutation(len(pairs))
    shuffled = np.array(pairs, np.int32).reshape(-1, 2)[order]
    return Steps(shuffled[:, 0], shuffled[:, 1], np.int32(len(pairs)))


def epoch_order(key: Array, rows: Sequence[Array | np.ndarray], batch_size: int) -> list[Array]:
    """Each bucket's rows in the member's order of this epoch, padded with -1 to whole batches.

    `key`: of the member and the epoch, consumed; `rows`: bucket b: [N_b] -> [batches * B] int32.
    """
    shuffled = [jax.random.permutation(jax.random.fold_in(key, b), r) for b, r in enumerate(rows)]
    return [jnp.pad(r, (0, -len(r) % batch_size), constant_values=-1) for r in shuffled]


def part_order(rows: Sequence[np.ndarray], sizes: Sequence[int], batch_size: int) -> list:
    """Each bucket's rows padded with -1 to `sizes[b]` rows and on to whole batches (host)."""
    return [
        np.pad(r, (0, -(-size // batch_size) * batch_size - len(r)), constant_values=-1)
        for r, size in zip(rows, sizes, strict=True)
    ]
