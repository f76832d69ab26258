"""A classifier of texts, or of targets in them: words and places of targets -> class logits.

Notation: T positions, B sentences, K targets of a sentence, R = B K, D size of a word vector, H
hidden units, Y classes, F word forms, V rows of the word table. A batch holds

    rows    forms [B, T] int32, length [B] int32, start and end [B, K] int32 (word positions of
            each target, the end exclusive; 0, 0 without one), targets [B] (how many of the K are
            real; and labels, which the model never sees)
    shared  what `word_vectors` reads; of V rows of the word table the first `Sizes.words` are
            the vocabulary's, which may be trained
    split   known [V] bool (the word has a vector or stood in train)
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.contracts import Batch, Hparams, Tree
from jaxeval.models import (
    aspect_attention,
    context_lstm,
    module,
    recurrence,
    sentence_lstm,
    text_encoders,
    word_vectors,
)
from jaxeval.models import sentiment_settings as settings
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.initialisers import Initial
from jaxeval.models.sentence_lstm import Sentences

Array = jax.Array


class Sizes(NamedTuple):
    """What of a corpus sets shapes."""

    labels: int
    words: int  # rows of the word table that the vocabulary has, the first ones
    longest_target: int  # in words, at least 1


class Words(module.Module):
    """The word vectors of a batch; see the module's docstring for its fields."""

    choices: settings.SentimentModel
    initial: Initial
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, training: bool) -> Sentences:
        """The sentences, all rows of which are the vocabulary's in training."""
        forms, length = batch.rows["forms"], batch.rows["length"]
        start, end = batch.rows["start"].reshape(-1), batch.rows["end"].reshape(-1)
        of_targets = _target_forms(forms, start, self.sizes.longest_target)
        table = self._table("words", batch)
        other = table
        if self.choices.words.target_table and self.choices.words.trained:
            other = self._table("target_words", batch)

        def look_up(table: Array | None, forms: Array) -> Array:
            rows = word_vectors.known_rows(batch, forms)
            if table is None:
                return word_vectors.vectors(batch, rows)
            return word_vectors.look_up(table, batch, rows, training)

        size = word_vectors.size(batch)
        empty = self.param("empty", self._draw(batch), (size,)) if self._has_empty else None
        return Sentences(
            look_up(table, forms.T),
            length,
            start,
            end,
            look_up(other, of_targets),
            empty,
            0 if self.choices.words.trained else size,
        )

    @property
    def _has_empty(self) -> bool:
        """Whether sides of a target may have no word."""
        sided = self.choices.architecture in ("tdlstm", "tclstm")
        return sided and not self.choices.target.include

    def _table(self, name: str, batch: Batch) -> Array | None:
        """The trained vectors [Sizes.words, D]; None where all are as read."""
        if not self.choices.words.trained:
            return None
        as_read = word_vectors.vocabulary(batch, self.sizes.words)
        table: Array = self.param(name, word_vectors.initial_table, self._draw(batch), *as_read)
        return table

    def _draw(self, batch: Batch) -> word_vectors.Draw:
        """How vectors of words without one begin."""
        if self.initial.kind == "uniform":
            return lambda key, shape: word_vectors.uniform(key, shape, self.initial.scale)
        if self.choices.words.initialiser == "uniform":
            return word_vectors.uniform
        as_read = word_vectors.vocabulary(batch, self.sizes.words)
        return lambda key, shape: word_vectors.normal(key, shape, *as_read)


def _target_forms(forms: Array, start: Array, longest: int) -> Array:
    """Word forms [W, R] from each target's start on: of forms [B, T] and start [R]."""
    rows = jnp.arange(len(start)) // (len(start) // len(forms))
    width = min(longest, forms.shape[1])
    positions = start[None] + jnp.arange(width)[:, None]
    return forms[rows[None], jnp.minimum(positions, forms.shape[1] - 1)]


class Classifier(module.Module):
    """Words, an encoder, logits."""

    choices: settings.SentimentModel
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        """Logits [B, K, Y]; the same for all targets of a sentence where none is read.

        Args:
          batch: see the module's docstring.
          hparams: traced; `initial_scale` and the rates named by `SentimentModel.rates`.
          key: of the dropout masks, consumed; None at evaluation.
        """
        shape = batch.rows["start"].shape
        if self.choices.architecture == "majority":
            bias = self.param("bias", nn.initializers.zeros, (self.sizes.labels,))
            return jnp.broadcast_to(bias, (*shape, self.sizes.labels))
        choice = self.choices.initial
        initial = Initial(choice.kind, hparams.get("initial_scale", 0.0), choice.zero_biases)
        drop = self._dropout(hparams, key)
        words = Words(self.choices, initial, self.sizes, name="embedding")
        features = self._encoder(initial)(words(batch, key is not None), drop)
        features = drop.elements("output", features).reshape(shape[0], -1, features.shape[-1])
        if self.choices.target.inter_aspect is not None:
            features = self._inter_aspect(features, batch, initial, drop)
        layer = self.param("logits", initial.linear, features.shape[-1], self.sizes.labels)
        logits = recurrence.project(features, layer["kernel"], 0) + layer["bias"][None, None]
        logits = jnp.tanh(logits) if self.choices.tanh_logits else logits
        return jnp.broadcast_to(logits, (*shape, self.sizes.labels))

    def _dropout(self, hparams: Hparams, key: Array | None) -> KeyedDropout:
        rates = {} if key is None else {s: hparams[n] for s, n in self.choices.rates.items()}
        return KeyedDropout(rates, key, variational=self.choices.dropout.kind == "variational")

    def _encoder(self, initial: Initial) -> nn.Module:
        """Sentences, dropout -> features [B, F], or [R, F] where the target is read."""
        choices, hidden, target = self.choices, self.choices.hidden, self.choices.target
        match choices.architecture:
            case "bag":
                return text_encoders.Bag(choices.bag, initial, name="encoder")
            case "cnn":
                sizes = choices.cnn.widths, choices.cnn.filters
                return text_encoders.Convolutions(*sizes, initial, name="encoder")
            case "lstm":
                return text_encoders.LastState(hidden, initial, name="encoder")
            case "atae":
                return aspect_attention.Atae(
                    hidden, initial, target, choices.attention, name="encoder"
                )
            case "ian":
                return aspect_attention.InteractiveAttention(
                    hidden, initial, target, name="encoder"
                )
        connected = choices.architecture == "tclstm"
        return context_lstm.ContextLSTM(hidden, initial, connected, target.include, name="encoder")

    def _inter_aspect(
        self, features: Array, batch: Batch, initial: Initial, drop: KeyedDropout
    ) -> Array:
        """States [B, K, H'] of an LSTM over the features [B, K, F] of a sentence's targets.

        In the order of their places in the sentence (Hazarika et al. 2018, equation 4).
        """
        width = self.choices.target.inter_aspect
        weights = self.param("inter_aspect", initial.lstm, features.shape[-1], width)
        real = jnp.arange(features.shape[1])[None] < batch.rows["targets"][:, None]
        last = batch.rows["forms"].shape[1]
        order = jnp.argsort(jnp.where(real, batch.rows["start"], last), axis=1)
        ordered = jnp.take_along_axis(features, order[..., None], axis=1).transpose(1, 0, 2)
        gates = recurrence.project(ordered, weights["kernel"], 0)
        states = drop.steps("output", sentence_lstm.run(weights, gates, real.T))
        back = jnp.argsort(order, axis=1)[..., None]
        return jnp.take_along_axis(states.transpose(1, 0, 2), back, axis=1)


def logits(
    choices: settings.SentimentModel,
    sizes: Sizes,
    params: Tree,
    batch: Batch,
    hparams: Hparams,
    key: Array | None = None,
) -> Array:
    """Logits [B, K, Y] of a batch; arguments as of `Classifier`."""
    values: Any = Classifier(choices, sizes).apply({"params": params}, batch, hparams, key)
    return values
