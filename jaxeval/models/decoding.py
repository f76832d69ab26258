"""Generates sequences symbol by symbol, inside a compiled program, until all have ended.

Notation: B rows, K beams, V symbols, T steps at most.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array, Tree

# (state, tokens [B], position []) -> (logits [B, V], state); leaves of a state are [.., B, ..]
Step = Callable[[Tree, Array, Array], tuple[Array, Tree]]


def greedy(step: Step, state: Tree, rows: int, steps: int, begin: int, end: int) -> Array:
    """The best symbol at each step.

    Args:
      state: before the first step.
      rows, steps: B, T; a row that has not ended by then is cut.
      begin: symbol that stands before the first.
      end: symbol that ends a row; it is generated once and repeated to the end.

    Returns:
      [B, T] int32.
    """

    def generate(running: tuple) -> tuple:
        position, last, state, sequences = running
        logits, state = step(state, last, position)
        token = jnp.where(last == end, end, jnp.argmax(logits, axis=-1)).astype(jnp.int32)
        sequences = lax.dynamic_update_slice(sequences, token[:, None], (0, position))
        return position + 1, token, state, sequences

    first = jnp.full(rows, begin, jnp.int32)
    sequences = jnp.full((rows, steps), end, jnp.int32)
    return _until_ended(generate, (jnp.int32(0), first, state, sequences), steps, end)[-1]


def beams(
    step: Step, state: Tree, rows: int, steps: int, begin: int, end: int, width: int, axis: int
) -> tuple[Array, Array]:
    """The sequences that a beam search of K = `width` finds, the most probable first.

    Sequences are ranked by the sum of their log probabilities, as they are; those that have ended
    stay in the beam and compete with the others.

    Args:
      state: before the first step, of B K rows, the beams of a row side by side.
      axis: of the rows in the leaves of `state`.

    Returns:
      [B, K, T] int32, and the sums of their log probabilities [B, K]; -inf where there are fewer.
    """

    def generate(running: tuple) -> tuple:
        position, last, total, state, sequences = running
        logits, state = step(state, last.reshape(-1), position)
        log_probs = jax.nn.log_softmax(logits).reshape(rows, width, -1)
        symbols = jnp.arange(log_probs.shape[-1])
        ended = jnp.where(symbols == end, 0.0, -jnp.inf)[None, None]
        log_probs = jnp.where((last == end)[..., None], ended, log_probs)
        candidates = (total[..., None] + log_probs).reshape(rows, -1)
        total, chosen = lax.top_k(candidates, width)
        parent, token = chosen // len(symbols), (chosen % len(symbols)).astype(jnp.int32)
        sequences = jnp.take_along_axis(sequences, parent[..., None], axis=1)
        sequences = lax.dynamic_update_slice(sequences, token[..., None], (0, 0, position))
        flat = (jnp.arange(rows)[:, None] * width + parent).reshape(-1)
        state = jax.tree.map(lambda leaf: jnp.take(leaf, flat, axis), state)
        return position + 1, token, total, state, sequences

    first = jnp.full((rows, width), begin, jnp.int32)
    first_only = jnp.where(jnp.arange(width) == 0, 0.0, -jnp.inf)  # all beams begin equal
    total = jnp.broadcast_to(first_only, (rows, width))
    sequences = jnp.full((rows, width, steps), end, jnp.int32)
    start = (jnp.int32(0), first, total, state, sequences)
    _, _, total, _, sequences = _until_ended(generate, start, steps, end)
    return sequences, total


def _until_ended(generate: Callable, start: tuple, steps: int, end: int) -> tuple:
    """Steps from (position, last symbols, ...) until all rows have ended, or so many."""

    def unfinished(running: tuple) -> Array:
        position, last, *_ = running
        return (position < steps) & jnp.any(last != end)

    return lax.while_loop(unfinished, generate, start)
