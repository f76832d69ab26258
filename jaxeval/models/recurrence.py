"""Runs a recurrent cell over time, with weight gradients computed outside of the loop.

Notation: T time steps, B rows, H hidden units, K gate inputs (4 H for an LSTM), G mask groups.

Differentiating a plain scan adds up the gradient of each recurrent kernel at every step: a product
with an inner dimension of B that rewrites the whole kernel T times. Here the backward scan emits
only the gradients of the gates; a kernel's is one product over all T x B rows afterwards, which is
1.2 times faster for B = 8.

`run` serves encoders: one product with the state, h(t-1) @ kernel, padding, masks by gate.
`unroll.unroll` serves language models and decoders: several products, a state carried in and out.
"""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxeval.contracts import Array, Tree
from jaxeval.models import times_transposed

# one step: (gates [B, K], memory [B, H], weights) -> (hidden [B, H], memory [B, H])
_Cell = Callable[[Array, Array, Tree], tuple[Array, Array]]


def accelerated() -> bool:
    """True on GPUs and TPUs, where each write of a loop is a kernel, and memory counts."""
    return jax.default_backend() != "cpu"


def joined(arrays: list[Array]) -> list[Array]:
    """Joins what a step saves [B, K] each: one array on accelerators, for one write."""
    return [jnp.concatenate(arrays, axis=1)] if accelerated() else arrays


def parts(stacks: list[Array], sizes: list[int]) -> list[tuple[Array, slice]]:
    """Finds the arrays of these sizes, which were `joined` in a loop, in its stacks."""
    if len(stacks) == len(sizes):
        return [(stack, slice(None)) for stack in stacks]
    ends = np.cumsum([0, *sizes]).tolist()
    return [(stacks[0], slice(*pair)) for pair in itertools.pairwise(ends)]


def shifted(first: Array, after: Array, reverse: bool = False) -> Array:
    """Computes the states before all steps [T, B, H] from the first one and those after."""
    rows = [after[1:], first[None]] if reverse else [first[None], after[:-1]]
    return jnp.concatenate(rows)


def times_stored(x: Array, kernel: Array) -> Array:
    """Computes x [rows, K] @ kernel.T, of the kernel [D, K] as stored.

    `times_transposed` is faster on CPUs if rows and D are many: for 32 rows and 300 units a
    product is 1.5 times as fast.
    """
    if len(x) >= 32 and len(kernel) > 256 and jax.default_backend() == "cpu":
        return times_transposed(x, kernel)
    return x @ kernel.T


def _project(hidden: Array, kernel: Array, mask: Array | None) -> Array:
    """Computes h(t-1) @ kernel [B, K], h masked once (G = 1) or for each gate (G = K / H)."""
    if mask is None:
        return hidden @ kernel
    if mask.shape[0] == 1:
        return (hidden * mask[0]) @ kernel
    by_gate = kernel.reshape(len(kernel), len(mask), -1)
    return jnp.einsum("gbh,hgk->bgk", hidden[None] * mask, by_gate).reshape(len(hidden), -1)


def _project_back(gates: Array, kernel: Array, mask: Array | None) -> Array:
    """The transpose of `_project` with respect to h: [B, K] -> [B, H]."""
    if mask is None:
        return times_stored(gates, kernel)
    if mask.shape[0] == 1:
        return times_stored(gates, kernel) * mask[0]
    gates = gates.reshape(len(gates), len(mask), -1)
    by_gate = kernel.reshape(len(kernel), len(mask), -1)
    return jnp.sum(jnp.einsum("bgk,hgk->gbh", gates, by_gate) * mask, axis=0)


def _reality(valid: Array, reverse: bool) -> Callable[[Array], Array]:
    """Returns a function (number of a step) -> which rows [B, 1] are valid then.

    If steps read their row of `valid` instead, XLA compiles much of them again for every T.
    """
    in_order = valid[::-1] if reverse else valid
    first, count = jnp.argmax(in_order, axis=0), jnp.sum(in_order, axis=0)
    return lambda number: ((number >= first) & (number < first + count))[:, None]


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
      valid: [T, B] bool, true in one stretch of each row; elsewhere the state is held.
      mask: [G, B, H] or None; multiplies h(t-1) at all steps (Gal & Ghahramani 2016).
    """
    return _forward(cell, reverse, clip, inputs, bias, kernel, weights, start, valid, mask)[0]


def _forward(cell, reverse, clip, inputs, bias, kernel, weights, start, valid, mask):  # type: ignore[no-untyped-def]
    is_real = _reality(valid, reverse)

    def step(carry: tuple[Array, tuple], x: Array) -> tuple[tuple, list]:
        number, state = carry
        hidden, memory = state
        gates = x + bias[None] + _project(hidden, kernel, mask)
        real = is_real(number)
        new = cell(gates, memory, weights)
        held = tuple(jnp.where(real, n, o) for n, o in zip(new, state, strict=True))
        saved = [*held, gates] if accelerated() else [held[0], hidden, memory, gates]
        return (number + 1, held), joined(saved)

    _, saved = lax.scan(step, (jnp.int32(0), start), inputs, reverse=reverse)
    if accelerated():
        width = len(kernel)
        hidden = saved[0][:, :, :width]
        states = [hidden, saved[0][:, :, width : 2 * width]]
        before = [shifted(*pair, reverse) for pair in zip(start, states, strict=True)]
    else:
        hidden, *before = saved[:3]
    return hidden, (saved[-1], before, kernel, weights, valid, mask)


def _backward(cell, reverse, clip, residuals, d_hidden):  # type: ignore[no-untyped-def]
    gates, (before, memory), kernel, weights, valid, mask = residuals

    is_real = _reality(valid, not reverse)

    def step(carry: tuple, saved: tuple) -> tuple[tuple, Array]:
        (number, dh, dc, d_weights), (dy, gate, memory) = carry, saved
        dh = dh + dy
        if accelerated():  # `gate` is a number: that of a step, whose gates end the stack's row
            gate = lax.dynamic_slice(gates, (gate, 0, 2 * len(kernel)), (1, len(dh), units))[0]
        _, pull = jax.vjp(cell, gate, memory, weights)
        real = is_real(number)
        d_gate, dc_before, d_step = pull((jnp.where(real, dh, 0), jnp.where(real, dc, 0)))
        if clip is not None:
            d_gate = jnp.clip(d_gate, -clip, clip)
        dh = jnp.where(real, _project_back(d_gate, kernel, mask), dh)
        dc = jnp.where(real, dc_before, dc)
        return (number + 1, dh, dc, jax.tree.map(jnp.add, d_weights, d_step)), d_gate

    start = jnp.int32(0), *jax.tree.map(jnp.zeros_like, (before[0], memory[0], weights))
    units = kernel.shape[1]
    saved = d_hidden, jnp.arange(len(gates)) if accelerated() else gates, memory
    (_, dh, dc, d_weights), d_gates = lax.scan(step, start, saved, reverse=not reverse)
    if mask is None or mask.shape[0] == 1:
        masked = before if mask is None else before * mask[:1]
        d_kernel = product_over_rows(masked, d_gates)
    else:
        pairs = zip(mask, jnp.split(d_gates, len(mask), axis=-1), strict=True)
        by_gate = [product_over_rows(before * m[None], d) for m, d in pairs]
        d_kernel = jnp.concatenate(by_gate, axis=-1)
    d_bias = jnp.sum(d_gates, axis=(0, 1))
    return d_gates, d_bias, d_kernel, d_weights, (dh, dc), None, None


run.defvjp(_forward, _backward)


def product_over_rows(left: Array, right: Array) -> Array:
    """Sums products of [T, B, M] and [T, B, N] over T and B: [M, N]; einsum would transpose."""
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def project(inputs: Array, kernel: Array, frozen: int) -> Array:
    """Computes inputs [T, B, D] @ kernel [D, K], without gradient for `frozen` first features."""
    steps, batch, size = inputs.shape
    return (inputs.reshape(-1, size) @ kernel).reshape(steps, batch, -1)


def _project_backward(frozen: int, saved: tuple, d_out: Array) -> tuple[Array, Array]:
    inputs, kernel = saved
    d_live = times_stored(d_out.reshape(-1, d_out.shape[2]), kernel[frozen:])
    d_live = d_live.reshape(*d_out.shape[:2], -1)
    return jnp.pad(d_live, ((0, 0), (0, 0), (frozen, 0))), product_over_rows(inputs, d_out)


project.defvjp(
    lambda x, kernel, frozen: (project(x, kernel, frozen), (x, kernel)), _project_backward
)
