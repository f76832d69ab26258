"""Sequence tagging as a Task: where corpus, model, loss and metric meet.

Notation: T positions, B sentences, Y labels. The loss of a CRF is the negative log-likelihood of a
sentence, averaged over sentences (not divided by their lengths, as in UKPLab's and Lample's
code); that of a softmax is the cross-entropy averaged over words.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Table, Task, Tree, weighted_rows
from jaxeval.data import schemes, tagging_files, word_table, words
from jaxeval.data import tagging as data
from jaxeval.data.tagging import SavedVocabulary, TaggingData
from jaxeval.errors import ConfigError
from jaxeval.models import crf
from jaxeval.models import tagging as models
from jaxeval.models.tagging import TaggerSettings
from jaxeval.population.settings import Training
from jaxeval.tasks import kind, prediction, word_vectors
from jaxeval.tasks import scoring as rules
from jaxeval.tasks.prediction import Options, PredictionProgram, SavedModel

Tags = list[tuple[str, ...]]  # of each sentence
_WORDS = "features/words"  # the word table among the parameters


@reading.settings
class Scoring:
    """How predictions are scored."""

    metric: Literal["auto", "f1", "accuracy"] = Field(
        "auto", description="read by early stopping; auto: f1 of entities, else accuracy"
    )
    rule: rules.Rule = Field(
        "conlleval", description="what counts as an entity where labels are invalid"
    )


@reading.settings
class Config:
    """One experiment. No config file: these defaults, on the generated corpus."""

    name: fields.Name = "default"
    task: Literal["tagging"] = Field("tagging", description="what is learned")
    data: TaggingData = TaggingData()
    model: TaggerSettings = TaggerSettings()
    scoring: Scoring = Scoring()
    training: Training = Training()


class Labels(NamedTuple):
    """What is predicted, and labels that only gold has after it; whether they are of entities."""

    names: Sequence[str]
    entities: bool
    legality: schemes.Legality


def task_of(
    choices: TaggerSettings, scoring: Scoring, sizes: models.Sizes, labels: Labels
) -> Task:
    """The tagging task of all corpora of these sizes and labels.

    Raises:
      ConfigError: the metric is of entities, and the tags are none.
    """
    metric = Metric(_metric(scoring, labels.entities), unit="fraction", margin=0.01)
    model = models.Tagger(choices, sizes)
    normaliser = weighted_rows if choices.classifier == "crf" else _words
    table = rules.label_table(labels.names) if labels.entities else None

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        return model.init(key, batch, hparams, None)["params"]

    def apply(params: Tree, batch: Batch, key: Array | None, hparams: Hparams) -> Any:
        logits: Any = model.apply({"params": params}, batch, hparams, key)
        if logits.potentials is None or not choices.mask_illegal:
            return logits
        legality = map(jnp.asarray, labels.legality)
        return logits._replace(potentials=crf.mask_illegal(logits.potentials, *legality))

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits = apply(params, batch, key, hparams)
        columns = batch.rows["labels"], batch.rows["length"]
        by_sentence = sentence_losses(logits, *columns, selected=choices.encoder == "window")
        total = jnp.sum(by_sentence * batch.weight)
        return total / jnp.maximum(normaliser(batch), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        del key  # decoding is not random
        return decode(apply(params, batch, None, hparams), batch.rows["length"]), carry

    def count(outputs: Array, batch: Batch) -> Mapping[str, Array]:
        gold, length = batch.rows["labels"], batch.rows["length"]
        valid = jnp.arange(batch.rows["forms"].shape[1])[None] < length[:, None]
        right = jnp.sum((outputs == gold) & valid, axis=1)
        counts = {"words": _words(batch), "right_words": jnp.sum(right * batch.weight)}
        if table is None:
            return counts
        return counts | rules.count_spans(gold, outputs, valid, batch.weight, table, scoring.rule)

    def score(counts: Mapping[str, float]) -> dict[str, float]:
        accuracy = {"accuracy": counts["right_words"] / max(counts["words"], 1.0)}
        return accuracy if table is None else accuracy | rules.f1(dict(counts))

    # of windows alone: their step takes less than an update of all words; that of an LSTM takes
    # longer, and would gain little for other last bits
    reads_few = choices.encoder == "window" and choices.words.trained
    rows = functools.partial(models.rows_of_windows, choices.window.reach)
    functions = init, lambda size: (), loss, predict, count, score
    return Task(*functions, metric, normaliser, table=Table(_WORDS, rows) if reads_few else None)


def _metric(scoring: Scoring, entities: bool) -> str:
    """The name of what early stopping reads."""
    if scoring.metric == "auto":
        return "f1" if entities else "accuracy"
    if scoring.metric == "f1" and not entities:
        raise ConfigError(
            "scoring.metric: these tags have accuracy only, and f1 is of entities: expected "
            "data.source.scheme=iob1, bio or iobes, and tags such as B-PER"
        )
    return scoring.metric


def _words(batch: Batch) -> Array:
    """[] number of words of real rows."""
    return jnp.sum(batch.rows["length"] * batch.weight)


def sentence_losses(
    logits: models.TaggerLogits, labels: Array, length: Array, selected: bool = False
) -> Array:
    """Loss summed over the words of each sentence: labels [B, T], length [B] -> [B].

    Args:
      selected: log-probabilities are selected instead of looked up, which would have a scatter for
        a gradient: of windows alone, since the last bits of all weights may be others.
    """
    valid = jnp.arange(labels.shape[1])[None] < length[:, None]
    if logits.potentials is None:
        log_probs = jax.nn.log_softmax(logits.emissions)
        if selected:
            is_label = jax.nn.one_hot(labels.T, log_probs.shape[-1], dtype=bool)
            chosen = jnp.sum(jnp.where(is_label, log_probs, 0.0), axis=-1)
        else:
            chosen = jnp.take_along_axis(log_probs, labels.T[..., None], axis=-1)[..., 0]
        return -jnp.sum(jnp.where(valid.T, chosen, 0.0), axis=0)
    return _by_sentence(crf.nll, logits, labels, valid)


def decode(logits: models.TaggerLogits, length: Array) -> Array:
    """The best labels [B, T] int32: position by position, or Viterbi's sequence."""
    if logits.potentials is None:
        return jnp.argmax(logits.emissions, axis=-1).T.astype(jnp.int32)
    valid = jnp.arange(logits.emissions.shape[0])[None] < length[:, None]
    return _by_sentence(crf.viterbi, logits, valid)


def _by_sentence(of_crf: Callable, logits: models.TaggerLogits, *rows: Array) -> Array:
    """A function of `crf` for each sentence; rows [B, ...]."""
    potentials = logits.potentials
    by_word = potentials is not None and potentials.transitions.ndim == 4
    axes = crf.Potentials(1 if by_word else None, None, None)  # type: ignore[arg-type]
    in_axes = (1, axes, *[0] * len(rows))
    values: Array = jax.vmap(of_crf, in_axes=in_axes)(logits.emissions, potentials, *rows)
    return values


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
    tags = prediction.of_each(
        saved, lambda model: _program(model, [s.words for s in source.sentences])
    )
    if options.vote:
        by_sentence = (zip(*votes, strict=True) for votes in zip(*tags, strict=True))
        tags = [[tuple(map(prediction.majority, of_words)) for of_words in by_sentence]]
    yield from tagging_files.with_columns(source, tags)


def _program(saved: SavedModel, sentences: Sequence[Sequence[str]]) -> PredictionProgram[Tags]:
    config = saved.config
    vocabulary = prediction.checked(SavedVocabulary, saved.vocabulary, saved.meanings)
    size = config.training.evaluation_batch_size
    encoded = data.encode(config.data, vocabulary, sentences, size)
    trained = config.model.words.trained
    rows, known = word_vectors.rows_of_saved(saved, encoded, _WORDS, trained, vocabulary.rows)
    alphabet = len(vocabulary.characters) + words.UNKNOWN + 1
    sizes = models.Sizes(len(vocabulary.labels), alphabet, len(words.CASINGS), known)
    entities = vocabulary.scheme != "none"
    scheme: schemes.Scheme = config.data.scheme if entities else "none"
    legality = schemes.allowed_transitions(vocabulary.labels, scheme)
    labels = Labels(vocabulary.labels, entities, legality)
    task = task_of(config.model, config.scoring, sizes, labels)

    def run(params: Tree, batch: Batch, hparams: Hparams) -> Array:
        key = jax.random.key(0)  # not looked at
        return task.predict(params, (), batch, key, hparams)[0]

    def read(numbers: list[np.ndarray]) -> Tags:
        return [
            _names(vocabulary, of_words[: len(sentence)])
            for of_words, sentence in zip(numbers, sentences, strict=True)
        ]

    return prediction.program(saved, task.init, run, rows, read)


def _names(vocabulary: SavedVocabulary, numbers: np.ndarray) -> tuple[str, ...]:
    """Tags in the scheme of the files."""
    tags = [vocabulary.labels[number] for number in numbers.tolist()]
    if vocabulary.scheme == "none":
        return tuple(tags)
    return schemes.from_spans(schemes.lenient_spans(tags), len(tags), vocabulary.scheme)


def _built(config: Config, tagged: data.Tagged) -> tuple[kind.Source, Task]:
    facts = {"labels": tagged.predicted, "padded_widths": [*tagged.widths]}
    source = word_vectors.source(config, tagged, "sentences", **facts)
    sizes = models.Sizes(
        tagged.predicted, tagged.alphabet, len(words.CASINGS), tagged.table.vocabulary
    )
    labels = Labels(tagged.labels, tagged.entities, tagged.legality)
    return source, task_of(config.model, config.scoring, sizes, labels)


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
