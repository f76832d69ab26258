"""Linear-chain conditional random field in log space for one sentence; vmap it for a batch.

Notation: T positions, Y labels. The score of labels y(1..T) is (Lample et al. 2016, eq. 1)
    start[y(1)] + sum_t emissions[t, y(t)] + sum_t transitions[y(t-1), y(t)] + end[y(T)].
`transitions` is [Y, Y], or [T, Y, Y] if it depends on the input (Ma & Hovy's code); entry t then
leads from position t-1 to t, and entry 0 is unused. In all functions emissions are [T, Y] float32
and `valid` is [T] bool; padding (`valid` false) is at the end, never first.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array


class Potentials(NamedTuple):
    """Scores beside the emissions."""

    transitions: Array  # [Y, Y] from, to; or [T, Y, Y]
    start: Array  # [Y]
    end: Array  # [Y]


def _stepwise(transitions: Array, steps: int) -> Array:
    """Transition scores into positions 1 .. T-1: [T-1, Y, Y]."""
    if transitions.ndim == 3:
        return transitions[1:]
    return jnp.broadcast_to(transitions, (steps - 1, *transitions.shape))


def _log_partition(emissions: Array, potentials: Potentials, valid: Array) -> Array:
    """Computes log of the sum of exp(score) over all label sequences (forward algorithm)."""

    def step(alpha: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, None]:
        emission, transition, is_word = inputs
        new = jax.nn.logsumexp(alpha[:, None] + transition, axis=0) + emission
        return jnp.where(is_word, new, alpha), None

    steps = (emissions[1:], _stepwise(potentials.transitions, len(emissions)), valid[1:])
    alpha, _ = lax.scan(step, potentials.start + emissions[0], steps)
    return jax.nn.logsumexp(alpha + potentials.end)


def _score(emissions: Array, potentials: Potentials, labels: Array, valid: Array) -> Array:
    """Computes the score [] of one label sequence [T] int32 over its valid positions."""
    steps = jnp.arange(len(labels))
    count = emissions.shape[1]
    emitted = jnp.sum(jnp.where(valid, emissions[steps, labels], 0.0))
    stepwise = _stepwise(potentials.transitions, len(labels))
    places = (count * steps[:-1] + labels[:-1]) * count + labels[1:]
    moved = jnp.sum(jnp.where(valid[1:], stepwise.reshape(-1)[places], 0.0))
    last = labels[jnp.sum(valid) - 1]
    return emitted + moved + potentials.start[labels[0]] + potentials.end[last]


def nll(emissions: Array, potentials: Potentials, labels: Array, valid: Array) -> Array:
    """Computes -log p(labels | emissions), [] >= 0; arguments as for `_score`."""
    total = _log_partition(emissions, potentials, valid)
    return total - _score(emissions, potentials, labels, valid)


def viterbi(emissions: Array, potentials: Potentials, valid: Array) -> Array:
    """Returns the highest-scoring label sequence [T] int32; ties go to the lower label.

    Invalid positions repeat the last valid label.
    """
    labels = jnp.arange(emissions.shape[1])
    words = jnp.sum(valid)

    def step(best: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        emission, transition, position = inputs
        scores = best[:, None] + transition
        is_word = position < words
        new = jnp.max(scores, axis=0) + emission
        backpointers = jnp.where(is_word, jnp.argmax(scores, axis=0), labels)
        return jnp.where(is_word, new, best), backpointers

    # positions, as XLA takes long to compile the transpose of `valid` for many sentences
    positions = jnp.arange(1, len(emissions))
    steps = (emissions[1:], _stepwise(potentials.transitions, len(emissions)), positions)
    best, backpointers = lax.scan(step, potentials.start + emissions[0], steps)
    last = jnp.argmax(best + potentials.end)
    _, path = lax.scan(lambda label, b: (b[label], b[label]), last, backpointers, reverse=True)
    return jnp.concatenate([path, last[None]]).astype(jnp.int32)
