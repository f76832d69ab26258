"""A runs folder over several commands: signals, saved models, checkpoints and the database."""

import dataclasses
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import experiment, runs
from jaxeval.contracts import Member
from jaxeval.data import checks
from jaxeval.errors import ConfigError, RunError
from jaxeval.experiment import base, memory, recording, running, saved
from jaxeval.population import kept, loop, seats
from tests.population import toy

MEMBERS = [toy.member(seed) for seed in (1, 2, 3)]
CONFIG = json.dumps({"training": {"epochs": 4}})
RECORD = runs.Experiment("e1", "toy", "tagging", "accuracy", True, CONFIG, "c1", "toy", "d1")


def _prepared(**changes: Any) -> base.Prepared:
    """The toy problem as an experiment."""
    problem = toy.problem(**{"patience": 0, "checkpoint_every": 1, "epochs": 4, **changes})
    config = dataclasses.replace(experiment.read(None), training=problem.training)
    read = base.Read(
        problem.corpus,
        problem.split,
        "d1",
        "toy",
        (),
        {},
        lambda split: {"classes": ["a", "b", "c"], "split": split},
        {"shift": np.zeros(3, np.float32)},
    )
    drawn = dict.fromkeys(MEMBERS, "{}")
    return base.Prepared(config, None, read, problem, RECORD, drawn)


def _rows(folder: Path) -> tuple:
    """All that is recorded but the clock."""
    return [r._replace(wall_seconds=0.0) for r in runs.load(folder)], runs.load_curves(folder)


def _stopped(monkeypatch: pytest.MonkeyPatch, folder: Path, epochs: int, *numbers: int) -> int:
    """Exit status of a run that gets signals while an epoch is recorded."""
    record, left = recording.Recorder.__call__, [epochs]

    def then_signal(self: recording.Recorder, report: loop.Report) -> None:
        record(self, report)
        left[0] -= 1
        for number in numbers if not left[0] else ():
            os.kill(os.getpid(), number)

    with monkeypatch.context() as patched:
        patched.setattr(recording.Recorder, "__call__", then_signal)
        with pytest.raises(SystemExit) as stopped:
            running.run(_prepared(), MEMBERS, folder)
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """What is recorded without interruption."""
    folder = tmp_path_factory.mktemp("truth")
    running.run(_prepared(), MEMBERS, folder)
    return _rows(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_stops(
    number: signal.Signals,
    truth: tuple,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    """Dies if SIGTERM ends the process without a checkpoint or by another status than 143, if a
    handler stays behind, or if the second command begins anew."""
    before = signal.getsignal(number)
    assert _stopped(monkeypatch, tmp_path, 2, number) == 128 + number
    assert signal.getsignal(number) is before
    assert "same command continues" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "checkpoints" / "e1").glob("[0-9]*")] != []
    epochs = [row.epoch for row in runs.load_curves(tmp_path) if row.part == "train"]
    assert max(epochs) == 2
    running.run(_prepared(), MEMBERS, tmp_path)
    assert _rows(tmp_path) == truth


def test_a_second_signal_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a process that is told twice goes on to the end of its epoch."""
    assert _stopped(monkeypatch, tmp_path, 1, signal.SIGINT, signal.SIGTERM) == 143


def test_a_checkpoint_ahead_of_its_database_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if members go on whose first epochs no database holds: their curves would lack them."""
    _stopped(monkeypatch, tmp_path, 2, signal.SIGTERM)
    for path in tmp_path.glob("runs.sqlite*"):
        path.unlink()
    with pytest.raises(RunError, match=r"lacks epochs \(seed 1, 2, 3\): bring back the database"):
        running.run(_prepared(), MEMBERS, tmp_path)
    assert runs.load_curves(tmp_path) == []
    shutil.rmtree(tmp_path / "checkpoints")
    assert len(running.run(_prepared(), MEMBERS, tmp_path)) == 3


def test_models_that_were_not_saved_are_not_passed_over(truth: tuple, tmp_path: Path) -> None:
    """Dies if keep_models does nothing for members that have ended, or --again trains those too
    whose models are saved, or changes a score."""
    running.run(_prepared(), MEMBERS[:2], tmp_path)
    with pytest.raises(
        RunError, match=r"2 members .* without a saved model .*seed 1, 2\); --again"
    ):
        running.run(_prepared(keep_models=True), MEMBERS, tmp_path)
    assert not (tmp_path / "models").exists()
    running.run(_prepared(keep_models=True), MEMBERS, tmp_path, again=True)
    assert _rows(tmp_path) == truth
    models = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").rglob("*.npz")}
    running.run(_prepared(keep_models=True), MEMBERS, tmp_path, again=True)
    assert models == {path: path.stat().st_mtime_ns for path in models}
    assert sorted(path.name for path in models) == [
        *(f"seed{seed}.npz" for seed in (1, 2, 3)),
        "tables.npz",
    ]


def test_what_diverged_without_having_learned_keeps_no_model(tmp_path: Path) -> None:
    """Dies if NaN parameters are saved, or a model is missed that there cannot be."""

    def breaking(params: Any, *rest: Any) -> Any:
        loss, carry = toy.TASK.loss(params, *rest)
        return jnp.where(jnp.abs(params["table"]).max() > 6.9, jnp.nan, loss), carry

    members = [toy.member(seed, learning_rate=0.5) for seed in (1, 2)]
    prepared = _prepared(keep_models=True, epochs=6)
    task = dataclasses.replace(toy.TASK, loss=breaking, score=lambda counts: {"accuracy": 0.0})
    problem = prepared.problem._replace(task=task)
    prepared = prepared._replace(problem=problem, drawn=dict.fromkeys(members, "{}"))
    rows = running.run(prepared, members, tmp_path)
    assert [(row.status, row.dev, row.test) for row in rows] == [("diverged", 0.0, None)] * 2
    assert not list(tmp_path.rglob("seed*"))
    assert running.run(prepared, members, tmp_path) == rows


def test_a_saved_model_says_what_it_is(tmp_path: Path) -> None:
    """Dies if parameters cannot be used without the corpus: config, sizes and vocabulary."""
    who = dataclasses.replace(MEMBERS[0], split=2)
    prepared = _prepared(keep_models=True, epochs=1)._replace(drawn={who: "{}"})
    running.run(prepared, [who], tmp_path)
    folder = tmp_path / "models" / "e1"
    about = json.loads((folder / "seed1-split2.json").read_text())
    assert (about["task"], about["seed"], about["split"]) == ("tagging", 1, 2)
    assert about["hparams"] == dict(who.hparams)
    assert about["config"]["training"]["epochs"] == 1
    vocabulary = json.loads((folder / about["vocabulary"]).read_text())
    assert vocabulary == {"classes": ["a", "b", "c"], "split": 2}
    assert kept.load(folder / "tables.npz", {"shift": np.zeros(3, np.float32)})["shift"].sum() == 0


@pytest.mark.parametrize(("mode", "expected"), [("map", "map"), ("vmap", "vmap:4")])
def test_the_number_of_lanes_that_ran_is_recorded(
    mode: str, expected: str, tmp_path: Path
) -> None:
    """Dies if the number asked for is recorded (3), not what four devices share evenly."""
    rows = running.run(_prepared(lane_mode=mode, epochs=1), MEMBERS, tmp_path)
    assert [row.lanes for row in rows] == [expected] * 3


def test_a_metric_that_the_task_lacks_ends_at_once(tmp_path: Path) -> None:
    """Dies if members without a score are trained for ever, or for nothing."""
    prepared = _prepared()
    task = prepared.problem.task
    odd = dataclasses.replace(task, metric=task.metric._replace(name="f1"))
    problem = prepared.problem._replace(task=odd)
    with pytest.raises(ConfigError, match="the task's metric: expected one of accuracy, got 'f1'"):
        running.run(prepared._replace(problem=problem), MEMBERS, tmp_path)


def test_the_last_epoch_ends_any_member() -> None:
    """Dies if a member without a score outlives `epochs`."""
    training = toy.problem(epochs=3).training
    seat, metric = seats.Seat(Member(1), epoch=3), toy.TASK.metric
    assert seats.status(seat, 0.5, None, training, metric) == "finished"
    assert seats.status(seats.Seat(Member(1), epoch=2), 0.5, None, training, metric) is None


def test_again_without_models_is_refused(tmp_path: Path) -> None:
    """Dies if --again does nothing in silence."""
    with pytest.raises(ConfigError, match=r"--again goes with training\.keep_models=true"):
        running.run(_prepared(), MEMBERS, tmp_path, again=True)
    assert not list(tmp_path.iterdir())


def _untrained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `run_all` would train, in vain."""
    trained: list[Any] = []

    def noted(store: Any, prepared: Any, members: Any, folder: Any, *, again: bool) -> list[Any]:
        trained.append(members)
        return []

    monkeypatch.setattr(running, "_run", noted)
    return trained


def _record_ended(folder: Path, who: Member) -> None:
    """Records a member as ended, without a model."""
    names = dict.fromkeys((one.name for one in dataclasses.fields(runs.MemberResult)), 0)
    text = dict.fromkeys(("message", "lanes", "jax", "flax", "jaxeval", "device"), "")
    known = {"experiment": "e1", "seed": who.seed, "split": who.split, "hparams": "{}"}
    scores = {"status": "finished", "best_epoch": 1, "dev": 0.5, "test": 0.5}
    with runs.open_store(folder) as store:
        store.register(RECORD)
        store.record([runs.MemberResult(**{**names, **text, **known, **scores})], [])


def test_all_are_checked_before_the_first_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a later population's missing model or size is seen only after the first's training,
    or the message leaves its split out."""
    trained = _untrained(monkeypatch)
    who = dataclasses.replace(MEMBERS[1], split=3)
    _record_ended(tmp_path, who)
    later = _prepared(keep_models=True)._replace(drawn={who: "{}"})
    with pytest.raises(RunError, match=r"\(seed 2 of split 3\); --again"):
        running.run_all([(_prepared(), MEMBERS[:1]), (later, [who])], tmp_path)
    count = base.parameters(_prepared())
    monkeypatch.setattr(memory, "_bytes", lambda: 4.0 * count * 5)  # two lanes
    with pytest.raises(ConfigError, match="in 3 lanes"):
        running.run_all([(_prepared(), MEMBERS[:2]), (_prepared(), MEMBERS)], tmp_path)
    assert not trained
    running.run_all([(_prepared(), MEMBERS[:2]), (_prepared(lanes=2), MEMBERS)], tmp_path)
    assert trained == [MEMBERS[:2], MEMBERS]


def test_findings_are_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if each population of a command repeats what is odd about the data they share."""
    _untrained(monkeypatch)
    prepared = _prepared()
    read = prepared.read._replace(findings=checks.Findings({}, ["a remark"], ["odd"]))
    running.run_all([(prepared._replace(read=read), MEMBERS)] * 3, tmp_path)
    assert capsys.readouterr().err == "a remark\nwarning: odd\n"


@pytest.mark.parametrize("lost", ["seed1.json", "vocabulary.json", "tables.npz", "seed1.npz"])
def test_a_model_without_what_it_needs_is_not_whole(lost: str, tmp_path: Path) -> None:
    """Dies if parameters alone count as a saved model."""
    prepared = _prepared()
    saved.save(tmp_path, prepared, MEMBERS[0], {"table": np.zeros(2, np.float32)})
    assert saved.is_whole(tmp_path, prepared, MEMBERS[0])
    (tmp_path / "models" / "e1" / lost).unlink()
    assert not saved.is_whole(tmp_path, prepared, MEMBERS[0])


def test_a_signal_before_the_first_epoch_stops_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """Dies if a process that still compiles goes on to the end of an epoch."""

    def compiling(self: loop.Population, tell: Any) -> float:
        tell("epoch", None)
        tell("fill", None)
        tell("fill", 1.0)
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("went on")

    monkeypatch.setattr(loop.Population, "compile", compiling)
    with pytest.raises(SystemExit) as stopped:
        running.run(_prepared(), MEMBERS, tmp_path)
    assert stopped.value.code == 143
    assert "stopped before the first epoch" in capfd.readouterr().err


def test_a_signal_in_the_last_epoch_leaves_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a checkpoint stays that no command will go on from."""
    assert _stopped(monkeypatch, tmp_path, 4, signal.SIGTERM) == 143
    assert not (tmp_path / "checkpoints" / "e1").exists()
    assert len(runs.load(tmp_path)) == 3
