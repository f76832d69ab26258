"""Sequence tagging as a Task, and the F1 of entity spans, counted on the device.

The loss of a CRF is the negative log-likelihood of a sentence, averaged over sentences (not
divided by their lengths, as in UKPLab's and Lample's code); that of a softmax is the cross-entropy
averaged over words.

A span is right if its first word, last word and type are those of a gold span. The rule defines
the spans of an *invalid* label sequence:

conlleval  a word that does not continue an entity of its type begins a new span (the CoNLL
           script); for IOBES seqeval's default mode, since conlleval.pl does not know S-.
strict     only spans that the scheme allows count: B I* (BIO), S or B I* E (IOBES).
ukp        as in UKPLab/emnlp2017-bilstm-cnn-crf: IOBES is read as BIO (S as B, E as I), then the
           better F1 of two repairs: invalid I- to B-, or to O.

Notation: T positions, B sentences, Y labels.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from pydantic import Field

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Table, Task, Tree, weighted_rows
from jaxeval.data import conll, words
from jaxeval.data import tagging as data
from jaxeval.data.corpora import WordCorpus
from jaxeval.data.tagging import SavedVocabulary, TaggingData
from jaxeval.errors import ConfigError
from jaxeval.models import crf
from jaxeval.models import tagging as models
from jaxeval.models.tagging import TaggerLogits, TaggerSettings
from jaxeval.population import Training
from jaxeval.tasks import kind
from jaxeval.tasks.kind import Options, SavedModel

_Rule = Literal["conlleval", "strict", "ukp"]
_OUTSIDE, _BEGIN, _INSIDE, _END, _SINGLE = range(5)
_PREFIXES = {"O": _OUTSIDE, "B": _BEGIN, "I": _INSIDE, "E": _END, "S": _SINGLE}
_AS_BIO = np.array([_OUTSIDE, _BEGIN, _INSIDE, _INSIDE, _BEGIN], np.int32)
_WORDS = "features/words"  # the word table among the parameters


@reading.settings
class _Scoring:
    """Scoring of predictions."""

    metric: Literal["auto", "f1", "accuracy"] = Field(
        "auto", description="metric of early stopping; auto: f1 for entities, else accuracy"
    )
    rule: _Rule = Field(
        "conlleval", description="what counts as an entity in invalid label sequences"
    )


@reading.settings
class _Config:
    """One experiment. No config file: these defaults, on the generated corpus."""

    name: fields.Name = "default"
    task: Literal["tagging"] = Field("tagging", description="what is learned")
    data: TaggingData = TaggingData()
    model: TaggerSettings = TaggerSettings()
    scoring: _Scoring = _Scoring()
    training: Training = Training()


def _build(config: _Config, names: Sequence[str], saved: Mapping[str, Any], known: int) -> Task:
    """Returns the task of a tagger; raises ConfigError for F1 of tags without types.

    Args:
      names: of all labels, those that only gold has last.
      saved: as `data.tagging.SavedVocabulary`, without the words.
      known: rows of the word table that the model has.
    """
    choices = config.model
    entities = saved["scheme"] != "none"
    metric = _metric(config.scoring, entities)
    alphabet = len(saved["characters"]) + words.UNKNOWN + 1
    sizes = models.Sizes(len(saved["labels"]), alphabet, len(words.CASINGS), known)
    model = models.Tagger(choices, sizes)
    windows = choices.encoder == "window"
    normaliser = weighted_rows if choices.classifier == "crf" else _words

    def init(key: Array, batch: Batch, hparams: Hparams) -> Tree:
        return model.init(key, batch, hparams, None)["params"]

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits: Any = model.apply({"params": params}, batch, hparams, key)
        columns = batch.rows["labels"], batch.rows["length"]
        losses = _sentence_losses(logits, *columns, selected=windows) * batch.weight
        return jnp.sum(losses) / jnp.maximum(normaliser(batch), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits: Any = model.apply({"params": params}, batch, hparams, None)
        length = batch.rows["length"]
        if logits.potentials is None:
            return jnp.argmax(logits.emissions, axis=-1).T.astype(jnp.int32), carry
        valid = jnp.arange(logits.emissions.shape[0])[None] < length[:, None]
        return _by_sentence(crf.viterbi, logits, valid), carry

    # only for windows, whose step is cheaper than an update of all words; an LSTM would gain
    # little, for other last bits
    reads_few = windows and choices.words.trained
    rows = functools.partial(models.rows_of_windows, choices.window.reach)
    table = Table(_WORDS, rows) if reads_few else None
    named = names if entities else None
    counts = functools.partial(_count, names=named, rule=config.scoring.rule)
    functions = init, lambda size: (), loss, predict, counts, _score
    return Task(*functions, metric, normaliser, table=table)


def _metric(scoring: _Scoring, entities: bool) -> Metric:
    name = scoring.metric
    if name == "f1" and not entities:
        raise ConfigError(
            "scoring.metric: these tags have accuracy only, and f1 is of entities: expected "
            "data.source.scheme=iob1, bio or iobes, and tags such as B-PER"
        )
    if name == "auto":
        name = "f1" if entities else "accuracy"
    return Metric(name, unit="fraction", margin=0.01)


def _count(
    outputs: Array, batch: Batch, names: Sequence[str] | None, rule: _Rule
) -> dict[str, Array]:
    """Returns additive counts of words, and of spans if the labels have names of entities."""
    gold, length = batch.rows["labels"], batch.rows["length"]
    valid = jnp.arange(batch.rows["forms"].shape[1])[None] < length[:, None]
    flags = {"right_words": (outputs == gold) & valid}
    if names is not None:
        flags |= _span_flags(gold, outputs, valid, names, rule)
    # a product: XLA takes much longer to compile sums of each row
    totals = batch.weight @ jnp.concatenate([*flags.values()], axis=1).astype(jnp.float32)
    each = jnp.sum(totals.reshape(len(flags), -1), axis=1)
    return {"words": _words(batch), **dict(zip(flags, each, strict=True))}


def _score(counts: Mapping[str, float]) -> dict[str, float]:
    accuracy = {"accuracy": counts["right_words"] / max(counts["words"], 1.0)}
    return accuracy | _span_f1(counts) if "gold_spans" in counts else accuracy


def _words(batch: Batch) -> Array:
    """[] number of words of real rows."""
    return jnp.sum(batch.rows["length"] * batch.weight)


def _sentence_losses(
    logits: TaggerLogits, labels: Array, length: Array, selected: bool = False
) -> Array:
    """Returns the loss summed over the words of each sentence: labels [B, T], length [B] -> [B].

    `selected`, for windows only, picks log-probabilities without a scatter in the gradient.
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


def _by_sentence(function: Callable, logits: TaggerLogits, *rows: Array) -> Array:
    """Maps a function of `crf` over sentences; rows [B, ...]."""
    potentials = logits.potentials
    by_word = potentials is not None and potentials.transitions.ndim == 4
    axes = crf.Potentials(1 if by_word else None, None, None)  # type: ignore[arg-type]
    in_axes = (1, axes, *[0] * len(rows))
    values: Array = jax.vmap(function, in_axes=in_axes)(logits.emissions, potentials, *rows)
    return values


def _predict(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """Yields the lines of a file, with a column of predicted tags for each model.

    Entity tags are in the scheme of the training files; invalid predictions are read by the rule
    `conlleval`. A vote is taken word by word.
    """
    options.refuse_others("tagging")
    lines, sentences = data.read_untagged(saved[0].config.data.source, file)
    in_words = [sentence.words for sentence in sentences]
    tags = kind.predictions(saved, lambda model: _program(model, in_words))
    if options.vote:
        by_sentence = (zip(*votes, strict=True) for votes in zip(*tags, strict=True))
        tags = [[tuple(map(kind.majority, by_word)) for by_word in by_sentence]]
    yield from data.with_columns(lines, sentences, tags)


def _program(saved: SavedModel, sentences: Sequence[Sequence[str]]) -> kind.Program:
    """Returns the program that predicts the tags of each sentence."""
    config = saved.config
    vocabulary = saved.read_vocabulary(SavedVocabulary)
    size, trained = config.training.evaluation_batch_size, config.model.words.trained
    encoded = data.encode(config.data, vocabulary, sentences, size)
    rows, known = kind.saved_rows(saved, encoded, _WORDS, trained, vocabulary.rows)
    task = _build(config, vocabulary.labels, vars(vocabulary), known)

    def run(params: Tree, batch: Batch, hparams: Hparams) -> Array:
        return task.predict(params, (), batch, jax.random.key(0), hparams)[0]  # ignores the key

    def tags(numbers: np.ndarray) -> tuple[str, ...]:
        names = tuple(vocabulary.labels[number] for number in numbers.tolist())
        if vocabulary.scheme == "none":
            return names
        return conll.from_spans(conll.lenient_spans(names), len(names), vocabulary.scheme)

    def read(numbers: list[np.ndarray]) -> list[tuple[str, ...]]:
        each = zip(numbers, sentences, strict=True)
        return [tags(own[: len(sentence)]) for own, sentence in each]

    return kind.program(saved, task.init, run, rows, read)


def _built(config: _Config, data: WordCorpus) -> tuple[WordCorpus, Task]:
    return data, _build(config, data.labels, data.saved, data.table.vocabulary)


KIND = kind.word_kind(_Config, data.build, _built, _predict)


def _spans(prefixes: np.ndarray, kinds: np.ndarray, labels: Array, valid: Array) -> tuple:
    """Finds the spans of label sequences [B, T] as conlleval does; padding counts as O.

    Returns, by the position of the first word, each [B, T]: whether a span starts; whether the
    scheme allows it; the position of its last word; its type.
    """
    prefix = jnp.where(valid, jnp.asarray(prefixes)[labels], _OUTSIDE)
    kind = jnp.where(valid, jnp.asarray(kinds)[labels], -1)
    outside = jnp.full_like(prefix[:, :1], _OUTSIDE)
    before = jnp.concatenate([outside, prefix[:, :-1]], axis=1)
    kind_before = jnp.concatenate([outside - 1, kind[:, :-1]], axis=1)
    after = jnp.concatenate([prefix[:, 1:], outside], axis=1)
    kind_after = jnp.concatenate([kind[:, 1:], outside - 1], axis=1)

    def separates(left: Array, right: Array) -> Array:
        """True if no span can reach from one prefix to the next."""
        closed = (left == _OUTSIDE) | (left == _END) | (left == _SINGLE)
        return closed | (right == _OUTSIDE) | (right == _BEGIN) | (right == _SINGLE)

    starts = (prefix != _OUTSIDE) & (separates(before, prefix) | (kind_before != kind))
    ends = (prefix != _OUTSIDE) & (separates(prefix, after) | (kind_after != kind))
    position = jnp.arange(labels.shape[1], dtype=jnp.int32)[None]
    last = lax.cummin(jnp.where(ends, position, labels.shape[1]), axis=1, reverse=True)
    whole = prefix == _BEGIN
    if np.isin(prefixes, (_END, _SINGLE)).any():
        closing = jnp.take_along_axis(prefix, jnp.minimum(last, labels.shape[1] - 1), axis=1)
        whole = (prefix == _SINGLE) | ((prefix == _BEGIN) & (closing == _END))
    return starts, starts & whole, last, kind


def _span_flags(
    gold: Array, predicted: Array, valid: Array, names: Sequence[str], rule: _Rule
) -> dict[str, Array]:
    """Tells where gold_spans, predicted_spans and right_spans start, each [B, T] bool.

    For `ukp` the last two also as `..._dropped`, with invalid I- repaired to O instead of B-.

    Args:
      gold, predicted: [B, T] int32 labels with these names (O, B-PER ...).
      valid: [B, T] false at padding.
    """
    types = sorted({name[2:] for name in names if name != "O"})
    prefixes = np.array([_PREFIXES[name[0]] for name in names], np.int32)
    prefixes = _AS_BIO[prefixes] if rule == "ukp" else prefixes
    kinds = np.array([-1 if n == "O" else types.index(n[2:]) for n in names], np.int32)
    truth, guess = (_spans(prefixes, kinds, labels, valid) for labels in (gold, predicted))
    same = (truth[2] == guess[2]) & (truth[3] == guess[3])
    strict = int(rule == "strict")
    flags = {"gold_spans": truth[strict]}
    for name, which in (("", strict), ("_dropped", 1))[: 2 if rule == "ukp" else 1]:
        flags[f"predicted_spans{name}"] = guess[which]
        flags[f"right_spans{name}"] = truth[strict] & guess[which] & same
    return flags


def _span_f1(counts: Mapping[str, float]) -> dict[str, float]:
    """Returns precision, recall and F1 in [0, 1]; undefined ones are 0 (conlleval)."""
    gold = counts["gold_spans"]
    found = []
    for name in ("", "_dropped"):
        if f"right_spans{name}" in counts:
            predicted, right = counts[f"predicted_spans{name}"], counts[f"right_spans{name}"]
            values = (right, predicted), (right, gold), (2 * right, gold + predicted)
            each = [part / whole if whole else 0.0 for part, whole in values]
            found.append(dict(zip(("precision", "recall", "f1"), each, strict=True)))
    return max(found, key=lambda scores: scores["f1"])
