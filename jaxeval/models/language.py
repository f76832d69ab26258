"""A recurrent language model: its settings, its sizes under a budget, embeddings and cells.

Notation: T time steps, B rows, V vocabulary, E embedding size, H hidden units of every layer.
After Melis et al. (2018), section 3: layer l + 1 reads layer l, the output is the sum of all
layers, projected down to E where E is not H, and the softmax has a bias.
"""

import bisect
import functools
from collections.abc import Mapping
from typing import Literal, NamedTuple

import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Tree
from jaxeval.errors import ConfigError
from jaxeval.models import Module, cells, dropout
from jaxeval.models.cells import Cell, Masks
from jaxeval.models.dropout import KeyedDropout

SITES = ("input", "inter_layer", "state", "update", "output", "projected")  # of dropout
_BUDGET = 1_000_000


@reading.settings
class LanguageDropout:
    """Dropout rates by site."""

    input: dropout.InputRate = Field(0.0, description="embedded input; fresh at each step")
    inter_layer: dropout.InterLayerRate = Field(0.0, description="input of layers from the second")
    state: dropout.StateRate = Field(0.0, description="h(t-1); the same in a window (variational)")
    update: dropout.UpdateRate = Field(0.0, description="the candidate; variational (Semeniuta)")
    output: dropout.OutputRate = Field(0.0, description="the sum of all layers")
    projected: dropout.ProjectedRate = Field(0.0, description="after the projection down")


@reading.settings
class LanguageModelSettings:
    """A stack of cells; either sizes, or a budget that they are solved from."""

    kind: cells.Kind = Field("lstm", description="of the cells")
    gates: Literal["untied", "tied", "capped"] | None = Field(
        None, description="input gate; absent: capped for lstm, untied for rhn"
    )
    layers: fields.Layers = Field(1, description="of lstm and nas")
    depth: fields.Layers = Field(1, description="levels of the one rhn layer")
    hidden: fields.Size | None = Field(None, description="units; absent: by budget")
    embedding: fields.Size | None = Field(None, description="with hidden; absent: as hidden")
    budget: fields.Count | None = Field(None, description="most parameters; absent: a million")
    ratio: float | None = Field(None, gt=0, description="with budget: E / H, at most 1")
    tied: bool = Field(True, description="input and output share the embedding")
    clip: float | None = Field(None, gt=0, description="of lstm's memory")
    state_reset_probability: float = Field(0.01, ge=0, lt=1, description="of a stream, by window")
    dropout: LanguageDropout = LanguageDropout()

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
        """Dropout rates of sites that these sizes do not have; a sweep draws both."""
        projects = self.embedding not in (None, self.hidden)
        if self.hidden is None:  # but for ratios that rounding makes 1
            projects = self.ratio is not None and self.ratio < 1
        absent = {"inter_layer": self.layers == 1, "projected": not projects}
        return frozenset(dropout.rate_name(site) for site in absent if absent[site])

    def cell(self) -> Cell:
        """The cell of every layer."""
        gates = self.gates or ("capped" if self.kind == "lstm" else "untied")
        return Cell(self.kind, gates, self.clip, self.depth)

    def shape(self, vocabulary: int) -> "LanguageShape":
        """The sizes, as set or solved for; raises ConfigError where the budget is too small."""
        if self.hidden is not None:
            size = self.embedding or self.hidden
            return LanguageShape(vocabulary, self.hidden, size, self.layers, self.tied)
        shape = LanguageShape(vocabulary, 1, 1, self.layers, self.tied)
        return solve(shape, self.budget or _BUDGET, self.cell(), self.ratio or 1.0)


class LanguageShape(NamedTuple):
    """The sizes V, H and E of a language model; the output embedding has size E too."""

    vocabulary: int
    hidden: int
    embedding: int
    layers: int = 1
    tied: bool = True  # input and output share the embedding

    @property
    def projected(self) -> bool:
        """Whether outputs are projected down to the embedding size."""
        return self.embedding != self.hidden

    def parameters(self, cell: Cell) -> int:
        """How many the model has, the softmax bias included."""
        embeddings = self.vocabulary * self.embedding * (1 if self.tied else 2)
        projection = self.hidden * self.embedding if self.projected else 0
        sizes = [self.embedding, *[self.hidden] * (self.layers - 1)]
        inner = sum(cells.parameter_count(cell, size, self.hidden) for size in sizes)
        return embeddings + self.vocabulary + projection + inner


def solve(like: LanguageShape, budget: int, cell: Cell, ratio: float = 1.0) -> LanguageShape:
    """The largest model within a budget of parameters (Melis et al. 2018, section 4).

    H and E of `like` are solved for; `ratio` is E / H, rounded, at most 1 (no projection).
    ConfigError: not even one hidden unit fits.
    """

    def shape(hidden: int) -> LanguageShape:
        embedding = max(1, round(min(ratio, 1.0) * hidden))
        return like._replace(hidden=hidden, embedding=embedding)

    def parameters(hidden: int) -> int:
        return shape(hidden).parameters(cell)

    if parameters(1) > budget:
        least = f"expected at least {parameters(1)} for this vocabulary, got {budget}"
        raise ConfigError(f"model.budget: {least}")
    # as many units as the budget has parameters are too many
    too_many = bisect.bisect_right(range(budget + 1), budget, lo=1, key=parameters)
    return shape(too_many - 1)


class LanguageModel(Module):
    """Tokens to what the softmax sees."""

    shape: LanguageShape
    cell: Cell

    @nn.compact
    def __call__(self, tokens: Array, state: Tree, drop: KeyedDropout) -> tuple[Tree, Array]:
        """A window of tokens [T, B] from the state of each layer: states after it, [T, B, E]."""
        shape, width = self.shape, self.shape.hidden
        # truncated normal with standard deviation sqrt(1 / E)
        initial = nn.initializers.variance_scaling(1.0, "fan_out", "truncated_normal")
        size = (shape.vocabulary, shape.embedding)
        table = self.param("embedding", initial, size)
        if not shape.tied:
            self.param("softmax", initial, size)
        self.param("softmax_bias", nn.initializers.zeros, (shape.vocabulary,))
        x = drop.elements("input", table[tokens])
        outputs, ends, rows = [], [], (tokens.shape[1], width)
        for number in range(shape.layers):
            if number:
                x = drop.elements("inter_layer", x, number)
            of_state = drop.mask("state", rows, number)
            of_update = None if self.cell.kind == "nas" else drop.mask("update", rows, number)
            layer = cells.Layer(self.cell, width, name=f"layer_{number}")
            end, x = layer(x, state[number], Masks(of_state, of_update))
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
