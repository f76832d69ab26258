"""An epoch of one member: every step an update, of one batch or of the sums of its parts.

Notation: F buckets with train rows, B rows per update, M rows computed at once. Where every member
has the program's B and B <= M, a batch is computed whole. Otherwise it is cut into ceil(rows / M)
micro-batches, and B may be the member's own, a traced number: the loss is a mean over the batch's
`task.normaliser`, so that gradients weighted by it and divided by its total are those of one
batch.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from jaxeval.contracts import Array, Batch, Table, Tree
from jaxeval.population import member, optimisers, schedule, sparse_rows


class _Step(NamedTuple):
    """What the gradient of a step is computed from, traced."""

    bucket: Array  # [] int32 of F
    batch: Array  # [] int32, number of the batch within the bucket
    params: Tree
    carry: Tree
    key: Array


class _Stepped(NamedTuple):
    """What a step leaves.

    Attributes:
      changed: params and the optimiser's state; in a branch over buckets maybe gradients.
      rows: [] float32, how many of the batch are no padding.
    """

    changed: Tree
    carry: Tree
    loss: Array  # []
    rows: Array


_TakeStep = Callable[[_Step, Tree], _Stepped]  # (step, the optimiser's state) -> what it leaves


class _Epoch(NamedTuple):
    """What all steps of an epoch share.

    Attributes:
      order: bucket b: its rows in the member's order of this epoch.
      filled: [F] the buckets that have train rows.
    """

    program: member.Program
    shared: member.Shared
    inputs: member.Inputs
    optimiser: optax.GradientTransformation
    order: Sequence[Array]
    filled: Sequence[int]

    def batch(self, branch: int, rows: Array) -> Batch:
        """The batch of rows [n] of bucket `filled[branch]`."""
        return member.gather(self.shared, self.inputs.tables, self.filled[branch], rows)

    def whole_batch(self, branch: int, step: _Step) -> Batch:
        """The batch of a step."""
        size = self.program.batch_size
        order = self.order[self.filled[branch]]
        return self.batch(branch, lax.dynamic_slice(order, (step.batch * size,), (size,)))

    def gradient(self, batch: Batch, step: _Step, key: Array) -> _Stepped:
        """Of the loss of a batch."""
        function = jax.value_and_grad(self.program.task.loss, has_aux=True)
        (loss, carry), grads = function(step.params, step.carry, batch, key, self.inputs.hparams)
        return _Stepped(grads, carry, loss, jnp.sum(batch.weight))

    def updated(self, grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        """Parameters and the optimiser's state after an update."""
        updates, state = self.optimiser.update(grads, state, params)
        return jax.tree.map(jnp.add, params, updates), state

    def most_read(self, table: Table) -> int:
        """Rows of the table that the largest batch reads."""
        rows = jnp.zeros(self.program.batch_size, jnp.int32)
        read = [
            jax.eval_shape(lambda b=b: table.rows(self.batch(b, rows)))
            for b in range(len(self.filled))
        ]
        return max(each.shape[0] for each in read)


def train_epoch(
    program: member.Program,
    shared: member.Shared,
    state: member.MemberState,
    inputs: member.Inputs,
) -> tuple[member.MemberState, Array]:
    """One pass over the member's train rows; also the mean loss of its steps, by weight."""
    whole = inputs.steps is None and program.at_once >= program.batch_size
    order_key = member.key_of(inputs.seed, member.ORDER, state.epoch)
    order = schedule.epoch_order(order_key, inputs.train, program.batch_size if whole else 1)
    filled = [bucket for bucket, rows in enumerate(inputs.train) if len(rows)]
    size = member.batch_size(program, inputs)
    optimiser = optimisers.make(program.optimiser, inputs.hparams, state.epoch, size)
    epoch = _Epoch(program, shared, inputs, optimiser, order, filled)
    table = _table(epoch, state.params) if whole else None
    take_step = _step_of_rows(epoch, table) if table else _step(epoch, whole)
    steps_key = member.key_of(inputs.seed, member.STEP, state.epoch)

    def step(running: tuple, now: tuple) -> tuple[tuple, None]:
        params, optimiser_state, carry, total, weight = running
        number, bucket, batch = now
        key = jax.random.fold_in(steps_key, number)
        after = take_step(_Step(bucket, batch, params, carry, key), optimiser_state)
        total, weight = total + after.loss * after.rows, weight + after.rows
        return (*after.changed, after.carry, total, weight), None

    start = (state.params, state.optimiser, state.carry, jnp.float32(0), jnp.float32(0))
    last = _run(step, start, inputs.steps or shared.steps, padded=not whole)
    params, optimiser_state, carry, total, weight = last
    state = member.MemberState(params, optimiser_state, state.best, carry, state.epoch + 1)
    return state, total / weight


def _run(step: Callable, start: tuple, steps: schedule.Steps, padded: bool) -> tuple:
    """What is left running after all steps; `padded`: their number is traced."""
    if not padded:
        numbers = jnp.arange(len(steps.bucket))
        last: tuple = lax.scan(step, start, (numbers, steps.bucket, steps.batch))[0]
        return last

    def numbered(number: Array, running: tuple) -> tuple:
        after: tuple = step(running, (number, steps.bucket[number], steps.batch[number]))[0]
        return after

    return lax.fori_loop(0, steps.count, numbered, start)


def _step(epoch: _Epoch, whole: bool) -> _TakeStep:
    """An update of all parameters."""
    gradient = _whole_gradient if whole else _summed_gradient
    branches = [functools.partial(gradient, epoch, b) for b in range(len(epoch.filled))]

    def take_step(step: _Step, state: Tree) -> _Stepped:
        after: _Stepped = lax.switch(step.bucket, branches, step)
        return after._replace(changed=epoch.updated(after.changed, state, step.params))

    return take_step


def _whole_gradient(epoch: _Epoch, branch: int, step: _Step) -> _Stepped:
    """The gradient of a batch at once."""
    return epoch.gradient(epoch.whole_batch(branch, step), step, step.key)


def _summed_gradient(epoch: _Epoch, branch: int, step: _Step) -> _Stepped:
    """The same for as many rows as the member's batch has, some at once; carries nothing."""
    program, order = epoch.program, epoch.order[epoch.filled[branch]]
    most, size = program.at_once, member.batch_size(program, epoch.inputs)
    first = step.batch * size
    last = jnp.minimum(first + size, len(order))
    # under vmap every branch is computed: no parts of a bucket that no lane is in
    parts = jnp.where(step.bucket == branch, (last - first + most - 1) // most, 0)

    def add(number: Array, sums: tuple) -> tuple:
        positions = first + number * most + jnp.arange(most)
        rows = jnp.where(positions < last, order[jnp.minimum(positions, len(order) - 1)], -1)
        by_position = program.task.keyed_by_position
        key = step.key if by_position else jax.random.fold_in(step.key, number)
        batch = epoch.batch(branch, rows)._replace(positions=positions - first)
        grads, _, loss, weight = epoch.gradient(batch, step, key)
        normaliser = program.task.normaliser(batch)
        grads, loss = jax.tree.map(lambda part: normaliser * part, (grads, loss))
        return jax.tree.map(jnp.add, sums, (grads, loss, normaliser, weight))

    zero = jnp.float32(0)
    start = (jax.tree.map(jnp.zeros_like, step.params), zero, zero, zero)
    grads, loss, normaliser, rows = lax.fori_loop(0, parts, add, start)
    normaliser = jnp.where(normaliser > 0, normaliser, 1.0)
    grads, loss = jax.tree.map(lambda total: total / normaliser, (grads, loss))
    return _Stepped(grads, step.carry, loss, rows)


def _table(epoch: _Epoch, params: Tree) -> Table | None:
    """The task's, where it is right and less work to update the rows alone that a batch reads."""
    table = epoch.program.task.table
    if table is None or not sparse_rows.leaves_others(epoch.program.optimiser):
        return None
    return table if epoch.most_read(table) < sparse_rows.size(table, params) else None


def _step_of_rows(epoch: _Epoch, table: Table) -> _TakeStep:
    """An update of those rows of a table that the batch reads, and of all other parameters.

    A branch updates as many rows as its bucket's batches read, which may be a tenth of what the
    widest one's do. They are put back behind it: a branch that returned the table would copy it.
    """
    most = epoch.most_read(table)

    def in_branch(branch: int, step: _Step, state: Tree) -> tuple[_Stepped, Array]:
        batch = epoch.whole_batch(branch, step)
        read, batch, params = sparse_rows.of_batch(table, batch, step.params)
        after = epoch.gradient(batch, step._replace(params=params), step.key)
        updated = epoch.updated(after.changed, sparse_rows.take(table, state, read), params)
        rows, updated = sparse_rows.padded(table, updated, read, most)
        return after._replace(changed=updated), rows

    branches = [functools.partial(in_branch, b) for b in range(len(epoch.filled))]

    def take_step(step: _Step, state: Tree) -> _Stepped:
        after, rows = lax.switch(step.bucket, branches, step, state)
        changed = sparse_rows.put(table, (step.params, state), after.changed, rows)
        return after._replace(changed=changed)

    return take_step
