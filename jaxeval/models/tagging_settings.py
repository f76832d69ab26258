"""The choices of Reimers & Gurevych (2017, section 4.2) for a tagger, as a config names them."""

from typing import Annotated, Literal

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.models import dropout, lstm


@reading.settings
class TaggerWordSettings:
    """Word embeddings."""

    trained: Annotated[bool, fields.about("train the word vectors; false keeps them as read")] = (
        True
    )
    unknown_rate: Annotated[
        fields.Rate,
        fields.about("fraction of a training step's once-seen words replaced by UNKNOWN (Lample)"),
    ] = 0.0


@reading.settings
class CharacterSettings:
    """Character representation of a word."""

    encoder: Annotated[Literal["none", "cnn", "lstm"], fields.about("none, cnn or lstm")] = "cnn"
    dimension: Annotated[fields.Size, fields.about("size of a character's vector")] = 30
    filters: Annotated[fields.Size, fields.about("cnn: filters")] = 30
    width: Annotated[fields.Size, fields.about("cnn: characters per window")] = 3
    activation: Annotated[Literal["tanh", "linear"], fields.about("cnn: after the maximum")] = (
        "tanh"
    )
    full_padding: Annotated[
        bool, fields.about("cnn: windows reach beyond both ends (LasagneNLP)")
    ] = False
    masked: Annotated[bool, fields.about("cnn: padding takes no part in the maximum")] = True
    units: Annotated[fields.Size, fields.about("lstm: units per direction")] = 25


@reading.settings
class WindowSettings:
    """A perceptron over the words around each word (Collobert et al. 2011, section 3.3.1)."""

    reach: Annotated[int, pydantic.Field(ge=0, le=64, description="words read on either side")] = 2
    hidden: Annotated[fields.Size, fields.about("units of its tanh layer")] = 50


@reading.settings
class TaggerDropout:
    """Dropout; a site whose rate is 0 here draws no mask, the rates of the others are traced."""

    kind: Annotated[
        Literal["none", "naive", "variational"],
        fields.about("variational: one mask for all steps; naive: a fresh one each step"),
    ] = "variational"
    input: Annotated[
        fields.Rate,
        markers.dropout("dropout_input"),
        fields.about("rate on the features of a word"),
    ] = 0.25
    output: Annotated[
        fields.Rate,
        markers.dropout("dropout_output"),
        fields.about("rate on the output of every BiLSTM layer, or of the window's layer"),
    ] = 0.25
    layer_input: Annotated[
        fields.Rate,
        markers.dropout("dropout_layer_input"),
        fields.about("rate on the input of every BiLSTM layer, by direction (UKPLab)"),
    ] = 0.0
    state: Annotated[
        fields.Rate,
        markers.dropout("dropout_state"),
        fields.about("rate on h(t-1), Keras' recurrent_dropout; variational only"),
    ] = 0.0
    characters: Annotated[
        fields.Rate,
        markers.dropout("dropout_characters"),
        fields.about("rate on the character vectors (LasagneNLP)"),
    ] = 0.0
    per_gate: Annotated[
        bool,
        fields.about("layer_input and state: a mask for each gate (Keras) instead of one"),
    ] = False
    inverted: Annotated[
        bool, fields.about("scale by 1/(1-rate) in training; false: by 1-rate at test (Lample)")
    ] = True

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> "TaggerDropout":
        if self.kind != "variational" and (self.state or self.per_gate):
            raise ValueError("state and per_gate need kind = 'variational'")
        if self.kind == "naive" and self.layer_input:
            raise ValueError(
                "layer_input needs kind = 'variational'; naive drops input and output"
            )
        return self

    @property
    def unused(self) -> frozenset[str]:
        """Rates that no member has."""
        sites = ("input", "output", "layer_input", "state", "characters")
        return frozenset(map(dropout.rate_name, sites if self.kind == "none" else ()))


@reading.settings
class TaggerSettings:
    """The tagger."""

    words: Annotated[TaggerWordSettings, fields.about("word embeddings")] = TaggerWordSettings()
    characters: Annotated[CharacterSettings, fields.about("character representation")] = (
        CharacterSettings()
    )
    casing: Annotated[
        Literal["none", "one_hot", "embedding", "capitals"],
        fields.about(
            "casing feature; embedding is trained; capitals: one of five patterns (Nayak et al. "
            "2016)"
        ),
    ] = "none"
    casing_dimension: Annotated[fields.Size, fields.about("size of a casing embedding")] = 10
    encoder: Annotated[
        Literal["bilstm", "window"],
        fields.about("bilstm, or a perceptron over a window of words"),
    ] = "bilstm"
    window: Annotated[WindowSettings, fields.about("window: its sizes")] = WindowSettings()
    layers: Annotated[
        tuple[fields.Size, ...],
        pydantic.Field(min_length=1, max_length=3, description="bilstm: H by layer"),
    ] = (100,)
    cell: Annotated[lstm.LSTMVariant, fields.about("variant of the LSTM cell")] = (
        lstm.LSTMVariant()
    )
    dropout: Annotated[TaggerDropout, fields.about("dropout")] = TaggerDropout()
    projection: Annotated[
        fields.Size | None, fields.about("tanh layer of this width before the classifier (Lample)")
    ] = None
    classifier: Annotated[Literal["softmax", "crf"], fields.about("softmax or crf")] = "crf"
    transitions: Annotated[
        Literal["learned", "from_input"],
        fields.about("crf: one matrix, or one computed from each word (Ma & Hovy's code)"),
    ] = "learned"
    mask_illegal: Annotated[
        bool, fields.about("crf: forbid moves that the tag scheme does not allow")
    ] = False

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "TaggerSettings":
        if self.encoder == "window" and (self.dropout.state or self.dropout.layer_input):
            raise ValueError("dropout.state and dropout.layer_input need encoder = 'bilstm'")
        return self
