"""Saved language models on a text whose likelihood is known."""

from pathlib import Path

import jax
import numpy as np
import pytest

from jaxeval import studies
from jaxeval.config import reading
from jaxeval.predict import main as predict
from jaxeval.studies import cohorts, saved
from jaxeval.studies import prepared as preparing
from jaxeval.studies import trial as trials
from tests import tiny_corpora


def test_texts_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a byte is another number than in training, or stdin is not read: what a model of
    given frequencies says of a text is known."""
    data, folder = tiny_corpora.text(tmp_path / "data"), tmp_path / "runs"
    changes = [*tiny_corpora.TEXT, "data.unit=byte", f"data.path={data}"]
    prepared = studies.prepare(studies.read(None, changes))
    who = preparing.member_of(prepared)
    shapes = preparing.parameter_shapes(prepared.problem, who)
    frequencies = np.random.default_rng(0).dirichlet(np.ones(prepared.data.vocabulary))
    params = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    params["softmax_bias"] = np.log(frequencies).astype(np.float32)
    trial = trials.Trial(reading.to_dict(prepared.config), who.seed)
    entry = cohorts.Entry(trial, prepared, prepared.record)
    saved.save(folder, entry, prepared.config, who, params, dev=None)
    with (data / "dev").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        target = tmp_path / "predicted"
        assert predict([str(folder), "--input", "-", "--output", str(target), "--whole"]) == 0
        head, row = (line.split("\t") for line in target.read_text().splitlines())
    assert head[3] == "bits" and int(row[1]) == (data / "dev").stat().st_size
    first = prepared.data.tokens["train"] + 2  # a part stands behind an end of line
    trained_on = prepared.data.corpus.shared["tokens"][first:][: prepared.data.tokens["dev"]]
    bits = -np.mean(np.log2(frequencies[trained_on]))
    assert float(row[3]) == pytest.approx(bits, rel=1e-5)
