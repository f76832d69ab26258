"""The counts of every single row of a part, where an evaluation has their sums.

By the laws of a Task counts are sums over rows, and rows of weight 0 count nothing: the counts of
a batch in which one row alone has weight are that row's. What does not depend on weights is
computed once a batch.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.contracts import Array, Batch, Task, Tree
from jaxeval.population import member


class RowCounts(NamedTuple):
    """Of a member on a part of its split.

    Attributes:
      names: of the counts.
      counts: [rows, names] float32; bucket by bucket, as the split lists a bucket's rows.
    """

    names: tuple[str, ...]
    counts: np.ndarray


def of_batch(task: Task, outputs: Tree, batch: Batch) -> Mapping[str, Array]:
    """Counts of each row: leaves [B]."""

    def of_row(weight: Array) -> Mapping[str, Array]:
        return task.count(outputs, batch._replace(weight=weight))

    return jax.vmap(of_row)(jnp.diag(batch.weight))


def of_part(
    program: member.Program,
    shared: member.Shared,
    params: Tree,
    inputs: member.Inputs,
    rows: Sequence[Array],
) -> Mapping[str, Array]:
    """Counts of each row of a part, bucket after bucket: leaves [sum of n]; 0 at padding.

    Args:
      rows: bucket b: [n] int32, whole batches; -1 is padding. Batches of a bucket are taken in
        order, as in `member.evaluate`.
    """
    size = program.evaluation_batch_size
    predict = member.predictor(program, shared, params, inputs, rows)

    @functools.partial(jax.jit, static_argnums=0)  # traced once, for shapes and for the loop
    def batch_counts(bucket: int, number: Array, carry: Tree) -> tuple[Mapping[str, Array], Tree]:
        outputs, batch, carry = predict(bucket, number, carry)
        return of_batch(program.task, outputs, batch), carry

    def bucket_counts(bucket: int) -> Mapping[str, Array]:
        filled, first = jnp.sum(rows[bucket] >= 0), jnp.int32(0)
        start = program.task.start(size)
        shapes, _ = batch_counts.eval_shape(bucket, first, start)
        zero = {name: jnp.zeros(len(rows[bucket]), shape.dtype) for name, shape in shapes.items()}

        def step(number: Array, running: tuple) -> tuple:
            written, carry = running
            counts, carry = batch_counts(bucket, number, carry)
            begin = (number * size,)
            return {
                name: lax.dynamic_update_slice(written[name], counts[name], begin)
                for name in written
            }, carry

        return lax.fori_loop(first, (filled + size - 1) // size, step, (zero, start))[0]

    counts = [bucket_counts(bucket) for bucket, part in enumerate(rows) if len(part)]
    return jax.tree.map(lambda *of_bucket: jnp.concatenate(of_bucket), *counts)


def of_lane(counts: Mapping[str, np.ndarray], lane: int, rows: Sequence[np.ndarray]) -> RowCounts:
    """What `of_part` counted in a lane, without the padding.

    Args:
      counts: leaves [S, sum of n], on the host.
      rows: of the lane, as `of_part` has them.
    """
    real = np.concatenate(rows) >= 0
    names = tuple(sorted(counts))
    columns = [np.asarray(counts[name][lane], np.float32)[real] for name in names]
    return RowCounts(names, np.stack(columns, axis=1))
