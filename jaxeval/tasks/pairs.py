"""Classification of pairs of sentences as a Task: corpus, model, loss and metric.

Notation: B pairs, Y classes. The loss is the cross-entropy averaged over pairs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Task, weighted_rows
from jaxeval.data import pair_files, word_table
from jaxeval.data import pairs as data
from jaxeval.data.pair_files import Row
from jaxeval.data.pairs import PairData, SavedVocabulary
from jaxeval.models import pairs as models
from jaxeval.models.pairs import PairModel
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import classification, kind, prediction, word_vectors
from jaxeval.tasks.classification import Classes, Scoring
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel


@reading.settings
class Config:
    """One experiment. Without `data.source.path`: on the generated corpus."""

    name: fields.Name = "pairs"
    task: Literal["pairs"] = Field("pairs", description="what is learned")
    data: PairData = PairData()
    model: PairModel = PairModel()
    scoring: Scoring = Scoring()
    training: Training = Training(optimiser=optimisers.Optimiser(name="adam", clip="none"))


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """JSON lines, one per pair in the order of the file: both sentences, label, probability.

    Of several models as `classification.lines`.

    Raises:
      DataError, ConfigError: see `Kind.predict`.
    """
    options.refuse_others("pairs")
    rows = pair_files.read_unlabelled(file)
    by_model = prediction.of_each(saved, lambda model: _program(model, rows, file))
    items = ({"premise": row.first, "hypothesis": row.second} for row in rows)
    return classification.lines(items, by_model, options.vote)


def _program(saved: SavedModel, rows: Sequence[Row], file: Path) -> PredictionProgram[Classes]:
    config, trained = saved.config, saved.config.model.words.trained
    vocabulary = prediction.checked(SavedVocabulary, saved.vocabulary, saved.meanings)
    size = config.training.evaluation_batch_size
    encoded = data.encode(config.data, vocabulary, rows, file, size)
    table = "words", trained, vocabulary.rows
    of_rows, known = word_vectors.rows_of_saved(saved, encoded, *table)
    model = models.PairClassifier(config.model, models.Sizes(len(vocabulary.labels), known))
    return classification.program(saved, model, of_rows, vocabulary.labels, np.stack)


def _built(config: Config, paired: data.Paired) -> tuple[kind.Source, Task]:
    labels, widths = [*paired.labels], [*paired.widths]
    source = word_vectors.source(config, paired, "pairs", labels=labels, padded_widths=widths)
    sizes = models.Sizes(len(labels), paired.table.vocabulary)
    model = models.PairClassifier(config.model, sizes)
    task = classification.task(model, lambda batch: batch.weight, weighted_rows, config.scoring)
    return source, task


KIND = kind.Kind(
    Config,
    "data.source.path",
    lambda config: (config.data, config.training.batch_size),
    data.build,
    _built,
    word_vectors.for_random_splits,
    joining=kind.Joining(word_vectors.program_key, word_table.joined),
    predict=predict,
)
