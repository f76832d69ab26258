"""Classification of texts, or of targets in them, as a Task: corpus, model, loss and metric.

Notation: B sentences, T positions, K targets of a sentence, Y classes. The loss is the
cross-entropy averaged over targets; a text without targets counts as one.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import jax.numpy as jnp
import numpy as np
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Task
from jaxeval.data import sentiment as data
from jaxeval.data import sentiment_files
from jaxeval.data.sentiment import SavedVocabulary, SentimentData
from jaxeval.errors import ConfigError
from jaxeval.models import sentiment as models
from jaxeval.models.sentiment import SentimentModel
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import classification, kind
from jaxeval.tasks.classification import Scoring
from jaxeval.tasks.kind import Options, SavedModel


@reading.settings
class Config:
    """One experiment. Without `data.source.path`: on the generated corpus."""

    name: fields.Name = "sentiment"
    task: Literal["sentiment"] = Field("sentiment", description="what is learned")
    data: SentimentData = SentimentData()
    model: SentimentModel = SentimentModel()
    scoring: Scoring = Scoring()
    training: Training = Training(optimiser=optimisers.Optimiser(name="adam", clip="none"))

    @model_validator(mode="after")
    def _fits(self) -> "Config":
        if self.model.target.inter_aspect and self.data.rows != "sentences":
            raise ValueError(
                "model.target.inter_aspect: an LSTM over the targets of a sentence; expected "
                f"data.rows = 'sentences', got {self.data.rows!r}"
            )
        return self


def _sizes(
    labels: Sequence[str], words: int, buckets: Sequence[Mapping[str, np.ndarray]]
) -> models.Sizes:
    longest = max(int((b["end"] - b["start"]).max(initial=1)) for b in buckets)
    return models.Sizes(len(labels), words, longest)


def _normaliser(batch: Batch) -> Array:
    """[] number of real targets."""
    return jnp.sum(batch.rows["targets"] * batch.weight)


def _weights(batch: Batch) -> Array:
    """[B, K] 1 at real targets of real rows."""
    places = jnp.arange(batch.rows["labels"].shape[1])
    return (places[None] < batch.rows["targets"][:, None]) * batch.weight[:, None]


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """JSON lines (`classification.lines`), one per target in the order of texts."""
    options.refuse_others("sentiment")
    first = saved[0].read_vocabulary(SavedVocabulary)
    source, targeted = saved[0].config.data.source, first.targeted
    texts = sentiment_files.read_unlabelled(source, file, first.labels, targeted, first.tokenised)

    def targets() -> Iterator[dict[str, object]]:
        for each in texts:
            for target in each.targets:
                span = [target.start, target.end]
                words = {"target": each.text[target.start : target.end], "span": span}
                yield {"text": each.text, **(words if targeted else {})}

    def program(saved: SavedModel) -> kind.Program:
        config, choices = saved.config, saved.config.model
        vocabulary, size = saved.read_vocabulary(SavedVocabulary), config.training
        of_rows, encoded = data.encode(config.data, vocabulary, texts, size.evaluation_batch_size)
        if choices.architecture == "majority":  # which reads no word
            none = np.zeros((vocabulary.rows, 1), np.float32)
            saved = saved._replace(tables={"vectors": none})
        trained = choices.words.trained and choices.architecture != "majority"
        table = "embedding/words", trained, vocabulary.rows
        rows, known = kind.rows_of_saved(saved, encoded, *table)
        sizes = _sizes(vocabulary.labels, known, encoded.columns)

        def of_targets(probs: list[np.ndarray]) -> np.ndarray:
            each = zip(probs, of_rows, strict=True)
            return np.concatenate([of_row[: len(row.targets)] for of_row, row in each])

        model = models.Classifier(choices, sizes)
        return classification.program(saved, model, rows, vocabulary.labels, of_targets)

    return classification.lines(targets(), kind.predictions(saved, program), options.vote)


def _built(config: Config, classified: data.Classified) -> tuple[kind.Source, Task]:
    architecture = config.model.architecture
    if architecture in models.TARGETED and not classified.targeted:
        others = ", ".join(sorted({*models.SITES} - models.TARGETED))
        raise ConfigError(
            f"model.architecture: {architecture} reads a target, and these texts have none; "
            f"expected one of {others}"
        )
    facts = {
        "labels": [*classified.labels],
        "padded_widths": [shape.width for shape in classified.shapes],
        "padded_targets": [shape.targets for shape in classified.shapes],
    }
    source = kind.source_of_words(config, classified, config.data.rows, **facts)
    of_corpus = classified.labels, classified.table.vocabulary, classified.corpus.buckets
    model = models.Classifier(config.model, _sizes(*of_corpus))
    return source, classification.task(model, _weights, _normaliser, config.scoring)


KIND = kind.of_words(Config, data.build, _built, predict)
