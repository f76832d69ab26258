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

from jaxeval.contracts import Array, Batch, Table, Tree
from jaxeval.population import optimisers


class Read(NamedTuple):
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


def of_batch(table: Table, batch: Batch, params: Tree) -> tuple[Read, Batch, Tree]:
    """What a batch reads, and the batch and the parameters with a table of these rows alone."""
    rows = table.rows(batch)
    places = jnp.zeros(size(table, params), jnp.int32).at[rows].set(jnp.arange(len(rows)))
    split = {**batch.split, "read": rows, "place": places}
    read = Read(rows, places[rows])
    return read, batch._replace(split=split), take(table, params, read)


def padded(read: Read, most: int) -> Read:
    """The same with its last row repeated: [N]."""
    more = most - len(read.rows)
    return Read(*(jnp.pad(part, (0, more), mode="edge") for part in read))


def padded_gradient(table: Table, grads: Tree, most: int) -> Tree:
    """Gradients with rows of zeros behind the table's: [N, D]."""
    return _map(table, lambda leaf: jnp.pad(leaf, ((0, most - len(leaf)), (0, 0))), grads)


def take(table: Table, tree: Tree, read: Read) -> Tree:
    """Parameters, or what an optimiser keeps of them, with a table of the rows read alone."""
    return _map(table, lambda leaf: leaf[read.rows], tree)


def put(table: Table, tree: Tree, updated: Tree, read: Read) -> Tree:
    """The tree with what is new of the rows read, and with all other leaves of `updated`."""
    new = _map(table, lambda leaf: leaf[read.same], updated)
    structure = jax.tree.structure(tree)
    chosen = [
        old.at[read.rows].set(leaf) if _is_table(table, path) else leaf
        for (path, old), leaf in zip(
            jax.tree_util.tree_leaves_with_path(tree), jax.tree.leaves(new), strict=True
        )
    ]
    return jax.tree.unflatten(structure, chosen)


def _map(table: Table, function: Callable[[Array], Array], tree: Tree) -> Tree:
    """The tree with its tables changed."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: function(leaf) if _is_table(table, path) else leaf, tree
    )


def _is_table(table: Table, path: tuple) -> bool:
    named = jax.tree_util.keystr(path, simple=True, separator="/")
    return f"/{named}".endswith(f"/{table.name}")
