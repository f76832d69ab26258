"""Saved taggers on sentences of one's own."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Batch, Hparams, Task, Tree
from jaxeval.data import schemes, tagging_files, words
from jaxeval.data import tagging as data
from jaxeval.data.tagging import SavedVocabulary
from jaxeval.models import tagging as models
from jaxeval.population import member
from jaxeval.tasks import prediction, tagging, word_vectors
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel

_WORDS = "features/words"  # the word table among the parameters
Tags = list[tuple[str, ...]]  # of each sentence


def predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """The lines of a file, after the columns of each word its predicted tags, a column per model.

    Tags of entities are in the scheme of the files that were trained on; what a model predicts
    against the scheme is read as the rule `conlleval` does. A vote is taken word by word.

    Raises:
      DataError, ConfigError: see `Kind.predict`.
    """
    options.refuse_others("tagging")
    vocabulary = prediction.checked(SavedVocabulary, saved[0].vocabulary, saved[0].meanings)
    known = schemes.possible_tags(vocabulary.labels, vocabulary.scheme)
    source = tagging_files.read_untagged(saved[0].config.data.source, file, known)
    tags = prediction.of_each(saved, lambda model: _program(model, source.sentences))
    if options.vote:
        tags = [[_majority(votes) for votes in zip(*tags, strict=True)]]
    yield from tagging_files.with_columns(source, tags)


def _majority(votes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(prediction.majority(of_word) for of_word in zip(*votes, strict=True))


def _program(model: SavedModel, sentences: Sequence[Sequence[str]]) -> PredictionProgram[Tags]:
    config = model.config
    vocabulary = prediction.checked(SavedVocabulary, model.vocabulary, model.meanings)
    size = config.training.evaluation_batch_size
    encoded = data.encode(config.data, vocabulary, sentences, size)
    vectors, vocabulary_rows = word_vectors.of_saved(
        model, _WORDS, model.config.model.words.trained, vocabulary.rows
    )
    task = _task(config, vocabulary, vocabulary_rows)
    tables = word_vectors.tables(encoded.shared, vectors)
    shared, split = jax.device_put(tables)
    run = jax.jit(lambda *inputs: task.predict(inputs[0], (), inputs[1], inputs[2], inputs[3])[0])
    key = member.root_key(0)  # not looked at

    def tags(params: Tree, hparams: Hparams) -> Tags:
        def labels(columns: Mapping[str, np.ndarray]) -> np.ndarray:
            batch = Batch(columns, jnp.ones(size), shared, split)
            return np.asarray(run(params, batch, key, hparams))

        numbers = prediction.by_batches(encoded.numbers, encoded.columns, size, labels)
        return [
            _names(vocabulary, of_words[: len(sentence)])
            for of_words, sentence in zip(numbers, sentences, strict=True)
        ]

    first = {name: column[:1] for name, column in encoded.columns[0].items()}
    batch = Batch(first, jnp.ones(1), shared, split)
    return PredictionProgram(jax.eval_shape(task.init, key, batch, model.hparams), tags)


def _task(config: tagging.Config, vocabulary: SavedVocabulary, rows: int) -> Task:
    entities = vocabulary.scheme != "none"
    scheme = config.data.scheme if entities else "none"
    alphabet = len(vocabulary.characters) + words.UNKNOWN + 1
    sizes = models.Sizes(len(vocabulary.labels), alphabet, len(words.CASINGS), rows)
    legality = schemes.allowed_transitions(vocabulary.labels, scheme)
    labels = tagging.Labels(vocabulary.labels, entities, legality)
    return tagging.task_of(config.model, config.scoring, sizes, labels)


def _names(vocabulary: SavedVocabulary, numbers: np.ndarray) -> tuple[str, ...]:
    """Tags in the scheme of the files."""
    tags = [vocabulary.labels[number] for number in numbers.tolist()]
    if vocabulary.scheme == "none":
        return tuple(tags)
    return schemes.from_spans(schemes.lenient_spans(tags), len(tags), vocabulary.scheme)
