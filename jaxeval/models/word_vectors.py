"""Word vectors of a batch: rows of a table, some of which are parameters.

Notation: V rows of the word table; the first R are the vocabulary's and may be trained, the others
hold vectors of other words. D vector size, F word forms. Row 0 is padding.

A batch's `shared` holds row [F] (form -> row of the table), vectors [V, D] and pretrained [V]
bool; `split` holds known [V] bool (the word has a vector or is in train). If members differ in
their vectors, `shared` holds J tables, [J, F], [J, V, D] and [J, V], and `split` the member's own
number, table []. Gathering by both indices at once copies no table per lane.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxeval.contracts import Array, Batch
from jaxeval.models import Module, uniform

Draw = Callable[[Array, tuple[int, ...]], Array]  # (key, which is consumed, shape) -> vectors
UNKNOWN = 1  # row of unknown words


def _own_table(batch: Batch, name: str, places: Array | slice) -> Array:
    table: Array = batch.shared[name]
    return table[batch.split["table"], places] if "table" in batch.split else table[places]


def size(batch: Batch) -> int:
    """Returns the size D of a vector."""
    return int(batch.shared["vectors"].shape[-1])


def vocabulary(batch: Batch, rows: int) -> tuple[Array, Array]:
    """Returns the vectors [R, D] of the first R rows as read, and whether each was, [R] bool.

    If the trained table is cut down to some rows (`contracts.Table`), only those.
    """
    first = batch.split.get("read", slice(rows))
    return _own_table(batch, "vectors", first), _own_table(batch, "pretrained", first)


def known_rows(batch: Batch, forms: Array) -> Array:
    """Returns the rows of word forms [...] int32; UNKNOWN if the member's split lacks a word."""
    rows = _own_table(batch, "row", forms)
    return jnp.where(batch.split["known"][rows], rows, UNKNOWN)


def parameter(
    module: Module, name: str, batch: Batch, rows: int, draw: Draw | None = None
) -> Array:
    """Returns a module's trained table [R, D]; rows that have no vector are drawn."""

    def initial(key: Array, vectors: Array, pretrained: Array) -> Array:
        return jnp.where(pretrained[:, None], vectors, (draw or by_width)(key, vectors.shape))

    table: Array = module.param(name, initial, *vocabulary(batch, rows))
    return table


def look_up(table: Array | None, batch: Batch, rows: Array, training: bool) -> Array:
    """Returns vectors [..., D] of rows: from the trained table [R, D], else as read.

    In training all rows are the vocabulary's.
    """
    if table is None:
        return _own_table(batch, "vectors", rows)
    if "place" in batch.split:  # a table of some rows
        return table[batch.split["place"][rows]]
    first = len(table)
    if first == batch.shared["vectors"].shape[-2] or training:
        return table[rows]
    outside = (rows >= first)[..., None]
    as_read = _own_table(batch, "vectors", rows)
    return jnp.where(outside, as_read, table[jnp.minimum(rows, first - 1)])


def by_width(key: Array, shape: tuple[int, ...]) -> Array:
    """Draws U(-b, b) of a shape [..., D], b = sqrt(3 / D) (Ma & Hovy 2016, 3.1)."""
    return uniform(key, shape, (3.0 / shape[-1]) ** 0.5)


def normal(key: Array, shape: tuple[int, ...], vectors: Array, pretrained: Array) -> Array:
    """Draws N(m, s) of a shape [..., D], m and s of all numbers of the vectors read (AllenNLP).

    Like `by_width` if none of the vectors [R, D] was read (pretrained [R] bool).
    """
    read = (pretrained & (jnp.arange(len(vectors)) > UNKNOWN))[:, None]
    numbers = jnp.maximum(jnp.sum(read) * vectors.shape[1], 1)
    mean = jnp.sum(jnp.where(read, vectors, 0.0)) / numbers
    sd = jnp.sqrt(jnp.sum(jnp.where(read, (vectors - mean) ** 2, 0.0)) / numbers)
    drawn = mean + sd * jax.random.normal(key, shape)
    return jnp.where(jnp.any(read), drawn, by_width(key, shape))
