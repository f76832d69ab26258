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

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.config import markers
from jaxeval.contracts import Batch, Hparams
from jaxeval.models import characters, crf, dropout, lstm, module, window, word_vectors
from jaxeval.models import tagging_settings as settings
from jaxeval.models.dropout import KeyedDropout

Array = jax.Array
_GLOROT = nn.initializers.glorot_uniform()
_PATTERNS = 5  # of capitals; padding has none


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


class Features(module.Module):
    """Word vector, character vector and casing of every position, side by side: [T, B, D]."""

    choices: settings.TaggerSettings
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, drop: KeyedDropout) -> Array:
        """The features of a batch; see the module's docstring for its fields."""
        forms = batch.rows["forms"].T
        parts = [self._words(batch, forms, drop)]
        if self.choices.characters.encoder != "none":
            parts.append(self._characters(batch.shared["characters"], forms, drop))
        if self.choices.casing == "capitals":
            parts.append(jax.nn.one_hot(batch.shared["capitals"][forms], _PATTERNS))
        elif self.choices.casing != "none":
            parts.append(self._casing(batch.shared["casing"][forms]))
        return jnp.concatenate(parts, axis=-1)

    def _words(self, batch: Batch, forms: Array, drop: KeyedDropout) -> Array:
        rows = word_vectors.known_rows(batch, forms)
        rate = self.choices.words.unknown_rate
        if rate and drop.key is not None:
            rows = word_vectors.unknown_at_random(drop.next_key(), rate, batch.split["once"], rows)
        if not self.choices.words.trained:
            return word_vectors.vectors(batch, rows)
        as_read, pretrained = word_vectors.vocabulary(batch, self.sizes.words)
        table = self.param(
            "words", word_vectors.initial_table, word_vectors.uniform, as_read, pretrained
        )
        return word_vectors.look_up(table, batch, rows, training=drop.key is not None)

    def _characters(self, spelling: Array, forms: Array, drop: KeyedDropout) -> Array:
        choice = self.choices.characters
        shape = (self.sizes.alphabet, choice.dimension)
        table = self.param("characters", _initial_characters, shape)
        ids = spelling[forms.reshape(-1)].astype(jnp.int32)
        if choice.encoder == "lstm":
            encoder: nn.Module = characters.RecurrentEncoder(
                choice.units, self.choices.cell, name="character_lstm"
            )
        else:
            encoder = characters.ConvolutionEncoder(
                choice.filters,
                choice.width,
                choice.activation,
                choice.full_padding,
                choice.masked,
                name="character_cnn",
            )
        return encoder(table, ids, drop).reshape(*forms.shape, -1)

    def _casing(self, kinds: Array) -> Array:
        if self.choices.casing == "one_hot":
            return jax.nn.one_hot(kinds, self.sizes.casings)
        shape = (self.sizes.casings, self.choices.casing_dimension)
        return self.param("casing", nn.initializers.uniform(0.1), shape)[kinds]


class Tagger(module.Module):
    """Features, BiLSTM layers or a window, label logits."""

    choices: settings.TaggerSettings
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> TaggerLogits:
        """Scores of a batch.

        Args:
          batch: see the module's docstring.
          hparams: traced; the rates that `settings.TaggerDropout` has active among them.
          key: of the dropout masks, consumed; None at evaluation.
        """
        choice = self.choices.dropout
        rates = dropout.rates({name: hparams[name] for name in markers.active(choice)})
        windows = self.choices.encoder == "window"
        drop = KeyedDropout(
            rates,
            key,
            variational=choice.kind == "variational",
            inverted=choice.inverted,
            hashed=windows,
        )
        features = Features(self.choices, self.sizes, name="features")
        if windows:
            sizes = self.choices.window
            x = drop.steps("input", features(_padded(batch, sizes.reach), drop))
            x = drop.steps("output", window.Window(sizes, name="window")(x))
        else:
            x = self._layers(batch, drop.steps("input", features(batch, drop)), drop)
        if self.choices.projection is not None:
            x = jnp.tanh(nn.Dense(self.choices.projection, name="projection")(x))
        return self._logits(x)

    def _layers(self, batch: Batch, x: Array, drop: KeyedDropout) -> Array:
        """The states [T, B, 2 H] of the last BiLSTM layer over features [T, B, D]."""
        valid = jnp.arange(len(x))[:, None] < batch.rows["length"][None]
        for number, width in enumerate(self.choices.layers):
            frozen = 0 if number or self.choices.words.trained else word_vectors.size(batch)
            x = drop.steps("output", self._layer(x, valid, drop, number, width, frozen))
        return x

    def _layer(
        self, x: Array, valid: Array, drop: KeyedDropout, number: int, width: int, frozen: int
    ) -> Array:
        kind = self.choices.cell
        groups = kind.gates if self.choices.dropout.per_gate else 1
        outputs = []
        for reverse, direction in ((False, "forward"), (True, "backward")):
            layer = lstm.LSTM(width, kind, reverse, frozen, name=f"{direction}{number}")
            input_mask = drop.mask("layer_input", (groups, x.shape[1], x.shape[2]))
            state_mask = drop.mask("state", (groups, x.shape[1], width))
            outputs.append(layer(x, valid, input_mask, state_mask))
        return jnp.concatenate(outputs, axis=-1)

    def _logits(self, x: Array) -> TaggerLogits:
        labels = self.sizes.labels
        if self.choices.classifier == "crf" and self.choices.transitions == "from_input":
            energy = nn.Dense((labels + 1) * labels, kernel_init=_GLOROT, name="energy")(x)
            return _from_input(energy.reshape(*x.shape[:2], labels + 1, labels))
        emissions = nn.Dense(labels, kernel_init=_GLOROT, name="emissions")(x)
        if self.choices.classifier == "softmax":
            return TaggerLogits(emissions, None)
        transitions = self.param("transitions", _GLOROT, (labels, labels))
        start = self.param("start", nn.initializers.zeros, (labels,))
        end = self.param("end", nn.initializers.zeros, (labels,))
        return TaggerLogits(emissions, crf.Potentials(transitions, start, end))


def rows_of_windows(reach: int, batch: Batch) -> Array:
    """[n] rows of the word table that the windows of a batch are made of, and UNKNOWN."""
    batch = _padded(batch, reach)
    rows = word_vectors.known_rows(batch, batch.rows["forms"]).reshape(-1)
    return jnp.pad(rows, (0, 1), constant_values=word_vectors.UNKNOWN)


def _padded(batch: Batch, reach: int) -> Batch:
    """The batch with so many positions of padding before and behind its sentences."""
    forms = jnp.pad(batch.rows["forms"], ((0, 0), (reach, reach)))
    return batch._replace(rows={**batch.rows, "forms": forms})


def _from_input(energy: Array) -> TaggerLogits:
    """Logits from a matrix a word (LasagneNLP); row Y of `energy` [T, B, Y+1, Y] is the start."""
    none = jnp.zeros_like(energy[0, 0, 0])
    first = jnp.where(jnp.arange(len(energy))[:, None, None] == 0, energy[:, :, -1], 0.0)
    return TaggerLogits(first, crf.Potentials(energy[:, :, :-1], none, none))


def _initial_characters(key: Array, shape: tuple[int, int]) -> Array:
    """U(-sqrt(3/C), sqrt(3/C)) (Ma & Hovy 2016, 3.1); the padding character starts at zero."""
    bound = (3.0 / shape[1]) ** 0.5
    drawn = jax.random.uniform(key, shape, jnp.float32, -bound, bound)
    return drawn.at[0].set(0.0)
