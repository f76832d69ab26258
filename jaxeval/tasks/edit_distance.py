"""Levenshtein distance of padded sequences, on the device."""

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def edit_distance(output: Array, length: Array, gold: Array, gold_length: Array) -> Array:
    """Fewest insertions, deletions and substitutions that make one sequence the other.

    Args:
      output: [B, T] int32, the first `length` [B] of each row count.
      gold: [B, G] int32, likewise.

    Returns:
      [B] int32.
    """
    columns = jnp.arange(gold.shape[1] + 1)[None]
    first = jnp.broadcast_to(columns, (len(gold), columns.shape[1]))

    def next_row(above: Array, numbered: tuple[Array, Array]) -> tuple[Array, None]:
        number, symbol = numbered
        replaced = above[:, :-1] + (gold != symbol[:, None])
        row = jnp.minimum(above + 1, jnp.pad(replaced, ((0, 0), (1, 0)), constant_values=1 << 20))
        # what is still to be inserted along the row: a running minimum of row[j] - j
        row = lax.cummin(row - columns, axis=1) + columns
        return jnp.where((number < length)[:, None], row, above), None

    numbers = jnp.arange(output.shape[1])
    last, _ = lax.scan(next_row, first, (numbers, output.T))
    return jnp.take_along_axis(last, gold_length[:, None], axis=1)[:, 0]
