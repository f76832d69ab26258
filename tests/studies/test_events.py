"""What `studies.run` tells, in which order, and what it leaves when nobody listens any more."""

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from jaxeval import runs, studies
from jaxeval.studies import running
from tests.studies import toy_kind

TRIALS = toy_kind.trials((1, 2))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[runs.Store]:
    """Of a runs folder of its own."""
    with runs.open_store(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """What is recorded of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("truth")
    with runs.open_store(folder) as store:
        list(_run(store, folder))
    return _rows(folder)


def _run(store: runs.Store, folder: Path) -> Generator[running.Event, None, None]:
    return studies.run(toy_kind.planned(TRIALS), store, folder)


def _rows(folder: Path) -> tuple:
    """All that is recorded but the clock."""
    return [r._replace(wall_seconds=0.0) for r in runs.load(folder)], runs.load_curves(folder)


def _names(happened: list[running.Event]) -> list[str]:
    """Kinds of events, those that follow one another alike once."""
    names = [type(event).__name__ for event in happened]
    return [n for n, before in zip(names, ["", *names], strict=False) if n != before]


def _scores(happened: list[running.Event]) -> list[tuple]:
    ended = [event.result for event in happened if isinstance(event, running.Ended)]
    return [(result.seed, result.dev, result.test, result.best_epoch) for result in ended]


def test_the_order_of_events(
    store: runs.Store, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if an event comes early, late or not at all, or `run` writes on a terminal."""
    happened = list(_run(store, tmp_path))
    names = ["Checked", "Started", "Compiling", "Epoch", "Ended", "Finished"]
    assert _names(happened) == names
    checked, started = happened[:2]
    assert isinstance(checked, running.Checked) and isinstance(started, running.Started)
    assert (checked.remarks, checked.warnings) == (["a remark"], ["odd"])
    assert started.number == 0 and not started.ended and checked.cohorts == [started.cohort]
    compiling = [e for e in happened if isinstance(e, running.Compiling)]
    for ended in (False, True):
        each = [e.program for e in compiling if (e.seconds is not None) == ended]
        assert len(each) == len(set(each)) == 4
    assert [e.ready for e in compiling] == [False] * 7 + [True]
    assert sum(isinstance(event, running.Epoch) for event in happened) == 4
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
        left -= isinstance(event, running.Epoch)
        if not left:
            happening.close()
    assert max(row.epoch for row in runs.load_curves(tmp_path) if row.part == "train") == 3
    happened = list(_run(store, tmp_path))
    assert sum(isinstance(event, running.Epoch) for event in happened) == 1
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
