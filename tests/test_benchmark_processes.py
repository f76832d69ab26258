"""Processes side by side, as the benchmarks time them: clock, results, failures. No torch."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "processes.py"
MEMBER = """
import os, time

class Member:
    def __init__(self, payload, number):
        self.folder, self.number = payload.parent, number
        if payload.read_text() == "unbuildable":
            raise ValueError("no such model")

    def turn(self, way, threads):
        print("a library talks")
        time.sleep(1.0 if way == "own after a second" else 0)
        return getattr(self, way.split()[0])

    def own(self):
        return float(self.number)

    def meet(self):
        (self.folder / f"here {self.number}").touch()
        other, end = self.folder / f"here {1 - self.number}", time.monotonic() + 30
        while not other.exists() and time.monotonic() < end:
            time.sleep(0.01)
        return float(other.exists())

    def die(self):
        os._exit(3) if self.number == 1 else None
        return 0.0

    def diverge(self):
        return float("nan")
"""


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("processes", PATH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["processes"] = module
    spec.loader.exec_module(module)
    return module


processes = _script()


@pytest.fixture
def member(tmp_path: Path) -> tuple[Path, Path]:
    """A file that defines a member, and its payload."""
    file, payload = tmp_path / "member.py", tmp_path / "payload"
    file.write_text(MEMBER)
    payload.write_text("")
    return file, payload


def test_turns_run_side_by_side_and_preparation_is_not_timed(member: tuple[Path, Path]) -> None:
    """Dies if processes run one after the other, if preparation is timed, or numbers are mixed."""
    with processes.start(*member, 2) as group:
        assert group.turn("meet", 1, 2).results == [1.0, 1.0], "one waited for the other to end"
        late = group.turn("own after a second", 1, 2)
        assert late.results == [0.0, 1.0]
        assert late.seconds < 1.0
        assert group.turn("own", 1, 1).results == [0.0]
        with pytest.raises(ValueError, match="3 processes are asked for, 2 were started"):
            group.turn("own", 1, 3)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("die", "process 2 of member.py ended with exit code 3"),
        ("unheard", "process 1 of member.py .*: AttributeError: .*unheard"),
        ("diverge", "process 1 of member.py: a turn of 'diverge' returned nan"),
    ],
)
def test_failures_are_one_line(member: tuple[Path, Path], way: str, message: str) -> None:
    """Dies if a process that failed makes the benchmark hang, or its reason is lost."""
    with (
        pytest.raises(SystemExit, match=message) as raised,
        processes.start(*member, 2) as group,
    ):
        running = [process._popen for process in group._processes]
        group.turn(way, 1, 2)
    assert "\n" not in str(raised.value)
    assert all(popen.returncode is not None for popen in running), "one is still there"


def test_a_model_that_cannot_be_built(member: tuple[Path, Path]) -> None:
    """Dies if building is not waited for."""
    member[1].write_text("unbuildable")
    with (
        pytest.raises(SystemExit, match=r"process 1 of member.py .*: ValueError: no such model"),
        processes.start(*member, 2),
    ):
        raise AssertionError("it was not waited for")
