"""`jaxeval mirror`: members in the trackers themselves, and read from there again."""

import contextlib
import dataclasses
import importlib
import importlib.util
import json
import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import jaxeval
from jaxeval import files, runs
from jaxeval.__main__ import main
from jaxeval.errors import ConfigError, RunError
from jaxeval.runs import trackers
from tests.runs import test_store
from tests.runs.reading import by_model

mirrors = importlib.import_module("jaxeval.mirror")  # of the package, it is the function

_PACKAGES = {
    "tensorboard": ("tensorboardX", "tensorboard"),
    "wandb": ("wandb", "wandb"),
    "mlflow": ("alembic", "mlflow.db"),
    "trackio": ("trackio", "trackio"),
}
pytestmark = pytest.mark.filterwarnings("ignore")  # of the trackers


def _write(folder: Path, seeds: int = 4, epochs: int = 3) -> None:
    """Two experiments of one name on one data set; of the second the first member diverged."""
    for k, layers in enumerate((1, 2)):
        config = json.dumps({"name": "../lstm", "model": {"layers": [layers]}, "seed": None})
        ends, rows = [], []
        for seed in range(1, seeds + 1):
            score = 0.5 + 0.1 * k + seed * 1e-3
            more = {"dev": score, "test": score - 0.02, "epochs": epochs}
            if seed == layers == 2:
                more |= {"status": "diverged", "dev": None, "test": None}
            ends.append(test_store.result(seed, **more))
            rows += [test_store.curve(seed, e, score * e / epochs) for e in range(1, epochs + 1)]
        test_store.write(folder, f"{layers}" * 16, ends, rows, name="../lstm", config=config)


def _found(path: Path) -> Sequence[trackers.Run]:
    """The runs that a tracker keeps; those of trackio, which `compare` does not read, by SQL."""
    database = path / "jaxeval.db"
    if not database.is_file():
        return trackers.find(path)[1]
    with contextlib.closing(sqlite3.connect(database)) as sql:
        found = {
            key: trackers.Run(name, config=trackers._flat(json.loads(config)))
            for key, name, config in sql.execute("SELECT run_id, run_name, config FROM configs")
        }
        for key, step, values in sql.execute("SELECT run_id, step, metrics FROM metrics"):
            found[key].add(step, json.loads(values))
    return [*found.values()]


def _sent(path: Path) -> Counter[tuple[str, str, int]]:
    """How often each run has each metric and step."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for file in path.rglob("*.tfevents.*"):  # where a step may be written twice
        for event in map(trackers._message, trackers._tensorboard(file.read_bytes())):
            for _, value in trackers._fields(event.get(5, b"")):
                tag = trackers._message(value)[1].decode()
                if not tag.startswith("_hparams_"):
                    counts[str(file.parent), tag, event.get(2, 0)] += 1
    found = _found(path)
    names = [f"{run.name} {run.config['model']}" for run in found]
    assert len({*names}) == len(names)
    return counts or Counter(
        (name, metric, step)
        for name, run in zip(names, found, strict=True)
        for step, values in run.steps.items()
        for metric in values
    )


@pytest.mark.parametrize("to", _PACKAGES)
def test_what_comes_back_is_what_was_sent(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a score, a status, the direction or a model is lost, or a stopped mirror sends a row
    twice or never."""
    package, place = _PACKAGES[to]
    if importlib.util.find_spec(package) is None:  # trackio looks at its folder when imported
        pytest.skip(f"{package} is not installed")
    _write(tmp_path / "runs")
    at = f"sqlite:///{tmp_path}/mlflow.db" if to == "mlflow" else str(tmp_path / to)
    command = ["mirror", str(tmp_path / "runs"), "--to", to, "--at", at]
    target, whole = mirrors._TARGETS[to], list[Mapping]()

    def part(self: Any, rows: Mapping[int, Mapping[str, float]], end: Mapping[str, Any]) -> None:
        whole.extend([rows] * (len(rows) == 3))
        if len(whole) == 6:
            send(self, {epoch: rows[epoch] for epoch in (1, 2)}, {})
            raise OSError("no room")
        send(self, rows, end)

    send = target.send
    with monkeypatch.context() as patched:
        patched.setattr(target, "send", part)
        with pytest.raises(RunError, match=rf"{to}.* failed \(no room\); the same command"):
            main(command)
    for _ in range(2):
        assert main(command) == 0
    counts = _sent(tmp_path / place)
    assert {*counts.values()} == {1} and len(counts) == 8 * 3 + 7 * 2
    assert len([*(tmp_path / to).glob("wandb/offline-run-*")]) == (8 if to == "wandb" else 0)
    direct = jaxeval.compare(tmp_path / "runs")
    rows = [row for run in _found(tmp_path / place) for row in run.rows(by_step=False)]
    kept = rows if to == "trackio" else tmp_path / place
    back = jaxeval.compare(kept, score="final/test/f1")
    assert back.to_dict()["statuses"] == direct.to_dict()["statuses"] != {}
    answers = [found.to_dict()["answer"] for found in (direct, back)]
    assert answers[0] == answers[1] and "4 runs of ../lstm" in " ".join(answers[0])
    scores = [by_model(found.study.scores) for found in (direct, back)]
    for model, of in scores[0].items():
        rounded = 1e-7 if to == "tensorboard" else 0  # which stores float32
        assert sorted(scores[1][model]) == pytest.approx(of, rel=0, abs=rounded)


def test_a_database_does_not_choose_the_folder(tmp_path: Path) -> None:
    """Dies if what a database holds in place of a seed leads out of the mirror's folder."""
    pytest.importorskip("tensorboardX")
    _write(tmp_path / "runs", seeds=1)
    with contextlib.closing(sqlite3.connect(tmp_path / "runs" / "runs.sqlite")) as database:
        for table in ("members", "scores"):
            database.execute(f"UPDATE {table} SET seed = '1/../../../../out'")
        database.commit()
    place = tmp_path / "boards"
    assert main(["mirror", str(tmp_path / "runs"), "--to", "tensorboard", "--at", str(place)]) == 0
    files = [*tmp_path.rglob("*.tfevents.*")]
    assert len(files) == 2 and all(place in file.parents for file in files)


def test_members_are_followed_until_all_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if rows that are written later, also after a pause or while the next program compiles,
    are lost or sent twice, or it never ends; or a run that has ended and is trained anew is an
    error."""
    pytest.importorskip("tensorboardX")
    monkeypatch.setattr(mirrors, "_SECONDS", 0.02)
    monkeypatch.setattr(mirrors, "_QUIET", 0.5)
    _write(tmp_path / "runs", seeds=1)
    with runs.open_store(tmp_path / "runs") as store:
        rows = [test_store.curve(9, e, 0.1 * e, experiment="1" * 16) for e in range(1, 6)]
        store.record([], rows[:1])
    os.utime(tmp_path / "runs" / "runs.sqlite", (0, 0))  # it is resumed, long after
    begun, send = threading.Event(), mirrors._Mirror.send
    monkeypatch.setattr(mirrors._Mirror, "send", lambda self: (send(self), begun.set()))

    def train() -> None:
        begun.wait(60)
        with runs.open_store(tmp_path / "runs") as store:
            for row in rows[1:]:
                time.sleep(0.1)
                pause = test_store.result(9, experiment="1" * 16, epochs=3, status="paused")
                store.record([pause] * (row.epoch == 3), [row])
            end = test_store.result(9, experiment="1" * 16, epochs=5, dev=0.5, test=0.4)
            with files.locked(tmp_path / "runs" / "checkpoints" / "next.lock", ""):
                store.record([end], [])
                time.sleep(1)
                store.record([dataclasses.replace(end, seed=10)], [])

    thread = threading.Thread(target=train)
    thread.start()
    words = ["mirror", str(tmp_path / "runs"), "--to", "tensorboard", "--at", str(tmp_path / "tb")]
    assert main([*words, "--follow"]) == 0
    thread.join()
    counts = _sent(tmp_path / "tb")
    assert {*counts.values()} == {1}
    assert sum(name.endswith("seed9") for name, _, _ in counts) == 5 + 2
    assert len([*tmp_path.rglob("seed9/*.tfevents.*")]) == 1
    assert "4 runs, all ended" in capsys.readouterr().err
    with contextlib.closing(sqlite3.connect(tmp_path / "runs" / "runs.sqlite")) as database:
        database.execute("DELETE FROM members WHERE seed = 9")
        database.commit()
    assert main([*words, "--follow"]) == 0  # its process was killed
    assert _sent(tmp_path / "tb") == counts
    assert "4 runs, 1 of which have not ended" in capsys.readouterr().err


def test_a_tracker_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a missing package is a traceback."""
    _write(tmp_path / "runs", seeds=1)
    monkeypatch.setitem(sys.modules, "tensorboardX.event_file_writer", None)
    words = ["mirror", str(tmp_path / "runs"), "--to", "tensorboard", "--at", str(tmp_path / "tb")]
    with pytest.raises(ConfigError, match=r"--to tensorboard: install jaxeval\[tensorboard\] \("):
        main(words)
    assert not (tmp_path / "tb").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Dies if the message names the runs alone."""
    pytest.importorskip("tensorboardX")
    _write(tmp_path / "runs", seeds=1)
    (tmp_path / "file").touch()
    words = ["mirror", str(tmp_path / "runs"), "--to", "tensorboard", "--at"]
    with pytest.raises(RunError, match=r"tensorboard at .*/file failed \(Not a directory\); the"):
        main([*words, str(tmp_path / "file")])
