"""Saved classifiers on texts of one's own."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Array, Batch, Hparams, Tree
from jaxeval.data import sentiment_lookup
from jaxeval.data.labelled_text import LabelledText
from jaxeval.data.sentiment_lookup import SavedVocabulary
from jaxeval.models import sentiment as models
from jaxeval.models.sentiment_settings import SentimentModel
from jaxeval.tasks import prediction, sentiment, word_vectors
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel

_WORDS = "embedding/words"  # the word table among the parameters


class Classes(NamedTuple):
    """Names of classes, and how probable each is of every target in the order of the texts."""

    names: Sequence[str]
    probs: np.ndarray  # [targets, Y]


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """JSON lines, one per target in the order of texts: text, target, span, label, probability.

    Of several models `label` and `probability` are lists. A vote is the label of most models, with
    the mean of its probabilities.

    Raises:
      DataError, ConfigError: see `Kind.predict`.
    """
    options.refuse_others("sentiment")
    vocabulary = prediction.checked(SavedVocabulary, saved[0].vocabulary, saved[0].meanings)
    texts = sentiment_lookup.read(vocabulary, file)
    by_model = prediction.of_each(saved, lambda model: _program(model, texts))
    for number, about in enumerate(_targets(texts, vocabulary.targeted)):
        classes = [(each.names, each.probs[number]) for each in by_model]
        labels = [names[int(probs.argmax())] for names, probs in classes]
        values = [float(probs.max()) for _, probs in classes]
        if options.vote:
            labels = [prediction.majority(labels)]
            values = [float(np.mean([probs[names.index(labels[0])] for names, probs in classes]))]
        yield json.dumps({**about, **_said(labels, values)}, ensure_ascii=False)


def _targets(texts: Sequence[LabelledText], targeted: bool) -> Iterator[dict[str, object]]:
    for each in texts:
        for target in each.targets:
            span = [target.start, target.end]
            words = each.text[target.start : target.end]
            yield {"text": each.text, **({"target": words, "span": span} if targeted else {})}


def _said(labels: Sequence[str], values: Sequence[float]) -> dict[str, object]:
    probabilities = [round(value, 4) for value in values]
    if len(labels) > 1:
        return {"label": [*labels], "probability": probabilities}
    return {"label": labels[0], "probability": probabilities[0]}


def _program(model: SavedModel, texts: Sequence[LabelledText]) -> PredictionProgram:
    config = model.config
    vocabulary = prediction.checked(SavedVocabulary, model.vocabulary, model.meanings)
    size = config.training.evaluation_batch_size
    encoded = sentiment_lookup.encode(config.data, vocabulary, texts, size)
    vectors, rows = _vectors(model, vocabulary)
    longest = sentiment.longest_target(encoded.columns)
    sizes = models.Sizes(len(vocabulary.labels), rows, longest)
    task = sentiment.task_of(config.model, config.scoring, sizes)
    shared, split = jax.device_put(word_vectors.tables(encoded.shared, vectors))

    @jax.jit
    def run(params: Tree, columns: Mapping[str, Array], hparams: Hparams) -> Array:
        batch = Batch(columns, jnp.ones(size), shared, split)
        return jax.nn.softmax(models.logits(config.model, sizes, params, batch, hparams))

    def classes(params: Tree, hparams: Hparams) -> Classes:
        of_rows = prediction.by_batches(
            encoded.numbers, encoded.columns, size, lambda columns: run(params, columns, hparams)
        )
        pairs = zip(of_rows, encoded.rows, strict=True)
        probs = np.concatenate([of_row[: len(row.targets)] for of_row, row in pairs])
        return Classes(vocabulary.labels, probs)

    first = {name: column[:1] for name, column in encoded.columns[0].items()}
    batch = Batch(first, jnp.ones(1), shared, split)
    return PredictionProgram(
        jax.eval_shape(task.init, jax.random.key(0), batch, model.hparams), classes
    )


def _vectors(model: SavedModel, vocabulary: SavedVocabulary) -> tuple[np.ndarray, int]:
    """As `word_vectors.of_saved`; any of a model that reads no word."""
    choices: SentimentModel = model.config.model
    if choices.architecture == "majority":
        return np.zeros((vocabulary.rows, 1), np.float32), vocabulary.rows
    return word_vectors.of_saved(model, _WORDS, choices.words.trained, vocabulary.rows)
