"""A recurrent language model: embeddings, a stack of cells, a softmax never whole in memory.

Notation: T time steps, B rows, V vocabulary, E embedding size, H hidden units, N = T B positions.
After Melis et al. (2018), section 3: layer l + 1 reads layer l, the output is the sum of all
layers, projected down to E where E is not H, and the softmax has a bias.
"""

import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax

from jaxeval.contracts import Tree
from jaxeval.models import cells, module
from jaxeval.models.budget import LanguageShape
from jaxeval.models.cells import Cell, Masks
from jaxeval.models.dropout import KeyedDropout

Array = jax.Array
SITES = ("input", "inter_layer", "state", "update", "output", "projected")
SLICE = 1 << 23  # of the [N, V] logits so many exist at once, 32 MB a member


def window_dropout(rates: Mapping[str, Array], key: Array | None) -> KeyedDropout:
    """The dropout of one window; each site and layer has a key of its own.

    Args:
      rates: traced rates by site; a site that is absent drops nothing and costs nothing.
      key: of this window, consumed; None at evaluation, when nothing is dropped.
    """
    return KeyedDropout(rates, key, sites=SITES)


class LanguageModel(module.Module):
    """Tokens to what the softmax sees."""

    shape: LanguageShape
    cell: Cell

    @nn.compact
    def __call__(self, tokens: Array, state: Tree, drop: KeyedDropout) -> tuple[Tree, Array]:
        """Runs a window.

        Args:
          tokens: [T, B] int32, inputs of each step.
          state: a layer's state each, before the first step.
          drop: dropout of this window, as `window_dropout` makes it.

        Returns:
          (states after the last step, outputs [T, B, E]).
        """
        shape, width = self.shape, self.shape.hidden
        size = (shape.vocabulary, shape.embedding)
        table = self.param("embedding", _embeddings, size)
        if not shape.tied:
            self.param("softmax", _embeddings, size)
        self.param("softmax_bias", nn.initializers.zeros, (shape.vocabulary,))
        x = drop.elements("input", table[tokens])
        outputs, ends = [], []
        for number in range(shape.layers):
            if number:
                x = drop.elements("inter_layer", x, number)
            rows = (tokens.shape[1], width)
            masks = Masks(
                drop.mask("state", rows, number),
                None if self.cell.kind == "nas" else drop.mask("update", rows, number),
            )
            end, x = cells.Layer(self.cell, width, name=f"layer_{number}")(x, state[number], masks)
            ends.append(end)
            outputs.append(x)
        output = drop.elements("output", functools.reduce(jnp.add, outputs))
        if shape.projected:
            square = (width, shape.embedding)
            projection = self.param("projection", nn.initializers.orthogonal(), square)
            output = drop.elements("projected", jnp.einsum("tbh,he->tbe", output, projection))
        return tuple(ends), output


def start(shape: LanguageShape, cell: Cell, rows: int) -> tuple[Tree, ...]:
    """The zero state of all layers."""
    return tuple(cells.start(cell, rows, shape.hidden) for _ in range(shape.layers))


def softmax_table(params: Mapping[str, Array]) -> tuple[Array, Array]:
    """What the softmax multiplies by: [V, E] and its bias [V]."""
    return params.get("softmax", params["embedding"]), params["softmax_bias"]


def token_losses(table: Array, bias: Array, outputs: Array, targets: Array) -> Array:
    """-log p of each target, in nats; the logits exist for a slice of positions at a time.

    Args:
      table, bias: [V, E] and [V].
      outputs: [T, B, E].
      targets: [T, B] int32.

    Returns:
      [T, B].
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
    """Sum of weights * token_losses, with its gradients computed in the forward pass.

    The logits of a slice are computed once, and serve the loss and its gradients before they are
    dropped: three products in all, where recomputing them for a backward pass would take four.
    """
    return _loss_and_gradients(table, bias, outputs, targets, weights)[0]


def _loss_and_gradients(
    table: Array, bias: Array, outputs: Array, targets: Array, weights: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    def add_slice(sums: tuple, part: tuple) -> tuple[tuple, Array]:
        loss, d_table, d_bias = sums
        rows, gold, weight = part
        logits = rows @ table.T + bias[None]
        nll, log_normaliser = _nll(logits, gold)
        p = jnp.exp(logits - log_normaliser[:, None])
        d_logits = (p - jax.nn.one_hot(gold, len(bias), dtype=p.dtype)) * weight[:, None]
        sums = (
            loss + jnp.sum(nll * weight),
            d_table + d_logits.T @ rows,
            d_bias + d_logits.sum(axis=0),
        )
        # [E, n]: XLA's product with the vocabulary inside takes 1.6 times as long the other way
        return sums, lax.dot_general(table, d_logits, (((0,), (1,)), ((), ())))

    zero = (jnp.zeros((), table.dtype), jnp.zeros_like(table), jnp.zeros_like(bias))
    parts = _slices(len(bias), outputs, targets, weights)
    (loss, d_table, d_bias), d_rows = lax.scan(add_slice, zero, parts)
    d_rows = jnp.swapaxes(d_rows, 1, 2).reshape(-1, outputs.shape[-1])
    d_outputs = d_rows[: targets.size].reshape(outputs.shape)
    return loss, (d_table, d_bias, d_outputs)


def _forward(
    table: Array, bias: Array, outputs: Array, targets: Array, weights: Array
) -> tuple[Array, tuple]:
    loss, gradients = _loss_and_gradients(table, bias, outputs, targets, weights)
    return loss, (gradients, weights)


def _backward(residuals: tuple, factor: Array) -> tuple:
    gradients, weights = residuals
    # weights are no parameters: nothing asks for their gradient
    return (*(factor * gradient for gradient in gradients), None, jnp.zeros_like(weights))


weighted_loss.defvjp(_forward, _backward)


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
    most = max(1, min(count, SLICE // vocabulary))
    parts = -(-count // most)
    size = -(-count // parts)
    padding = parts * size - count
    rows = jnp.pad(outputs.reshape(count, -1), ((0, padding), (0, 0))).reshape(parts, size, -1)
    gold = jnp.pad(targets.reshape(-1), (0, padding)).reshape(parts, size)
    return rows, gold, jnp.pad(weights.reshape(-1), (0, padding)).reshape(parts, size)


def _embeddings(key: Array, size: tuple[int, int]) -> Array:
    """[V, E] truncated normal with standard deviation sqrt(1 / E)."""
    return nn.initializers.variance_scaling(1.0, "fan_out", "truncated_normal")(key, size)
