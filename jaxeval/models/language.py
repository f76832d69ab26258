"""A recurrent language model (Melis et al. 2018, section 3): settings, sizes, cells, softmax.

Notation: T time steps, B rows, N = T B positions, V vocabulary, E embedding size, H hidden units
of every layer. Layer l + 1 reads layer l; the output is the sum of all layers, projected down to E
where E differs from H; the softmax has a bias, and its logits are never whole in memory.
"""

import bisect
import dataclasses
import functools
from collections.abc import Mapping
from typing import Annotated

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax import lax
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.config.fields import Rate, about
from jaxeval.contracts import Array, Tree
from jaxeval.errors import ConfigError
from jaxeval.models import Module, cells, dropout
from jaxeval.models.cells import Cell, Masks
from jaxeval.models.dropout import KeyedDropout, site

# dropout sites; append only: masks are numbered by place (`dropout._mask_number`)
SITES = ("input", "inter_layer", "state", "update", "output", "projected")
# Logits [N, V] that exist at once, 32 MB per member; on CPUs 8 MB, which stay in the caches
_SLICE, _SLICE_ON_CPU = 1 << 23, 1 << 21
# Positions at once on CPUs, if the vocabulary is this large: with two devices XLA at times loses
# part of a gradient's sum over 448 positions (jaxlib 0.9.2; benchmarks/results/language.md)
_POSITIONS, _LARGE = 256, 1024
_BUDGET = 1_000_000
_MOST_UNITS = 2**14


@reading.settings
class _LanguageDropout:
    """Dropout rates by site."""

    input: Annotated[Rate, site("input"), about("embedded input; fresh at each step")] = 0.0
    inter_layer: Annotated[Rate, site("inter_layer"), about("input of layers from the second")] = (
        0.0
    )
    state: Annotated[Rate, site("state"), about("h(t-1); the same in a window (variational)")] = (
        0.0
    )
    update: Annotated[Rate, site("update"), about("the candidate; variational (Semeniuta)")] = 0.0
    output: Annotated[Rate, site("output"), about("the sum of all layers")] = 0.0
    projected: Annotated[Rate, site("projected"), about("after the projection down")] = 0.0


@reading.settings
class LanguageModelSettings(Cell):
    """A stack of cells; either sizes, or a budget that determines them."""

    layers: fields.Layers = Field(1, description="layers of lstm and nas")
    hidden: fields.Size | None = Field(None, description="units; absent: from the budget")
    embedding: fields.Size | None = Field(None, description="size of embeddings; absent: hidden")
    budget: fields.Count | None = Field(None, description="maximum parameters; absent: a million")
    ratio: float | None = Field(None, gt=0, description="with budget: E / H, at most 1")
    tied: bool = Field(True, description="input and output share the embedding")
    state_reset_probability: float = Field(0.01, ge=0, lt=1, description="per stream and window")
    dropout: _LanguageDropout = _LanguageDropout()

    @model_validator(mode="after")
    def _fits(self) -> "LanguageModelSettings":
        if self.kind == "rhn" and (self.gates == "capped" or self.layers > 1):
            raise ValueError("rhn: gates are untied or tied, and layers is 1; set depth instead")
        if self.kind != "rhn" and self.depth > 1:
            raise ValueError(f"{self.kind}: depth is for rhn only; set layers instead")
        if self.kind != "lstm" and self.clip is not None:
            raise ValueError(f"{self.kind}: clip is for lstm only")
        if self.kind == "nas" and (self.dropout.update or self.gates is not None):
            raise ValueError("nas: takes neither dropout.update nor gates")
        if self.hidden is not None and (self.budget is not None or self.ratio is not None):
            raise ValueError("hidden: cannot be set with budget or ratio, which compute it")
        if self.embedding is not None and self.hidden is None:
            raise ValueError("embedding: needs hidden too; with a budget, set ratio instead")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Dropout rates of sites that these sizes lack; a sweep may draw both."""
        projects = self.embedding not in (None, self.hidden)
        if self.hidden is None:  # except for ratios that are rounded to 1
            projects = self.ratio is not None and self.ratio < 1
        absent = {"inter_layer": self.layers == 1, "projected": not projects}
        return frozenset(dropout.rate_name(site) for site in absent if absent[site])

    @property
    def projected(self) -> bool:
        """True if outputs are projected down to the embedding size."""
        return self.embedding != self.hidden

    def sized(self, vocabulary: int) -> "LanguageModelSettings":
        """Returns the settings with both sizes: as set, or the largest within the budget.

        E / H is `ratio`, rounded, and at most 1 (Melis et al. 2018, section 4). Raises ConfigError
        if not even one hidden unit fits.
        """
        if self.hidden is not None:
            return dataclasses.replace(self, embedding=self.embedding or self.hidden)
        budget = self.budget or _BUDGET
        ratio = min(self.ratio or 1.0, 1.0)

        def sizes(hidden: int) -> tuple[int, int]:
            return hidden, max(1, round(ratio * hidden))

        def parameters(hidden: int) -> int:
            return self._count(vocabulary, *sizes(hidden))

        if parameters(1) > budget:
            least = f"expected at least {parameters(1)} for this vocabulary, got {budget}"
            raise ConfigError(f"model.budget: {least}")
        each = range(min(budget, _MOST_UNITS) + 1)  # a unit takes more than one parameter
        hidden, size = sizes(bisect.bisect_right(each, budget, lo=1, key=parameters) - 1)
        return dataclasses.replace(self, hidden=hidden, embedding=size, budget=None, ratio=None)

    def parameters(self, vocabulary: int) -> int:
        """Number of parameters, the softmax bias included; needs both sizes."""
        assert self.hidden is not None and self.embedding is not None
        return self._count(vocabulary, self.hidden, self.embedding)

    def _count(self, vocabulary: int, hidden: int, embedding: int) -> int:
        embeddings = vocabulary * embedding * (1 if self.tied else 2)
        projection = 0 if embedding == hidden else hidden * embedding
        sizes = [embedding, *[hidden] * (self.layers - 1)]
        inner = sum(self.layer_parameters(size, hidden) for size in sizes)
        return embeddings + vocabulary + projection + inner

    def start(self, rows: int) -> tuple[Tree, ...]:
        """The zero state of all layers: (h, c), or a highway's s."""
        zero = jnp.zeros((rows, self.hidden or 0))
        return (zero if self.kind == "rhn" else (zero, zero),) * self.layers


class LanguageModel(Module):
    """Embeds tokens and runs the layers: the part of the model before the softmax."""

    choices: LanguageModelSettings  # with both sizes
    vocabulary: int

    @nn.compact
    def __call__(self, tokens: Array, state: Tree, drop: KeyedDropout) -> tuple[Tree, Array]:
        """Reads tokens [T, B] from the layers' states; returns new states, outputs [T, B, E]."""
        choices = self.choices
        assert choices.hidden is not None and choices.embedding is not None
        # truncated normal with standard deviation sqrt(1 / E)
        initial = nn.initializers.variance_scaling(1.0, "fan_out", "truncated_normal")
        size = (self.vocabulary, choices.embedding)
        table = self.param("embedding", initial, size)
        if not choices.tied:
            self.param("softmax", initial, size)
        self.param("softmax_bias", nn.initializers.zeros, (self.vocabulary,))
        x = drop.elements("input", table[tokens])
        outputs = []
        ends = []
        rows = (tokens.shape[1], choices.hidden)
        for number in range(choices.layers):
            if number:
                x = drop.elements("inter_layer", x, number)
            on_state = drop.mask("state", rows, number)
            on_update = None if choices.kind == "nas" else drop.mask("update", rows, number)
            layer = cells.Layer(choices, choices.hidden, name=f"layer_{number}")
            end, x = layer(x, state[number], Masks(on_state, on_update))
            ends.append(end)
            outputs.append(x)
        output = drop.elements("output", functools.reduce(jnp.add, outputs))
        if choices.projected:
            square = (choices.hidden, choices.embedding)
            projection = self.param("projection", nn.initializers.orthogonal(), square)
            output = drop.elements("projected", jnp.einsum("tbh,he->tbe", output, projection))
        return tuple(ends), output


def softmax_table(params: Mapping[str, Array]) -> tuple[Array, Array]:
    """Returns the softmax's table [V, E] and bias [V]."""
    return params.get("softmax", params["embedding"]), params["softmax_bias"]


def token_losses(table: Array, bias: Array, outputs: Array, targets: Array) -> Array:
    """-log p [T, B] of targets [T, B] in nats: outputs [T, B, E], table [V, E], bias [V].

    Logits exist for one slice of positions at a time.
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
    """Sum of weights * token_losses, with gradients computed in the forward pass.

    The logits of a slice are computed once: three products, where recomputing takes four.
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
    """Positions in K equal slices padded with weight 0: [K, n, E], [K, n] and [K, n]."""
    count = targets.size
    on_cpu = jax.default_backend() == "cpu"
    most = (_SLICE_ON_CPU if on_cpu else _SLICE) // vocabulary
    if on_cpu and vocabulary > _LARGE:
        most = min(most, _POSITIONS)
    parts = -(-count // max(1, min(count, most)))
    size = -(-count // parts)
    padding = parts * size - count
    rows = jnp.pad(outputs.reshape(count, -1), ((0, padding), (0, 0))).reshape(parts, size, -1)
    gold = jnp.pad(targets.reshape(-1), (0, padding)).reshape(parts, size)
    return rows, gold, jnp.pad(weights.reshape(-1), (0, padding)).reshape(parts, size)
