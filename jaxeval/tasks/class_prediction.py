"""What predictions of all classifiers share: how probable each class is, and what is said of it.

Notation: Y classes.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxeval.contracts import Array, Batch, Hparams, Task, Tree
from jaxeval.population import member
from jaxeval.tasks import prediction, word_vectors
from jaxeval.tasks.prediction import PredictionProgram, SavedModel

_Logits = Callable[[Tree, Batch, Hparams], Array]
_Columns = Mapping[str, np.ndarray]


class Classes(NamedTuple):
    """Names of classes, and how probable each is of every item in the order of the file."""

    names: Sequence[str]
    probs: np.ndarray  # [items, Y]


class Encoded(NamedTuple):
    """Rows as arrays.

    Attributes:
      shared: row [F] of each word form.
      numbers: of each bucket the rows in it.
      columns: of each bucket arrays [N, ...].
    """

    shared: Mapping[str, np.ndarray]
    numbers: Sequence[np.ndarray]
    columns: Sequence[_Columns]


def program(
    model: SavedModel,
    names: Sequence[str],
    encoded: Encoded,
    vectors: np.ndarray,
    task: Task,
    logits: _Logits,
    of_items: Callable[[Sequence[np.ndarray]], np.ndarray],
) -> PredictionProgram[Classes]:
    """What a classifier and all that share its program say of the same rows.

    Args:
      vectors: [V, D] that are not trained.
      logits: [size, ..., Y] of a batch.
      of_items: probabilities [..., Y] of each row -> of all items [items, Y].
    """
    size = model.config.training.evaluation_batch_size
    shared, split = jax.device_put(word_vectors.tables(encoded.shared, vectors))

    @jax.jit
    def run(params: Tree, columns: Mapping[str, Array], hparams: Hparams) -> Array:
        batch = Batch(columns, jnp.ones(size), shared, split)
        return jax.nn.softmax(logits(params, batch, hparams))

    def classes(params: Tree, hparams: Hparams) -> Classes:
        of_rows = prediction.by_batches(
            encoded.numbers, encoded.columns, size, lambda columns: run(params, columns, hparams)
        )
        return Classes(names, of_items(of_rows))

    first = {name: column[:1] for name, column in encoded.columns[0].items()}
    batch = Batch(first, jnp.ones(1), shared, split)
    like = jax.eval_shape(task.init, member.root_key(0), batch, model.hparams)
    return PredictionProgram(like, classes)


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
            labels = [prediction.majority(labels)]
            values = [float(np.mean([probs[names.index(labels[0])] for names, probs in classes]))]
        yield json.dumps({**about, **_said(labels, values)}, ensure_ascii=False)


def _said(labels: Sequence[str], values: Sequence[float]) -> dict[str, Any]:
    probabilities = [round(value, 4) for value in values]
    if len(labels) > 1:
        return {"label": [*labels], "probability": probabilities}
    return {"label": labels[0], "probability": probabilities[0]}
