"""What the tests of tasks over words share: a batch of a corpus, and the laws of a Task."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxeval import studies
from jaxeval.contracts import Batch
from jaxeval.data import corpora
from jaxeval.studies import prepared as preparing
from tests import conformance


def batch(data: corpora.WordCorpus, rows: Any, bucket: int = 0) -> Batch:
    """Rows of a bucket, as a member of the given split reads them."""
    columns = {name: column[rows] for name, column in data.corpus.buckets[bucket].items()}
    weight = np.ones(len(rows), np.float32)
    return Batch(columns, weight, data.corpus.shared, data.split(0).tables)


def check(
    prepared: studies.Prepared,
    rows: Any,
    bucket: int = 0,
    decisions: Callable[[Batch], float] = lambda batch: 1.0,
) -> None:
    """Holds the task of a config to the laws of a Task, on some rows."""
    case = conformance.Case(
        prepared.problem.task,
        batch(prepared.data, rows, bucket),
        {name: jnp.float32(value) for name, value in preparing.member_of(prepared).hparams},
        ["labels"],
        len(prepared.data.labels),
        decisions,
        lambda batch: batch.rows["labels"],
    )
    conformance.check(case)
