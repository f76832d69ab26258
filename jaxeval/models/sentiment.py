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

from typing import Annotated, Literal, NamedTuple

import jax.numpy as jnp
from flax import linen as nn
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams
from jaxeval.models import Module, aspects, dropout, recurrence, sentences, word_vectors
from jaxeval.models.dropout import KeyedDropout
from jaxeval.models.sentences import Initial, Sentences

Architecture = Literal["majority", "bag", "cnn", "lstm", "tdlstm", "tclstm", "atae", "ian"]
TARGETED = frozenset({"tdlstm", "tclstm", "atae", "ian"})  # which read the target
SITES: dict[Architecture, frozenset[str]] = {  # of dropout
    "majority": frozenset(),
    **dict.fromkeys(("bag", "cnn", "lstm", "tdlstm", "tclstm"), frozenset({"input", "output"})),
    "atae": frozenset({"input", "hidden", "attention_input", "attention", "output"}),
    "ian": frozenset({"input", "hidden", "output"}),
}


@reading.settings
class SentimentWordSettings:
    """Word embeddings."""

    trained: bool = Field(True, description="train word vectors; false: as read")
    initialiser: Literal["uniform", "normal"] = Field(
        "uniform", description="without a vector: U(+-sqrt(3/D)), or N(m, s) of all vectors read"
    )
    target_table: bool = Field(False, description="trained: a table of targets' words beside")


@reading.settings
class TargetSettings:
    """What a model makes of a target and of its place."""

    include: bool = Field(True, description="tdlstm, tclstm: both sides hold the target")
    encoder: Literal["mean", "lstm"] = Field("mean", description="atae: of vectors, or last state")
    position: Literal["none", "weighting", "embedding"] = Field(
        "none", description="atae, ian: states weigh 1 - distance / length, or distances embedded"
    )
    position_size: fields.Size = Field(30, description="embedding: its size")
    max_distance: fields.Length = Field(100, description="embedding: the longest distance")
    inter_aspect: fields.Size | None = Field(
        None, description="units of an LSTM over a sentence's targets; needs data.rows = sentences"
    )


@reading.settings
class AttentionSettings:
    """The attention of atae."""

    target: bool = Field(True, description="its hidden layer reads the target too")
    bias: bool = Field(True, description="its hidden layer has a bias")
    projection: Literal["none", "linear", "tanh"] = Field(
        "tanh", description="after it: r alone, W r + V h_N, or the tanh of that"
    )


@reading.settings
class ConvolutionSettings:
    """Convolutions over words (Kim 2014)."""

    widths: tuple[Annotated[int, Field(ge=1, le=64)], ...] = Field(
        (3, 4, 5), min_length=1, max_length=8, description="words per window"
    )
    filters: fields.Size = Field(100, description="of each width")


@reading.settings
class InitialSettings:
    """How weights begin."""

    kind: sentences.InitialKind = Field(
        "keras", description="Glorot and orthogonal; torch: U(+-1/sqrt(n)); uniform: U(+-scale)"
    )
    scale: Annotated[
        float,
        fields.Traced(
            name="initial_scale",
            range=fields.Range(1e-3, 1.0, log=True),
            limits=fields.Limits(0, 1000),
        ),
    ] = Field(0.1, ge=0, le=1000, description="of uniform, word vectors among them")
    zero_biases: bool = Field(False, description="uniform: biases begin at 0")

    @model_validator(mode="after")
    def _fits(self) -> "InitialSettings":
        if self.zero_biases and self.kind != "uniform":
            raise ValueError("zero_biases needs kind = 'uniform'")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """The scale, where nothing reads it."""
        return frozenset(() if self.kind == "uniform" else {"initial_scale"})


@reading.settings
class SentimentDropout:
    """Dropout; a site whose rate is 0 here draws no mask, the rates of the others are traced."""

    kind: dropout.Kind = "variational"
    input: dropout.InputRate = Field(0.0, description="rate on word vectors")
    hidden: dropout.HiddenRate = Field(0.0, description="atae, ian: rate on LSTM states")
    attention_input: dropout.AttentionInputRate = Field(
        0.0, description="atae: rate on what only the attention reads, states and target"
    )
    attention: dropout.AttentionRate = Field(0.0, description="atae: rate on its hidden layer")
    output: dropout.OutputRate = Field(0.0, description="rate on what the classifier reads")


@reading.settings
class SentimentModel:
    """A classifier."""

    architecture: Architecture = Field(
        "tdlstm",
        description="majority: a bias; bag: the mean word vector; cnn: Kim 2014; lstm: the last "
        "state; tdlstm, tclstm: Tang et al. 2016; atae: Wang et al. 2016; ian: Ma et al. 2017",
    )
    hidden: fields.Size = Field(100, description="H of every LSTM")
    bag: tuple[fields.Size, ...] = Field((100,), max_length=8, description="ReLU layers' widths")
    tanh_logits: bool = Field(False, description="logits are the tanh of a linear layer")
    words: SentimentWordSettings = Field(SentimentWordSettings(), description="word embeddings")
    target: TargetSettings = Field(TargetSettings(), description="the target")
    attention: AttentionSettings = Field(AttentionSettings(), description="atae's attention")
    cnn: ConvolutionSettings = Field(ConvolutionSettings(), description="convolutions")
    initial: InitialSettings = Field(InitialSettings(), description="how weights begin")
    dropout: SentimentDropout = Field(SentimentDropout(), description="dropout")

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
        """Traced numbers that no member has, by name."""
        every = frozenset.union(*SITES.values())
        sites = frozenset() if self.dropout.kind == "none" else SITES[self.architecture]
        return frozenset(map(dropout.rate_name, every - sites))


class Sizes(NamedTuple):
    """What of a corpus sets shapes."""

    labels: int
    words: int  # rows of the word table that the vocabulary has, the first ones
    longest_target: int  # in words, at least 1


class Words(Module):
    """The word vectors of a batch; see the module's docstring for its fields."""

    choices: SentimentModel
    initial: Initial
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, training: bool) -> Sentences:
        """The sentences, all rows of which are the vocabulary's in training."""
        choices, trained = self.choices, self.choices.words.trained
        forms, length = batch.rows["forms"], batch.rows["length"]
        start, end = batch.rows["start"].reshape(-1), batch.rows["end"].reshape(-1)
        # word forms [W, R] from each target's start on
        rows = jnp.arange(len(start)) // (len(start) // len(forms))
        last = forms.shape[1] - 1
        places = start[None] + jnp.arange(min(self.sizes.longest_target, last + 1))[:, None]
        of_targets = forms[rows[None], jnp.minimum(places, last)]
        like = batch, self.sizes.words, self._draw(batch)
        table = other = word_vectors.parameter(self, "words", *like) if trained else None
        if choices.words.target_table and trained:
            other = word_vectors.parameter(self, "target_words", *like)

        def look_up(table: Array | None, forms: Array) -> Array:
            rows = word_vectors.known_rows(batch, forms)
            return word_vectors.look_up(table, batch, rows, training)

        size = word_vectors.size(batch)
        may_be_empty = choices.architecture in ("tdlstm", "tclstm") and not choices.target.include
        empty = self.param("empty", self._draw(batch), (size,)) if may_be_empty else None
        words, of_target = look_up(table, forms.T), look_up(other, of_targets)
        frozen = 0 if trained else size
        return Sentences(words, length, start, end, of_target, frozen, empty)

    def _draw(self, batch: Batch) -> word_vectors.Draw:
        """How vectors of words without one begin."""
        if self.initial.kind == "uniform":
            return lambda key, shape: word_vectors.uniform(key, shape, self.initial.scale)
        if self.choices.words.initialiser == "uniform":
            return word_vectors.uniform
        as_read = word_vectors.vocabulary(batch, self.sizes.words)
        return lambda key, shape: word_vectors.normal(key, shape, *as_read)


class Classifier(Module):
    """Words, an encoder, logits."""

    choices: SentimentModel
    sizes: Sizes

    @nn.compact
    def __call__(self, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        """Logits [B, K, Y]; the same for all targets of a sentence where none is read.

        Traced hparams are `initial_scale` and dropout rates; the key of masks is consumed, None at
        evaluation.
        """
        choices, shape = self.choices, batch.rows["start"].shape
        if choices.architecture == "majority":
            bias = self.param("bias", nn.initializers.zeros, (self.sizes.labels,))
            return jnp.broadcast_to(bias, (*shape, self.sizes.labels))
        begin, variational = choices.initial, choices.dropout.kind == "variational"
        initial = Initial(begin.kind, hparams.get("initial_scale", 0.0), begin.zero_biases)
        drop = KeyedDropout(dropout.rates(hparams), key, variational=variational)
        words = Words(choices, initial, self.sizes, name="embedding")(batch, key is not None)
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
        """States [B, K, H'] of an LSTM over a sentence's targets in their order.

        Hazarika et al. (2018, equation 4); features are [B, K, F].
        """
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
