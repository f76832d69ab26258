"""The runs database: nothing lost, nothing silent, many writers."""

import contextlib
import dataclasses
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from jaxeval import runs
from jaxeval.errors import RunError

EXPERIMENT = runs.Experiment(
    "e1", "name", "tagging", "f1", True, "fraction", 0.01, "{}", "c1", "somewhere", "d1"
)


def result(seed: int, **changes: object) -> runs.MemberResult:
    """A member's end."""
    key, versions = ("e1", seed, 0, 0, "{}"), ("0.9.2", "0.12", "0.1", "cpu x 2")
    plain = runs.MemberResult(*key, "finished", 5, 3, 0.5, 0.25, 1.5, "map", *versions)
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def curve(
    seed: int, epoch: int, value: float | None = 0.5, experiment: str = "e1", **more: Any
) -> runs.EpochScore:
    """A dev score."""
    plain = runs.EpochScore(experiment, seed, 0, 0, "{}", epoch, "dev", "f1", value)
    return dataclasses.replace(plain, **more)


def write(
    folder: Path,
    key: str,
    ends: Iterable[runs.MemberResult] = (),
    points: Iterable[runs.EpochScore] = (),
    **about: Any,
) -> None:
    """Adds an experiment to a runs folder, with ends and dev scores of members."""
    with runs.open_store(folder) as opened:
        opened.register(dataclasses.replace(EXPERIMENT, **{"id": key, "name": key, **about}))
        opened.record(
            [dataclasses.replace(end, experiment=key) for end in ends],
            [dataclasses.replace(point, experiment=key) for point in points],
        )


def test_an_earlier_training_leaves_no_epochs(tmp_path: Path) -> None:
    """Dies if epochs of a training that was stopped stand behind a shorter one's, or those of
    another member, or of one that has not ended, are removed."""
    with runs.open_store(tmp_path) as opened:
        opened.register(EXPERIMENT)
        opened.record([], [curve(seed, epoch, 0.1) for seed in (1, 2, 3) for epoch in range(1, 8)])
        opened.record([result(1), result(3, epochs=7)], [curve(1, 5)])
        kept = [(c.seed, c.epoch) for c in opened.curves()]
    lengths = {seed: [epoch for s, epoch in kept if s == seed] for seed in (1, 2, 3)}
    assert lengths == {1: [*range(1, 6)], 2: [*range(1, 8)], 3: [*range(1, 8)]}


def test_round_trip_and_overwrite(tmp_path: Path) -> None:
    """Dies if a field is lost, or equal keys make two rows."""
    with runs.open_store(tmp_path) as opened:
        opened.register(EXPERIMENT)
        opened.register(EXPERIMENT)
        for test in (0.1, 0.25):
            opened.record(
                [result(1, test=test), result(2, dev=None, test=None)],
                [curve(1, 1), curve(1, 2, None)],
            )
        assert opened.ended("e1") == {
            (1, 0, 0, "{}"): result(1),
            (2, 0, 0, "{}"): result(2, dev=None, test=None),
        }
        opened.register(dataclasses.replace(EXPERIMENT, name="renamed"))
    rows = runs.load(tmp_path)
    assert [(r.name, r.seed, r.test, r.data_hash, r.higher_is_better) for r in rows] == [
        ("renamed", 1, 0.25, "d1", True),
        ("renamed", 2, None, "d1", True),
    ]
    assert [(c.epoch, c.value) for c in runs.load_curves(tmp_path)] == [(1, 0.5), (2, None)]


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    """Dies if scores and members are not written together."""
    with runs.open_store(tmp_path) as opened:
        opened.register(EXPERIMENT)
        opened.record([], [curve(1, 1)])
        with pytest.raises(RunError, match="same command again"):
            opened.record([result(3, experiment="unknown")], [curve(1, 2)])
    assert [c.epoch for c in runs.load_curves(tmp_path)] == [1]


_WRITER = """
import sys
from tests.runs import test_store as t
from jaxeval import runs
with runs.open_store(sys.argv[1]) as opened:
    opened.register(t.EXPERIMENT)
    for number in range(int(sys.argv[3])):
        seed = int(sys.argv[2]) * 1000 + number
        opened.record([t.result(seed)], [t.curve(seed, e) for e in range(10)])
        print(number, flush=True)
"""


def _writer(folder: Path, name: int, count: int) -> subprocess.Popen:
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(folder), str(name), str(count)],
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_four_processes_on_a_fresh_folder(tmp_path: Path) -> None:
    """Dies if making the tables races, or a busy database loses a record."""
    writers = [_writer(tmp_path / "runs", name, 15) for name in range(4)]
    errors = [writer.communicate(timeout=120)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, errors
    assert len(runs.load(tmp_path / "runs")) == 60
    assert len(runs.load_curves(tmp_path / "runs")) == 600


def test_a_killed_writer_leaves_whole_transactions(tmp_path: Path) -> None:
    """Dies if a kill can leave a member without its scores."""
    writer = _writer(tmp_path, 1, 100_000)
    assert writer.stdout is not None
    for _ in range(20):
        writer.stdout.readline()
    time.sleep(0.003)
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    members = runs.load(tmp_path)
    assert len(members) >= 20
    assert len(runs.load_curves(tmp_path)) == 10 * len(members)
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_full_disk_keeps_what_is_recorded(tmp_path: Path) -> None:
    """Dies if a full disk is a traceback, or costs earlier rows."""
    with runs.open_store(tmp_path) as opened:
        opened.register(EXPERIMENT)
        opened.record([result(1)], [])

        opened._sql.execute("PRAGMA max_page_count=1")
        with pytest.raises(RunError, match=r"full.*kept: .*free space"):
            for seed in range(2, 2000):
                opened.record([result(seed)], [curve(seed, e) for e in range(50)])
    assert 1 in [row.seed for row in runs.load(tmp_path)]


def test_a_database_that_is_deleted_is_not_written_on(tmp_path: Path) -> None:
    """Dies if a training goes on to write into a file that is gone, and says that all is well."""
    with runs.open_store(tmp_path) as opened:
        opened.register(EXPERIMENT)
        (tmp_path / "runs.sqlite").unlink()
        with pytest.raises(RunError, match="was deleted; the same command starts again"):
            opened.record([result(1)], [])


def test_reading_creates_nothing(tmp_path: Path) -> None:
    """Dies if a mistyped folder becomes an empty database."""
    with pytest.raises(RunError, match=r"no runs here.*runs\.sqlite"):
        runs.load(tmp_path / "typo")
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    """Dies if a foreign or newer database is read, or written into."""
    (tmp_path / "runs.sqlite").write_bytes(b"not a database at all, but long enough" * 40)
    with pytest.raises(RunError, match=r"runs\.sqlite: .*; damaged, or not written by jaxeval"):
        runs.load(tmp_path)
    for version in (3, 99):
        other = tmp_path / str(version)
        runs.open_store(other).close()
        with contextlib.closing(sqlite3.connect(other / "runs.sqlite")) as connection, connection:
            connection.execute(f"UPDATE jaxeval_schema SET version = {version}")
        for opening in (runs.load, runs.open_store):
            with pytest.raises(RunError, match=f"tables of version {version}, expected 4"):
                opening(other)
    with contextlib.closing(sqlite3.connect(tmp_path / "foreign.sqlite")) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(RunError, match="not a runs database"):
        runs.load(tmp_path / "foreign.sqlite")
