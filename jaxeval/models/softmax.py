"""Softmaxes: a loss, attention, and a vocabulary whose logits are never whole in memory.

Notation: T time steps, B rows, V vocabulary, E embedding size, N = T B positions.
"""

import jax
import jax.numpy as jnp
from jax import lax

from jaxeval.contracts import Array

SLICE = 1 << 23  # of the [N, V] logits so many exist at once, 32 MB a member


def nll(logits: Array, labels: Array, smoothing: Array | None = None) -> Array:
    """Negative log-likelihood [...] of labels [...] int32 by logits [..., V], in nats.

    With label smoothing a it is (1 - a) (-log p(label)) + a mean over V of (-log p).
    """
    log_probs = jax.nn.log_softmax(logits)
    losses = -jnp.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]
    if smoothing is None:
        return losses
    return (1 - smoothing) * losses - smoothing * jnp.mean(log_probs, axis=-1)


def attend(scores: Array, values: Array) -> Array:
    """Means of values [T, ..., H] over T, weighted by the softmax of scores [T, ...]: [..., H]."""
    return jnp.sum(jax.nn.softmax(scores, axis=0)[..., None] * values, axis=0)


def token_losses(table: Array, bias: Array, outputs: Array, targets: Array) -> Array:
    """-log p [T, B] of targets [T, B] in nats: outputs [T, B, E], table [V, E], bias [V].

    The logits exist for a slice of positions at a time.
    """

    def losses(part: tuple[Array, Array]) -> Array:
        rows, gold = part
        return _nll(rows @ table.T + bias[None], gold)[0]

    rows, gold, _ = _slices(len(bias), outputs, targets, jnp.ones(targets.shape))
    return lax.map(losses, (rows, gold)).reshape(-1)[: targets.size].reshape(targets.shape)


@jax.custom_vjp
def weighted_loss(
    table: Array, bias: Array, outputs: Array, targets: Array, weights: Array
) -> Array:
    """Sum of weights * token_losses; its gradients are computed in the forward pass.

    So the logits of a slice are computed once: three products, where recomputing takes four.
    """
    return _loss_and_gradients(table, bias, outputs, targets, weights)[0]


def _loss_and_gradients(
    table: Array, bias: Array, outputs: Array, targets: Array, weights: Array
) -> tuple[Array, tuple[tuple[Array, Array, Array], Array]]:
    def add_slice(sums: tuple, part: tuple) -> tuple[tuple, Array]:
        loss, d_table, d_bias = sums
        rows, gold, weight = part
        logits = rows @ table.T + bias[None]
        nll, log_normaliser = _nll(logits, gold)
        p = jnp.exp(logits - log_normaliser[:, None])
        d_logits = (p - jax.nn.one_hot(gold, len(bias), dtype=p.dtype)) * weight[:, None]
        loss = loss + jnp.sum(nll * weight)
        sums = loss, d_table + d_logits.T @ rows, d_bias + d_logits.sum(axis=0)
        # [E, n]: XLA's product with the vocabulary inside takes 1.6 times as long the other way
        return sums, lax.dot_general(table, d_logits, (((0,), (1,)), ((), ())))

    zero = (jnp.zeros((), table.dtype), jnp.zeros_like(table), jnp.zeros_like(bias))
    parts = _slices(len(bias), outputs, targets, weights)
    (loss, d_table, d_bias), d_rows = lax.scan(add_slice, zero, parts)
    d_rows = jnp.swapaxes(d_rows, 1, 2).reshape(-1, outputs.shape[-1])
    d_outputs = d_rows[: targets.size].reshape(outputs.shape)
    return loss, ((d_table, d_bias, d_outputs), weights)


def _backward(residuals: tuple, factor: Array) -> tuple:
    gradients, weights = residuals
    # weights are no parameters: nothing asks for their gradient
    return (*(factor * gradient for gradient in gradients), None, jnp.zeros_like(weights))


weighted_loss.defvjp(_loss_and_gradients, _backward)


def _nll(logits: Array, targets: Array) -> tuple[Array, Array]:
    """-log p of the targets, and the log of the normaliser, [N] each."""
    log_normaliser = jax.nn.logsumexp(logits, axis=1)
    chosen = jnp.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
    return log_normaliser - chosen, log_normaliser


def _slices(
    vocabulary: int, outputs: Array, targets: Array, weights: Array
) -> tuple[Array, Array, Array]:
    """Positions in slices of equal size, padded with weight 0: [K, n, E], [K, n] and [K, n]."""
    count = targets.size
    parts = -(-count // max(1, min(count, SLICE // vocabulary)))
    size = -(-count // parts)
    padding = parts * size - count
    rows = jnp.pad(outputs.reshape(count, -1), ((0, padding), (0, 0))).reshape(parts, size, -1)
    gold = jnp.pad(targets.reshape(-1), (0, padding)).reshape(parts, size)
    return rows, gold, jnp.pad(weights.reshape(-1), (0, padding)).reshape(parts, size)
