"""Word vectors of a batch's words: rows of a table of which some are parameters.

Notation: V rows of the word table, of which the first R are the vocabulary's, which may be
trained; the others are vectors read of other words. D vector size, F word forms. Row 0 is padding.

A batch's `shared` holds row [F] (form -> row of the table), vectors [V, D] and pretrained [V]
bool. Where members differ in their vectors, these are [J, F], [J, V, D] and [J, V] of J tables,
and `split` holds table [], the member's own of them. Elements are gathered by both indices at
once: no lane has a copy of its table.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxeval.contracts import Array, Batch
from jaxeval.models import Module

Draw = Callable[[Array, tuple[int, ...]], Array]  # (key, consumed, and shape) -> vectors
UNKNOWN = 1  # row of words that are not known


def _of_member(batch: Batch, name: str, places: Array | slice) -> Array:
    """Places of a table of the member's own."""
    table: Array = batch.shared[name]
    return table[batch.split["table"], places] if "table" in batch.split else table[places]


def size(batch: Batch) -> int:
    """D."""
    return int(batch.shared["vectors"].shape[-1])


def vocabulary(batch: Batch, rows: int) -> tuple[Array, Array]:
    """Vectors [R, D] of the first R rows as read, and whether each was [R] bool.

    Where the trained table was cut down to some rows (`contracts.Table`): those of them.
    """
    first = batch.split.get("read", slice(rows))
    return _of_member(batch, "vectors", first), _of_member(batch, "pretrained", first)


def known_rows(batch: Batch, forms: Array) -> Array:
    """Rows of word forms [...] int32; those that the member's split does not know are UNKNOWN."""
    rows = _of_member(batch, "row", forms)
    return jnp.where(batch.split["known"][rows], rows, UNKNOWN)


def parameter(
    module: Module, name: str, batch: Batch, rows: int, draw: Draw | None = None
) -> Array:
    """The trained table [R, D] of a module: vectors as read, drawn ones where there is none."""

    def initial(key: Array, vectors: Array, pretrained: Array) -> Array:
        return jnp.where(pretrained[:, None], vectors, (draw or uniform)(key, vectors.shape))

    table: Array = module.param(name, initial, *vocabulary(batch, rows))
    return table


def look_up(table: Array | None, batch: Batch, rows: Array, training: bool) -> Array:
    """Vectors [..., D] of rows: of the trained table [R, D], beyond it, or without one, as read.

    In training all rows are the vocabulary's.
    """
    if table is None:
        return _of_member(batch, "vectors", rows)
    if "place" in batch.split:  # a table of some rows (`contracts.Table`)
        return table[batch.split["place"][rows]]
    first = len(table)
    if first == batch.shared["vectors"].shape[-2] or training:
        return table[rows]
    outside = (rows >= first)[..., None]
    as_read = _of_member(batch, "vectors", rows)
    return jnp.where(outside, as_read, table[jnp.minimum(rows, first - 1)])


def uniform(key: Array, shape: tuple[int, ...], bound: float | Array | None = None) -> Array:
    """U(-b, b) of a shape [..., D]; without b, sqrt(3 / D) (Ma & Hovy 2016, section 3.1)."""
    bound = (3.0 / shape[-1]) ** 0.5 if bound is None else bound
    return jax.random.uniform(key, shape, jnp.float32, -bound, bound)


def normal(key: Array, shape: tuple[int, ...], vectors: Array, pretrained: Array) -> Array:
    """N(m, s) of a shape [..., D], m and s those of all numbers of the vectors read (AllenNLP).

    Where none of the vectors [R, D] is read (pretrained [R] bool), as `uniform`.
    """
    read = (pretrained & (jnp.arange(len(vectors)) > UNKNOWN))[:, None]
    numbers = jnp.maximum(jnp.sum(read) * vectors.shape[1], 1)
    mean = jnp.sum(jnp.where(read, vectors, 0.0)) / numbers
    sd = jnp.sqrt(jnp.sum(jnp.where(read, (vectors - mean) ** 2, 0.0)) / numbers)
    drawn = mean + sd * jax.random.normal(key, shape)
    return jnp.where(jnp.any(read), drawn, uniform(key, shape))
