"""A recurrent language model: embeddings, a stack of cells, a softmax never whole in memory.

Notation: T time steps, B rows, V vocabulary, E embedding size, H hidden units, N = T B positions.
After Melis et al. (2018), section 3: layer l + 1 reads layer l, the output is the sum of all
layers, projected down to E where E is not H, and the softmax has a bias.
"""

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax

from jaxeval.models import cells, dropout
from jaxeval.models.budget import Shape
from jaxeval.models.cells import Cell, Masks

Array = jax.Array
SITES = ("input", "inter_layer", "state", "update", "output", "projected")
SLICE = 1 << 23  # numbers of the [N, V] scores that exist at once, 32 MB a member


class Drawn:
    """The dropout masks of one window; each site and layer has a key of its own.

    Args:
      rates: traced rates by site; a site that is absent drops nothing and costs nothing.
      key: of this window, consumed; None at evaluation, when nothing is dropped.
    """

    def __init__(self, rates: Mapping[str, Array], key: Array | None):
        self._rates, self._key = rates, key

    def mask(self, site: str, layer: int, shape: tuple[int, ...]) -> Array | None:
        """Zeros and 1 / (1 - rate); None where nothing is dropped."""
        if self._key is None or site not in self._rates:
            return None
        number = SITES.index(site) + len(SITES) * layer
        return dropout.mask(jax.random.fold_in(self._key, number), self._rates[site], shape)

    def apply(self, site: str, layer: int, x: Array) -> Array:
        """x with a fresh mask for every number."""
        drawn = self.mask(site, layer, x.shape)
        return x if drawn is None else x * drawn


class LanguageModel(nn.Module):
    """Tokens to what the softmax sees."""

    shape: Shape
    cell: Cell

    @nn.compact
    def __call__(self, tokens: Array, state: Any, drawn: Drawn) -> tuple[Any, Array]:
        """Runs a window.

        Args:
          tokens: [T, B] int32, inputs of each step.
          state: a layer's state each, before the first step.
          drawn: dropout of this window.

        Returns:
          (states after the last step, outputs [T, B, E]).
        """
        shape, width = self.shape, self.shape.hidden
        size = (shape.vocabulary, shape.embedding)
        table = self.param("embedding", _embeddings, size)
        if not shape.tied:
            self.param("softmax", _embeddings, size)
        self.param("softmax_bias", nn.initializers.zeros, (shape.vocabulary,))
        x = drawn.apply("input", 0, table[tokens])
        outputs, ends = [], []
        for number in range(shape.layers):
            if number:
                x = drawn.apply("inter_layer", number, x)
            rows = (tokens.shape[1], width)
            masks = Masks(
                drawn.mask("state", number, rows),
                None if self.cell.kind == "nas" else drawn.mask("update", number, rows),
            )
            end, x = cells.Layer(self.cell, width, name=f"layer_{number}")(x, state[number], masks)
            ends.append(end)
            outputs.append(x)
        found = drawn.apply("output", 0, functools.reduce(jnp.add, outputs))
        if shape.projected:
            square = (width, shape.embedding)
            down = self.param("projection", nn.initializers.orthogonal(), square)
            found = drawn.apply("projected", 0, jnp.einsum("tbh,he->tbe", found, down))
        return tuple(ends), found


def start(shape: Shape, cell: Cell, rows: int) -> tuple[Any, ...]:
    """The zero state of all layers."""
    return tuple(cells.start(cell, rows, shape.hidden) for _ in range(shape.layers))


def softmax_table(params: Mapping[str, Array]) -> tuple[Array, Array]:
    """What the softmax multiplies by: [V, E] and its bias [V]."""
    return params.get("softmax", params["embedding"]), params["softmax_bias"]


def token_losses(table: Array, bias: Array, outputs: Array, targets: Array) -> Array:
    """-log p of each target, in nats; the scores exist for a slice of positions at a time.

    Args:
      table, bias: [V, E] and [V].
      outputs: [T, B, E].
      targets: [T, B] int32.

    Returns:
      [T, B].
    """

    def losses(part: tuple[Array, Array]) -> Array:
        given, wanted = part
        return _surprise(given @ table.T + bias[None], wanted)[0]

    rows, gold, _ = _slices(len(bias), outputs, targets, jnp.ones(targets.shape))
    return lax.map(losses, (rows, gold)).reshape(-1)[: targets.size].reshape(targets.shape)


@jax.custom_vjp
def weighted_loss(
    table: Array, bias: Array, outputs: Array, targets: Array, weights: Array
) -> Array:
    """Sum of weights * token_losses, with its gradients made on the way forward.

    The scores of a slice are made once, and serve the loss and its gradients before they are
    dropped: three products in all, where recomputing them for a backward pass would take four.
    """
    return _loss_and_gradients(table, bias, outputs, targets, weights)[0]


def _loss_and_gradients(
    table: Array, bias: Array, outputs: Array, targets: Array, weights: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    def one(sums: tuple, part: tuple) -> tuple[tuple, Array]:
        loss, of_table, of_bias = sums
        given, wanted, weight = part
        scores = given @ table.T + bias[None]
        surprise, total = _surprise(scores, wanted)
        p = jnp.exp(scores - total[:, None])
        back = (p - jax.nn.one_hot(wanted, len(bias), dtype=p.dtype)) * weight[:, None]
        sums = (
            loss + jnp.sum(surprise * weight),
            of_table + back.T @ given,
            of_bias + back.sum(axis=0),
        )
        # [E, n]: XLA's product with the vocabulary inside takes 1.6 times as long the other way
        return sums, lax.dot_general(table, back, (((0,), (1,)), ((), ())))

    zero = (jnp.zeros((), table.dtype), jnp.zeros_like(table), jnp.zeros_like(bias))
    parts = _slices(len(bias), outputs, targets, weights)
    (loss, of_table, of_bias), of_rows = lax.scan(one, zero, parts)
    of_rows = jnp.swapaxes(of_rows, 1, 2).reshape(-1, outputs.shape[-1])
    of_outputs = of_rows[: targets.size].reshape(outputs.shape)
    return loss, (of_table, of_bias, of_outputs)


def _keep(*given: Array) -> tuple[Array, tuple]:
    loss, gradients = _loss_and_gradients(*given)
    return loss, (gradients, given[-1])


def _scale(kept: tuple, factor: Array) -> tuple:
    gradients, weights = kept
    # weights are no parameters: nothing asks for their gradient
    return (*(factor * gradient for gradient in gradients), None, jnp.zeros_like(weights))


weighted_loss.defvjp(_keep, _scale)


def _surprise(scores: Array, targets: Array) -> tuple[Array, Array]:
    """-log p of the targets, and the log of the normaliser, [N] each."""
    total = jax.nn.logsumexp(scores, axis=1)
    return total - jnp.take_along_axis(scores, targets[:, None], axis=1)[:, 0], total


def _slices(
    vocabulary: int, outputs: Array, targets: Array, weights: Array
) -> tuple[Array, Array, Array]:
    """Positions in slices of equal size, padded with weight 0: [K, n, E], [K, n] and [K, n]."""
    count = targets.size
    most = max(1, min(count, SLICE // vocabulary))
    parts = -(-count // most)
    size = -(-count // parts)
    gap = parts * size - count
    rows = jnp.pad(outputs.reshape(count, -1), ((0, gap), (0, 0))).reshape(parts, size, -1)
    gold = jnp.pad(targets.reshape(-1), (0, gap)).reshape(parts, size)
    return rows, gold, jnp.pad(weights.reshape(-1), (0, gap)).reshape(parts, size)


def _embeddings(key: Array, size: tuple[int, int]) -> Array:
    """[V, E] truncated normal with standard deviation sqrt(1 / E)."""
    return nn.initializers.variance_scaling(1.0, "fan_out", "truncated_normal")(key, size)
