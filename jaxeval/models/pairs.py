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

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from jaxeval.config import fields, markers, reading
from jaxeval.contracts import Batch, Hparams, Tree
from jaxeval.models import dropout, module, text_encoders, word_vectors
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.initialisers import Initial
from jaxeval.models.sentence_lstm import Sentences

Array = jax.Array
_SIDES = ("premise", "hypothesis")


@reading.settings
class PairWordSettings:
    """Word embeddings."""

    trained: Annotated[bool, fields.about("train word vectors; false: as read")] = True


@reading.settings
class PairDropout:
    """Dropout; a site whose rate is 0 here draws no mask, the rates of the others are traced."""

    kind: Annotated[
        Literal["none", "naive", "variational"],
        fields.about("of sequences; variational: one mask for all words; naive: a fresh one each"),
    ] = "variational"
    input: Annotated[
        fields.Rate, markers.dropout("dropout_input"), fields.about("rate on word vectors")
    ] = 0.0
    output: Annotated[
        fields.Rate, markers.dropout("dropout_output"), fields.about("rate on last states")
    ] = 0.0

    @property
    def unused(self) -> frozenset[str]:
        """Rates that no member has."""
        sites = ("input", "output") if self.kind == "none" else ()
        return frozenset(map(dropout.rate_name, sites))


@reading.settings
class PairModel:
    """A classifier of pairs."""

    hidden: Annotated[fields.Size, fields.about("H of either LSTM")] = 50
    layer: Annotated[fields.Size, fields.about("units of the tanh layer over both states")] = 50
    words: Annotated[PairWordSettings, fields.about("word embeddings")] = PairWordSettings()
    dropout: Annotated[PairDropout, fields.about("dropout")] = PairDropout()


class Sizes(NamedTuple):
    """What of a corpus sets shapes."""

    labels: int
    words: int  # rows of the word table that the vocabulary has, the first ones


class PairClassifier(module.Module):
    """Words, the last states of two LSTMs that share nothing, a tanh layer, logits."""

    choices: PairModel
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        """Logits [B, Y].

        Args:
          batch: see the module's docstring.
          hparams: traced; the rates that `PairDropout` has active among them.
          key: of the dropout masks, consumed; None at evaluation.
        """
        choice, initial = self.choices.dropout, Initial("keras")
        rates = dropout.rates({name: hparams[name] for name in markers.active(choice)})
        drop = KeyedDropout(rates, key, variational=choice.kind == "variational")
        table = None
        if self.choices.words.trained:
            as_read = word_vectors.vocabulary(batch, self.sizes.words)
            table = self.param("words", word_vectors.initial_table, word_vectors.uniform, *as_read)
        states = []
        for side in _SIDES:
            encoder = text_encoders.LastState(self.choices.hidden, initial, name=side)
            sentences = self._sentences(batch, side, table, key is not None)
            states.append(drop.elements("output", encoder(sentences, drop)))
        pair = jnp.concatenate(states, axis=-1)
        layer = self.param("layer", initial.linear, pair.shape[-1], self.choices.layer)
        hidden = jnp.tanh(pair @ layer["kernel"] + layer["bias"][None])
        last = self.param("logits", initial.linear, self.choices.layer, self.sizes.labels)
        logits: Array = hidden @ last["kernel"] + last["bias"][None]
        return logits

    def _sentences(
        self, batch: Batch, side: str, table: Array | None, training: bool
    ) -> Sentences:
        """One sentence of each pair; nothing in it is a target."""
        rows = word_vectors.known_rows(batch, batch.rows[side].T)
        if table is None:
            words, frozen = word_vectors.vectors(batch, rows), word_vectors.size(batch)
        else:
            words, frozen = word_vectors.look_up(table, batch, rows, training), 0
        length = batch.rows[f"{side}_length"]
        nowhere = jnp.zeros_like(length)
        return Sentences(words, length, nowhere, nowhere, words[:1], None, frozen)


def logits(
    choices: PairModel,
    sizes: Sizes,
    params: Tree,
    batch: Batch,
    hparams: Hparams,
    key: Array | None = None,
) -> Array:
    """Logits [B, Y] of a batch; arguments as of `PairClassifier`."""
    values: Any = PairClassifier(choices, sizes).apply({"params": params}, batch, hparams, key)
    return values
