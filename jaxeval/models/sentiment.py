"""A classifier of texts, or of targets in them.

Notation as in `sentences`. Rows of a batch are forms [B, T] int32, length [B] int32, start and end
[B, K] int32 (word positions of each target, the end exclusive; 0, 0 without one) and targets [B]
(how many of the K are real); `shared` and `split` are as for `word_vectors`.
"""

from typing import Annotated, Literal, NamedTuple

import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.config.fields import Rate, about
from jaxeval.contracts import Array, Batch, Hparams
from jaxeval.models import Module, aspects, dropout, recurrence, sentences, uniform, word_vectors
from jaxeval.models.dropout import KeyedDropout, site
from jaxeval.models.sentences import Initial, Sentences
from jaxeval.parameters import Number

_Architecture = Literal["majority", "bag", "cnn", "lstm", "tdlstm", "tclstm", "atae", "ian"]
TARGETED = frozenset({"tdlstm", "tclstm", "atae", "ian"})  # architectures that read the target
SITES: dict[_Architecture, frozenset[str]] = {  # dropout sites
    "majority": frozenset(),
    **dict.fromkeys(("bag", "cnn", "lstm", "tdlstm", "tclstm"), frozenset({"input", "output"})),
    "atae": frozenset({"input", "hidden", "attention_input", "attention", "output"}),
    "ian": frozenset({"input", "hidden", "output"}),
}
_Scale = fields.Traced(
    name="initial_scale", range=fields.Range(1e-3, 1.0, log=True), limits=Number(0, 1000)
)


@reading.settings
class _Words:
    """Word embeddings."""

    trained: bool = Field(True, description="train word vectors; false: keep them as read")
    initialiser: Annotated[
        Literal["uniform", "normal"],
        about("without a vector: U(+-sqrt(3/D)), or N(m, s) of all vectors read"),
    ] = "uniform"
    target_table: bool = Field(False, description="trained: a second table for words of targets")


@reading.settings
class _Target:
    """The target and its position."""

    include: bool = Field(True, description="tdlstm, tclstm: both LSTMs read the target")
    encoder: Literal["mean", "lstm"] = Field(
        "mean", description="atae: mean of vectors, or last state"
    )
    position: Annotated[
        Literal["none", "weighting", "embedding"],
        about("atae, ian: states weigh 1 - distance / length, or distances embedded"),
    ] = "none"
    position_size: fields.Size = Field(30, description="embedding: size")
    max_distance: fields.Length = Field(100, description="embedding: maximum distance")
    inter_aspect: Annotated[
        fields.Size | None,
        about("units of an LSTM over a sentence's targets; needs data.rows = sentences"),
    ] = None


@reading.settings
class _Attention:
    """The attention of atae."""

    target: bool = Field(True, description="the hidden layer also reads the target")
    bias: bool = Field(True, description="the hidden layer has a bias")
    projection: Annotated[
        Literal["none", "linear", "tanh"], about("after it: r, W r + V h_N, or the tanh of that")
    ] = "tanh"


@reading.settings
class _Convolutions:
    """Convolutions over words (Kim 2014)."""

    widths: tuple[Annotated[int, Field(ge=1, le=64)], ...] = Field(
        (3, 4, 5), min_length=1, max_length=8, description="words per window"
    )
    filters: fields.Size = Field(100, description="filters of each width")


@reading.settings
class _Initial:
    """Initial weights."""

    kind: Annotated[
        sentences.InitialKind,
        about("Glorot and orthogonal; torch: U(+-1/sqrt(n)); uniform: U(+-scale)"),
    ] = "keras"
    scale: Annotated[float, _Scale] = Field(
        0.1, ge=0, le=1000, description="scale of uniform, also for word vectors"
    )
    zero_biases: bool = Field(False, description="uniform: biases start at 0")

    @model_validator(mode="after")
    def _fits(self) -> "_Initial":
        if self.zero_biases and self.kind != "uniform":
            raise ValueError("zero_biases needs kind = 'uniform'")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """The scale, if nothing reads it."""
        return frozenset(() if self.kind == "uniform" else {"initial_scale"})


@reading.settings
class _Dropout(dropout.DropoutSettings):
    """Dropout of a classifier."""

    input: Annotated[Rate, site("input"), about("rate on word vectors")] = 0.0
    hidden: Annotated[Rate, site("hidden"), about("atae, ian: rate on LSTM states")] = 0.0
    attention_input: Annotated[
        Rate, site("attention_input"), about("atae: rate on states and target for the attention")
    ] = 0.0
    attention: Annotated[Rate, site("attention"), about("atae: rate on its hidden layer")] = 0.0
    output: Annotated[Rate, site("output"), about("rate on what the classifier reads")] = 0.0


@reading.settings
class SentimentModel:
    """A classifier."""

    architecture: Annotated[
        _Architecture,
        about(
            "majority: a bias; bag: the mean word vector; cnn: Kim 2014; lstm: the last state; "
            "tdlstm, tclstm: Tang et al. 2016; atae: Wang et al. 2016; ian: Ma et al. 2017"
        ),
    ] = "tdlstm"
    hidden: fields.Size = Field(100, description="units of each LSTM")
    bag: tuple[fields.Size, ...] = Field((100,), max_length=8, description="widths of ReLU layers")
    tanh_logits: bool = Field(False, description="logits are the tanh of a linear layer")
    words: _Words = _Words()
    target: _Target = _Target()
    attention: _Attention = _Attention()
    cnn: _Convolutions = _Convolutions()
    initial: _Initial = _Initial()
    dropout: _Dropout = _Dropout()

    @model_validator(mode="after")
    def _fits(self) -> "SentimentModel":
        for key, asked, able in (
            ("target.position", self.target.position != "none", {"atae", "ian"}),
            ("words.target_table", self.words.target_table, TARGETED - {"tdlstm"}),
            ("target.inter_aspect", self.target.inter_aspect, TARGETED),
        ):
            if asked and self.architecture not in able:
                expected = ", ".join(sorted(able))
                raise ValueError(f"{key}: {self.architecture} has none; expected {expected}")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Dropout rates of sites that the architecture lacks."""
        absent = frozenset.union(*SITES.values()) - SITES[self.architecture]
        return frozenset(map(dropout.rate_name, absent))


class Sizes(NamedTuple):
    """Sizes that depend on the corpus."""

    labels: int
    words: int  # leading rows of the word table that may be trained: the vocabulary
    longest_target: int  # in words, at least 1


class _Embedding(Module):
    """Looks up the words of a batch; in training all of them are the vocabulary's."""

    choices: SentimentModel
    initial: Initial
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, training: bool) -> Sentences:
        choices, trained = self.choices, self.choices.words.trained
        forms, length = batch.rows["forms"], batch.rows["length"]
        start, end = batch.rows["start"].reshape(-1), batch.rows["end"].reshape(-1)
        # word forms [W, R] from the start of each target
        rows = jnp.arange(len(start)) // (len(start) // len(forms))
        last = forms.shape[1] - 1
        places = start[None] + jnp.arange(min(self.sizes.longest_target, last + 1))[:, None]
        target_forms = forms[rows[None], jnp.minimum(places, last)]
        like = batch, self.sizes.words, self._draw(batch)
        table = other = word_vectors.parameter(self, "words", *like) if trained else None
        if choices.words.target_table and trained:
            other = word_vectors.parameter(self, "target_words", *like)
        size = word_vectors.size(batch)
        may_be_empty = choices.architecture in ("tdlstm", "tclstm") and not choices.target.include
        empty = self.param("empty", self._draw(batch), (size,)) if may_be_empty else None
        words, targets = (
            word_vectors.look_up(t, batch, word_vectors.known_rows(batch, f), training)
            for t, f in ((table, forms.T), (other, target_forms))
        )
        return Sentences(words, length, start, end, targets, 0 if trained else size, empty)

    def _draw(self, batch: Batch) -> word_vectors.Draw:
        """Initial vectors of words that have none."""
        if self.initial.kind == "uniform":
            return lambda key, shape: uniform(key, shape, self.initial.scale)
        if self.choices.words.initialiser == "uniform":
            return word_vectors.by_width
        as_read = word_vectors.vocabulary(batch, self.sizes.words)
        return lambda key, shape: word_vectors.normal(key, shape, *as_read)


class Classifier(Module):
    """Embedding, encoder, logits."""

    choices: SentimentModel
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        """Computes logits [B, K, Y], equal for all targets of a sentence if none is read.

        Traced hparams are `initial_scale` and dropout rates; the key of the masks is consumed, and
        None at evaluation.
        """
        choices = self.choices
        shape = batch.rows["start"].shape
        if choices.architecture == "majority":
            bias = self.param("bias", nn.initializers.zeros, (self.sizes.labels,))
            return jnp.broadcast_to(bias, (*shape, self.sizes.labels))
        begin = choices.initial
        variational = choices.dropout.kind == "variational"
        initial = Initial(begin.kind, hparams.get("initial_scale", 0.0), begin.zero_biases)
        drop = KeyedDropout(dropout.rates(hparams), key, variational=variational)
        words = _Embedding(choices, initial, self.sizes, name="embedding")(batch, key is not None)
        features = aspects.Encoder(choices, initial, name="encoder")(words, drop)
        features = drop.elements("output", features).reshape(shape[0], -1, features.shape[-1])
        if choices.target.inter_aspect is not None:
            features = self._inter_aspect(features, batch, initial, drop)
        layer = self.param("logits", initial.linear, features.shape[-1], self.sizes.labels)
        logits = recurrence.project(features, layer["kernel"], 0) + layer["bias"][None, None]
        logits = jnp.tanh(logits) if choices.tanh_logits else logits
        return jnp.broadcast_to(logits, (*shape, self.sizes.labels))

    def _inter_aspect(
        self, features: Array, batch: Batch, initial: Initial, drop: KeyedDropout
    ) -> Array:
        """States [B, K, H'] of an LSTM over a sentence's targets (Hazarika et al. 2018, eq. 4)."""
        width = self.choices.target.inter_aspect
        weights = self.param("inter_aspect", initial.lstm, features.shape[-1], width)
        real = jnp.arange(features.shape[1])[None] < batch.rows["targets"][:, None]
        last = batch.rows["forms"].shape[1]
        order = jnp.argsort(jnp.where(real, batch.rows["start"], last), axis=1)
        ordered = jnp.take_along_axis(features, order[..., None], axis=1).transpose(1, 0, 2)
        gates = recurrence.project(ordered, weights["kernel"], 0)
        states = drop.steps("output", sentences.run(weights, gates, real.T))
        back = jnp.argsort(order, axis=1)[..., None]
        return jnp.take_along_axis(states.transpose(1, 0, 2), back, axis=1)
