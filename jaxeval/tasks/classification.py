"""A classification as a Task: loss, counts, scores (accuracy, F1 of each class), predictions.

Notation: Y classes; axes before are of items.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field

from jaxeval import models
from jaxeval.config import reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree
from jaxeval.tasks import kind


@reading.settings
class Scoring:
    """How predictions are scored."""

    metric: Literal["accuracy", "macro_f1"] = Field(
        "accuracy", description="read by early stopping; macro_f1: the mean of the classes'"
    )


def task(
    model: Any,
    weights: Callable[[Batch], Array],
    normaliser: Callable[[Batch], Array],
    scoring: Scoring,
) -> Task:
    """The task of a classifier, whose loss is the cross-entropy averaged over items.

    Args:
      model: a Flax module: (batch, hparams, key or None) -> logits [..., Y] of the items whose
        classes are `rows["labels"]` [...].
      weights, normaliser: [...] 1 for an item, 0 for padding; [] number of items.
    """
    classes = model.sizes.labels

    def loss(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits = model.apply({"params": params}, batch, hparams, key)
        losses = models.nll(logits, batch.rows["labels"]) * weights(batch)
        return jnp.sum(losses) / jnp.maximum(normaliser(batch), 1.0), carry

    def predict(params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams) -> tuple:
        logits = model.apply({"params": params}, batch, hparams, None)
        return jnp.argmax(logits, axis=-1).astype(jnp.int32), carry

    def counts(outputs: Array, batch: Batch) -> Mapping[str, Array]:
        return count(batch.rows["labels"], outputs, weights(batch), classes)

    begin, scores = _init(model), functools.partial(score, classes=classes)
    metric = Metric(scoring.metric, unit="fraction", margin=0.01)
    return Task(begin, lambda size: (), loss, predict, counts, scores, metric, normaliser)


def _init(model: Any) -> Callable[[Array, Batch, Hparams], Tree]:
    return lambda key, batch, hparams: model.init(key, batch, hparams, None)["params"]


def count(gold: Array, predicted: Array, weights: Array, classes: int) -> Mapping[str, Array]:
    """Additive counts of items [...]: all, right ones, and those of each class.

    A gold label from Y on is of a class that is never predicted; weights are 0 for padding.
    """
    right = (gold == predicted) * weights
    counts = {"right": jnp.sum(right), "targets": jnp.sum(weights)}
    for label in range(classes):
        of_label = gold == label
        counts[f"gold_{label}"] = jnp.sum(of_label * weights)
        counts[f"predicted_{label}"] = jnp.sum((predicted == label) * weights)
        counts[f"right_{label}"] = jnp.sum(of_label * right)
    return counts


def score(counts: Mapping[str, float], classes: int) -> dict[str, float]:
    """Accuracy, and the mean over all classes of F1 = 2 right / (gold + predicted).

    F1 is 0 of a class that neither is gold nor predicted (scikit-learn's zero_division=0).
    """
    f1 = [
        2.0 * counts[f"right_{k}"] / max(counts[f"gold_{k}"] + counts[f"predicted_{k}"], 1.0)
        for k in range(classes)
    ]
    accuracy = counts["right"] / max(counts["targets"], 1.0)
    return {"accuracy": accuracy, "macro_f1": float(np.mean(f1))}


class Classes(NamedTuple):
    """Names of classes, and how probable each is of every item in the order of the file."""

    names: Sequence[str]
    probs: np.ndarray  # [items, Y]


def program(
    saved: kind.SavedModel,
    model: Any,
    rows: kind.Rows,
    names: Sequence[str],
    of_items: Callable[[list[np.ndarray]], np.ndarray],
) -> kind.Program:
    """What a classifier and all that share its program say of the same rows: `Classes`.

    Args:
      model: as of `task`.
      of_items: probabilities [..., Y] of each row -> of all items [items, Y].
    """

    def run(params: Tree, batch: Batch, hparams: Hparams) -> Array:
        return jax.nn.softmax(model.apply({"params": params}, batch, hparams, None))

    init = _init(model)
    return kind.program(saved, init, run, rows, lambda each: Classes(names, of_items(each)))


def lines(
    items: Iterator[Mapping[str, object]], by_model: Sequence[Classes], vote: bool
) -> Iterator[str]:
    """JSON lines, one an item: what it is, label, probability; of several models lists of these.

    A vote is the label of most models, with the mean of its probabilities.
    """
    for number, about in enumerate(items):
        classes = [(each.names, each.probs[number]) for each in by_model]
        labels = [names[int(probs.argmax())] for names, probs in classes]
        values = [float(probs.max()) for _, probs in classes]
        if vote:
            labels = [kind.majority(labels)]
            values = [float(np.mean([probs[names.index(labels[0])] for names, probs in classes]))]
        said: dict[str, Any] = {"label": labels}
        said["probability"] = [round(value, 4) for value in values]
        if len(labels) == 1:
            said = {name: value[0] for name, value in said.items()}
        yield json.dumps({**about, **said}, ensure_ascii=False)
