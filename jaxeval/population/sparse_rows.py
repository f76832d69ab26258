"""Updates only the rows of a table that a batch reads, where that changes no bit of the others.

Adagrad leaves a weight without gradient as it is, and its state too. A table of word vectors has
thousands of rows, a batch reads hundreds: to add a gradient of zeros to all others, in several
passes over table and state, would take longer than all else of a small model's step.

Notation: R rows of the table, n rows that a batch reads (repeated ones too), N the most of them
that a batch of any bucket reads.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Array, Batch, Table, Tree
from jaxeval.population import optimisers

_NO_ROW = np.iinfo(np.int32).max


class _Read(NamedTuple):
    """The rows of a table that a batch reads.

    Attributes:
      rows: [n] int32.
      same: [n] int32, for all that are equal the position of one of them.
    """

    rows: Array
    same: Array


def leaves_others(settings: optimisers.Optimiser) -> bool:
    """Whether an update of some rows is, to the last bit, the update of all of them.

    It is not where a weight without gradient moves on or decays, nor where all gradients are
    added up. (Operation by operation; XLA fuses otherwise, and so the last bits of all weights of
    a compiled program may be others.)
    """
    return settings.name == "adagrad" and settings.clip != "global_norm" and not settings.l2


def size(table: Table, params: Tree) -> int:
    """R."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    (size,) = (len(leaf) for path, leaf in leaves if _is_table(table, path))
    return size


def of_batch(table: Table, batch: Batch, params: Tree) -> tuple[_Read, Batch, Tree]:
    """What a batch reads, and the batch and the parameters with a table of these rows alone."""
    rows = table.rows(batch)
    places = jnp.zeros(size(table, params), jnp.int32).at[rows].set(jnp.arange(len(rows)))
    split = {**batch.split, "read": rows, "place": places}
    read = _Read(rows, places[rows])
    return read, batch._replace(split=split), take(table, params, read)


def take(table: Table, tree: Tree, read: _Read) -> Tree:
    """Parameters, or what an optimiser keeps of them, with a table of the rows read alone."""
    return _map(table, lambda leaf: leaf[read.rows], tree)


def padded(table: Table, updated: Tree, read: _Read, most: int) -> tuple[Array, Tree]:
    """The rows read, and what is new of them: [N] and a tree with a table [N, D].

    What is behind them has the number of no row, and is not put back.
    """
    more = most - len(read.rows)
    rows = jnp.pad(read.rows, (0, more), constant_values=_NO_ROW)
    return rows, _map(table, lambda new: jnp.pad(new[read.same], ((0, more), (0, 0))), updated)


def put(table: Table, tree: Tree, updated: Tree, rows: Array) -> Tree:
    """The tree with what is new of rows [N], and with all other leaves of `updated`."""
    chosen = [
        old.at[rows].set(new, mode="drop") if _is_table(table, path) else new
        for (path, old), new in zip(
            jax.tree_util.tree_leaves_with_path(tree), jax.tree.leaves(updated), strict=True
        )
    ]
    return jax.tree.unflatten(jax.tree.structure(tree), chosen)


def _map(table: Table, function: Callable[[Array], Array], tree: Tree) -> Tree:
    """The tree with its tables changed."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: function(leaf) if _is_table(table, path) else leaf, tree
    )


def _is_table(table: Table, path: tuple) -> bool:
    named = jax.tree_util.keystr(path, simple=True, separator="/")
    return f"/{named}".endswith(f"/{table.name}")
