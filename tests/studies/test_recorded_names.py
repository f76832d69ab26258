"""One experiment has one name, and a corpus that changed makes another one: both are said."""

import dataclasses
import json
from pathlib import Path

import pytest

from jaxeval import observe, runs
from jaxeval.errors import RunError
from jaxeval.report.runs import summary
from jaxeval.runs.records import Registered
from jaxeval.studies import cohorts, evaluation, proposers
from tests.runs import test_store
from tests.studies import toy_kind


def _train(folder: Path, name: str, seeds: list[int]) -> list[runs.MemberRow]:
    config = dataclasses.replace(toy_kind.config(save_models=True), name=name)
    return observe.train_cohorts(
        [toy_kind.cohort(proposers.seeds_by_splits(config, seeds))], folder
    )


def test_an_experiment_keeps_its_first_name(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if header, summary and models' files call one experiment by two names."""
    _train(tmp_path, "bag", [1])
    assert "recorded as" not in capsys.readouterr().err
    rows = _train(tmp_path, "other", [1, 2])
    said = capsys.readouterr().err
    assert said.count(f"other: recorded as bag ({rows[0].experiment}), the same experiment") == 1
    assert f"bag ({rows[0].experiment}): 2 members" in said
    assert summary.of_members(rows).name == "bag"
    files = (tmp_path / "models").glob("*/seed*.json")
    assert [json.loads(file.read_text())["name"] for file in files] == ["bag", "bag"]


def test_other_data_at_the_same_place_is_said(tmp_path: Path) -> None:
    """Dies if a corpus that changed begins an experiment in silence, or one at another place,
    or a second call, is taken for that."""
    plain = test_store.EXPERIMENT
    changed = dataclasses.replace(plain, id="e2", data_hash="d2")
    with runs.open_store(tmp_path) as store:
        assert store.register(plain) == Registered(plain, ())
        (line,) = store.register(changed).notes
        assert line == (
            "name (e2) is a new experiment: other data was recorded under the same path, "
            "somewhere, as name (e1)"
        )
        assert store.register(changed).notes == ()
        elsewhere = dataclasses.replace(plain, id="e3", data_hash="d3", data="elsewhere")
        assert store.register(elsewhere).notes == ()
        other = dataclasses.replace(plain, id="e4", data_hash="d4", config_hash="c2")
        assert store.register(other).notes == ()
        named = dataclasses.replace(plain, id="e5", data_hash="d5", name="name, noise")
        assert store.register(named).notes == ()
        third = dataclasses.replace(plain, id="e6", data_hash="d6")
        (line,) = store.register(third).notes  # of two earlier states the later one
        assert line.endswith("as name (e2)")


def test_models_of_other_data_are_named(tmp_path: Path) -> None:
    """Dies if evaluate says that nothing was saved, and not that the corpus has changed."""
    (row,) = _train(tmp_path, "bag", [1])
    cohort = toy_kind.cohort(proposers.seeds_by_splits(toy_kind.config(save_models=True), [1]))
    record = dataclasses.replace(cohort.records[0], id="new", name="bag", data_hash="new")
    moved = cohorts.recorded(cohort, {cohort.records[0].id: record})
    with pytest.raises(RunError, match=f"same path, .*, as {row.experiment}"):
        evaluation.load(moved, tmp_path)
