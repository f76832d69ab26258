"""Saved classifiers of pairs on pairs of one's own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from jaxeval.contracts import Array, Batch, Hparams, Tree
from jaxeval.data import pair_files
from jaxeval.data import pairs as data
from jaxeval.data.pair_files import Row
from jaxeval.data.pairs import SavedVocabulary
from jaxeval.models import pairs as models
from jaxeval.tasks import class_prediction, pairs, prediction, word_vectors
from jaxeval.tasks.class_prediction import Classes, Encoded
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel

_WORDS = "words"  # the word table among the parameters


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """JSON lines, one per pair in the order of the file: both sentences, label, probability.

    Of several models as `class_prediction.lines`.

    Raises:
      DataError, ConfigError: see `Kind.predict`.
    """
    options.refuse_others("pairs")
    rows = pair_files.read_unlabelled(file)
    by_model = prediction.of_each(saved, lambda model: _program(model, rows, file))
    items = ({"premise": row.first, "hypothesis": row.second} for row in rows)
    return class_prediction.lines(items, by_model, options.vote)


def _program(model: SavedModel, rows: Sequence[Row], file: Path) -> PredictionProgram[Classes]:
    config = model.config
    vocabulary = prediction.checked(SavedVocabulary, model.vocabulary, model.meanings)
    size = config.training.evaluation_batch_size
    encoded = data.encode(config.data, vocabulary, rows, file, size)
    trained = config.model.words.trained
    vectors, known = word_vectors.of_saved(model, _WORDS, trained, vocabulary.rows)
    sizes = models.Sizes(len(vocabulary.labels), known)

    def logits(params: Tree, batch: Batch, hparams: Hparams) -> Array:
        return models.logits(config.model, sizes, params, batch, hparams)

    return class_prediction.program(
        model,
        vocabulary.labels,
        Encoded(*encoded),
        vectors,
        pairs.task_of(config.model, config.scoring, sizes),
        logits,
        np.stack,
    )
