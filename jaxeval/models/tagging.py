"""Taggers: words -> label logits.

The BiLSTM of Reimers & Gurevych (2017, section 4.2), and a perceptron over a window of words.

Notation: T positions, B sentences, D features of a word, H units per direction, Y labels, F word
forms of the corpus, V rows of the word table, W characters of the longest word. Arrays inside the
model are time-major, [T, B, ...], as the recurrence wants them. A batch holds

    rows    forms [B, T] int32, length [B] int32 (and labels, which the model never sees)
    shared  characters [F, W], casing [F], capitals [F], and what `word_vectors` reads; of V rows
            of the word table the first `Sizes.words` are the vocabulary's, which may be trained,
            the others are vectors read of other words
    split   known [V] bool (the word has a vector or stood in train), once [V] bool
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams
from jaxeval.models import Module, cells, convolutions, crf, dropout, word_vectors
from jaxeval.models.dropout import KeyedDropout

_GLOROT = nn.initializers.glorot_uniform()
_CASING = 10  # size of a casing embedding
_PATTERNS = 5  # of capitals; padding has none


@reading.settings
class TaggerWordSettings:
    """Word embeddings."""

    trained: bool = Field(True, description="train the word vectors; false keeps them as read")
    unknown_rate: fields.Rate = Field(0.0, description="of once-seen words made UNKNOWN (Lample)")


@reading.settings
class TaggerDropout:
    """Dropout; a site whose rate is 0 here draws no mask, the rates of the others are traced."""

    kind: dropout.Kind = "variational"
    input: dropout.InputRate = Field(0.25, description="rate on the features of a word")
    output: dropout.OutputRate = Field(0.25, description="rate on the output of every layer")
    layer_input: dropout.LayerInputRate = Field(
        0.0, description="rate on the input of every BiLSTM layer, by direction (UKPLab)"
    )
    state: dropout.StateRate = Field(0.0, description="rate on h(t-1); variational only (Keras)")
    characters: dropout.CharactersRate = Field(0.0, description="rate on character vectors")
    per_gate: bool = Field(False, description="layer_input, state: a mask for each gate (Keras)")
    inverted: bool = Field(True, description="scale in training; false: at test (Lample)")

    @model_validator(mode="after")
    def _consistent(self) -> "TaggerDropout":
        if self.kind != "variational" and (self.state or self.per_gate):
            raise ValueError("state and per_gate need kind = 'variational'")
        if self.kind == "naive" and self.layer_input:
            raise ValueError("layer_input needs kind = 'variational'")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Rates that no member has."""
        sites = ("input", "output", "layer_input", "state", "characters")
        return frozenset(map(dropout.rate_name, sites if self.kind == "none" else ()))


@reading.settings
class TaggerSettings:
    """The tagger: the choices of Reimers & Gurevych (2017, section 4.2), and a window of words."""

    words: TaggerWordSettings = Field(TaggerWordSettings(), description="word embeddings")
    characters: convolutions.CharacterSettings = convolutions.CharacterSettings()
    casing: Literal["none", "one_hot", "embedding", "capitals"] = Field(
        "none", description="feature; capitals: one of five patterns (Nayak et al. 2016)"
    )
    encoder: Literal["bilstm", "window"] = Field("bilstm", description="layers, or a window")
    window: convolutions.WindowSettings = convolutions.WindowSettings()
    layers: tuple[fields.Size, ...] = Field(
        (100,), min_length=1, max_length=3, description="bilstm: H by layer"
    )
    cell: cells.LSTMVariant = Field(cells.PLAIN, description="variant of the LSTM cell")
    dropout: TaggerDropout = Field(TaggerDropout(), description="dropout")
    projection: fields.Size | None = Field(None, description="width of a last tanh layer (Lample)")
    classifier: Literal["softmax", "crf"] = Field("crf", description="softmax or crf")
    transitions: Literal["learned", "from_input"] = Field(
        "learned", description="crf: one matrix, or one computed from each word (Ma & Hovy's code)"
    )
    mask_illegal: bool = Field(False, description="crf: forbid moves against the tag scheme")

    @model_validator(mode="after")
    def _fits(self) -> "TaggerSettings":
        if self.encoder == "window" and (self.dropout.state or self.dropout.layer_input):
            raise ValueError("dropout.state and dropout.layer_input need encoder = 'bilstm'")
        return self


class Sizes(NamedTuple):
    """What of a corpus sets shapes."""

    labels: int
    alphabet: int
    casings: int
    words: int  # rows of the word table that the vocabulary has, the first ones


class TaggerLogits(NamedTuple):
    """What the model says of a batch: logits of each word's labels, and a CRF's of the moves."""

    emissions: Array  # [T, B, Y]
    potentials: crf.Potentials | None  # None for softmax; transitions [Y, Y] or [T, B, Y, Y]


class Features(Module):
    """Word vector, character vector and casing of every position, side by side: [T, B, D]."""

    choices: TaggerSettings
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, drop: KeyedDropout) -> Array:
        """The features of a batch; see the module's docstring for its fields."""
        choices, sizes, training = self.choices, self.sizes, drop.key is not None
        forms, casing = batch.rows["forms"].T, choices.casing
        rows, rate = word_vectors.known_rows(batch, forms), choices.words.unknown_rate
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

        def initial(key: Array) -> Array:
            """U(-sqrt(3/C), sqrt(3/C)) (Ma & Hovy 2016, 3.1); padding starts at zero."""
            shape = (self.sizes.alphabet, choices.dimension)
            return word_vectors.uniform(key, shape).at[0].set(0.0)

        table = self.param("characters", initial)
        ids = spelling[forms.reshape(-1)].astype(jnp.int32)
        if choices.encoder == "lstm":
            cell = self.choices.cell
            encoder: nn.Module = CharacterLSTM(choices.units, cell, name="character_lstm")
        else:
            encoder = convolutions.CharacterConvolution(choices, name="character_cnn")
        return encoder(table, ids, drop).reshape(*forms.shape, -1)


class CharacterLSTM(Module):
    """Last states of a forward and a backward LSTM over the characters (Lample et al. 2016)."""

    units: int
    variant: cells.LSTMVariant

    @nn.compact
    def __call__(self, table: Array, ids: Array, drop: KeyedDropout) -> Array:
        """Characters of words, rows of their table: [C, D], [N, W] int32 -> [N, 2 units]."""
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
        """Scores of a batch; the key of the dropout masks is consumed, None at evaluation."""
        choices, choice = self.choices, self.choices.dropout
        windows, variational = choices.encoder == "window", choice.kind == "variational"
        rates = dropout.rates(hparams)
        drop = KeyedDropout(
            rates, key, variational=variational, inverted=choice.inverted, hashed=windows
        )
        features = Features(choices, self.sizes, name="features")
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
            energy = nn.Dense((labels + 1) * labels, kernel_init=_GLOROT, name="energy")(x)
            return _from_input(energy.reshape(*x.shape[:2], labels + 1, labels))
        emissions = nn.Dense(labels, kernel_init=_GLOROT, name="emissions")(x)
        if choices.classifier == "softmax":
            return TaggerLogits(emissions, None)
        transitions = self.param("transitions", _GLOROT, (labels, labels))
        ends = (self.param(n, nn.initializers.zeros, (labels,)) for n in ("start", "end"))
        return TaggerLogits(emissions, crf.Potentials(transitions, *ends))

    def _layers(self, batch: Batch, x: Array, drop: KeyedDropout) -> Array:
        """The states [T, B, 2 H] of the last BiLSTM layer over features [T, B, D]."""
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
    """The batch with so many positions of padding before and behind its sentences."""
    forms = jnp.pad(batch.rows["forms"], ((0, 0), (reach, reach)))
    return batch._replace(rows={**batch.rows, "forms": forms})


def rows_of_windows(reach: int, batch: Batch) -> Array:
    """[n] rows of the word table that the windows of a batch are made of, and UNKNOWN."""
    rows = word_vectors.known_rows(batch, _padded(batch, reach).rows["forms"]).reshape(-1)
    return jnp.pad(rows, (0, 1), constant_values=word_vectors.UNKNOWN)


def _from_input(energy: Array) -> TaggerLogits:
    """Logits from a matrix a word (LasagneNLP); row Y of `energy` [T, B, Y+1, Y] is the start."""
    none = jnp.zeros_like(energy[0, 0, 0])
    first = jnp.where(jnp.arange(len(energy))[:, None, None] == 0, energy[:, :, -1], 0.0)
    return TaggerLogits(first, crf.Potentials(energy[:, :, :-1], none, none))
