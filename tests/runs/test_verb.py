"""`jaxeval report` and `jaxeval runs export` of a folder."""

import csv
import dataclasses
import io
import json
from pathlib import Path

import pytest

from jaxeval import runs, sources
from jaxeval.errors import RunError
from tests import verbs
from tests.runs import reading, test_store


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """Two members with curves."""
    with runs.open_store(tmp_path) as opened:
        opened.register(dataclasses.replace(test_store.EXPERIMENT, name='a "name", with comma'))
        opened.record(
            [test_store.result(1), test_store.result(2, dev=None, test=None, status="diverged")],
            [test_store.curve(1, 1)],
        )
    return tmp_path


def test_export(filled: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a column is lost on the way to CSV or Parquet."""
    from pyarrow import parquet

    assert verbs.runs(["export", str(filled)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["name"], r["seed"], r["test"]) for r in rows] == [
        ('a "name", with comma', "1", "0.25"),
        ('a "name", with comma', "2", ""),
    ]
    target = filled.with_suffix(".csv")
    assert verbs.runs(["export", str(filled), "--to", str(target)]) == 0
    assert reading.by_model(sources.read(str(target))) == {'a "name", with comma': [0.25]}
    target = filled / "curves.parquet"
    assert verbs.runs(["export", str(filled), "--curves", "--to", str(target)]) == 0
    assert parquet.read_table(target).to_pylist()[0]["value"] == 0.5
    with pytest.raises(RunError, match="parquet"):
        verbs.runs(["export", str(filled), "--to", "out.xls"])


def test_a_hyperparameter_of_words_and_numbers_is_exported(tmp_path: Path) -> None:
    """Dies if its column has no type, or becomes one of texts although all are numbers."""
    from pyarrow import parquet

    drawn = [{"clip": "none", "rate": 1}, {"clip": 5, "rate": 0.5}, {"rate": 2}]
    with runs.open_store(tmp_path) as opened:
        opened.register(test_store.EXPERIMENT)
        each = (test_store.result(k, hparams=json.dumps(of)) for k, of in enumerate(drawn, 1))
        opened.record([*each], [])
    target = tmp_path / "runs.parquet"
    assert verbs.runs(["export", str(tmp_path), "--to", str(target)]) == 0
    table = parquet.read_table(target).to_pydict()
    assert table["clip"] == ["none", "5", None] and table["rate"] == [1, 0.5, 2]
