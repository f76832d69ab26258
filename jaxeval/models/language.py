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
    """-log p of each target, in nats.

    The scores of all words are made for a slice of positions at a time, no more than SLICE
    numbers, in the forward and in the backward pass alike.

    Args:
      table, bias: [V, E] and [V].
      outputs: [T, B, E].
      targets: [T, B] int32.

    Returns:
      [T, B].
    """
    count = targets.size
    rows = outputs.reshape(count, -1)
    size = max(1, min(count, SLICE // len(bias)))
    parts = -(-count // size)
    padded = jnp.pad(rows, ((0, parts * size - count), (0, 0)))
    gold = jnp.pad(targets.reshape(-1), (0, parts * size - count))

    @jax.checkpoint
    def losses(part: tuple[Array, Array]) -> Array:
        given, wanted = part
        scores = given @ table.T + bias[None]
        chosen = jnp.take_along_axis(scores, wanted[:, None], axis=1)[:, 0]
        return jax.nn.logsumexp(scores, axis=1) - chosen

    if parts == 1:
        return losses((padded, gold))[:count].reshape(targets.shape)
    found = lax.map(losses, (padded.reshape(parts, size, -1), gold.reshape(parts, size)))
    return found.reshape(-1)[:count].reshape(targets.shape)


def _embeddings(key: Array, size: tuple[int, int]) -> Array:
    """[V, E] truncated normal with standard deviation sqrt(1 / E)."""
    return nn.initializers.variance_scaling(1.0, "fan_out", "truncated_normal")(key, size)
