"""Runs a recurrent cell over time with its state carried in and out, weight gradients outside.

Notation: T time steps, B rows, H hidden units, G blocks of H, one per gate.

A cell writes every product with a recurrent kernel as `tap(name, x)`. Reverse-mode derivation of
a plain scan would add up each kernel's gradient at every step, a product with an inner dimension
of B that rewrites the whole kernel T times. Here the backward scan stops at the products' outputs
and saves what went in; each kernel's gradient is one product over all T x B rows afterwards.

The forward pass saves the products and the states; the backward pass runs the step again on them,
which takes no product. Two habits of XLA on the CPU shape the rest. A slice at a running index
whose parts are used apart is compiled without vectors, so each gate's block is sliced alone. A
product with a transposed matrix takes twice as long when it has few rows, so kernels are
transposed once.
"""

import functools
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array, Tree
from jaxeval.models import recurrence

Blocks = Sequence[Array]  # [B, H] each
Tap = Callable[[str, Array], Blocks]
# (tap, other weights, masks, state, inputs of a step) -> (state, output [B, H])
Step = Callable[[Tap, Tree, Tree, Tree, Blocks], tuple[Tree, Array]]


def _blocks(stack: Array, number: Array, width: int) -> list[Array]:
    """Row `number` of stack [T, B, G H] as G blocks [B, H]."""
    sizes = (1, stack.shape[1], width)
    starts = range(0, stack.shape[2], width)
    return [lax.dynamic_slice(stack, (number, 0, begin), sizes)[0] for begin in starts]


def _width(kernels: Mapping[str, Array]) -> int:
    """H: the state's own kernels have as many rows, another may read more."""
    return min(len(kernel) for kernel in kernels.values())


def _forward(
    step: Step,
    kernels: Mapping[str, Array],
    weights: Tree,
    masks: Tree,
    inputs: Array,
    start: Tree,
) -> tuple[tuple[Tree, Array], tuple]:
    width = _width(kernels)

    def run(state: Tree, number: Array) -> tuple[Tree, tuple]:
        products: dict[str, Array] = {}

        def tap(name: str, x: Array) -> Blocks:
            products[name] = x @ kernels[name]
            return jnp.split(products[name], products[name].shape[1] // width, axis=1)

        after, output = step(tap, weights, masks, state, _blocks(inputs, number, width))
        return after, (output, state, products)

    final, (outputs, states, products) = lax.scan(run, start, jnp.arange(len(inputs)))
    return (final, outputs), (kernels, weights, masks, inputs, states, products)


@jax.custom_vjp
def _replayed(transposed: Array, x: Array, product: Blocks, offset: Array) -> Blocks:
    """The blocks of x @ kernel, known already; `offset` takes the gradient with respect to it."""
    del transposed, x, offset
    return product


def _replayed_forward(transposed: Array, x: Array, product: Blocks, offset: Array) -> tuple:
    del x, offset
    return product, transposed


def _replayed_backward(transposed: Array, gradient: Blocks) -> tuple:
    joined = jnp.concatenate(gradient, axis=1)
    return None, joined @ transposed, None, joined


_replayed.defvjp(_replayed_forward, _replayed_backward)


def _backward(step: Step, saved: tuple, gradient: tuple[Tree, Array]) -> tuple:
    kernels, weights, masks, inputs, states, products = saved
    width = _width(kernels)
    transposed = {name: kernel.T for name, kernel in kernels.items()}
    zeros = {name: jnp.zeros(p.shape[1:], p.dtype) for name, p in products.items()}

    def run(carry: tuple, step_inputs: tuple) -> tuple[tuple, tuple]:
        (d_state, d_weights), (number, d_output, state) = carry, step_inputs
        known = {name: _blocks(product, number, width) for name, product in products.items()}

        def replay(
            weights: Tree, state: Tree, blocks: Blocks, offsets: Mapping[str, Array]
        ) -> tuple:
            factors: dict[str, Array] = {}

            def tap(name: str, x: Array) -> Blocks:
                factors[name] = x
                return _replayed(transposed[name], x, known[name], offsets[name])

            return step(tap, weights, masks, state, blocks), factors

        blocks = _blocks(inputs, number, width)
        factors: Mapping[str, Array]
        _, pull, factors = jax.vjp(replay, weights, state, blocks, zeros, has_aux=True)
        d_step, d_state, d_blocks, d_products = pull((d_state, d_output))
        d_weights = jax.tree.map(jnp.add, d_weights, d_step)
        return (d_state, d_weights), (jnp.concatenate(d_blocks, axis=1), d_products, factors)

    d_final, d_outputs = gradient
    (d_start, d_weights), (d_inputs, d_products, factors) = lax.scan(
        run,
        (d_final, jax.tree.map(jnp.zeros_like, weights)),
        (jnp.arange(len(inputs)), d_outputs, states),
        reverse=True,
    )
    d_kernels = {
        name: recurrence.product_over_rows(factors[name], d_products[name]) for name in kernels
    }
    return d_kernels, d_weights, jax.tree.map(jnp.zeros_like, masks), d_inputs, d_start


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def unroll(
    step: Step,
    kernels: Mapping[str, Array],
    weights: Tree,
    masks: Tree,
    inputs: Array,
    start: Tree,
) -> tuple[Tree, Array]:
    """The cell's outputs of all time steps, and the state after the last.

    Args:
      step: the cell; static. It calls `tap` once for each kernel.
      kernels: name -> [H, G H] recurrent weights; some may read more than the state (context of
        an attention): [D, G H], D >= H.
      weights: all others (biases, scales), a pytree.
      masks: dropout masks that are the same at all steps; a pytree, not differentiated.
      inputs: [T, B, G H] the input's part, computed for all steps at once.
      start: the state before the first step.

    Returns:
      (final state, outputs [T, B, H]).
    """
    return _forward(step, kernels, weights, masks, inputs, start)[0]


unroll.defvjp(_forward, _backward)
