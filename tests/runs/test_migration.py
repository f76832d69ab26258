"""Runs that older versions of jaxeval wrote are read and continued."""

import contextlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from jaxeval import runs
from jaxeval.errors import RunError
from jaxeval.runs import __main__ as verb
from jaxeval.runs import store

VERSION_1 = """
CREATE TABLE jaxeval_schema (version INTEGER NOT NULL, PRIMARY KEY (version));
INSERT INTO jaxeval_schema VALUES (1);
CREATE TABLE experiments (id VARCHAR(64) NOT NULL, name TEXT NOT NULL, task TEXT NOT NULL,
  metric TEXT NOT NULL, higher_is_better BOOLEAN NOT NULL, config TEXT NOT NULL,
  config_hash TEXT NOT NULL, data TEXT NOT NULL, data_hash TEXT NOT NULL, PRIMARY KEY (id));
INSERT INTO experiments VALUES
  ('e1', 'plain', 'tagging', 'f1', 1, '{}', 'c1', 'somewhere', 'd1'),
  ('e2', 'plain, noise', 'language', 'bits', 0, '{}', 'c2', 'elsewhere', 'd2');
CREATE TABLE members (experiment VARCHAR(64) NOT NULL, seed BIGINT NOT NULL,
  split BIGINT NOT NULL, hparams VARCHAR(512) NOT NULL, status TEXT NOT NULL,
  epochs INTEGER NOT NULL, best_epoch INTEGER, dev DOUBLE, test DOUBLE,
  wall_seconds DOUBLE NOT NULL, lanes TEXT NOT NULL, jax TEXT NOT NULL, flax TEXT NOT NULL,
  jaxeval TEXT NOT NULL, device TEXT NOT NULL, message TEXT NOT NULL,
  PRIMARY KEY (experiment, seed, split, hparams),
  FOREIGN KEY(experiment) REFERENCES experiments (id));
INSERT INTO members VALUES
  ('e1', 1, 0, '{}', 'finished', 2, 2, .5, .25, 1.5, 'map', 'j', 'f', '1', 'cpu', ''),
  ('e1', 1, 0, '{"l2":0.5}', 'finished', 2, 2, .5, .125, 1.5, 'map', 'j', 'f', '1', 'cpu', ''),
  ('e2', 7, 0, '{"repeat":1.0}', 'finished', 2, 2, .5, 1.5, 1, 'map', 'j', 'f', '1', 'cpu', ''),
  ('e2', 7, 0, '{"repeat":2.0}', 'finished', 2, 2, .5, 2.5, 1, 'map', 'j', 'f', '1', 'cpu', '');
CREATE TABLE scores (experiment VARCHAR(64) NOT NULL, seed BIGINT NOT NULL,
  split BIGINT NOT NULL, hparams VARCHAR(512) NOT NULL, epoch INTEGER NOT NULL,
  part VARCHAR(16) NOT NULL, metric VARCHAR(64) NOT NULL, value DOUBLE,
  PRIMARY KEY (experiment, seed, split, hparams, epoch, part, metric),
  FOREIGN KEY(experiment) REFERENCES experiments (id));
INSERT INTO scores VALUES
  ('e1', 1, 0, '{}', 1, 'dev', 'f1', .5), ('e2', 7, 0, '{"repeat":2.0}', 1, 'dev', 'bits', 3);
"""
MEMBERS = [  # name, seed, repeat, hparams, test, unit
    ("plain", 1, 0, '{"l2":0.5}', 0.125, "fraction"),
    ("plain", 1, 0, "{}", 0.25, "fraction"),
    ("plain, noise", 7, 0, "{}", 1.5, "bits"),
    ("plain, noise", 7, 1, "{}", 2.5, "bits"),
]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A runs folder of version 1."""
    with contextlib.closing(sqlite3.connect(tmp_path / store.FILE)) as connection:
        connection.executescript(VERSION_1)
    return tmp_path


def _members(folder: Path) -> list[tuple]:
    return [(r.name, r.seed, r.repeat, r.hparams, r.test, r.unit) for r in runs.load(str(folder))]


def test_old_runs_are_read_without_a_change(old: Path) -> None:
    """Dies if reading writes, or a column, row or repeat is lost on the way."""
    before = (old / store.FILE).read_bytes()
    assert _members(old) == MEMBERS
    assert [(c.name, c.repeat, c.value) for c in runs.load_curves(old)] == [
        ("plain", 0, 0.5),
        ("plain, noise", 1, 3.0),
    ]
    assert (old / store.FILE).read_bytes() == before


def test_old_runs_are_upgraded_once(old: Path) -> None:
    """Dies if the conversion loses something, or is made twice."""
    for _ in range(2):
        assert verb.main(["upgrade", str(old)]) == 0
        assert _members(old) == MEMBERS
    with runs.open_store(old) as opened:
        assert set(opened.ended("e2")) == {(7, 0, 0, "{}"), (7, 0, 1, "{}")}


def test_an_upgrade_makes_no_runs(tmp_path: Path) -> None:
    """Dies if a wrong path becomes a runs folder."""
    with pytest.raises(RunError, match="no runs here"):
        verb.main(["upgrade", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_outcomes_come_back(old: Path) -> None:
    """Dies if counts lose precision, order or names, or of two writes the first one stays."""
    counts = np.array([[1, 0.5], [3, 1 / 3], [0, 7]], np.float32)
    kept = runs.Outcomes("e1", 1, 0, 0, "{}", "test", ("words", "right"), counts)
    with runs.open_store(old) as opened:
        opened.keep_outcomes([kept])
        opened.keep_outcomes([kept])
        (read,) = opened.outcomes("e1", "test")
        assert opened.outcomes("e1", "dev") == []
    assert read.names == kept.names and (read.seed, read.hparams) == (1, "{}")
    np.testing.assert_array_equal(read.counts, counts)
