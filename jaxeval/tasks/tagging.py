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
from jaxeval.data import schemes, tagging_files, words
from jaxeval.data import tagging as data
from jaxeval.data.tagging import SavedVocabulary, TaggingData
from jaxeval.errors import ConfigError
from jaxeval.models import crf
from jaxeval.models import tagging as models
from jaxeval.models.tagging import TaggerLogits, TaggerSettings
from jaxeval.population.settings import Training
from jaxeval.tasks import kind, spans
from jaxeval.tasks.kind import Options, SavedModel

_WORDS = "features/words"  # the word table among the parameters


@reading.settings
class Scoring:
    """How predictions are scored."""

    metric: Literal["auto", "f1", "accuracy"] = Field(
        "auto", description="read by early stopping; auto: f1 of entities, else accuracy"
    )
    rule: spans.Rule = Field(
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
    """The task of all corpora of these sizes and labels; ConfigError: f1 of tags without types."""
    metric = _metric(scoring, labels.entities)
    model, windows = models.Tagger(choices, sizes), choices.encoder == "window"
    normaliser = weighted_rows if choices.classifier == "crf" else _words

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        return model.init(key, batch, hparams, None)["params"]

    def apply(params: Tree, batch: Batch, key: Array | None, hparams: Hparams) -> TaggerLogits:
        logits: Any = model.apply({"params": params}, batch, hparams, key)
        if not choices.mask_illegal or logits.potentials is None:
            return logits
        legality = map(jnp.asarray, labels.legality)
        return logits._replace(potentials=crf.mask_illegal(logits.potentials, *legality))

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits = apply(params, batch, key, hparams)
        columns = batch.rows["labels"], batch.rows["length"]
        losses = sentence_losses(logits, *columns, selected=windows) * batch.weight
        return jnp.sum(losses) / jnp.maximum(normaliser(batch), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits, length = apply(params, batch, None, hparams), batch.rows["length"]
        if logits.potentials is None:
            return jnp.argmax(logits.emissions, axis=-1).T.astype(jnp.int32), carry
        valid = jnp.arange(logits.emissions.shape[0])[None] < length[:, None]
        return _by_sentence(crf.viterbi, logits, valid), carry

    # of windows alone: their step takes less than an update of all words; that of an LSTM takes
    # longer, and would gain little for other last bits
    reads_few = windows and choices.words.trained
    rows = functools.partial(models.rows_of_windows, choices.window.reach)
    table = Table(_WORDS, rows) if reads_few else None
    names = labels.names if labels.entities else None
    counts = functools.partial(count, names=names, rule=scoring.rule)
    functions = init, lambda size: (), loss, predict, counts, score
    return Task(*functions, metric, normaliser, table=table)


def _metric(scoring: Scoring, entities: bool) -> Metric:
    name = scoring.metric
    if name == "f1" and not entities:
        raise ConfigError(
            "scoring.metric: these tags have accuracy only, and f1 is of entities: expected "
            "data.source.scheme=iob1, bio or iobes, and tags such as B-PER"
        )
    if name == "auto":
        name = "f1" if entities else "accuracy"
    return Metric(name, unit="fraction", margin=0.01)


def count(
    outputs: Array, batch: Batch, names: Sequence[str] | None, rule: spans.Rule
) -> dict[str, Array]:
    """Additive counts of words, and of spans where the tags, so named, are of entities."""
    gold, length = batch.rows["labels"], batch.rows["length"]
    valid = jnp.arange(batch.rows["forms"].shape[1])[None] < length[:, None]
    right = jnp.sum((outputs == gold) & valid, axis=1)
    counts = {"words": _words(batch), "right_words": jnp.sum(right * batch.weight)}
    if names is None:
        return counts
    return counts | spans.count(gold, outputs, valid, batch.weight, names, rule)


def score(counts: Mapping[str, float]) -> dict[str, float]:
    """Accuracy, and where spans are counted their precision, recall and F1."""
    accuracy = {"accuracy": counts["right_words"] / max(counts["words"], 1.0)}
    return accuracy | spans.f1(counts) if "gold_spans" in counts else accuracy


def _words(batch: Batch) -> Array:
    """[] number of words of real rows."""
    return jnp.sum(batch.rows["length"] * batch.weight)


def sentence_losses(
    logits: TaggerLogits, labels: Array, length: Array, selected: bool = False
) -> Array:
    """Loss summed over the words of each sentence: labels [B, T], length [B] -> [B].

    `selected`, of windows alone, picks log-probabilities without a scatter for a gradient.
    """
    valid = jnp.arange(labels.shape[1])[None] < length[:, None]
    if logits.potentials is not None:
        return _by_sentence(crf.nll, logits, labels, valid)
    log_probs = jax.nn.log_softmax(logits.emissions)
    if selected:
        is_label = jax.nn.one_hot(labels.T, log_probs.shape[-1], dtype=bool)
        chosen = jnp.sum(jnp.where(is_label, log_probs, 0.0), axis=-1)
    else:
        chosen = jnp.take_along_axis(log_probs, labels.T[..., None], axis=-1)[..., 0]
    return -jnp.sum(jnp.where(valid.T, chosen, 0.0), axis=0)


def _by_sentence(of_crf: Callable, logits: TaggerLogits, *rows: Array) -> Array:
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
    """
    options.refuse_others("tagging")
    first = saved[0].read_vocabulary(SavedVocabulary)
    known = schemes.possible_tags(first.labels, first.scheme)
    source = tagging_files.read_untagged(saved[0].config.data.source, file, known)
    in_words = [sentence.words for sentence in source.sentences]
    tags = kind.predictions(saved, lambda model: _program(model, in_words))
    if options.vote:
        by_sentence = (zip(*votes, strict=True) for votes in zip(*tags, strict=True))
        tags = [[tuple(map(kind.majority, of_words)) for of_words in by_sentence]]
    yield from tagging_files.with_columns(source, tags)


def _program(saved: SavedModel, sentences: Sequence[Sequence[str]]) -> kind.Program:
    """The tags of each sentence."""
    config, vocabulary = saved.config, saved.read_vocabulary(SavedVocabulary)
    size, trained = config.training.evaluation_batch_size, config.model.words.trained
    encoded = data.encode(config.data, vocabulary, sentences, size)
    rows, known = kind.rows_of_saved(saved, encoded, _WORDS, trained, vocabulary.rows)
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

    def tags(numbers: np.ndarray) -> tuple[str, ...]:
        names = [vocabulary.labels[number] for number in numbers.tolist()]
        if not entities:
            return tuple(names)
        return schemes.from_spans(schemes.lenient_spans(names), len(names), vocabulary.scheme)

    def read(numbers: list[np.ndarray]) -> list[tuple[str, ...]]:
        each = zip(numbers, sentences, strict=True)
        return [tags(of_words[: len(sentence)]) for of_words, sentence in each]

    return kind.program(saved, task.init, run, rows, read)


def _built(config: Config, tagged: data.Tagged) -> tuple[kind.Source, Task]:
    facts = {"labels": tagged.predicted, "padded_widths": [*tagged.widths]}
    source = kind.source_of_words(config, tagged, "sentences", **facts)
    casings, known = len(words.CASINGS), tagged.table.vocabulary
    sizes = models.Sizes(tagged.predicted, tagged.alphabet, casings, known)
    labels = Labels(tagged.labels, tagged.entities, tagged.legality)
    return source, task_of(config.model, config.scoring, sizes, labels)


KIND = kind.of_words(Config, data.build, _built, predict)
