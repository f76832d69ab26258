"""Unrolls a step with several products over time, with the state carried in and out.

Notation: T time steps, B rows, H hidden units, G gates.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array, Tree
from jaxeval.models import recurrence

Blocks = Sequence[Array]  # [B, H] each, one per gate
Tap = Callable[[str, Array], Blocks]  # (name of a kernel, x) -> x @ kernel
# (tap, other weights, masks, state, inputs of a step) -> state, whose first leaf is the output
_Step = Callable[[Tap, Tree, Tree, Tree, Blocks], Tree]


def _blocks(stack: Array, part: slice, number: Array, width: int) -> list[Array]:
    """A part of the columns of row `number` of stack [T, B, G H], as blocks [B, H]."""
    sizes = (1, stack.shape[1], width)
    starts = range(stack.shape[2])[part][::width]
    return [lax.dynamic_slice(stack, (number, 0, begin), sizes)[0] for begin in starts]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 7))
def unroll(
    step: _Step,
    kernels: dict[str, Array],
    biases: dict[str, Array],
    weights: Tree,
    masks: Tree,
    inputs: Array,
    start: Tree,
    summed: str | None = None,
) -> tuple[Tree, Array]:
    """Computes the state after the last step, and the outputs [T, B, H] of all steps.

    The output of a step is the first leaf of its state. The backward pass runs the step again on
    saved products and states, which takes no product. Two habits of XLA on the CPU shape the code:
    a slice at a running index whose parts are used apart is not vectorised, so each gate's block
    is sliced alone; the way back multiplies by transposed kernels, which are copied once where
    that is faster (`_reads_as_stored`).

    Args:
      step: the cell; static. It calls `tap` once for each kernel.
      kernels: name -> [H, G H] recurrent weights, or [D, G H] for a context.
      biases: name of a kernel -> [G H], which `tap` adds to its product. Their gradients are sums
        outside of the loop, which saves accelerators kernels; a bias that is one of the weights
        is faster on CPUs.
      weights, masks: of the step; masks are the same at all steps and not differentiated.
      inputs: [T, B, G H], the inputs' part of the gates.
      start: the state before the first step.
      summed: the kernel whose product the step adds to its inputs before all else, if any; static.
        On accelerators `tap` returns that sum, which alone is saved; the step's inputs are zeros.
    """
    return _unroll_forward(step, kernels, biases, weights, masks, inputs, start, summed)[0]


def _unroll_forward(step, kernels, biases, weights, masks, inputs, start, summed):  # type: ignore[no-untyped-def]
    width = min(map(len, kernels.values()))  # H
    # memory counts on accelerators; on CPUs adding whole rows makes a step 4 to 10 % slower
    summed = summed if recurrence.accelerated() else None

    def run(state: Tree, number: Array) -> tuple[Tree, list[Array]]:
        products: dict[str, Array] = {}

        def tap(name: str, x: Array) -> Blocks:
            product = x @ kernels[name]
            product = product + biases[name][None] if name in biases else product
            products[name] = inputs[number] + product if name == summed else product
            return jnp.split(products[name], products[name].shape[1] // width, axis=1)

        none = [0.0] * (inputs.shape[2] // width)
        blocks = none if summed else _blocks(inputs, slice(None), number, width)
        after = step(tap, weights, masks, state, blocks)
        states = [*jax.tree.leaves(after)]
        if not recurrence.accelerated():  # an output more, but states need not be shifted
            states = [states[0], *jax.tree.leaves(state)]
        return after, recurrence.joined([*states, *(products[name] for name in kernels)])

    final, stacks = lax.scan(run, start, jnp.arange(len(inputs)))
    needed = None if summed else inputs
    return (final, stacks[0][:, :, :width]), (
        kernels,
        biases,
        weights,
        masks,
        needed,
        start,
        stacks,
    )


def _reads_as_stored(rows: int, units: int) -> bool:
    """True if gradients [rows, K] @ kernel.T [K, D] are faster from the kernel [D, K] as it is.

    On CPUs by `benchmarks/recurrent_kernels.py`: for one row a loop is 1.15 to 1.35 times as fast,
    for 64 and more up to 1.08 times; between them a transposed copy is faster, or from 32 rows on
    and with many units D `times_stored`. Others need no copy.
    """
    return rows == 1 or rows >= (32 if units > 256 else 64) or recurrence.accelerated()


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _replayed(axis: int, factor: Array, x: Array, product: Blocks, offset: Array) -> Blocks:
    """The known blocks of x @ kernel; `offset` takes the gradient with respect to them.

    The way back sums over `axis` of `factor`: 1 of the kernel, or 0 of its transposed copy.
    """
    return product


def _replayed_backward(axis: int, factor: Array, gradient: Blocks) -> tuple:
    joined = jnp.concatenate(gradient, axis=1)
    d_x = recurrence.times_stored(joined, factor) if axis else joined @ factor
    return None, d_x, None, joined


_replayed.defvjp(lambda axis, factor, x, product, offset: (product, factor), _replayed_backward)


def _unroll_backward(
    step: _Step, summed: str | None, saved: tuple, gradient: tuple[Tree, Array]
) -> tuple:
    kernels, biases, weights, masks, inputs, start, stacks = saved
    width = min(map(len, kernels.values()))  # H
    d_final, d_outputs = gradient
    rows, shape = d_outputs.shape[1], jax.tree.structure(start)
    states, products = _read(stacks, kernels, jax.tree.leaves(start), width)
    axes = {name: int(_reads_as_stored(rows, len(k))) for name, k in kernels.items()}
    back = {name: kernel if axes[name] else kernel.T for name, kernel in kernels.items()}
    zeros = {name: jnp.zeros((rows, k.shape[1]), k.dtype) for name, k in kernels.items()}

    def run(carry: tuple, step_inputs: tuple) -> tuple[tuple, list[Array]]:
        (d_state, d_weights), (number, d_output, state) = carry, step_inputs
        known = {name: _blocks(*of, number, width) for name, of in products.items()}

        def replay(weights: Tree, state: list[Array], blocks: Blocks, offsets: dict) -> tuple:
            factors: dict[str, Array] = {}

            def tap(name: str, x: Array) -> Blocks:
                factors[name] = x
                return _replayed(axes[name], back[name], x, known[name], offsets[name])

            state = jax.tree.unflatten(shape, state)
            return jax.tree.leaves(step(tap, weights, masks, state, blocks)), factors

        zero = [0.0] * len(known[summed]) if summed in known else []
        blocks = zero if inputs is None else _blocks(inputs, slice(None), number, width)
        factors: dict[str, Array]
        _, pull, factors = jax.vjp(replay, weights, state, blocks, zeros, has_aux=True)
        d_step, d_state, d_blocks, d_products = pull([d_state[0] + d_output, *d_state[1:]])
        d_inputs = [] if inputs is None else [jnp.concatenate(d_blocks, axis=1)]
        d_weights = jax.tree.map(jnp.add, d_weights, d_step)
        both = [of[name] for of in (d_products, factors) for name in kernels]
        return (d_state, d_weights), recurrence.joined([*both, *d_inputs])

    begin = jax.tree.leaves(d_final), jax.tree.map(jnp.zeros_like, weights)
    steps = jnp.arange(len(d_outputs)), d_outputs, states
    (d_start, d_weights), stacks = lax.scan(run, begin, steps, reverse=True)
    d_kernels, d_biases, d_inputs = _of_kernels(stacks, kernels, inputs, summed)
    d_biases = {name: d_biases[name] for name in biases}
    d_masks, d_start = jax.tree.map(jnp.zeros_like, masks), jax.tree.unflatten(shape, d_start)
    return d_kernels, d_biases, d_weights, d_masks, d_inputs, d_start


def _read(
    stacks: list[Array], kernels: dict[str, Array], start: list[Array], width: int
) -> tuple[list[Array], dict[str, tuple[Array, slice]]]:
    """Returns the states before all steps, and where products lie, of what steps have saved."""
    sizes = [kernel.shape[1] for kernel in kernels.values()]
    if recurrence.accelerated():
        parts = recurrence.parts(stacks, [width] * len(start) + sizes)
        after = [stack[:, :, part] for stack, part in parts[: len(start)]]
        states = [*map(recurrence.shifted, start, after)]
        products = parts[len(start) :]
    else:
        states = stacks[1 : len(start) + 1]
        products = recurrence.parts(stacks[len(start) + 1 :], sizes)
    return states, dict(zip(kernels, products, strict=True))


def _of_kernels(
    stacks: list[Array], kernels: dict[str, Array], inputs: Array | None, summed: str | None
) -> tuple[dict[str, Array], dict[str, Array], Array]:
    """Gradients of kernels, their biases and the inputs, of what steps save on the way back."""
    sizes = [kernel.shape[1] for kernel in kernels.values()] + [*map(len, kernels.values())]
    sizes += [] if inputs is None else inputs.shape[2:]
    columns = [stack[:, :, part] for stack, part in recurrence.parts(stacks, sizes)]
    products = dict(zip(kernels, columns, strict=False))
    factors = dict(zip(kernels, columns[len(kernels) :], strict=False))
    d_kernels = {n: recurrence.product_over_rows(factors[n], products[n]) for n in kernels}
    # one sum of all that is joined: a sum of each slice would read the whole array each time
    sums = recurrence.parts([jnp.sum(stack, axis=(0, 1)) for stack in stacks], sizes)
    d_biases = {n: total[part] for n, (total, part) in zip(kernels, sums, strict=False)}
    d_inputs = products[summed] if inputs is None and summed else columns[-1]
    return d_kernels, d_biases, d_inputs


unroll.defvjp(_unroll_forward, _unroll_backward)
