"""Taggers: the BiLSTM of Reimers & Gurevych (2017, section 4.2), and a perceptron over a window.

Notation: T positions, B sentences, D features of a word, H units per direction, Y labels, F word
forms of the corpus, V rows of the word table, W characters of the longest word. Arrays inside the
model are time-major. Rows of a batch are forms [B, T] int32 and length [B] int32; `shared` has
characters [F, W], casing [F], capitals [F], `split` has once [V] bool (the word occurs once), and
both have what `word_vectors` reads.
"""

from typing import Annotated, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.config.fields import Rate, about
from jaxeval.contracts import Array, Batch, Hparams
from jaxeval.models import (
    Module,
    cells,
    convolutions,
    crf,
    dropout,
    glorot_uniform,
    word_vectors,
)
from jaxeval.models.dropout import KeyedDropout, site

_CASING = 10  # size of a casing's embedding
_PATTERNS = 5  # of capitals; padding has none


@reading.settings
class _Words:
    """Word embeddings."""

    trained: bool = Field(True, description="train word vectors; false: keep them as read")
    unknown_rate: fields.Rate = Field(
        0.0, description="of once-seen words read as UNKNOWN (Lample)"
    )


@reading.settings
class _Dropout(dropout.DropoutSettings):
    """Dropout of a tagger."""

    input: Annotated[Rate, site("input"), about("rate on the features of a word")] = 0.25
    output: Annotated[Rate, site("output"), about("rate on the output of every layer")] = 0.25
    layer_input: Annotated[
        Rate,
        site("layer_input"),
        about("rate on the input of every BiLSTM layer, by direction (UKPLab)"),
    ] = 0.0
    state: Annotated[Rate, site("state"), about("rate on h(t-1); variational only (Keras)")] = 0.0
    characters: Annotated[Rate, site("characters"), about("rate on character vectors")] = 0.0
    per_gate: bool = Field(False, description="layer_input, state: a mask for each gate (Keras)")
    inverted: bool = Field(True, description="rescale in training; false: at test (Lample)")

    @model_validator(mode="after")
    def _consistent(self) -> "_Dropout":
        if self.kind != "variational" and (self.state or self.per_gate):
            raise ValueError("state and per_gate need kind = 'variational'")
        if self.kind == "naive" and self.layer_input:
            raise ValueError("layer_input needs kind = 'variational'")
        return self


@reading.settings
class TaggerSettings:
    """The tagger: the choices of Reimers & Gurevych (2017, section 4.2), and a window of words."""

    words: _Words = _Words()
    characters: convolutions.CharacterSettings = convolutions.CharacterSettings()
    casing: Literal["none", "one_hot", "embedding", "capitals"] = Field(
        "none", description="casing feature; capitals: one of five patterns (Nayak et al. 2016)"
    )
    encoder: Literal["bilstm", "window"] = Field("bilstm", description="layers, or a window")
    window: convolutions.WindowSettings = convolutions.WindowSettings()
    layers: tuple[fields.Size, ...] = Field(
        (100,), min_length=1, max_length=3, description="bilstm: units of each layer"
    )
    cell: cells.LSTMVariant = cells.PLAIN
    dropout: _Dropout = _Dropout()
    projection: fields.Size | None = Field(None, description="width of a last tanh layer (Lample)")
    classifier: Literal["softmax", "crf"] = Field("crf", description="softmax or crf")
    transitions: Literal["learned", "from_input"] = Field(
        "learned", description="crf: one matrix, or one computed from each word (Ma & Hovy's code)"
    )

    @model_validator(mode="after")
    def _fits(self) -> "TaggerSettings":
        if self.encoder == "window" and (self.dropout.state or self.dropout.layer_input):
            raise ValueError("dropout.state and dropout.layer_input need encoder = 'bilstm'")
        return self


class Sizes(NamedTuple):
    """Sizes that depend on the corpus."""

    labels: int
    alphabet: int
    casings: int
    words: int  # leading rows of the word table that may be trained: the vocabulary


class TaggerLogits(NamedTuple):
    """Logits of each word's labels, and a CRF's potentials."""

    emissions: Array  # [T, B, Y]
    potentials: crf.Potentials | None  # None for softmax; transitions [Y, Y] or [T, B, Y, Y]


class _Features(Module):
    """Concatenates word vector, character vector and casing of every position: [T, B, D]."""

    choices: TaggerSettings
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, drop: KeyedDropout) -> Array:
        choices = self.choices
        sizes = self.sizes
        training = drop.key is not None
        forms = batch.rows["forms"].T
        casing = choices.casing
        rows = word_vectors.known_rows(batch, forms)
        rate = choices.words.unknown_rate
        if rate and training:
            replaced = jax.random.bernoulli(drop.next_key(), rate, rows.shape)
            rows = jnp.where(replaced & batch.split["once"][rows], word_vectors.UNKNOWN, rows)
        trained, table = choices.words.trained, None
        if trained:
            table = word_vectors.parameter(self, "words", batch, sizes.words)
        parts = [word_vectors.look_up(table, batch, rows, training)]
        if choices.characters.encoder != "none":
            parts.append(self._characters(batch.shared["characters"], forms, drop))
        if casing == "capitals":
            parts.append(jax.nn.one_hot(batch.shared["capitals"][forms], _PATTERNS))
        elif casing == "one_hot":
            parts.append(jax.nn.one_hot(batch.shared["casing"][forms], sizes.casings))
        elif casing == "embedding":
            shape = (sizes.casings, _CASING)
            table = self.param("casing", nn.initializers.uniform(0.1), shape)
            parts.append(table[batch.shared["casing"][forms]])
        return jnp.concatenate(parts, axis=-1)

    def _characters(self, spelling: Array, forms: Array, drop: KeyedDropout) -> Array:
        choices = self.choices.characters
        shape = (self.sizes.alphabet, choices.dimension)

        def initial(key: Array) -> Array:
            return word_vectors.by_width(key, shape).at[0].set(0.0)  # padding starts at zero

        table = self.param("characters", initial)
        ids = spelling[forms.reshape(-1)].astype(jnp.int32)
        if choices.encoder == "lstm":
            cell = self.choices.cell
            encoder: nn.Module = _CharacterLSTM(choices.units, cell, name="character_lstm")
        else:
            encoder = convolutions.CharacterConvolution(choices, name="character_cnn")
        return encoder(table, ids, drop).reshape(*forms.shape, -1)


class _CharacterLSTM(Module):
    """Last states of an LSTM in either direction over the characters (Lample et al. 2016).

    Shapes as of `convolutions.CharacterConvolution`; returns [N, 2 units].
    """

    units: int
    variant: cells.LSTMVariant

    @nn.compact
    def __call__(self, table: Array, ids: Array, drop: KeyedDropout) -> Array:
        inputs = drop.elements("characters", table[ids.T])
        valid = (ids > 0).T
        forward = cells.LSTM(self.units, self.variant, name="forward")(inputs, valid)
        backward = cells.LSTM(self.units, self.variant, True, name="backward")(inputs, valid)
        return jnp.concatenate([forward[-1], backward[0]], axis=-1)


class Tagger(Module):
    """Features, BiLSTM layers or a window, label logits."""

    choices: TaggerSettings
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> TaggerLogits:
        """Computes logits; the key of the masks is consumed, and None at evaluation."""
        choices, choice = self.choices, self.choices.dropout
        windows, variational = choices.encoder == "window", choice.kind == "variational"
        rates = dropout.rates(hparams)
        drop = KeyedDropout(
            rates, key, variational=variational, inverted=choice.inverted, hashed=windows
        )
        features = _Features(choices, self.sizes, name="features")
        if windows:
            x = drop.steps("input", features(_padded(batch, choices.window.reach), drop))
            window = convolutions.Window(choices.window, name="window")
            x = drop.steps("output", window(x))
        else:
            x = self._layers(batch, drop.steps("input", features(batch, drop)), drop)
        if choices.projection is not None:
            x = jnp.tanh(nn.Dense(choices.projection, name="projection")(x))
        labels = self.sizes.labels
        if choices.classifier == "crf" and choices.transitions == "from_input":
            # one matrix per word (LasagneNLP) [T, B, Y+1, Y]; row Y is the start
            energy = nn.Dense((labels + 1) * labels, kernel_init=glorot_uniform, name="energy")(x)
            energy = energy.reshape(*x.shape[:2], labels + 1, labels)
            none = jnp.zeros_like(energy[0, 0, 0])
            is_first = jnp.arange(len(energy)) == 0
            first = jnp.where(is_first[:, None, None], energy[:, :, -1], 0.0)
            return TaggerLogits(first, crf.Potentials(energy[:, :, :-1], none, none))
        emissions = nn.Dense(labels, kernel_init=glorot_uniform, name="emissions")(x)
        if choices.classifier == "softmax":
            return TaggerLogits(emissions, None)
        transitions = self.param("transitions", glorot_uniform, (labels, labels))
        ends = (self.param(n, nn.initializers.zeros, (labels,)) for n in ("start", "end"))
        return TaggerLogits(emissions, crf.Potentials(transitions, *ends))

    def _layers(self, batch: Batch, x: Array, drop: KeyedDropout) -> Array:
        """States [T, B, 2 H] of the last BiLSTM layer, given features [T, B, D]."""
        kind = self.choices.cell
        valid = jnp.arange(len(x))[:, None] < batch.rows["length"][None]
        groups = kind.gates if self.choices.dropout.per_gate else 1
        for number, width in enumerate(self.choices.layers):
            frozen = 0 if number or self.choices.words.trained else word_vectors.size(batch)
            outputs = []
            for reverse, direction in ((False, "forward"), (True, "backward")):
                layer = cells.LSTM(width, kind, reverse, frozen, name=f"{direction}{number}")
                input_mask = drop.mask("layer_input", (groups, x.shape[1], x.shape[2]))
                state_mask = drop.mask("state", (groups, x.shape[1], width))
                outputs.append(layer(x, valid, input_mask, state_mask))
            x = drop.steps("output", jnp.concatenate(outputs, axis=-1))
        return x


def _padded(batch: Batch, reach: int) -> Batch:
    """The batch with `reach` positions of padding on both sides of its sentences."""
    forms = jnp.pad(batch.rows["forms"], ((0, 0), (reach, reach)))
    return batch._replace(rows={**batch.rows, "forms": forms})


def rows_of_windows(reach: int, batch: Batch) -> Array:
    """Returns the rows [n] of the word table that the windows of a batch read, and UNKNOWN."""
    rows = word_vectors.known_rows(batch, _padded(batch, reach).rows["forms"]).reshape(-1)
    return jnp.pad(rows, (0, 1), constant_values=word_vectors.UNKNOWN)
