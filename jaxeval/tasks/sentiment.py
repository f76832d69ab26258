"""Classification of texts, or of targets in them, as a Task: corpus, model, loss and metric.

Notation: B sentences, T positions, K targets of a sentence, Y classes. The loss is the
cross-entropy averaged over targets; a text without targets counts as one.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import jax.numpy as jnp
import numpy as np
import pydantic

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Task, Tree
from jaxeval.data import sentiment as data
from jaxeval.data import word_table
from jaxeval.data.sentiment import SentimentData
from jaxeval.errors import ConfigError
from jaxeval.models import sentiment as models
from jaxeval.models import sentiment_settings
from jaxeval.models.sentiment_settings import SentimentModel
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import classification, kind, word_vectors


def task_of(choices: SentimentModel, scoring: classification.Scoring, sizes: models.Sizes) -> Task:
    """The task of all corpora of these sizes."""

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        return models.Classifier(choices, sizes).init(key, batch, hparams, None)["params"]

    def logits(params: Tree, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        return models.logits(choices, sizes, params, batch, hparams, key)

    return classification.task(init, logits, _weights, normaliser, sizes.labels, scoring)


def normaliser(batch: Batch) -> Array:
    """[] number of real targets."""
    return jnp.sum(batch.rows["targets"] * batch.weight)


def _weights(batch: Batch) -> Array:
    """[B, K] 1 at real targets of real rows."""
    most = batch.rows["labels"].shape[1]
    real = jnp.arange(most)[None] < batch.rows["targets"][:, None]
    return real * batch.weight[:, None]


@reading.settings
class Config:
    """One experiment. Without `data.source.path`: on the generated corpus."""

    name: fields.Name = "sentiment"
    task: Annotated[Literal["sentiment"], pydantic.Field(description="what is learned")] = (
        "sentiment"
    )
    data: SentimentData = SentimentData()
    model: SentimentModel = SentimentModel()
    scoring: classification.Scoring = classification.Scoring()
    training: Training = Training(optimiser=optimisers.Optimiser(name="adam", clip="none"))

    @pydantic.model_validator(mode="after")
    def _fits(self) -> "Config":
        if self.model.target.inter_aspect and self.data.rows != "sentences":
            raise ValueError(
                "model.target.inter_aspect: an LSTM over the targets of a sentence; expected "
                f"data.rows = 'sentences', got {self.data.rows!r}"
            )
        return self


def build(config: Config, classified: data.Classified) -> Task:
    """The task of a corpus.

    Raises:
      ConfigError: the model reads targets, and the corpus has none.
    """
    architecture = config.model.architecture
    if architecture in sentiment_settings.TARGETED and not classified.targeted:
        others = ", ".join(sorted({*sentiment_settings.SITES} - sentiment_settings.TARGETED))
        raise ConfigError(
            f"model.architecture: {architecture} reads a target, and these texts have none; "
            f"expected one of {others}"
        )
    return task_of(config.model, config.scoring, sizes_of(classified))


def sizes_of(classified: data.Classified) -> models.Sizes:
    """What of a corpus sets shapes."""
    longest = longest_target(classified.corpus.buckets)
    return models.Sizes(len(classified.labels), classified.table.vocabulary, longest)


def longest_target(buckets: Sequence[Mapping[str, np.ndarray]]) -> int:
    """Words of the longest target; at least 1."""
    return max(int((b["end"] - b["start"]).max(initial=1)) for b in buckets)


def _source(config: Config, classified: data.Classified) -> kind.Source:
    return word_vectors.source(
        config,
        classified,
        config.data.rows,
        labels=[*classified.labels],
        padded_widths=[shape.width for shape in classified.shapes],
        padded_targets=[shape.targets for shape in classified.shapes],
    )


KIND = kind.Kind(
    Config,
    "data.source.path",
    lambda config: (config.data, config.training.batch_size),
    data.build,
    lambda config, classified: (_source(config, classified), build(config, classified)),
    word_vectors.for_random_splits,
    joining=kind.Joining(word_vectors.program_key, word_table.joined),
)
