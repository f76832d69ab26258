"""What is said while a population compiles and trains."""

import dataclasses
import json
from types import SimpleNamespace
from typing import Any

import pytest

from jaxeval import runs
from jaxeval.report import progress, text

CONFIG = json.dumps({"training": {"epochs": 10}})
RECORD = runs.Experiment(
    "e1", "name", "tagging", "f1", True, "fraction", 0.01, CONFIG, "c1", "somewhere", "d1"
)


def _slot(epoch: int, reported: float | None = None, **more: object) -> Any:
    known = {"active": True, "member": None, "best_epoch": None, **more}
    return SimpleNamespace(epoch=epoch, reported=reported, **known)


def _report(slots: list, waiting: int, seconds: float, *ended: int) -> Any:
    ends = [_slot(n, 0.5, status="finished") for n in ended]
    return SimpleNamespace(slots=slots, waiting=waiting, seconds=seconds, ended=ends)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that progress reads."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "200")
    return now


def test_what_is_left(clock: list[float]) -> None:
    """Dies if those who wait are forgotten, a member counts less than the epoch it is in, or
    members without a dev score have one invented."""
    shown, half = progress.Progress(RECORD, 9, []), _report([_slot(3), _slot(4)], 2, 1.0)
    shown.epoch(half)
    shown.epoch(half)  # a member's epoch takes half a second: 7 + 6 + 20 of them are left
    head = "epoch 3-4, 2 members training, 2 waiting; no dev scores yet; "
    assert shown.line == f"{head}all 10 epochs would take {text.duration(33 / 2)} more"
    shown.epoch(_report([_slot(3), _slot(9)], 2, 2.0, 4, 6))  # 2 + 1 + 10, of .5 s each
    assert shown.line.endswith(f"highest 50.00; about {text.duration(13 / 2)} left")
    shown.epoch(_report([], 0, 1.0))
    assert (
        shown.line == "0 members training; dev f1 (%): lowest 50.00, median 50.00, highest 50.00"
    )
    spoken = [text.duration(s) for s in (0.4, 99, 100, 5999, 6000, 90000)]
    assert spoken == ["0 s", "99 s", "2 min", "100 min", "1.7 h", "25.0 h"]


def test_a_patient_member_does_not_end_with_the_first(clock: list[float]) -> None:
    """Dies if seconds are promised while a member's best epoch is younger than its patience."""
    config = json.dumps({"training": {"epochs": 100, "patience": 20}})
    shown = progress.Progress(dataclasses.replace(RECORD, config=config), 2, [])
    for _ in range(2):
        shown.epoch(_report([_slot(30, 0.5, best_epoch=25)], 0, 2.0, 30))
    assert shown.line.endswith("; about 15 s left")  # up to epoch 45, of a second each


def test_what_diverged_has_no_score(clock: list[float]) -> None:
    """Dies if the score of an epoch before shows, of this command or of an earlier one."""
    lost = _slot(2, 0.5, status="diverged", dev=0.5, epochs=2)
    shown = progress.Progress(RECORD, 3, [lost])
    shown.epoch(SimpleNamespace(slots=[_slot(3)], waiting=0, seconds=1.0, ended=[lost]))
    assert "no dev scores yet" in shown.line


def test_plain_lines(clock: list[float], capsys: pytest.CaptureFixture) -> None:
    """Dies if a log is flooded, the times of compilation are lost, or the rest is miscounted."""
    with progress.Progress(RECORD, 3, []) as shown:
        for seconds in (None, 20.0):
            for program in ("epoch", "fill"):
                shown.compiled(program, seconds)
        for number in range(1, 9):
            clock[0] += 6
            shown.epoch(_report([_slot(number, 0.25)], 2, 6.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["compiling ...", "compiled: epoch 20 s, fill 20 s"]
    assert len(lines) == 2 + 4  # one in 10 s at most
    assert lines[2] == (
        "epoch 2, 1 member training, 2 waiting; dev f1 (%): lowest 25.00, median 25.00, "
        "highest 25.00; all 10 epochs would take 3 min more"  # 28 epochs of 6 s
    )
    with progress.Progress(RECORD, 3, []) as shown:
        shown.epoch(_report([_slot(1), _slot(3)], 1, 600.0))  # the first one is no measure
        clock[0] += 11
        shown.epoch(_report([_slot(2)], 1, 8.0, 4))  # two trained for 8 s; 2 + 4 epochs are left
    assert capsys.readouterr().err.splitlines()[-1].endswith("about 24 s left")


def test_a_pause_that_ends(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Dies if a member that pauses and goes on counts twice, or its score at the pause does."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    paused = _slot(2, 0.25, member="a", status="paused")
    with progress.Progress(RECORD, 2, []) as shown:
        shown.epoch(_report([_slot(2)], 0, 1.0))
        report = _report([_slot(3)], 0, 1.0)
        report.ended = [paused]
        shown.epoch(report)
        shown.join(1, [])
        shown.epoch(_report([_slot(3, 0.75, member="a")], 0, 1.0, 4))
        assert "lowest 50.00, median 62.50, highest 75.00" in shown.line
        shown.epoch(_report([], 0, 1.0, 4))
    assert "2/2 members ended" in capsys.readouterr().err


def test_compilation_on_a_terminal(clock: list[float]) -> None:
    """Dies if a program that compiles is not named, or one that is done is."""
    shown = progress.Progress(RECORD, 3, [])
    for program in ("epoch", "fill"):
        shown.compiled(program, None)
    assert shown.line == "compiling epoch, fill"
    shown.compiled("fill", 1.0)
    assert shown.line == "compiling epoch"
    shown.compiled("epoch", 9.0)
    assert shown.line == "first epoch"
    shown.epoch(_report([_slot(1)], 2, 7.0))
    assert shown.line.endswith("; estimating the time left")
    shown.epoch(_report([_slot(2)], 2, 6.0))
    assert shown.line.endswith("; all 10 epochs would take 3 min more")
