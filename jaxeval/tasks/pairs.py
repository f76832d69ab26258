"""Classification of pairs of sentences as a Task: corpus, model, loss and metric.

Notation: B pairs, Y classes. The loss is the cross-entropy averaged over pairs.
"""

from typing import Annotated, Literal

import pydantic

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Task, Tree, weighted_rows
from jaxeval.data import pairs as data
from jaxeval.data import word_table
from jaxeval.data.pairs import PairData
from jaxeval.models import pairs as models
from jaxeval.models.pairs import PairModel
from jaxeval.population import optimisers
from jaxeval.population.settings import Training
from jaxeval.tasks import classification, kind, word_vectors


def task_of(choices: PairModel, scoring: classification.Scoring, sizes: models.Sizes) -> Task:
    """The task of all corpora of these sizes."""

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        return models.PairClassifier(choices, sizes).init(key, batch, hparams, None)["params"]

    def logits(params: Tree, batch: Batch, hparams: Hparams, key: Array | None) -> Array:
        return models.logits(choices, sizes, params, batch, hparams, key)

    return classification.task(
        init, logits, lambda batch: batch.weight, weighted_rows, sizes.labels, scoring
    )


@reading.settings
class Config:
    """One experiment. Without `data.source.path`: on the generated corpus."""

    name: fields.Name = "pairs"
    task: Annotated[Literal["pairs"], pydantic.Field(description="what is learned")] = "pairs"
    data: PairData = PairData()
    model: PairModel = PairModel()
    scoring: classification.Scoring = classification.Scoring()
    training: Training = Training(optimiser=optimisers.Optimiser(name="adam", clip="none"))


def _source(config: Config, paired: data.Paired) -> kind.Source:
    labels, widths = [*paired.labels], [*paired.widths]
    return word_vectors.source(config, paired, "pairs", labels=labels, padded_widths=widths)


def _task(config: Config, paired: data.Paired) -> Task:
    sizes = models.Sizes(len(paired.labels), paired.table.vocabulary)
    return task_of(config.model, config.scoring, sizes)


KIND = kind.Kind(
    Config,
    "data.source.path",
    lambda config: (config.data, config.training.batch_size),
    data.build,
    lambda config, paired: (_source(config, paired), _task(config, paired)),
    word_vectors.for_random_splits,
    joining=kind.Joining(word_vectors.program_key, word_table.joined),
)
