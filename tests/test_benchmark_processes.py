"""Processes side by side, as benchmarks time them: clock, results, failures, figures. No torch."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
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


@pytest.fixture(scope="module")
def scripts() -> Iterator[tuple[Any, Any]]:
    """The modules `processes` and `peers`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)  # they import each other by name
        yield importlib.import_module("processes"), importlib.import_module("peers")


@pytest.fixture
def member(tmp_path: Path) -> tuple[Path, Path]:
    """A file that defines a member, and its payload."""
    file, payload = tmp_path / "member.py", tmp_path / "payload"
    file.write_text(MEMBER)
    payload.write_text("")
    return file, payload


def test_turns_run_side_by_side_and_preparation_is_not_timed(
    scripts: Any, member: tuple[Path, Path]
) -> None:
    """Dies if processes run one after the other, if preparation is timed, or numbers are mixed."""
    with scripts[0].start(*member, 2) as group:
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
def test_failures_are_one_line(
    scripts: Any, member: tuple[Path, Path], way: str, message: str
) -> None:
    """Dies if a process that failed makes the benchmark hang, or its reason is lost."""
    with (
        pytest.raises(SystemExit, match=message) as raised,
        scripts[0].start(*member, 2) as group,
    ):
        running = [process._popen for process in group._processes]
        group.turn(way, 1, 2)
    assert "\n" not in str(raised.value)
    assert all(popen.returncode is not None for popen in running), "one is still there"


def test_a_model_that_cannot_be_built(scripts: Any, member: tuple[Path, Path]) -> None:
    """Dies if building is not waited for."""
    member[1].write_text("unbuildable")
    with (
        pytest.raises(SystemExit, match=r"process 1 of member.py .*: ValueError: no such model"),
        scripts[0].start(*member, 2),
    ):
        raise AssertionError("it was not waited for")


def test_a_peer_takes_its_fastest_way_and_the_harder_peer_leads(scripts: Any) -> None:
    """Dies if wall time is not divided by the members in flight, a slower way is kept, or the
    easier peer is named first.
    """
    processes, peers = scripts
    seconds = {("padded", 1, 2): 6.0, ("packed", 1, 2): 5.0}  # way, threads, processes
    seconds |= {("padded", 1, 1): 4.0, ("packed", 1, 1): 4.5}
    seconds |= {("padded", 2, 1): 3.0, ("packed", 2, 1): 3.5}

    class Group:
        def turn(self, way: str, threads: int, count: int) -> Any:
            return processes.Turn(seconds[way, threads, count], [0.25, 0.75][:count])

    offered = dict(reversed(peers.choices(["padded", "packed"], 2).items()))
    rounds = peers.measure(lambda: 2.0, Group(), offered, 3)
    assert rounds.peers["processes"] == peers.Peer("packed", 2, 1)
    assert rounds.peers["one_process"] == peers.Peer("padded", 1, 2)
    summarized = peers.summary(rounds, "items_per_second", lambda value: 10 / value)
    assert summarized["hardest_peer"] == "processes"
    assert [*summarized["ratio"]] == [*summarized["peers"]] == ["processes", "one_process"]
    assert [ratio["median"] for ratio in summarized["ratio"].values()] == [1.25, 1.5]
    assert summarized["items_per_second"]["median"] == 5
    assert summarized["peers"]["processes"]["items_per_second"]["median"] == 4
    assert summarized["peers"]["processes"]["result"] == 0.5
