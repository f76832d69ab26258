"""What a config says of a sequence-to-sequence model."""

from typing import Annotated, Any, Literal

import pydantic

from jaxeval.config import fields, markers, reading
from jaxeval.models.attentive_lstm import AttentiveLstm
from jaxeval.models.seq2seq import Live, Model, Seq2SeqShape
from jaxeval.models.transformer import Transformer

_CLASSES = {"attentive_lstm": AttentiveLstm, "transformer": Transformer}


@reading.settings
class Seq2Seq:
    """The model; defaults are the LSTM of Wiemerslage et al. (2024) in the middle of its range."""

    architecture: Annotated[
        Literal["attentive_lstm", "transformer"], pydantic.Field(description="which model")
    ] = "attentive_lstm"
    embedding: Annotated[
        fields.Size,
        markers.RAGGED,
        pydantic.Field(description="size of embeddings; a transformer's width"),
    ] = 128
    hidden: Annotated[
        fields.Size,
        markers.RAGGED,
        pydantic.Field(description="units per direction; of a transformer's feed-forward layer"),
    ] = 512
    encoder_layers: Annotated[
        fields.Layers, markers.RAGGED, pydantic.Field(description="layers")
    ] = 1
    decoder_layers: Annotated[
        fields.Layers,
        markers.RAGGED,
        pydantic.Field(description="layers; an LSTM's decoder has one"),
    ] = 1
    heads: Annotated[
        fields.Size,
        markers.RAGGED,
        pydantic.Field(description="heads of a transformer; an LSTM has one"),
    ] = 1
    dropout: Annotated[
        fields.Rate,
        markers.dropout("dropout", alone=False),
        pydantic.Field(description="rate at all sites"),
    ] = 0.1
    label_smoothing: Annotated[
        fields.Rate,
        markers.dropout("label_smoothing", alone=False),
        pydantic.Field(description="fraction of the loss spread evenly over all symbols"),
    ] = 0.0
    beam: Annotated[
        fields.Size, pydantic.Field(description="width of the beam while decoding; 1: greedy")
    ] = 1

    @pydantic.model_validator(mode="after")
    def _possible(self) -> "Seq2Seq":
        if self.architecture == "attentive_lstm":
            if self.decoder_layers != 1 or self.heads != 1:
                raise ValueError("an attentive_lstm has one decoder layer and one head")
        elif self.embedding % self.heads:
            raise ValueError(
                f"heads: {self.heads} heads do not divide an embedding of {self.embedding} evenly"
            )
        return self

    def shape(self, source: int, target: int) -> Seq2SeqShape:
        """Sizes of arrays for vocabularies of such sizes."""
        return Seq2SeqShape(
            source,
            target,
            self.embedding,
            self.hidden,
            self.encoder_layers,
            self.decoder_layers,
            self.heads,
        )

    def model(self, source: int, target: int, live: Live) -> Model:
        """The Flax module for vocabularies of such sizes."""
        model: Any = _CLASSES[self.architecture](self.shape(source, target), live)
        return model
