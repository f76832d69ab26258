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


class Step(NamedTuple):
    """What the gradient of a step is computed from, traced."""

    bucket: Array  # [] int32 of F
    batch: Array  # [] int32, number of the batch within the bucket
    params: Tree
    carry: Tree
    key: Array


class Gradient(NamedTuple):
    """Of the loss of a batch."""

    grads: Tree  # like params
    carry: Tree
    loss: Array  # []
    rows: Array  # [] float32, how many are no padding


class Stepped(NamedTuple):
    """What a step leaves; loss and rows as of `Gradient`."""

    params: Tree
    optimiser: Tree
    carry: Tree
    loss: Array
    rows: Array


TakeStep = Callable[[Step, Tree], Stepped]  # (step, the optimiser's state) -> what it leaves


class EpochInputs(NamedTuple):
    """What all steps of an epoch share.

    Attributes:
      order: bucket b: its rows in the member's order of this epoch.
      filled: [F] the buckets that have train rows.
    """

    program: member.Program
    shared: member.Shared
    inputs: member.Inputs
    order: Sequence[Array]
    filled: Sequence[int]

    def batch(self, bucket: int, rows: Array) -> Batch:
        """The batch of rows [n] of a bucket."""
        return member.gather(self.shared, self.inputs.tables, bucket, rows)


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
    epoch = EpochInputs(program, shared, inputs, order, filled)
    size = member.batch_size(program, inputs)
    optimiser = optimisers.make(program.optimiser, inputs.hparams, state.epoch, size)
    table = _table(epoch, state.params) if whole else None
    take_step = _step_of_rows(epoch, optimiser, table) if table else _step(epoch, optimiser, whole)
    steps_key = member.key_of(inputs.seed, member.STEP, state.epoch)

    def step(running: tuple, now: tuple) -> tuple[tuple, None]:
        params, optimiser_state, carry, total, weight = running
        number, bucket, batch = now
        key = jax.random.fold_in(steps_key, number)
        after = take_step(Step(bucket, batch, params, carry, key), optimiser_state)
        total, weight = total + after.loss * after.rows, weight + after.rows
        return (after.params, after.optimiser, after.carry, total, weight), None

    start = (state.params, state.optimiser, state.carry, jnp.float32(0), jnp.float32(0))
    last = _run(step, start, inputs.steps or shared.steps, padded=not whole)
    params, optimiser_state, carry, total, weight = last
    state = member.MemberState(params, optimiser_state, state.best, carry, state.epoch + 1)
    return state, total / weight


def _table(epoch: EpochInputs, params: Tree) -> Table | None:
    """The task's, where it is right and less work to update the rows alone that a batch reads."""
    table = epoch.program.task.table
    if table is None or not sparse_rows.leaves_others(epoch.program.optimiser):
        return None
    return table if _most_read(epoch, table) < sparse_rows.size(table, params) else None


def _step(epoch: EpochInputs, optimiser: optax.GradientTransformation, whole: bool) -> TakeStep:
    """An update of all parameters."""
    gradient_of = whole_gradient if whole else summed_gradient
    branches = [functools.partial(gradient_of, epoch, b) for b in range(len(epoch.filled))]

    def take_step(step: Step, state: Tree) -> Stepped:
        gradient: Gradient = lax.switch(step.bucket, branches, step)
        params, state = _updated(optimiser, gradient.grads, state, step.params)
        return Stepped(params, state, gradient.carry, gradient.loss, gradient.rows)

    return take_step


def _step_of_rows(
    epoch: EpochInputs, optimiser: optax.GradientTransformation, table: Table
) -> TakeStep:
    """An update of those rows of a table that the batch reads, and of all other parameters.

    A branch updates as many rows as its bucket's batches read, which may be a tenth of what the
    widest one's do. They are put back behind it: a branch that returned the table would copy it.
    """
    most = _most_read(epoch, table)

    def of_bucket(branch: int, step: Step, state: Tree) -> tuple[Stepped, Array]:
        batch = _batch(epoch, branch, step)
        read, batch, params = sparse_rows.of_batch(table, batch, step.params)
        loss, carry, grads = _value_and_grad(epoch, batch, step._replace(params=params), step.key)
        updated = _updated(optimiser, grads, sparse_rows.take(table, state, read), params)
        rows, (params, state) = sparse_rows.padded(table, updated, read, most)
        return Stepped(params, state, carry, loss, jnp.sum(batch.weight)), rows

    branches = [functools.partial(of_bucket, b) for b in range(len(epoch.filled))]

    def take_step(step: Step, state: Tree) -> Stepped:
        after, rows = lax.switch(step.bucket, branches, step, state)
        before, updated = (step.params, state), (after.params, after.optimiser)
        params, state = sparse_rows.put(table, before, updated, rows)
        return after._replace(params=params, optimiser=state)

    return take_step


def _updated(
    optimiser: optax.GradientTransformation, grads: Tree, state: Tree, params: Tree
) -> tuple[Tree, Tree]:
    """Parameters and the optimiser's state after an update."""
    updates, state = optimiser.update(grads, state, params)
    return jax.tree.map(jnp.add, params, updates), state


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


def whole_gradient(epoch: EpochInputs, branch: int, step: Step) -> Gradient:
    """The gradient of a batch of bucket `filled[branch]` at once."""
    batch = _batch(epoch, branch, step)
    loss, carry, grads = _value_and_grad(epoch, batch, step, step.key)
    return Gradient(grads, carry, loss, jnp.sum(batch.weight))


def _batch(epoch: EpochInputs, branch: int, step: Step) -> Batch:
    """The whole batch of a step."""
    size, bucket = epoch.program.batch_size, epoch.filled[branch]
    rows = lax.dynamic_slice(epoch.order[bucket], (step.batch * size,), (size,))
    return epoch.batch(bucket, rows)


def _most_read(epoch: EpochInputs, table: Table) -> int:
    """Rows of the table that the largest batch reads."""
    rows = jnp.zeros(epoch.program.batch_size, jnp.int32)
    read = [jax.eval_shape(lambda b=b: table.rows(epoch.batch(b, rows))) for b in epoch.filled]
    return max(each.shape[0] for each in read)


def summed_gradient(epoch: EpochInputs, branch: int, step: Step) -> Gradient:
    """The same for as many rows as the member's batch has, some at once; carries nothing."""
    program, bucket = epoch.program, epoch.filled[branch]
    order, most = epoch.order[bucket], program.at_once
    size = member.batch_size(program, epoch.inputs)
    first = step.batch * size
    last = jnp.minimum(first + size, len(order))
    # under vmap every branch is computed: no parts of a bucket that no lane is in
    parts = jnp.where(step.bucket == branch, (last - first + most - 1) // most, 0)

    def add(number: Array, sums: tuple) -> tuple:
        positions = first + number * most + jnp.arange(most)
        rows = jnp.where(positions < last, order[jnp.minimum(positions, len(order) - 1)], -1)
        by_position = program.task.keyed_by_position
        key = step.key if by_position else jax.random.fold_in(step.key, number)
        batch = epoch.batch(bucket, rows)._replace(positions=positions - first)
        loss, _, grads = _value_and_grad(epoch, batch, step, key)
        normaliser = program.task.normaliser(batch)
        grads, loss = jax.tree.map(lambda part: normaliser * part, (grads, loss))
        return jax.tree.map(jnp.add, sums, (grads, loss, normaliser, jnp.sum(batch.weight)))

    zero = jnp.float32(0)
    start = (jax.tree.map(jnp.zeros_like, step.params), zero, zero, zero)
    grads, loss, normaliser, rows = lax.fori_loop(0, parts, add, start)
    normaliser = jnp.where(normaliser > 0, normaliser, 1.0)
    grads, loss = jax.tree.map(lambda total: total / normaliser, (grads, loss))
    return Gradient(grads, step.carry, loss, rows)


def _value_and_grad(epoch: EpochInputs, batch: Batch, step: Step, key: Array) -> tuple:
    """Loss, carry and gradient of a batch."""
    function = jax.value_and_grad(epoch.program.task.loss, has_aux=True)
    (loss, carry), grads = function(step.params, step.carry, batch, key, epoch.inputs.hparams)
    return loss, carry, grads
