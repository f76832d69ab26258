"""What benchmarks rest on: processes that are timed side by side, differences of tuners,
phrases of treebanks. No torch."""

import importlib
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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
    with pytest.raises(SystemExit, match=message) as raised, scripts[0].start(*member, 2) as group:
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


# problem -> regrets of ours and of the other, by seed; medians and paired differences disagree
REGRETS = {
    "won": ([0.1, 0.2, 0.3], [0.5, 0.4, 0.9]),
    "tied": ([0.2, 0.2, 0.2], [0.2, 0.2, 0.7]),
    "crossed": ([0.1, 0.5, 0.6], [0.4, 0.45, 0.55]),  # median lost by 0.05, paired too
    "apart": ([0.0, 0.3, 0.4], [0.31, 0.32, 0.1]),  # medians won by 0.01, paired by 0.02
}


def test_differences_count_problems_by_a_stated_criterion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if wins are counted otherwise than named, or paired differences are not of one seed."""
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("tuner_quality")
    recorded = {
        (problem, engine, str(seed)): np.array([1.0, regret])
        for problem, both in REGRETS.items()
        for engine, regrets in zip(("ours", "other"), both, strict=True)
        for seed, regret in enumerate(regrets)
    }
    recorded["won", "ours", "9"] = np.array([1.0, 5.0])  # which the other lacks
    found = script.difference(recorded, "ours", "other", [*REGRETS])

    median = statistics.median
    of_medians = {name: median(a) - median(b) for name, (a, b) in REGRETS.items()}
    paired = {
        name: median(x - y for x, y in zip(a, b, strict=True)) for name, (a, b) in REGRETS.items()
    }
    for key, expected in (("of_medians", of_medians), ("paired", paired)):
        values = [round(value, 6) for value in expected.values()]
        assert found[key]["difference"] == pytest.approx(median(values), abs=1e-4)
        counts = [sum(v < 0 for v in values), values.count(0), sum(v > 0 for v in values)]
        assert found[key]["won_tied_lost"] == counts
        assert found[key]["worst"] == ["crossed", pytest.approx(max(values))]
    ours, others = zip(*((median(a), median(b)) for a, b in REGRETS.values()), strict=True)
    apart = found["over_problems"]["difference"]
    assert apart == pytest.approx(median(ours) - median(others), abs=1e-4)
    assert found["runs"] == 12


TREE = """\
# text = The very old man's two dogs will not have barked at us, and fled.
1\tThe\tthe\tDET\t_\t_\t4\tdet\t_\t_
2\tvery\tvery\tADV\t_\t_\t3\tadvmod\t_\t_
3\told\told\tADJ\t_\t_\t4\tamod\t_\t_
4-5\tman's\t_\t_\t_\t_\t_\t_\t_\t_
4\tman\tman\tNOUN\t_\t_\t7\tnmod:poss\t_\t_
5\t's\t's\tPART\t_\t_\t4\tcase\t_\t_
6\ttwo\ttwo\tNUM\t_\t_\t7\tnummod\t_\t_
7\tdogs\tdog\tNOUN\t_\t_\t11\tnsubj\t_\t_
8\twill\twill\tAUX\t_\t_\t11\taux\t_\t_
9\tnot\tnot\tPART\t_\t_\t11\tadvmod\t_\t_
10\thave\thave\tAUX\t_\t_\t11\taux\t_\t_
11\tbarked\tbark\tVERB\t_\t_\t0\troot\t_\t_
12\tat\tat\tADP\t_\t_\t13\tcase\t_\t_
13\tus\twe\tPRON\t_\t_\t11\tobl\t_\t_
14\t,\t,\tPUNCT\t_\t_\t16\tpunct\t_\t_
14.1\tthey\tthey\tPRON\t_\t_\t_\t_\t_\t_
15\tand\tand\tCCONJ\t_\t_\t16\tcc\t_\t_
16\tfled\tflee\tVERB\t_\t_\t11\tconj\t_\t_
"""
CHUNKS = """\
The B-NP, very I-NP, old I-NP, man I-NP, 's I-NP, two I-NP, dogs I-NP, will B-VP, not I-VP,
have I-VP, barked I-VP, at B-PP, us B-NP, , O, and O, fled B-VP"""


def test_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a possessor, an adverb of degree, an auxiliary or "not" leaves its phrase, one goes
    on behind a word between, or ranges and empty nodes are words."""
    monkeypatch.syspath_prepend(FOLDER)
    chunks = importlib.import_module("chunks_of_trees")
    for part in ("train", "dev", "test"):
        (tmp_path / f"x-{part}.conllu").write_text(TREE + "\n" + TREE + "\n")
    monkeypatch.setattr("sys.argv", ["x", str(tmp_path), "--out", str(tmp_path / "out")])
    chunks.main()
    first, second = (tmp_path / "out" / "dev.txt").read_text().strip().split("\n\n")
    expected = CHUNKS.replace("\n", " ").replace(", , O", ", COMMA O").split(", ")
    assert first == second
    assert [" ".join(line.split("\t")) for line in first.splitlines()] == [
        line.replace("COMMA", ",") for line in expected
    ]


@pytest.mark.parametrize("name", ["item_type_one", "released_predictions"])
def test_tables_of_items(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dies if a script cannot read the items of its table."""
    monkeypatch.syspath_prepend(FOLDER)
    rows = [f"{m},{run},{i},a,{'ab'[run * i % 2]}" for m in "xy" for run in (0, 1) for i in (0, 1)]
    (tmp_path / "items.csv").write_text("\n".join(["model,seed,item,gold,predicted", *rows]))
    ((_, models),) = importlib.import_module(name)._read(tmp_path / "items.csv").items()
    assert sorted(models) == ["x", "y"]
