"""The benchmark of word vectors: PyTorch's three models compute what jaxeval's do. Needs torch."""

import importlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import studies
from jaxeval.contracts import Batch
from jaxeval.studies import prepared as preparing
from tests.data.test_word_tables import vectors

torch = pytest.importorskip("torch")
FOLDER = Path(__file__).parents[1] / "benchmarks"
TINY = ["data.max_widths=2", "training.batch_size=8"]
CASES = {  # config -> changes; all on generated corpora
    "ner_fixed": ["data.source.scheme=auto"],
    "questions_fixed": ["data.source.sentences=30", "data.source.format=auto"],
    "nli_fixed": ["data.source.format=auto"],
}


@pytest.mark.parametrize("name", CASES)
def test_losses_and_gradients_are_equal(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a window is cut otherwise, capitals of padding count, gates are in another order,
    or the check passes whatever it compares."""
    monkeypatch.syspath_prepend(FOLDER)
    agreement = importlib.import_module("vectors_agreement")
    file = vectors(tmp_path / "v", ["the", "was", "in", "of", "a", "food", "good"], 1, 6)
    changes = [*TINY, *CASES[name], f"data.vectors={file}"]
    prepared = studies.prepare(studies.read(f"nayak2016/{name}", changes))
    bucket, rows = prepared.data.corpus.buckets[-1], prepared.data.split(0).train[-1][:8]
    columns = {key: column[rows] for key, column in bucket.items()}
    tables = prepared.data.split(0).tables
    batch: Any = Batch(columns, np.ones(8), prepared.data.corpus.shared, tables)
    hparams = dict(preparing.member_of(prepared).hparams)
    batch = jax.tree.map(jnp.asarray, batch)
    params = prepared.task.init(jax.random.key(3), batch, hparams)
    assert max(agreement.check(prepared, params, columns)) < 1e-5
    other = jax.tree.map(lambda leaf: leaf + 0.1, params)
    named = agreement.named
    first = [named(other)]
    monkeypatch.setattr(agreement, "named", lambda p: first.pop() if first else named(p))
    with pytest.raises(AssertionError, match="ours and PyTorch's differ"):
        agreement.check(prepared, params, columns)
