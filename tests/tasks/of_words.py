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
    """Holds the task of a config to the laws of a Task, on some rows; all its rates are traced."""
    hparams = {n: jnp.float32(value) for n, value in preparing.member_of(prepared).hparams}
    dropout = vars(prepared.config.model.dropout)
    rates = {f"dropout_{site}" for site, rate in dropout.items() if rate and type(rate) is float}
    assert rates <= {*hparams} or dropout["kind"] == "none"
    case = conformance.Case(
        prepared.problem.task,
        batch(prepared.data, rows, bucket),
        hparams,
        ["labels"],
        len(prepared.data.labels),
        decisions,
        lambda batch: batch.rows["labels"],
    )
    conformance.check(case)
