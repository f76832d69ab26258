"""A classifier of pairs of sentences: two LSTMs, a tanh layer over both last states, logits.

Bowman et al. (2015, section 4.3) with a single layer, as VecEval (Nayak et al. 2016) has it.

Notation: T positions, B pairs, D size of a word vector, H units of each LSTM, Y classes. A batch
holds

    rows    premise and hypothesis [B, T] int32, premise_length and hypothesis_length [B] int32
            (and labels, which the model never sees)
    shared  what `word_vectors` reads; of V rows of the word table the first `Sizes.words` are the
            vocabulary's, which may be trained
    split   known [V] bool (the word has a vector or stood in train)
"""

from typing import NamedTuple

import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams
from jaxeval.models import Module, dropout, word_vectors
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.sentences import Initial, Sentences, WordLSTM


@reading.settings
class PairWordSettings:
    """Word embeddings."""

    trained: bool = Field(True, description="train word vectors; false: as read")


@reading.settings
class PairDropout:
    """Dropout; a site whose rate is 0 here draws no mask, the rates of the others are traced."""

    kind: dropout.Kind = "variational"
    input: dropout.InputRate = Field(0.0, description="rate on word vectors")
    output: dropout.OutputRate = Field(0.0, description="rate on last states")

    @property
    def unused(self) -> frozenset[str]:
        """Rates that no member has."""
        sites = ("input", "output") if self.kind == "none" else ()
        return frozenset(map(dropout.rate_name, sites))


@reading.settings
class PairModel:
    """A classifier of pairs."""

    hidden: fields.Size = Field(50, description="H of either LSTM")
    layer: fields.Size = Field(50, description="units of the tanh layer over both states")
    words: PairWordSettings = Field(PairWordSettings(), description="word embeddings")
    dropout: PairDropout = Field(PairDropout(), description="dropout")


class Sizes(NamedTuple):
    """What of a corpus sets shapes."""

    labels: int
    words: int  # rows of the word table that the vocabulary has, the first ones


class PairClassifier(Module):
    """Words, the last states of two LSTMs that share nothing, a tanh layer, logits."""

    choices: PairModel
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        """Logits [B, Y]; arguments as of `sentiment.Classifier`."""
        choices, initial = self.choices, Initial("keras")
        variational = choices.dropout.kind == "variational"
        drop = KeyedDropout(dropout.rates(hparams), key, variational=variational)
        table, frozen = None, word_vectors.size(batch)
        if choices.words.trained:
            table, frozen = word_vectors.parameter(self, "words", batch, self.sizes.words), 0
        states = []
        for side in ("premise", "hypothesis"):
            rows = word_vectors.known_rows(batch, batch.rows[side].T)
            words = word_vectors.look_up(table, batch, rows, key is not None)
            length = batch.rows[f"{side}_length"]
            nowhere = jnp.zeros_like(length)  # nothing is a target
            texts = Sentences(words, length, nowhere, nowhere, words[:1], frozen)
            encoder = WordLSTM(choices.hidden, initial, name=side)
            hidden = encoder(texts, drop.steps("input", words), texts.valid)
            states.append(drop.elements("output", hidden[-1]))
        pair = jnp.concatenate(states, axis=-1)
        layer = self.param("layer", initial.linear, pair.shape[-1], choices.layer)
        hidden = jnp.tanh(pair @ layer["kernel"] + layer["bias"][None])
        last = self.param("logits", initial.linear, choices.layer, self.sizes.labels)
        logits: Array = hidden @ last["kernel"] + last["bias"][None]
        return logits
