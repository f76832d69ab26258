"""A classification as a Task: loss, counts and scores (accuracy and F1 of each class).

Notation: Y classes; axes before are of items.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from jaxeval.config import reading
from jaxeval.contracts import Array, Batch, Hparams, Metric, Task, Tree

Logits = Callable[[Tree, Batch, Hparams, Array | None], Array]  # no key: nothing is dropped


@reading.settings
class Scoring:
    """How predictions are scored."""

    metric: Annotated[
        Literal["accuracy", "macro_f1"],
        pydantic.Field(description="read by early stopping; macro_f1: the mean of the classes'"),
    ] = "accuracy"


def task(
    init: Callable[[Array, Batch, Hparams], Tree],
    logits: Logits,
    weights: Callable[[Batch], Array],
    normaliser: Callable[[Batch], Array],
    classes: int,
    scoring: Scoring,
) -> Task:
    """The task of a classifier, whose loss is the cross-entropy averaged over items.

    Args:
      logits: [..., Y] of the items whose classes are `rows["labels"]` [...].
      weights: [...] 1 for an item, 0 for padding.
      normaliser: [] number of items.
    """

    def loss(
        params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams
    ) -> tuple[Array, Tree]:
        of_batch = logits(params, batch, hparams, key)
        losses = nll(of_batch, batch.rows["labels"]) * weights(batch)
        return jnp.sum(losses) / jnp.maximum(normaliser(batch), 1.0), carry

    def predict(
        params: Tree, carry: Tree, batch: Batch, key: Array, hparams: Hparams
    ) -> tuple[Array, Tree]:
        del key  # nothing is drawn
        of_batch = logits(params, batch, hparams, None)
        return jnp.argmax(of_batch, axis=-1).astype(jnp.int32), carry

    def counts(outputs: Array, batch: Batch) -> Mapping[str, Array]:
        return count(batch.rows["labels"], outputs, weights(batch), classes)

    def scores(counts: Mapping[str, float]) -> dict[str, float]:
        return score(counts, classes)

    metric = Metric(scoring.metric, unit="fraction", margin=0.01)
    return Task(init, lambda size: (), loss, predict, counts, scores, metric, normaliser)


def nll(logits: Array, labels: Array) -> Array:
    """Negative log-likelihood [...] of labels [...] int32 by logits [..., Y]."""
    log_probs = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(log_probs, labels[..., None], axis=-1)[..., 0]


def count(gold: Array, predicted: Array, weights: Array, classes: int) -> Mapping[str, Array]:
    """Additive counts of items [...]: all, right ones, and those of each class.

    Args:
      gold, predicted: [...] int32; a gold label from Y on is of a class that is never predicted.
      weights: [...] 1 for an item, 0 for padding.
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
    numbers = range(classes)
    f1 = [
        2.0 * counts[f"right_{k}"] / max(counts[f"gold_{k}"] + counts[f"predicted_{k}"], 1.0)
        for k in numbers
    ]
    accuracy = counts["right"] / max(counts["targets"], 1.0)
    return {"accuracy": accuracy, "macro_f1": float(np.mean(f1))}
