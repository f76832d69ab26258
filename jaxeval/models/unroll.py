"""Runs a recurrent cell over time with its state carried in and out, weight gradients outside.

Notation: T time steps, B rows, H hidden units, K outputs of a recurrent product.

A cell writes every product with a recurrent kernel as `tap(name, x)`. Reverse-mode derivation of
a plain scan would add up each kernel's gradient at every step, a product with an inner dimension
of B that rewrites the whole kernel T times. Here the backward scan stops at the products' outputs
and keeps what went in; each kernel's gradient is one product over all T x B rows afterwards.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array
Tree = Any
Tap = Callable[[str, Array], Array]
# (tap, small weights, masks, state, inputs of a step) -> (state, output [B, H])
Step = Callable[[Tap, Tree, Tree, Tree, Array], tuple[Tree, Array]]


def _scan(
    step: Step,
    kernels: Mapping[str, Array],
    small: Tree,
    masks: Tree,
    inputs: Array,
    start: Tree,
    offsets: Mapping[str, Array],
) -> tuple[tuple[Tree, Array], dict[str, Array]]:
    """((final state, outputs [T, B, H]), what went into each product [T, B, H])."""

    def one(state: Tree, now: tuple[Array, Mapping[str, Array]]) -> tuple[Tree, tuple]:
        given, offset = now
        seen: dict[str, Array] = {}

        def tap(name: str, x: Array) -> Array:
            seen[name] = x
            return x @ kernels[name] + offset[name]

        state, output = step(tap, small, masks, state, given)
        return state, (output, seen)

    final, (outputs, seen) = lax.scan(one, start, (inputs, offsets))
    return (final, outputs), seen


def _offsets(kernels: Mapping[str, Array], inputs: Array) -> dict[str, Array]:
    """Zeros to be added to each product: their gradients are those of the products."""
    steps, rows = inputs.shape[:2]
    return {name: jnp.zeros((steps, rows, k.shape[1]), k.dtype) for name, k in kernels.items()}


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def unroll(
    step: Step,
    kernels: Mapping[str, Array],
    small: Tree,
    masks: Tree,
    inputs: Array,
    start: Tree,
) -> tuple[Tree, Array]:
    """The cell's outputs of all time steps, and the state after the last.

    Args:
      step: the cell; static. It calls `tap` once for each kernel.
      kernels: name -> [H, K] recurrent weights.
      small: all other weights (biases, scales), a pytree.
      masks: dropout masks that are the same at all steps; a pytree, not differentiated.
      inputs: [T, B, ...] the input's share, computed for all steps at once.
      start: the state before the first step.

    Returns:
      (final state, outputs [T, B, H]).
    """
    found, _ = _scan(step, kernels, small, masks, inputs, start, _offsets(kernels, inputs))
    return found


def _forward(
    step: Step, kernels: Mapping[str, Array], small: Tree, masks: Tree, inputs: Array, start: Tree
) -> tuple[tuple[Tree, Array], tuple]:
    def run(small: Tree, inputs: Array, start: Tree, offsets: Mapping[str, Array]) -> tuple:
        return _scan(step, kernels, small, masks, inputs, start, offsets)

    result: Any = jax.vjp(run, small, inputs, start, _offsets(kernels, inputs), has_aux=True)
    found, back, seen = result
    return found, (back, seen, masks)


def _backward(step: Step, saved: tuple, gradient: tuple[Tree, Array]) -> tuple:
    del step  # its backward pass is in `saved`
    back, seen, masks = saved
    small, inputs, start, products = back(gradient)
    kernels = {name: jnp.einsum("tbh,tbk->hk", seen[name], products[name]) for name in seen}
    nothing = jax.tree.map(jnp.zeros_like, masks)
    return kernels, small, nothing, inputs, start


unroll.defvjp(_forward, _backward)
