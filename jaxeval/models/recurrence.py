"""Runs a recurrent cell over time, with weight gradients computed outside of the loop.

Notation: T time steps, B rows, H hidden units, K gate inputs (4 H for an LSTM), G mask groups.

Differentiating a plain scan adds up the gradient of each recurrent kernel at every step: a product
with an inner dimension of B that rewrites the whole kernel T times. Here the backward scan emits
only the gradients of the gates; a kernel's is one product over all T x B rows afterwards, which is
1.2 times faster for B = 8.

`run` serves encoders: one product with the state, h(t-1) @ kernel, padding, masks by gate.
`unroll` serves language models and decoders: several products, the state carried in and out.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array, Tree
from jaxeval.models import times_transposed, transposed

# one step: (gates [B, K], memory [B, H], weights) -> (hidden [B, H], memory [B, H])
_Cell = Callable[[Array, Array, Tree], tuple[Array, Array]]
Blocks = Sequence[Array]  # [B, H] each, one per gate
Tap = Callable[[str, Array], Blocks]  # (name of a kernel, x) -> x @ kernel
# (tap, other weights, masks, state, inputs of a step) -> (state, output [B, H])
_Step = Callable[[Tap, Tree, Tree, Tree, Blocks], tuple[Tree, Array]]


def _times_stored(x: Array, kernel: Array) -> Array:
    """Computes x [rows, K] @ kernel.T, of the kernel [D, K] as stored.

    `times_transposed` is faster on CPUs if rows and D are many: for 32 rows and 300 units a
    product is 1.5 times as fast.
    """
    if len(x) >= 32 and len(kernel) > 256 and jax.default_backend() == "cpu":
        return times_transposed(x, kernel)
    return x @ kernel.T


def _product_of(kernel: Array, rows: int) -> Callable[[Array], Array]:
    """Returns x [rows, D] -> x @ kernel [rows, K], for a loop.

    On CPUs a step of 64 rows and 512 or more units is 1.2 times as fast from a transposed copy, of
    48 rows 1.5 times, of others 1.0 to 1.1 times.
    """
    if rows not in (48, 64) or len(kernel) < 512 or jax.default_backend() != "cpu":
        return lambda x: x @ kernel
    copy = transposed(kernel)
    return lambda x: times_transposed(x, copy)


def _project(
    hidden: Array, kernel: Array, product: Callable[[Array], Array], mask: Array | None
) -> Array:
    """Computes h(t-1) @ kernel [B, K], h masked once (G = 1) or for each gate (G = K / H)."""
    if mask is None:
        return product(hidden)
    if mask.shape[0] == 1:
        return product(hidden * mask[0])
    by_gate = kernel.reshape(len(kernel), len(mask), -1)
    return jnp.einsum("gbh,hgk->bgk", hidden[None] * mask, by_gate).reshape(len(hidden), -1)


def _project_back(gates: Array, kernel: Array, mask: Array | None) -> Array:
    """The transpose of `_project` with respect to h: [B, K] -> [B, H]."""
    if mask is None:
        return _times_stored(gates, kernel)
    if mask.shape[0] == 1:
        return _times_stored(gates, kernel) * mask[0]
    gates = gates.reshape(len(gates), len(mask), -1)
    by_gate = kernel.reshape(len(kernel), len(mask), -1)
    return jnp.sum(jnp.einsum("bgk,hgk->gbh", gates, by_gate) * mask, axis=0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def run(
    cell: _Cell,
    reverse: bool,
    clip: float | None,
    inputs: Array,
    bias: Array,
    kernel: Array,
    weights: Tree,
    start: tuple[Array, Array],
    valid: Array,
    mask: Array | None,
) -> Array:
    """Computes the hidden states [T, B, H] of all time steps.

    Args:
      cell, reverse: the step, and whether time runs backwards; static.
      clip: bound of the gradients of gate inputs inside the loop (Lasagne's `grad_clipping`), or
        None; static.
      inputs: [T, B, K], the inputs' part of the gates.
      bias, kernel: [K] and [H, K]; weights: other weights of the cell, such as peepholes.
      start: (hidden, memory), each [B, H].
      valid: [T, B] bool; false at padding, where the state is held. Padding is at the end.
      mask: [G, B, H] or None; multiplies h(t-1) at all steps (Gal & Ghahramani 2016).
    """
    return _forward(cell, reverse, clip, inputs, bias, kernel, weights, start, valid, mask)[0]


def _forward(cell, reverse, clip, inputs, bias, kernel, weights, start, valid, mask):  # type: ignore[no-untyped-def]
    product = _product_of(kernel, inputs.shape[1])

    def step(state: tuple[Array, Array], inputs: tuple[Array, Array]) -> tuple[tuple, tuple]:
        (hidden, memory), (x, is_real) = state, inputs
        gates = x + bias[None] + _project(hidden, kernel, product, mask)
        new = cell(gates, memory, weights)
        held = tuple(jnp.where(is_real[:, None], n, o) for n, o in zip(new, state, strict=True))
        return held, (held[0], gates, hidden, memory)

    _, (hidden, gates, before, memory) = lax.scan(step, start, (inputs, valid), reverse=reverse)
    return hidden, (gates, before, memory, kernel, weights, valid, mask)


def _backward(cell, reverse, clip, residuals, d_hidden):  # type: ignore[no-untyped-def]
    gates, before, memory, kernel, weights, valid, mask = residuals

    def step(carry: tuple, saved: tuple) -> tuple[tuple, Array]:
        (dh, dc, d_weights), (dy, gate, memory, is_real) = carry, saved
        dh = dh + dy
        _, pull = jax.vjp(cell, gate, memory, weights)
        is_real = is_real[:, None]
        d_gate, dc_before, d_step = pull((jnp.where(is_real, dh, 0), jnp.where(is_real, dc, 0)))
        if clip is not None:
            d_gate = jnp.clip(d_gate, -clip, clip)
        dh = jnp.where(is_real, _project_back(d_gate, kernel, mask), dh)
        dc = jnp.where(is_real, dc_before, dc)
        return (dh, dc, jax.tree.map(jnp.add, d_weights, d_step)), d_gate

    zeros = jax.tree.map(jnp.zeros_like, (before[0], memory[0], weights))
    saved = d_hidden, gates, memory, valid
    (dh, dc, d_weights), d_gates = lax.scan(step, zeros, saved, reverse=not reverse)
    if mask is None or mask.shape[0] == 1:
        masked = before if mask is None else before * mask[:1]
        d_kernel = _product_over_rows(masked, d_gates)
    else:
        pairs = zip(mask, jnp.split(d_gates, len(mask), axis=-1), strict=True)
        by_gate = [_product_over_rows(before * m[None], d) for m, d in pairs]
        d_kernel = jnp.concatenate(by_gate, axis=-1)
    d_bias = jnp.sum(d_gates, axis=(0, 1))
    return d_gates, d_bias, d_kernel, d_weights, (dh, dc), None, None


run.defvjp(_forward, _backward)


def _product_over_rows(left: Array, right: Array) -> Array:
    """Sums products of [T, B, M] and [T, B, N] over T and B: [M, N]; einsum would transpose."""
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def project(inputs: Array, kernel: Array, frozen: int) -> Array:
    """Computes inputs [T, B, D] @ kernel [D, K], without gradient for `frozen` first features."""
    steps, batch, size = inputs.shape
    return (inputs.reshape(-1, size) @ kernel).reshape(steps, batch, -1)


def _project_backward(frozen: int, saved: tuple, d_out: Array) -> tuple[Array, Array]:
    inputs, kernel = saved
    d_live = _times_stored(d_out.reshape(-1, d_out.shape[2]), kernel[frozen:])
    d_live = d_live.reshape(*d_out.shape[:2], -1)
    return jnp.pad(d_live, ((0, 0), (0, 0), (frozen, 0))), _product_over_rows(inputs, d_out)


project.defvjp(
    lambda x, kernel, frozen: (project(x, kernel, frozen), (x, kernel)), _project_backward
)


def _blocks(stack: Array, number: Array, width: int) -> list[Array]:
    """Row `number` of stack [T, B, G H] as G blocks [B, H]."""
    sizes = (1, stack.shape[1], width)
    starts = range(0, stack.shape[2], width)
    return [lax.dynamic_slice(stack, (number, 0, begin), sizes)[0] for begin in starts]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 6))
def unroll(
    step: _Step,
    kernels: dict[str, Array],
    weights: Tree,
    masks: Tree,
    inputs: Array,
    start: Tree,
    summed: str | None = None,
) -> tuple[Tree, Array]:
    """Computes the state after the last step, and the outputs [T, B, H] of all steps.

    The backward pass runs the step again on saved products and states, which takes no product. Two
    habits of XLA on the CPU shape the code: a slice at a running index whose parts are used apart
    is not vectorised, so each gate's block is sliced alone; the way back multiplies by transposed
    kernels, which are copied once where that is faster (`_reads_as_stored`).

    Args:
      step: the cell; static. It calls `tap` once for each kernel.
      kernels: name -> [H, G H] recurrent weights, or [D, G H] for a context.
      weights, masks: of the step; masks are the same at all steps and not differentiated.
      inputs: [T, B, G H], the inputs' part of the gates.
      start: the state before the first step.
      summed: the kernel whose product the step adds to its inputs before all else, if any; static.
        On accelerators `tap` returns that sum, which alone is saved; the step's inputs are zeros.
    """
    return _unroll_forward(step, kernels, weights, masks, inputs, start, summed)[0]


def _unroll_forward(step, kernels, weights, masks, inputs, start, summed):  # type: ignore[no-untyped-def]
    width = min(map(len, kernels.values()))  # H
    # memory counts on accelerators; on CPUs adding whole rows makes a step 4 to 10 % slower
    summed = summed if jax.default_backend() != "cpu" else None
    product_of = {name: _product_of(kernel, inputs.shape[1]) for name, kernel in kernels.items()}

    def run(state: Tree, number: Array) -> tuple[Tree, tuple]:
        products: dict[str, Array] = {}

        def tap(name: str, x: Array) -> Blocks:
            product = product_of[name](x)
            products[name] = inputs[number] + product if name == summed else product
            return jnp.split(products[name], products[name].shape[1] // width, axis=1)

        none = [0.0] * (inputs.shape[2] // width)
        blocks = none if summed else _blocks(inputs, number, width)
        after, output = step(tap, weights, masks, state, blocks)
        return after, (output, state, products)

    final, (outputs, states, products) = lax.scan(run, start, jnp.arange(len(inputs)))
    needed = None if summed else inputs
    return (final, outputs), (kernels, weights, masks, needed, states, products)


def _reads_as_stored(rows: int, units: int) -> bool:
    """True if gradients [rows, K] @ kernel.T [K, D] are faster from the kernel [D, K] as it is.

    On CPUs by `benchmarks/recurrent_kernels.py`: for one row a loop is 1.15 to 1.35 times as fast,
    for 64 and more up to 1.08 times; between them a transposed copy is faster, or from 32 rows on
    and with many units D `_times_stored`. Others need no copy.
    """
    return rows == 1 or rows >= (32 if units > 256 else 64) or jax.default_backend() != "cpu"


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _replayed(axis: int, factor: Array, x: Array, product: Blocks, offset: Array) -> Blocks:
    """The known blocks of x @ kernel; `offset` takes the gradient with respect to them.

    The way back sums over `axis` of `factor`: 1 of the kernel, or 0 of its transposed copy.
    """
    return product


def _replayed_backward(axis: int, factor: Array, gradient: Blocks) -> tuple:
    joined = jnp.concatenate(gradient, axis=1)
    d_x = _times_stored(joined, factor) if axis else joined @ factor
    return None, d_x, None, joined


_replayed.defvjp(lambda axis, factor, x, product, offset: (product, factor), _replayed_backward)


def _unroll_backward(
    step: _Step, summed: str | None, saved: tuple, gradient: tuple[Tree, Array]
) -> tuple:
    kernels, weights, masks, inputs, states, products = saved
    summed = summed if inputs is None else None
    width = min(map(len, kernels.values()))  # H
    d_final, d_outputs = gradient
    rows = d_outputs.shape[1]
    axes = {name: int(_reads_as_stored(rows, len(k))) for name, k in kernels.items()}
    back = {name: kernel if axes[name] else kernel.T for name, kernel in kernels.items()}
    zeros = {name: jnp.zeros(p.shape[1:], p.dtype) for name, p in products.items()}

    def run(carry: tuple, step_inputs: tuple) -> tuple[tuple, tuple]:
        (d_state, d_weights), (number, d_output, state) = carry, step_inputs
        known = {name: _blocks(product, number, width) for name, product in products.items()}

        def replay(weights: Tree, state: Tree, blocks: Blocks, offsets: dict) -> tuple:
            factors: dict[str, Array] = {}

            def tap(name: str, x: Array) -> Blocks:
                factors[name] = x
                return _replayed(axes[name], back[name], x, known[name], offsets[name])

            return step(tap, weights, masks, state, blocks), factors

        blocks = _blocks(inputs, number, width) if summed is None else [0.0] * len(known[summed])
        factors: dict[str, Array]
        _, pull, factors = jax.vjp(replay, weights, state, blocks, zeros, has_aux=True)
        d_step, d_state, d_blocks, d_products = pull((d_state, d_output))
        d_inputs = d_products[summed] if summed else jnp.concatenate(d_blocks, axis=1)
        d_weights = jax.tree.map(jnp.add, d_weights, d_step)
        return (d_state, d_weights), (d_inputs, d_products, factors)

    begin = d_final, jax.tree.map(jnp.zeros_like, weights)
    steps = jnp.arange(len(d_outputs)), d_outputs, states
    (d_start, d_weights), outputs = lax.scan(run, begin, steps, reverse=True)
    d_inputs, d_products, factors = outputs
    d_kernels = {name: _product_over_rows(factors[name], d_products[name]) for name in kernels}
    return d_kernels, d_weights, jax.tree.map(jnp.zeros_like, masks), d_inputs, d_start


unroll.defvjp(_unroll_forward, _unroll_backward)
