"""Saved classifiers on texts of one's own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from jaxeval.contracts import Array, Batch, Hparams, Tree
from jaxeval.data import sentiment as data
from jaxeval.data import sentiment_files
from jaxeval.data.labelled_text import LabelledText
from jaxeval.data.sentiment import SavedVocabulary
from jaxeval.models import sentiment as models
from jaxeval.models.sentiment_settings import SentimentModel
from jaxeval.tasks import class_prediction, prediction, sentiment, word_vectors
from jaxeval.tasks.class_prediction import Classes, Encoded
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel

_WORDS = "embedding/words"  # the word table among the parameters


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """JSON lines, one per target in the order of texts: text, target, span, label, probability.

    Of several models as `class_prediction.lines`.

    Raises:
      DataError, ConfigError: see `Kind.predict`.
    """
    options.refuse_others("sentiment")
    vocabulary = prediction.checked(SavedVocabulary, saved[0].vocabulary, saved[0].meanings)
    targeted, tokenised = vocabulary.targeted, vocabulary.tokenised
    source = saved[0].config.data.source
    texts = sentiment_files.read_unlabelled(source, file, vocabulary.labels, targeted, tokenised)
    by_model = prediction.of_each(saved, lambda model: _program(model, texts))
    return class_prediction.lines(_targets(texts, vocabulary.targeted), by_model, options.vote)


def _targets(texts: Sequence[LabelledText], targeted: bool) -> Iterator[dict[str, object]]:
    for each in texts:
        for target in each.targets:
            span = [target.start, target.end]
            words = each.text[target.start : target.end]
            yield {"text": each.text, **({"target": words, "span": span} if targeted else {})}


def _program(model: SavedModel, texts: Sequence[LabelledText]) -> PredictionProgram[Classes]:
    config = model.config
    vocabulary = prediction.checked(SavedVocabulary, model.vocabulary, model.meanings)
    size = config.training.evaluation_batch_size
    encoded_rows, encoded = data.encode(config.data, vocabulary, texts, size)
    vectors, rows = _vectors(model, vocabulary)
    longest = sentiment.longest_target(encoded.columns)
    sizes = models.Sizes(len(vocabulary.labels), rows, longest)

    def logits(params: Tree, batch: Batch, hparams: Hparams) -> Array:
        return models.logits(config.model, sizes, params, batch, hparams)

    def of_targets(of_rows: Sequence[np.ndarray]) -> np.ndarray:
        each = zip(of_rows, encoded_rows, strict=True)
        return np.concatenate([of_row[: len(row.targets)] for of_row, row in each])

    return class_prediction.program(
        model,
        vocabulary.labels,
        Encoded(*encoded),
        vectors,
        sentiment.task_of(config.model, config.scoring, sizes),
        logits,
        of_targets,
    )


def _vectors(model: SavedModel, vocabulary: SavedVocabulary) -> tuple[np.ndarray, int]:
    """As `word_vectors.of_saved`; any of a model that reads no word."""
    choices: SentimentModel = model.config.model
    if choices.architecture == "majority":
        return np.zeros((vocabulary.rows, 1), np.float32), vocabulary.rows
    return word_vectors.of_saved(model, _WORDS, choices.words.trained, vocabulary.rows)
