"""What a config says of a classifier of texts, or of targets in them."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.models import dropout, initialisers

Architecture = Literal["majority", "bag", "cnn", "lstm", "tdlstm", "tclstm", "atae", "ian"]
TARGETED = frozenset({"tdlstm", "tclstm", "atae", "ian"})  # which read the target
ATTENTIVE = frozenset({"atae", "ian"})
SITES: Mapping[Architecture, frozenset[str]] = {  # of dropout
    "majority": frozenset(),
    **dict.fromkeys(("bag", "cnn", "lstm", "tdlstm", "tclstm"), frozenset({"input", "output"})),
    "atae": frozenset({"input", "hidden", "attention_input", "attention", "output"}),
    "ian": frozenset({"input", "hidden", "output"}),
}


@reading.settings
class SentimentWordSettings:
    """Word embeddings."""

    trained: Annotated[bool, fields.about("train word vectors; false: as read")] = True
    initialiser: Annotated[
        Literal["uniform", "normal"],
        fields.about(
            "words without a vector: U(+-sqrt(3/D)), or N(m, s) of all vectors read; drawn "
            "with all weights where those are uniform"
        ),
    ] = "uniform"
    target_table: Annotated[
        bool, fields.about("trained vectors: the words of targets have a table of their own")
    ] = False


@reading.settings
class InitialSettings:
    """How weights begin."""

    kind: Annotated[
        initialisers.Kind,
        fields.about(
            "keras: Glorot, recurrent kernels orthogonal; torch: U(+-1/sqrt(inputs)), of an "
            "LSTM U(+-1/sqrt(H)); uniform: U(+-scale)"
        ),
    ] = "keras"
    scale: Annotated[
        float,
        markers.Traced(
            name="initial_scale",
            range=markers.Range(1e-3, 1.0, log=True),
            limits=markers.Limits(0, 1000),
        ),
        pydantic.Field(ge=0, le=1000, description="of uniform, word vectors among them"),
    ] = 0.1
    zero_biases: Annotated[bool, fields.about("uniform: biases begin at 0")] = False

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "InitialSettings":
        if self.zero_biases and self.kind != "uniform":
            raise ValueError("zero_biases needs kind = 'uniform'")
        return self

    @property
    def unused(self) -> frozenset[str]:
        """The scale, where nothing reads it."""
        return frozenset(() if self.kind == "uniform" else {"initial_scale"})


@reading.settings
class TargetSettings:
    """What a model makes of a target and of its place."""

    include: Annotated[bool, fields.about("tdlstm, tclstm: both sides hold the target")] = True
    encoder: Annotated[
        Literal["mean", "lstm"],
        fields.about("atae: mean of its vectors, or an LSTM's last state"),
    ] = "mean"
    position: Annotated[
        Literal["none", "weighting", "embedding"],
        fields.about(
            "atae, ian: states of words weigh 1 - distance / length, or words have a vector of "
            "their distance"
        ),
    ] = "none"
    position_size: Annotated[fields.Size, fields.about("embedding: its size")] = 30
    max_distance: Annotated[fields.Length, fields.about("embedding: the longest distance")] = 100
    inter_aspect: Annotated[
        fields.Size | None,
        fields.about("units of an LSTM over a sentence's targets; needs data.rows = sentences"),
    ] = None


@reading.settings
class AttentionSettings:
    """The attention of atae."""

    target: Annotated[bool, fields.about("its hidden layer reads the target too")] = True
    bias: Annotated[bool, fields.about("its hidden layer has a bias")] = True
    projection: Annotated[
        Literal["none", "linear", "tanh"],
        fields.about("after it: r alone, W r + V h_N, or the tanh of that (Wang et al. 2016)"),
    ] = "tanh"


@reading.settings
class ConvolutionSettings:
    """Convolutions over words (Kim 2014)."""

    widths: Annotated[
        tuple[Annotated[int, pydantic.Field(ge=1, le=64)], ...],
        pydantic.Field(min_length=1, max_length=8, description="words per window"),
    ] = (3, 4, 5)
    filters: Annotated[fields.Size, fields.about("of each width")] = 100


@reading.settings
class SentimentDropout:
    """Dropout; a site whose rate is 0 here draws no mask, the rates of the others are traced."""

    kind: Annotated[
        Literal["none", "naive", "variational"],
        fields.about("of sequences; variational: one mask for all words; naive: a fresh one each"),
    ] = "variational"
    input: Annotated[
        fields.Rate, markers.dropout("dropout_input"), fields.about("rate on word vectors")
    ] = 0.0
    hidden: Annotated[
        fields.Rate,
        markers.dropout("dropout_hidden"),
        fields.about("atae, ian: on LSTM states"),
    ] = 0.0
    attention_input: Annotated[
        fields.Rate,
        markers.dropout("dropout_attention_input"),
        fields.about("atae: rate on what only the attention reads, states and target"),
    ] = 0.0
    attention: Annotated[
        fields.Rate,
        markers.dropout("dropout_attention"),
        fields.about("atae: rate on the attention's hidden layer"),
    ] = 0.0
    output: Annotated[
        fields.Rate,
        markers.dropout("dropout_output"),
        fields.about("rate on what the classifier reads"),
    ] = 0.0


@reading.settings
class SentimentModel:
    """A classifier."""

    architecture: Annotated[
        Architecture,
        fields.about(
            "majority: a bias; bag: the mean word vector; cnn: Kim 2014; lstm: the last state; "
            "tdlstm, tclstm: Tang et al. 2016; atae: Wang et al. 2016; ian: Ma et al. 2017"
        ),
    ] = "tdlstm"
    hidden: Annotated[fields.Size, fields.about("H of every LSTM")] = 100
    bag: Annotated[
        tuple[fields.Size, ...],
        pydantic.Field(max_length=8, description="widths of its ReLU layers"),
    ] = (100,)
    tanh_logits: Annotated[bool, fields.about("logits are the tanh of a linear layer")] = False
    words: Annotated[SentimentWordSettings, fields.about("word embeddings")] = (
        SentimentWordSettings()
    )
    target: Annotated[TargetSettings, fields.about("the target")] = TargetSettings()
    attention: Annotated[AttentionSettings, fields.about("atae's attention")] = AttentionSettings()
    cnn: Annotated[ConvolutionSettings, fields.about("convolutions")] = ConvolutionSettings()
    initial: Annotated[InitialSettings, fields.about("how weights begin")] = InitialSettings()
    dropout: Annotated[SentimentDropout, fields.about("dropout")] = SentimentDropout()

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "SentimentModel":
        if self.target.position != "none" and self.architecture not in ATTENTIVE:
            raise ValueError(
                f"target.position: {self.architecture} has none; expected atae or ian"
            )
        if self.words.target_table and self.architecture not in TARGETED - {"tdlstm"}:
            raise ValueError(
                f"words.target_table: {self.architecture} reads no vectors of a target; expected "
                "atae, ian or tclstm"
            )
        if self.target.inter_aspect and self.architecture not in TARGETED:
            raise ValueError(
                f"target.inter_aspect: {self.architecture} reads no target; expected "
                + ", ".join(sorted(TARGETED))
            )
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Traced numbers that no member has, by name."""
        every = frozenset.union(*SITES.values())
        sites = frozenset() if self.dropout.kind == "none" else SITES[self.architecture]
        return frozenset(map(dropout.rate_name, every - sites))

    @property
    def rates(self) -> dict[str, str]:
        """Dropout sites -> names of the hyperparameters that are their rates."""
        names = markers.active(self)
        rates = {site: dropout.rate_name(site) for site in sorted(SITES[self.architecture])}
        return {site: name for site, name in rates.items() if name in names}
