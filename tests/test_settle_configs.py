"""Configs that are settled: trained in process, side by side, from the runs that are there."""

from pathlib import Path
from typing import Any

import pytest

import jaxeval
from jaxeval import launchers, runs, tasks
from jaxeval.errors import ConfigError
from tests.studies import here, toy_kind
from tests.verbs import settle


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The toy is a task like any other."""
    monkeypatch.setattr(tasks, "KINDS", toy_kind.KINDS)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.toml").write_text('task = "toy"\nname = "a"\n')
    (tmp_path / "b.toml").write_text('task = "toy"\nname = "b"\n[training]\nepochs = 1\n')


def _settle(*sides: str, **more: Any) -> jaxeval.Settlement:
    return jaxeval.settle(*sides, quiet=True, **more)


def test_sides_share_splits_and_seeds() -> None:
    """Dies if evaluation k of a side has another split or seed, or is trained again."""
    found = _settle("a.toml", "b.toml", seeds=4)
    rows = runs.load("runs")
    assert found.paired and {(row.seed, row.split) for row in rows} == {
        (k, k) for k in range(1, 5)
    }
    by_name = {name: {r.seed: r.test for r in rows if r.name == name} for name in "ab"}
    assert {side: len(scores) for side, scores in found.scores.items()} == {"a": 4, "b": 4}
    assert [*found.scores["a"]] == [by_name["a"][k] for k in range(1, 5)]
    more = _settle("a.toml", "b.toml", seeds=6)
    assert more.looks >= found.looks and len(runs.load("runs")) <= 12
    own = _settle("a.toml", "b.toml", seeds=3, own_splits=True)
    assert not own.paired


def test_changes_make_the_candidate(capsys: pytest.CaptureFixture[str]) -> None:
    """Dies if a change is of both sides, or a shell cannot give it."""
    status = settle(["a.toml", "training.epochs=1", "--seeds", "3"])
    assert "training.epochs=1" in capsys.readouterr().out and status in (0, 1, 3)
    changed = _settle("a.toml", changes={"training.epochs": 1}, seeds=3)
    assert (changed.base, changed.candidate) == ("a", "training.epochs=1")
    with pytest.raises(ConfigError, match="the same"):  # both have the change
        _settle("a.toml", changes={"training.epochs": 1}, candidate="b.toml")
    with pytest.raises(ConfigError, match="second config, or changes"):
        _settle("a.toml")


@pytest.mark.parametrize(
    "words",
    [["--correction", "e-lond"], ["--correction", "spending"], ["--again"], ["--note", "x"]],
)
def test_what_a_ledger_keeps_needs_one(words: list[str]) -> None:
    """Dies if an option of ledgers is without effect, and nobody is told."""
    with pytest.raises(ConfigError) as found:
        settle(["a.toml", "b.toml", *words])
    said = ": expected a ledger too, which keeps it; add --ledger settle.db"
    assert str(found.value) == f"{' '.join(words)}{said}"


def test_a_ledger_of_configs() -> None:
    """Dies if a settled comparison has no row, or a new one reuses its seeds."""
    first = _settle("a.toml", "b.toml", seeds=4, ledger="night.db")
    again = _settle("a.toml", "b.toml", seeds=4, ledger="night.db")
    assert first.comparison == again.comparison == 1 and again.scores == first.scores
    assert min(first.seconds.values()) > 0 and {*again.seconds.values()} == {0.0}
    assert jaxeval.settle_report("night.db").seconds == sum(first.seconds.values())


def test_jobs_change_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if sides that a launcher trains have other seeds, splits or scores."""
    alone = _settle("a.toml", "b.toml", seeds=4)
    engine = here.Here(2)
    monkeypatch.setattr(launchers, "prepare", lambda text: engine)
    with here.prompt():
        found = _settle("a.toml", "b.toml", seeds=4, launch="local:2", out="launched")
    assert engine.started and found.scores == alone.scores
    assert (found.verdict, found.interval) == (alone.verdict, alone.interval)
