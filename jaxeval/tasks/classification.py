"""Classification as a Task: of texts or targets in them ("sentiment"), and of pairs of sentences.

The loss is the cross-entropy averaged over items: targets, texts without targets, or pairs. Scores
are accuracy and macro F1.

Notation: B rows, K targets of a row, Y classes; other axes before Y are of items.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field, model_validator

from jaxeval.config import fields, reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree
from jaxeval.data import pairs, sentiment
from jaxeval.data.corpora import WordCorpus
from jaxeval.data.pairs import PairData
from jaxeval.data.sentiment import SentimentData
from jaxeval.errors import ConfigError
from jaxeval.models import nll
from jaxeval.models import sentiment as sentiment_models
from jaxeval.models.sentences import PairClassifier, PairModel
from jaxeval.models.sentiment import SentimentModel
from jaxeval.population import Training, optimisers
from jaxeval.tasks import kind
from jaxeval.tasks.kind import Options, SavedModel

_TRAINING = Training(optimiser=optimisers.Optimiser(name="adam", clip="none"))


@reading.settings
class _Scoring:
    """Scoring of predictions."""

    metric: Literal["accuracy", "macro_f1"] = Field(
        "accuracy", description="metric of early stopping; macro_f1: mean F1 of the classes"
    )


@reading.settings
class _SentimentConfig:
    """One experiment. Without `data.source.path`: on the generated corpus."""

    name: fields.Name = "sentiment"
    task: Literal["sentiment"] = Field("sentiment", description="what is learned")
    data: SentimentData = SentimentData()
    model: SentimentModel = SentimentModel()
    scoring: _Scoring = _Scoring()
    training: Training = _TRAINING

    @model_validator(mode="after")
    def _fits(self) -> "_SentimentConfig":
        if self.model.target.inter_aspect and self.data.rows != "sentences":
            raise ValueError(
                "model.target.inter_aspect: an LSTM over the targets of a sentence; expected "
                f"data.rows = 'sentences', got {self.data.rows!r}"
            )
        return self


@reading.settings
class _PairConfig:
    """One experiment. Without `data.source.path`: on the generated corpus."""

    name: fields.Name = "pairs"
    task: Literal["pairs"] = Field("pairs", description="what is learned")
    data: PairData = PairData()
    model: PairModel = PairModel()
    scoring: _Scoring = _Scoring()
    training: Training = _TRAINING


def _task(model: Any, classes: int, weights: Callable[[Batch], Array], scoring: _Scoring) -> Task:
    """Returns the task of a classifier.

    Args:
      model: a Flax module: (batch, hparams, key or None) -> logits [..., Y] of the items whose
        classes are `rows["labels"]` [...].
      weights: [...] 1 for an item, 0 for padding.
    """

    def normaliser(batch: Batch) -> Array:
        return jnp.sum(weights(batch))

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits = model.apply({"params": params}, batch, hparams, key)
        losses = nll(logits, batch.rows["labels"]) * weights(batch)
        return jnp.sum(losses) / jnp.maximum(normaliser(batch), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits = model.apply({"params": params}, batch, hparams, None)
        return jnp.argmax(logits, axis=-1).astype(jnp.int32), carry

    def counts(outputs: Array, batch: Batch) -> Mapping[str, Array]:
        return _count(batch.rows["labels"], outputs, weights(batch), classes)

    scores = functools.partial(_score, classes=classes)
    metric = Metric(scoring.metric, unit="fraction", margin=0.01)
    return Task(_init(model), lambda size: (), loss, predict, counts, scores, metric, normaliser)


def _init(model: Any) -> Callable[[Array, Batch, Hparams], Tree]:
    return lambda key, batch, hparams: model.init(key, batch, hparams, None)["params"]


def _count(gold: Array, predicted: Array, weights: Array, classes: int) -> Mapping[str, Array]:
    """Returns additive counts of items [...]: all, right ones, and those of each class.

    Gold labels from Y on are of classes that are never predicted; weights are 0 for padding.
    """
    right = (gold == predicted) * weights
    counts = {"right": jnp.sum(right), "targets": jnp.sum(weights)}
    for label in range(classes):
        is_label = gold == label
        counts[f"gold_{label}"] = jnp.sum(is_label * weights)
        counts[f"predicted_{label}"] = jnp.sum((predicted == label) * weights)
        counts[f"right_{label}"] = jnp.sum(is_label * right)
    return counts


def _score(counts: Mapping[str, float], classes: int) -> dict[str, float]:
    """Returns accuracy, and the mean over all classes of F1 = 2 right / (gold + predicted).

    F1 of a class that is neither gold nor predicted is 0 (scikit-learn's zero_division=0).
    """
    f1 = [
        2.0 * counts[f"right_{k}"] / max(counts[f"gold_{k}"] + counts[f"predicted_{k}"], 1.0)
        for k in range(classes)
    ]
    accuracy = counts["right"] / max(counts["targets"], 1.0)
    return {"accuracy": accuracy, "macro_f1": float(np.mean(f1))}


def _program(
    saved: SavedModel,
    model: Any,
    rows: kind.Rows,
    to_items: Callable[[list[np.ndarray]], np.ndarray],
) -> kind.Program:
    """Returns the program for the probabilities [items, Y] of the rows by similar models.

    Args:
      model: as of `_task`.
      to_items: probabilities [..., Y] of each row -> of all items [items, Y].
    """

    def run(params: Tree, batch: Batch, hparams: Hparams) -> Array:
        return jax.nn.softmax(model.apply({"params": params}, batch, hparams, None))

    return kind.program(saved, _init(model), run, rows, to_items)


def _lines(
    items: Iterator[Mapping[str, object]],
    names: Sequence[str],
    by_model: Sequence[np.ndarray],
    vote: bool,
) -> Iterator[str]:
    """Yields a JSON line for each item, with its label and probability, or lists for each model.

    A vote is the label of most models, with the mean of its probabilities.

    Args:
      names: of the Y classes, the same for all models.
      by_model: probabilities [items, Y] by each model.
    """
    for about, *each in zip(items, *by_model, strict=True):
        classes = [int(probs.argmax()) for probs in each]
        values = [float(probs.max()) for probs in each]
        if vote:
            classes = [kind.majority(classes)]
            values = [float(np.mean([probs[classes[0]] for probs in each]))]
        found: dict[str, Any] = {"label": [names[number] for number in classes]}
        found["probability"] = [round(value, 4) for value in values]
        if len(classes) == 1:
            found = {name: value[0] for name, value in found.items()}
        yield json.dumps({**about, **found}, ensure_ascii=False)


def _sizes(
    labels: Sequence[str], words: int, buckets: Sequence[Mapping[str, np.ndarray]]
) -> sentiment_models.Sizes:
    longest = max(int((b["end"] - b["start"]).max(initial=1)) for b in buckets)
    return sentiment_models.Sizes(len(labels), words, longest)


def _target_weights(batch: Batch) -> Array:
    """[B, K] 1 at real targets of real rows."""
    places = jnp.arange(batch.rows["labels"].shape[1])
    return (places[None] < batch.rows["targets"][:, None]) * batch.weight[:, None]


def _predict_sentiment(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """Yields JSON lines (`_lines`), one per target in the order of texts."""
    options.refuse_others("sentiment")
    first = saved[0].read_vocabulary(sentiment.SavedVocabulary)
    source = saved[0].config.data.source
    targeted = first.targeted
    texts = sentiment.read_unlabelled(source, file, targeted, first.labels)

    def targets() -> Iterator[dict[str, object]]:
        for each in texts:
            for target in each.targets:
                span = [target.start, target.end]
                words = {"target": each.text[target.start : target.end], "span": span}
                yield {"text": each.text, **(words if targeted else {})}

    def program(saved: SavedModel) -> kind.Program:
        choices, size = saved.config.model, saved.config.training.evaluation_batch_size
        vocabulary = saved.read_vocabulary(sentiment.SavedVocabulary)
        each_row, encoded = sentiment.encode(saved.config.data, vocabulary, texts, file, size)
        if choices.architecture == "majority":  # reads no word
            none = np.zeros((vocabulary.rows, 1), np.float32)
            saved = saved._replace(tables={"vectors": none})
        trained = choices.words.trained and choices.architecture != "majority"
        table = "embedding/words"
        rows, known = kind.saved_rows(saved, encoded, table, trained, vocabulary.rows)
        sizes = _sizes(vocabulary.labels, known, rows.bucketed.columns)

        def to_targets(probs: list[np.ndarray]) -> np.ndarray:
            each = zip(probs, each_row, strict=True)
            return np.concatenate([own[: len(row.targets)] for own, row in each])

        model = sentiment_models.Classifier(choices, sizes)
        return _program(saved, model, rows, to_targets)

    return _lines(targets(), first.labels, kind.predictions(saved, program), options.vote)


def _predict_pairs(saved: Sequence[SavedModel], file: Path, options: Options) -> Iterator[str]:
    """Yields JSON lines (`_lines`), one per pair in the order of the file."""
    options.refuse_others("pairs")
    each_row = pairs.read_unlabelled(file)

    def program(saved: SavedModel) -> kind.Program:
        config = saved.config
        vocabulary = saved.read_vocabulary(pairs.SavedVocabulary)
        size = config.training.evaluation_batch_size
        encoded = pairs.encode(config.data, vocabulary, each_row, file, size)
        trained = config.model.words.trained
        rows, known = kind.saved_rows(saved, encoded, "words", trained, vocabulary.rows)
        model = PairClassifier(config.model, len(vocabulary.labels), known)
        return _program(saved, model, rows, np.stack)

    items = ({"premise": each.premise, "hypothesis": each.hypothesis} for each in each_row)
    labels = saved[0].read_vocabulary(pairs.SavedVocabulary).labels
    return _lines(items, labels, kind.predictions(saved, program), options.vote)


def _build_sentiment(config: _SentimentConfig, data: WordCorpus) -> tuple[WordCorpus, Task]:
    architecture = config.model.architecture
    if architecture in sentiment_models.TARGETED and not data.saved["targeted"]:
        others = ", ".join(sorted({*sentiment_models.SITES} - sentiment_models.TARGETED))
        raise ConfigError(
            f"model.architecture: {architecture} reads a target, and these texts have none; "
            f"expected one of {others}"
        )
    sizes = _sizes(data.labels, data.table.vocabulary, data.corpus.buckets)
    model = sentiment_models.Classifier(config.model, sizes)
    return data, _task(model, sizes.labels, _target_weights, config.scoring)


def _build_pairs(config: _PairConfig, data: WordCorpus) -> tuple[WordCorpus, Task]:
    classes = len(data.labels)
    model = PairClassifier(config.model, classes, data.table.vocabulary)
    return data, _task(model, classes, lambda batch: batch.weight, config.scoring)


SENTIMENT = kind.word_kind(_SentimentConfig, sentiment.build, _build_sentiment, _predict_sentiment)
PAIRS = kind.word_kind(_PairConfig, pairs.build, _build_pairs, _predict_pairs)
