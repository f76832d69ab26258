"""What a config says of a language model."""

from typing import Annotated, Literal

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.models import budget as sizes
from jaxeval.models import cells, dropout

_BUDGET = 1_000_000
Rate = fields.Rate | None


@reading.settings
class LanguageDropout:
    """Dropout rates by site; an absent one is 0."""

    input: Annotated[
        Rate,
        markers.dropout("dropout_input"),
        pydantic.Field(description="embedded input; fresh at each step"),
    ] = None
    inter_layer: Annotated[
        Rate,
        markers.dropout("dropout_inter_layer"),
        pydantic.Field(description="input of layers from the second, if any; fresh at each step"),
    ] = None
    state: Annotated[
        Rate,
        markers.dropout("dropout_state"),
        pydantic.Field(description="h(t-1); the same in a window (variational)"),
    ] = None
    update: Annotated[
        Rate,
        markers.dropout("dropout_update"),
        pydantic.Field(description="the candidate; the same in a window (Semeniuta)"),
    ] = None
    output: Annotated[
        Rate,
        markers.dropout("dropout_output"),
        pydantic.Field(description="the sum of all layers"),
    ] = None
    projected: Annotated[
        Rate,
        markers.dropout("dropout_projected"),
        pydantic.Field(description="after the projection down, where there is one"),
    ] = None


@reading.settings
class LanguageModelSettings:
    """A stack of cells; either sizes, or a budget that they are solved from."""

    kind: Annotated[cells.Kind, pydantic.Field(description="of the cells")] = "lstm"
    gates: Annotated[
        Literal["untied", "tied", "capped"] | None,
        pydantic.Field(description="input gate; absent: capped for lstm, untied for rhn"),
    ] = None
    layers: Annotated[fields.Layers, pydantic.Field(description="of lstm and nas")] = 1
    depth: Annotated[fields.Layers, pydantic.Field(description="levels of the one rhn layer")] = 1
    hidden: Annotated[
        fields.Size | None, pydantic.Field(description="units; absent: by budget")
    ] = None
    embedding: Annotated[
        fields.Size | None, pydantic.Field(description="with hidden; absent: as hidden")
    ] = None
    budget: Annotated[
        fields.Count | None,
        pydantic.Field(description="most parameters; without hidden: a million"),
    ] = None
    ratio: Annotated[
        float | None,
        pydantic.Field(gt=0, description="embedding / hidden, with budget; absent or above 1: 1"),
    ] = None
    tied: Annotated[bool, pydantic.Field(description="input and output share the embedding")] = (
        True
    )
    clip: Annotated[float | None, pydantic.Field(gt=0, description="of lstm's memory")] = None
    layer_norm: Annotated[bool, pydantic.Field(description="lstm")] = False
    forget_bias: Annotated[float, pydantic.Field(ge=-100, le=100, description="lstm")] = 1.0
    carry_bias: Annotated[float, pydantic.Field(ge=-100, le=100, description="rhn")] = 1.0
    released_highway: Annotated[
        bool,
        pydantic.Field(
            description="rhn: no input dropout at depths from 2, as in the authors' released code"
        ),
    ] = False
    state_reset_probability: Annotated[
        float,
        pydantic.Field(
            ge=0, lt=1, description="of a stream, that its state is zeroed before a window"
        ),
    ] = 0.01
    dropout: LanguageDropout = LanguageDropout()

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "LanguageModelSettings":
        if self.kind == "rhn" and (self.gates == "capped" or self.layers > 1):
            raise ValueError("rhn: gates are untied or tied, and layers is 1; set depth instead")
        if self.kind != "rhn" and self.depth > 1:
            raise ValueError(f"{self.kind}: depth is for rhn only; set layers instead")
        if self.kind != "lstm" and (self.clip is not None or self.layer_norm):
            raise ValueError(f"{self.kind}: clip and layer_norm are for lstm only")
        if self.kind == "nas" and (self.dropout.update is not None or self.gates is not None):
            raise ValueError("nas: takes neither dropout.update nor gates")
        if self.hidden is not None and (self.budget is not None or self.ratio is not None):
            raise ValueError(
                "hidden: cannot be set with budget or ratio, from which it is computed"
            )
        if self.kind != "rhn" and self.released_highway:
            raise ValueError(f"{self.kind}: released_highway is for rhn only")
        if self.embedding is not None and self.hidden is None:
            raise ValueError("embedding: needs hidden too; with a budget, set ratio instead")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Dropout rates that no member has.

        As in the authors' code, a setting may hold rates of sites that its sizes do not have: so
        that a sweep can draw sizes and rates, and a tuned setting be solved for another depth.
        """
        sites = {"input"} if self.released_highway and self.depth > 1 else set()
        sites |= {"inter_layer"} if self.layers == 1 else set()
        sites |= set() if self._projects() else {"projected"}
        return frozenset(map(dropout.rate_name, sites))

    def _projects(self) -> bool:
        """Whether outputs are projected down, but for ratios that rounding makes 1."""
        if self.hidden is not None:
            return self.embedding not in (None, self.hidden)
        return self.ratio is not None and self.ratio < 1

    def cell(self) -> cells.Cell:
        """The cell of every layer."""
        return cells.Cell(
            self.kind,
            self.gates or ("capped" if self.kind == "lstm" else "untied"),
            self.clip,
            self.layer_norm,
            self.forget_bias,
            self.carry_bias,
            self.depth,
        )

    def shape(self, vocabulary: int) -> sizes.LanguageShape:
        """The sizes, given or solved.

        Raises:
          ConfigError: the budget is too small.
        """
        if self.hidden is not None:
            size = self.embedding or self.hidden
            return sizes.LanguageShape(vocabulary, self.hidden, size, self.layers, self.tied)
        return sizes.solve(
            vocabulary,
            self.budget or _BUDGET,
            self.cell(),
            layers=self.layers,
            tied=self.tied,
            ratio=self.ratio or 1.0,
        )
