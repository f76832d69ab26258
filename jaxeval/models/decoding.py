"""Writes sequences symbol by symbol, inside a compiled program, until all have ended.

Notation: B rows, K beams, V symbols, T steps at most.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Tree

Array = jax.Array
# (state, tokens [B], place []) -> (scores [B, V], state); leaves of a state are [.., B, ..]
Step = Callable[[Tree, Array, Array], tuple[Array, Tree]]


def greedy(step: Step, state: Tree, rows: int, steps: int, begin: int, end: int) -> Array:
    """The best symbol at each step.

    Args:
      state: before the first step.
      rows: B.
      steps: T; a row that has not ended by then is cut.
      begin: symbol that stands before the first.
      end: symbol that ends a row; it is written once and repeated to the end.

    Returns:
      [B, T] int32.
    """

    def more(running: tuple) -> Array:
        place, last, *_ = running
        return (place < steps) & jnp.any(last != end)

    def write(running: tuple) -> tuple:
        place, last, state, written = running
        scores, state = step(state, last, place)
        token = jnp.where(last == end, end, jnp.argmax(scores, axis=-1)).astype(jnp.int32)
        written = lax.dynamic_update_slice(written, token[:, None], (0, place))
        return place + 1, token, state, written

    first = jnp.full(rows, begin, jnp.int32)
    written = jnp.full((rows, steps), end, jnp.int32)
    return lax.while_loop(more, write, (jnp.int32(0), first, state, written))[-1]


def beam(
    step: Step, state: Tree, rows: int, steps: int, begin: int, end: int, width: int, axis: int
) -> Array:
    """The most probable of the sequences that a beam search of K = `width` finds.

    Sequences are ranked by the sum of their log probabilities, as they are; those that have ended
    stay in the beam and compete with the others.

    Args:
      state: before the first step, of B K rows, the beams of a row side by side.
      axis: of the rows in the leaves of `state`.

    Returns:
      [B, T] int32.
    """

    def more(running: tuple) -> Array:
        place, last, *_ = running
        return (place < steps) & jnp.any(last != end)

    def write(running: tuple) -> tuple:
        place, last, total, state, written = running
        scores, state = step(state, last.reshape(-1), place)
        chances = jax.nn.log_softmax(scores).reshape(rows, width, -1)
        symbols = jnp.arange(chances.shape[-1])
        ended = jnp.where(symbols == end, 0.0, -jnp.inf)[None, None]
        chances = jnp.where((last == end)[..., None], ended, chances)
        every = (total[..., None] + chances).reshape(rows, -1)
        total, chosen = lax.top_k(every, width)
        parent, token = chosen // len(symbols), (chosen % len(symbols)).astype(jnp.int32)
        written = jnp.take_along_axis(written, parent[..., None], axis=1)
        written = lax.dynamic_update_slice(written, token[..., None], (0, 0, place))
        flat = (jnp.arange(rows)[:, None] * width + parent).reshape(-1)
        state = jax.tree.map(lambda leaf: jnp.take(leaf, flat, axis), state)
        return place + 1, token, total, state, written

    first = jnp.full((rows, width), begin, jnp.int32)
    alone = jnp.where(jnp.arange(width) == 0, 0.0, -jnp.inf)  # all beams begin equal: one counts
    total = jnp.broadcast_to(alone, (rows, width))
    written = jnp.full((rows, width, steps), end, jnp.int32)
    start: Any = (jnp.int32(0), first, total, state, written)
    return lax.while_loop(more, write, start)[-1][:, 0]
