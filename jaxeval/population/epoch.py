"""An epoch of one member: every step is an update from one batch, or from the sums of its parts.

Notation: F buckets with train rows, B rows per update, M rows computed at once. If every member
has the program's B and B <= M, a batch is computed whole. Otherwise it is cut into ceil(rows / M)
micro-batches, and B may be the member's own, a traced number. The loss is a mean over the batch's
`task.normaliser`, so gradients weighted by it and divided by its total are those of one batch.

Adagrad leaves a weight without gradient, and its state, as it is. A table of word vectors has
thousands of rows, of which a batch reads hundreds; adding zero gradients to the others would take
longer than the rest of a small model's step. So unread rows are left alone, where that changes no
bit of them.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from jaxeval.contracts import GIVEN_SPLIT, Array, Batch, Table, Tree
from jaxeval.population import member, optimisers

_NO_ROW = np.iinfo(np.int32).max


class _StepInputs(NamedTuple):
    """Inputs of the gradient of a step, traced."""

    bucket: Array  # [] int32 of F
    batch: Array  # [] int32, number of the batch within the bucket
    params: Tree
    carry: Tree
    key: Array


class _Gradient(NamedTuple):
    """The gradient of a batch's loss, and what else the forward pass returns."""

    grads: Tree  # like params
    carry: Tree
    loss: Array  # []
    rows: Array  # [] float32, how many of the batch are no padding


# (inputs, the optimiser's state) -> (params, the optimiser's state) after the update, the gradient
_Update = Callable[[_StepInputs, Tree], tuple[tuple[Tree, Tree], _Gradient]]


class _Epoch(NamedTuple):
    """Arguments that all steps of an epoch share."""

    problem: member.Problem
    shared: member.Shared
    lane: member.Lane
    optimiser: optax.GradientTransformation
    order: Sequence[Array]  # bucket b: its rows in the member's order of this epoch
    filled: Sequence[int]  # [F] the buckets that have train rows

    def batch(self, branch: int, rows: Array) -> Batch:
        """The batch of rows [n] of bucket `filled[branch]`."""
        return member.gather(self.shared, self.lane.tables, self.filled[branch], rows)

    def whole_batch(self, branch: int, step: _StepInputs) -> Batch:
        """The batch of a step."""
        size = self.problem.training.batch_size
        order = self.order[self.filled[branch]]
        return self.batch(branch, lax.dynamic_slice(order, (step.batch * size,), (size,)))

    def gradient(self, batch: Batch, step: _StepInputs, key: Array) -> _Gradient:
        """The gradient of a batch's loss."""
        function = jax.value_and_grad(self.problem.task.loss, has_aux=True)
        (loss, carry), grads = function(step.params, step.carry, batch, key, self.lane.hparams)
        return _Gradient(grads, carry, loss, jnp.sum(batch.weight))

    def updated(self, grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        """Parameters and the optimiser's state after an update."""
        updates, state = self.optimiser.update(grads, state, params)
        return jax.tree.map(jnp.add, params, updates), state


def _epoch_order(key: Array, rows: Sequence[Array | np.ndarray], batch_size: int) -> list[Array]:
    """Shuffles each bucket's rows [N_b], and pads them with -1 to whole batches.

    Bucket b becomes `jax.random.permutation(fold_in(key, b), rows)`, but bits are drawn for all
    buckets at once, so that XLA compiles one generator. The key, of member and epoch, is consumed.
    """
    shuffled = [*map(jnp.asarray, rows)]
    sizes = [*map(len, rows)]
    keys = jax.vmap(functools.partial(jax.random.fold_in, key))(jnp.arange(len(rows)))
    draw = jax.vmap(lambda own: jax.random.bits(own, (max(sizes),)))
    for number in range(_rounds(max(sizes))):
        keys, drawn_with = jax.vmap(jax.random.split, out_axes=1)(keys)
        for bucket, bits in enumerate(draw(drawn_with)):
            if number < _rounds(sizes[bucket]):
                own = shuffled[bucket]
                shuffled[bucket] = lax.sort_key_val(bits[: len(own)], own)[1]
    return [jnp.pad(r, (0, -len(r) % batch_size), constant_values=-1) for r in shuffled]


def _rounds(size: int) -> int:
    """How often `jax.random.permutation` sorts by 32 random bits, so that no ties matter."""
    return math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))


def train_epoch(
    problem: member.Problem, shared: member.Shared, state: member.MemberState, lane: member.Lane
) -> tuple[member.MemberState, Array]:
    """Trains on all of the member's rows once; also returns the mean loss of steps by weight."""
    training = problem.training
    whole = lane.steps is None and training.at_once >= training.batch_size
    order_key = member.key_of(lane.seed, member.ORDER, state.epoch)
    order = _epoch_order(order_key, lane.train, training.batch_size if whole else 1)
    filled = [bucket for bucket, rows in enumerate(lane.train) if len(rows)]
    size = member.batch_size(problem, lane)
    optimiser = optimisers.make(training.optimiser, lane.hparams, state.epoch, size)
    epoch = _Epoch(problem, shared, lane, optimiser, order, filled)
    update = (_row_update(epoch, state.params) if whole else None) or _full_update(epoch, whole)
    steps_key = member.key_of(lane.seed, member.STEP, state.epoch)

    def step(running: tuple, now: tuple) -> tuple[tuple, None]:
        params, optimiser_state, carry, total, weight = running
        number, bucket, batch = now
        key = jax.random.fold_in(steps_key, number)
        inputs = _StepInputs(bucket, batch, params, carry, key)
        updated, gradient = update(inputs, optimiser_state)
        total = total + gradient.loss * gradient.rows
        weight = weight + gradient.rows
        return (*updated, gradient.carry, total, weight), None

    start = (state.params, state.optimiser, state.carry, jnp.float32(0), jnp.float32(0))
    steps = lane.steps or shared.steps
    if whole:
        last, _ = lax.scan(step, start, (jnp.arange(len(steps.bucket)), steps.bucket, steps.batch))
    else:  # the number of steps is traced
        last = lax.fori_loop(
            0,
            steps.count,
            lambda k, now: step(now, (k, steps.bucket[k], steps.batch[k]))[0],
            start,
        )
    params, optimiser_state, carry, total, weight = last
    state = member.MemberState(params, optimiser_state, state.best, carry, state.epoch + 1)
    return state, total / weight


def _full_update(epoch: _Epoch, whole: bool) -> _Update:
    """Returns the update of all parameters."""

    def gradient(branch: int, step: _StepInputs) -> _Gradient:
        return epoch.gradient(epoch.whole_batch(branch, step), step, step.key)

    one_branch = gradient if whole else functools.partial(_summed_gradient, epoch)
    branches = [functools.partial(one_branch, branch) for branch in range(len(epoch.filled))]

    def update(step: _StepInputs, state: Tree) -> tuple[tuple[Tree, Tree], _Gradient]:
        computed: _Gradient = lax.switch(step.bucket, branches, step)
        updated = epoch.updated(computed.grads, state, step.params)
        # of a batch without rows, momentum and l2 would move weights
        if epoch.problem.split(GIVEN_SPLIT).padded:
            choose = functools.partial(jnp.where, computed.rows > 0)
            updated = jax.tree.map(choose, updated, (step.params, state))
        return updated, computed

    return update


def _summed_gradient(epoch: _Epoch, branch: int, step: _StepInputs) -> _Gradient:
    """The gradient of a batch of the member's size, summed over parts; carries nothing."""
    problem = epoch.problem
    order = epoch.order[epoch.filled[branch]]
    task = problem.task
    size = member.batch_size(problem, epoch.lane)
    most = problem.training.at_once
    first = step.batch * size
    last = jnp.minimum(first + size, len(order))
    # under vmap every branch is computed: no parts of a bucket that no lane is in
    parts = jnp.where(step.bucket == branch, (last - first + most - 1) // most, 0)

    def add(number: Array, sums: tuple) -> tuple:
        positions = first + number * most + jnp.arange(most)
        rows = jnp.where(positions < last, order[jnp.minimum(positions, len(order) - 1)], -1)
        by_position = task.keyed_by_position
        key = step.key if by_position else jax.random.fold_in(step.key, number)
        batch = epoch.batch(branch, rows)._replace(positions=positions - first)
        grads, _, loss, weight = epoch.gradient(batch, step, key)
        normaliser = task.normaliser(batch)
        grads, loss = jax.tree.map(lambda part: normaliser * part, (grads, loss))
        return jax.tree.map(jnp.add, sums, (grads, loss, normaliser, weight))

    zero = jnp.float32(0)
    start = (jax.tree.map(jnp.zeros_like, step.params), zero, zero, zero)
    grads, loss, normaliser, rows = lax.fori_loop(0, parts, add, start)
    normaliser = jnp.where(normaliser > 0, normaliser, 1.0)
    grads, loss = jax.tree.map(lambda total: total / normaliser, (grads, loss))
    return _Gradient(grads, step.carry, loss, rows)


def _moves_read_rows_only(settings: optimisers.Optimiser) -> bool:
    """True if the rows that a batch reads can be updated alone, with equal bits.

    False if a weight without gradient moves or decays, or if all gradients are added up. (In the
    compiled program XLA may still fuse operations differently, and so change last bits.)
    """
    return settings.name == "adagrad" and settings.clip != "global_norm" and not settings.l2


def _restrict_table(table: Table, batch: Batch, params: Tree) -> tuple[Array, Array, Batch, Tree]:
    """Restricts a table to the rows that a batch reads.

    Returns:
      Rows [n]; for each the position [n] of one of its equals; batch and parameters with a table
      of these rows alone.
    """
    rows = table.rows(batch)
    places = jnp.zeros(_table_size(table, params), jnp.int32).at[rows].set(jnp.arange(len(rows)))
    batch = batch._replace(split={**batch.split, "read": rows, "place": places})
    return rows, places[rows], batch, _map(table, lambda leaf: leaf[rows], params)


def _row_update(epoch: _Epoch, params: Tree) -> _Update | None:
    """Returns the update of those rows of the table that a batch reads, and of all else.

    None if there is no table, or if that would be wrong or as much work as an update of all rows.
    A branch updates as many rows as its bucket's batches read. They are written back after the
    branch: one that returned the table would copy it.
    """
    table, training = epoch.problem.task.table, epoch.problem.training
    if table is None or not _moves_read_rows_only(training.optimiser):
        return None
    numbers = jnp.zeros(training.batch_size, jnp.int32)
    most = max(
        len(jax.eval_shape(lambda b=b: table.rows(epoch.batch(b, numbers))))
        for b in range(len(epoch.filled))
    )
    if most >= _table_size(table, params):
        return None

    def branch_update(
        branch: int, step: _StepInputs, state: Tree
    ) -> tuple[tuple[Tree, Tree], _Gradient, Array]:
        batch = epoch.whole_batch(branch, step)
        rows, same, batch, params = _restrict_table(table, batch, step.params)
        computed = epoch.gradient(batch, step._replace(params=params), step.key)
        few = _map(table, lambda leaf: leaf[rows], state)
        updated = epoch.updated(computed.grads, few, params)
        padding = (0, most - len(rows))
        updated = _map(table, lambda new: jnp.pad(new[same], (padding, (0, 0))), updated)
        rows = jnp.pad(rows, padding, constant_values=_NO_ROW)
        return updated, computed._replace(grads=()), rows

    branches = [functools.partial(branch_update, b) for b in range(len(epoch.filled))]

    def update(step: _StepInputs, state: Tree) -> tuple[tuple[Tree, Tree], _Gradient]:
        updated, computed, rows = lax.switch(step.bucket, branches, step, state)

        def written(path: tuple, old: Array, new: Array) -> Array:
            return old.at[rows].set(new, mode="drop") if _is_table(table, path) else new

        return jax.tree.map_with_path(written, (step.params, state), updated), computed

    return update


def _table_size(table: Table, params: Tree) -> int:
    """The number of rows of the table."""
    leaves = jax.tree.leaves_with_path(params)
    (size,) = (len(leaf) for path, leaf in leaves if _is_table(table, path))
    return size


def _map(table: Table, function: Callable[[Array], Array], tree: Tree) -> Tree:
    """Applies a function to the tables of a tree."""
    return jax.tree.map_with_path(
        lambda path, leaf: function(leaf) if _is_table(table, path) else leaf, tree
    )


def _is_table(table: Table, path: tuple) -> bool:
    named = jax.tree_util.keystr(path, simple=True, separator="/")
    return f"/{named}".endswith(f"/{table.name}")
