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
from jaxeval.data import pair_files
from jaxeval.data import pairs as data
from jaxeval.data.pairs import PairData, SavedVocabulary
from jaxeval.models.sentences import PairClassifier, PairModel, PairSizes
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import classification, kind
from jaxeval.tasks.classification import Scoring
from jaxeval.tasks.kind import Options, SavedModel


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
    """JSON lines (`classification.lines`), one per pair in the order of the file."""
    options.refuse_others("pairs")
    rows = pair_files.read_unlabelled(file)

    def program(saved: SavedModel) -> kind.Program:
        config, vocabulary = saved.config, saved.read_vocabulary(SavedVocabulary)
        size = config.training.evaluation_batch_size
        encoded = data.encode(config.data, vocabulary, rows, file, size)
        table = "words", config.model.words.trained, vocabulary.rows
        of_rows, known = kind.rows_of_saved(saved, encoded, *table)
        model = PairClassifier(config.model, PairSizes(len(vocabulary.labels), known))
        return classification.program(saved, model, of_rows, vocabulary.labels, np.stack)

    items = ({"premise": row.first, "hypothesis": row.second} for row in rows)
    return classification.lines(items, kind.predictions(saved, program), options.vote)


def _built(config: Config, paired: data.Paired) -> tuple[kind.Source, Task]:
    labels, widths = [*paired.labels], [*paired.widths]
    source = kind.source_of_words(config, paired, "pairs", labels=labels, padded_widths=widths)
    sizes = PairSizes(len(labels), paired.table.vocabulary)
    model = PairClassifier(config.model, sizes)
    task = classification.task(model, lambda batch: batch.weight, weighted_rows, config.scoring)
    return source, task


KIND = kind.of_words(Config, data.build, _built, predict)
