"""A runs folder over several commands: events, signals, models, checkpoints, the database."""

import contextlib
import dataclasses
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxeval import observe, runs, studies
from jaxeval.errors import RunError
from jaxeval.population import engine, host, optimisers
from jaxeval.population.host import Report
from jaxeval.studies import cohorts, recording, running
from tests.population import toy
from tests.studies import toy_kind

TRIALS = toy_kind.trials()


def _train(folder: Path, **training: Any) -> list[runs.MemberRow]:
    """Trains three seeds of the toy, with changes to its settings."""
    return observe.train(toy_kind.trials(**training), folder)


def _id() -> str:
    """Of the experiment that `_train` trains."""
    return toy_kind.cohort(TRIALS).name


def _rows(folder: Path) -> tuple:
    """All that is recorded but the clock."""
    return [r._replace(wall_seconds=0.0) for r in runs.load(folder)], runs.load_curves(folder)


def _stopped(monkeypatch: pytest.MonkeyPatch, folder: Path, epochs: int, *numbers: int) -> int:
    """Exit status of a run that gets signals while an epoch is recorded."""
    record, left = recording.Recorder.record, [epochs]

    def then_signal(self: recording.Recorder, report: Report) -> Any:
        ended = record(self, report)
        left[0] -= 1
        for number in numbers if not left[0] else ():
            os.kill(os.getpid(), number)
        return ended

    with monkeypatch.context() as patched:
        patched.setattr(recording.Recorder, "record", then_signal)
        with pytest.raises((KeyboardInterrupt, SystemExit)) as stopped:
            _train(folder)
    assert isinstance(stopped.value, KeyboardInterrupt) == (signal.SIGINT in numbers)
    return getattr(stopped.value, "code", 128 + signal.SIGINT)


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """What is recorded without interruption."""
    folder = tmp_path_factory.mktemp("truth")
    _train(folder)
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
    assert [path.name for path in (tmp_path / "checkpoints" / _id()).glob("[0-9]*")] != []
    epochs = [row.epoch for row in runs.load_curves(tmp_path) if row.part == "train"]
    assert max(epochs) == 2
    _train(tmp_path)
    assert _rows(tmp_path) == truth


def test_a_checkpoint_ahead_of_its_database_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if members go on whose first epochs no database holds: their curves would lack them."""
    _stopped(monkeypatch, tmp_path, 2, signal.SIGTERM)
    for path in tmp_path.glob("runs.sqlite*"):
        path.unlink()
    with pytest.raises(RunError, match="database lacks: restore the database"):
        _train(tmp_path)
    assert runs.load_curves(tmp_path) == []
    shutil.rmtree(tmp_path / "checkpoints")
    assert len(_train(tmp_path)) == 3


def test_models_that_were_not_saved_are_not_passed_over(
    truth: tuple, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if save_models does nothing for members that have ended, trains those too whose models
    are saved, or changes a score."""
    observe.train(TRIALS[:2], tmp_path)
    assert "trained again" not in capsys.readouterr().err
    _train(tmp_path, save_models=True)
    said = "2 members ended without the model or the outcomes of items that are now kept: trained"
    assert f"{said} again (seed 1, seed 2)\n" in capsys.readouterr().err
    assert _rows(tmp_path) == truth
    models = {path: path.stat().st_mtime_ns for path in (tmp_path / "models").rglob("*.npz")}
    _train(tmp_path, save_models=True)
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

    adam = dataclasses.replace(toy.problem().training.optimiser)
    adam = optimisers.Optimiser(name="adam", hyperparameters={"learning_rate": 0.5})
    trials = toy_kind.trials((1, 2), save_models=True, epochs=6, optimiser=adam)
    cohort = toy_kind.cohort(trials)
    task = dataclasses.replace(toy.TASK, loss=breaking, score=lambda counts: {"accuracy": 0.0})
    cohort = cohort._replace(problem=cohort.problem._replace(task=task))
    rows = observe.train_cohorts([cohort], tmp_path)
    assert [(row.status, row.dev, row.test) for row in rows] == [("diverged", None, None)] * 2
    assert not list(tmp_path.rglob("seed*"))
    assert observe.train_cohorts([cohort], tmp_path) == rows


def test_lanes_are_halved_while_a_device_has_several() -> None:
    """Dies if a member a device that has no room is tried again, or two are not tried apart."""
    error = jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: no room")
    assert cohorts.fewer(2 * jax.device_count(), error) == jax.device_count()
    with pytest.raises(cohorts.TooLarge, match="out of memory with one member per device"):
        cohorts.fewer(jax.device_count(), error)


def test_a_signal_before_the_first_epoch_stops_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """Dies if a process that still compiles goes on to the end of an epoch."""

    def compiling(self: host.Population) -> Iterator[engine.Compiling]:
        yield engine.Compiling("epoch", None, False)
        yield engine.Compiling("fill", None, False)
        yield engine.Compiling("fill", 1.0, False)
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("went on")

    monkeypatch.setattr(host.Population, "compile", compiling)
    with pytest.raises(SystemExit) as stopped:
        _train(tmp_path)
    assert stopped.value.code == 143
    assert "stopped before the first epoch" in capfd.readouterr().err


@pytest.mark.parametrize("lost", ["seed1.json", "vocabulary.json", "tables.npz", "seed1.npz"])
def test_a_model_without_what_it_needs_is_not_whole(lost: str, tmp_path: Path) -> None:
    """Dies if parameters alone count as a saved model."""
    cohort = toy_kind.cohort(toy_kind.trials((1,)))
    entry, params = cohort.entries[0], {"table": np.zeros(2, np.float32)}
    recording._save(tmp_path, entry, cohort.config, cohort.members[0], params, 0.5)
    assert recording._is_whole(tmp_path, entry)
    (tmp_path / "models" / cohort.name / lost).unlink()
    assert not recording._is_whole(tmp_path, entry)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[runs.Store]:
    """Of a runs folder of its own."""
    with runs.open_store(tmp_path) as opened:
        yield opened


def _run(store: runs.Store, folder: Path) -> Generator[running.Event, None, None]:
    return studies.run(toy_kind.planned(TRIALS), store, folder)


def _names(happened: list[running.Event]) -> list[str]:
    """Kinds of events, those that follow one another alike once."""
    names = [type(event).__name__ for event in happened]
    return [n for n, before in zip(names, ["", *names], strict=False) if n != before]


def test_the_order_of_events(
    store: runs.Store, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if an event comes early, late or not at all, or `run` writes on a terminal."""
    happened = list(_run(store, tmp_path))
    names = ["Checked", "Started", "Compiling", "Report", "Ended", "Finished"]
    assert _names(happened) == names
    checked, started = happened[:2]
    assert isinstance(checked, running.Checked) and isinstance(started, running.Started)
    assert (checked.remarks, checked.warnings) == (["a remark"], ["odd"])
    assert started.number == 0 and not started.ended and checked.cohorts == [started.cohort]
    compiling = [e for e in happened if isinstance(e, engine.Compiling)]
    for ended in (False, True):
        each = [e.program for e in compiling if (e.seconds is not None) == ended]
        assert len(each) == len(set(each)) == 4
    assert [e.ready for e in compiling] == [False] * 7 + [True]
    assert sum(isinstance(event, host.Report) for event in happened) == 4
    ended = {e.trial: e.result for e in happened if isinstance(e, running.Ended)}
    assert [*ended] == TRIALS
    for row in studies.rows(store, started.cohort.entries):
        assert (row.dev, row.test) == next(
            (result.dev, result.test) for trial, result in ended.items() if trial.seed == row.seed
        )
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_closing_saves_and_the_same_call_continues(
    store: runs.Store, tmp_path: Path, truth: tuple
) -> None:
    """Dies if an epoch is lost or trained twice, or a score is another for having been stopped."""
    happening, left = _run(store, tmp_path), 3
    for event in happening:
        left -= isinstance(event, host.Report)
        if not left:
            happening.close()
    assert max(row.epoch for row in runs.load_curves(tmp_path) if row.part == "train") == 3
    happened = list(_run(store, tmp_path))
    assert sum(isinstance(event, host.Report) for event in happened) == 1
    assert _rows(tmp_path) == truth


def test_what_another_process_has_just_ended_is_not_trained_again(
    store: runs.Store, tmp_path: Path, truth: tuple, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if it is read who has ended before the lock is held: another process may train all, and
    give its lock back, in between."""
    locked = running.locked

    def waited(folder: Path, name: str) -> contextlib.AbstractContextManager[None]:
        monkeypatch.setattr(running, "locked", locked)
        with runs.open_store(folder) as theirs:  # of another process, which had the lock till now
            list(_run(theirs, folder))
        return locked(folder, name)

    monkeypatch.setattr(running, "locked", waited)
    happened = list(_run(store, tmp_path))
    assert _names(happened) == ["Checked", "Started", "Ended", "Finished"]
    assert _rows(tmp_path) == truth
