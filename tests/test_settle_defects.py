"""`jaxeval settle command` where something goes wrong or two work at once; `settle self`."""

import contextlib
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.errors import ConfigError, DataError, RunError
from jaxeval.settle import ledger
from jaxeval.settle.sides import Side
from tests import in_process, processes
from tests.verbs import settle

PROGRAM = """\
import random, sys, time
gain, seed = sys.argv[1], int(sys.argv[2])
with open("calls", "a+") as calls:
    calls.seek(0)
    before = calls.read().count("\\n")
    calls.write(f"{gain} {seed}\\n")
kind, _, value = gain.partition("=")
if kind == "crash" and seed % int(value) == 0:
    sys.exit("out of memory")
if kind == "slow":
    time.sleep(0.03)
noise = random.Random(f"{gain} {seed}").gauss(0, 0.01)
again = random.Random(before).gauss(0, 1)  # another one when a seed runs again
scores = {"const": float(value or 0), "crash": 0.8 + noise, "huge": 1e308, "noise": again}
more = {"noisy": 0.003 * again, "warms": before}.get(kind, 0)
print("accuracy:", scores[kind] if kind in scores else float(value or kind) + noise + more)
"""
ASKED = {"margin": 0.0, "alpha": 0.05, "statistic": "t", "paired": False, "correction": "none"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, in which tests run."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _command(gain: object) -> str:
    return f"{sys.executable} program.py {gain} {{seed}}"


def _settle(base: object, candidate: object, **more: Any) -> jaxeval.Settlement:
    with in_process.programs():
        return jaxeval.settle_command(
            _command(base), _command(candidate), **{"quiet": True} | more
        )


def _calls(gain: object) -> list[str]:
    return [line for line in Path("calls").read_text().splitlines() if line.startswith(f"{gain} ")]


def test_a_base_that_fails_is_no_verdict(folder: Path) -> None:
    """Dies if a loop reads a broken base as "undecided", or a decision is recorded."""
    words = ["settle", "command", _command("crash=2"), _command(0.8)]
    ended = processes.run(*words, folder=folder)
    assert ended.returncode == 2
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("error: base: ") and "out of memory" in last
    with ledger.opened(Path("settle.db"), read_only=True) as book:
        assert [each.verdict for each in book.comparisons()] == [None]


def test_a_printed_loss_is_not_taken_for_a_score_of_which_higher_is_better() -> None:
    """Dies if the candidate of higher loss is better, or the setting of highest loss best."""
    loss = f"{sys.executable} -c \"print('loss:', {{seed}})\" {{x}}"
    said = (
        r"the last line is 'loss: 1', yet score: higher is better \(assumed; lower_is_better=True"
    )
    for verb, words, more in (
        (jaxeval.settle_command, [loss, f"{loss} 2"], {}),
        (jaxeval.select_command, [loss.replace("{x}", "{model}"), "A", "B"], {}),
        (jaxeval.tune_command, [loss], {"space": {"x": {"uniform": [0, 1]}}, "trials": 8}),
    ):
        with pytest.raises(ConfigError, match=said):
            verb(*words, **more, quiet=True)


@pytest.mark.parametrize("sides, failing", [(("huge", 0.8), "base"), ((0.8, "huge"), "candidate")])
def test_a_score_whose_variance_cannot_be_computed(sides: tuple, failing: str) -> None:
    """Dies if 1e308 ends in an OverflowError, or enters a mean."""
    if failing == "base":
        with pytest.raises(
            RunError, match=r"base: .*the score is 1e\+308; expected 0, or a size .* to 1e\+70"
        ):
            _settle(*sides)
    else:
        found = _settle(*sides)
        assert found.verdict == "failed" and "1e+308" in repr(found)
        assert "nan; expected a finite number" in repr(_settle(0.8, "nan"))


def test_constant_commands_stop_at_the_first_look() -> None:
    """Dies if commands without seeds spend the budget, or a claim rests on one score."""
    found = _settle("const=0.5", "const=0.6")
    assert (found.verdict, found.exit_code, found.looks) == ("constant", 5, 3)
    assert len(_calls("const=0.5")) == 3
    assert "does the seed reach the programs" in repr(found) and "0.6" in repr(found)
    one = _settle("const=0.5", 0.8, seeds=4)
    assert one.verdict != "constant" and "base has the same score at all seeds" in str(one.notes)
    wins = _settle("const=0.5", "const=0.7", statistic="wins")
    assert wins.verdict == "constant"


def test_a_candidate_that_was_killed_is_no_fresh_base() -> None:
    """Dies if seeds that a killed comparison has seen are those of a base afterwards."""
    base, tried = Side("a", "a", ""), Side("b", "b", "")
    with ledger.opened(Path("night.db")) as book:
        begun = book.begin(base, tried, "", ASKED)
        for seed in range(1, 5):
            book.add("b", seed, 0.9 + seed / 100, 1.0, begun.number)
        book.add("a", 1, 0.8, 1.0, begun.number)
    with ledger.opened(Path("night.db")) as book:  # it was killed, and the loop took b
        after = book.begin(tried, Side("c", "c", ""), "", ASKED)
        assert (after.after, after.known) == (4, 0) and book.fresh("b") == []
        book.add("b", 5, 0.85, 1.0, after.number)
        assert book.fresh("b") == [0.85]
        assert book.begin(tried, Side("d", "d", ""), "", ASKED).known == 1


def test_a_full_disk_is_named() -> None:
    """Dies if the message is that of the transaction which it ended."""
    sides = Side("a", "a", ""), Side("b", "b", "")
    with (
        pytest.raises(RunError, match=r"night.db: cannot be used \(database or disk is full\)"),
        ledger.opened(Path("night.db")) as book,
    ):
        book._rows("PRAGMA max_page_count = 1")
        book.begin(*sides, "a note of many pages" * 1000, ASKED)


def test_a_crash_is_a_lost_pair_with_wins(capsys: pytest.CaptureFixture) -> None:
    """Dies if a crash withholds the claim, is tried again later, or counts for its side; or if
    what ran is not said, or what was known is."""
    found = _settle(0.5, "crash=5", statistic="wins", retries=0, quiet=False)
    assert found.verdict == "better" and found.wins is not None
    said = capsys.readouterr().err
    assert said.count("out of memory") == found.looks // 5
    assert said.count("base, seed ") >= found.looks
    won, lost = found.wins
    assert lost == found.looks // 5 and won + lost == found.looks
    assert "1 seed failed: lost pairs" in " ".join(found.notes) or lost > 1
    calls = len(_calls("crash=5"))
    again = _settle(0.5, "crash=5", statistic="wins", retries=0)
    assert len(_calls("crash=5")) == calls and again.wins == found.wins
    mirrored = _settle("crash=5", 0.5, statistic="wins", retries=0, ledger="other.db")
    assert mirrored.verdict == "worse" and mirrored.wins == (lost, won)
    with pytest.raises(RunError, match=r"base: .*nothing can be settled without a base"):
        _settle("crash=1", 0.5, statistic="wins", retries=0)
    _settle(0.5, "crash=5", statistic="wins", retries=0, again=True)
    capsys.readouterr()
    _settle(0.5, "crash=5", statistic="wins", retries=0, quiet=False)  # all of it is known
    assert ", seed " not in capsys.readouterr().err


def test_two_processes_share_a_ledger(folder: Path) -> None:
    """Dies if a decision is lost or doubled, two have one level, or a seed has two scores."""
    more = ["--correction", "e-lond", "--seeds", "6", "--json", "-"]
    running = [
        processes.start("settle", "command", _command("slow=0.8"), _command(f"slow={gain}"), *more)
        for gain in (0.84, 0.801, 0.76, 0.8005)
    ]
    found = [json.loads(process.wait(50).stdout) for process in running]
    with ledger.opened(folder / "settle.db", read_only=True) as book:
        every = book.comparisons()
        scores = book.scores(every[0].base.id)
    assert sorted(each["comparison"] for each in found) == [1, 2, 3, 4]
    for each in every:  # the levels of their places; kept ones count for those that begin later
        (mine,) = [one for one in found if one["comparison"] == each.number]
        assert mine["verdict"] == each.verdict and mine["level"] == each.level
        share = 0.05 * 6 / (np.pi * each.number) ** 2
        assert each.level == pytest.approx(share) or each.level == pytest.approx(2 * share)
        assert mine["scores"]["base"] == [
            scores[k] for k in range(1, len(mine["scores"]["base"]) + 1)
        ]


def test_one_comparison_has_one_process() -> None:
    """Dies if two processes evaluate and decide the same comparison."""
    _settle(0.8, 0.84)
    with ledger.opened(Path("settle.db")) as book, book.alone(1):
        with pytest.raises(RunError, match="another process works on comparison 1"):
            _settle(0.8, 0.84)
        assert _settle(0.8, 0.76).verdict == "worse"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE comparisons SET verdict = 'worse'",
        "UPDATE comparisons SET level = 0.04",
        "UPDATE scores SET score = score + 0.001 WHERE seed = 2",
        "UPDATE scores SET seed = 99 WHERE seed = 1",
        "DROP TABLE scores",
        "PRAGMA user_version = 2",
    ],
)
def test_a_changed_ledger_is_one_line(folder: Path, change: str) -> None:
    """Dies if a row that was changed by hand is believed, or gives a traceback."""
    _settle(0.8, 0.84)
    with contextlib.closing(sqlite3.connect("settle.db")) as sql, sql:
        sql.execute(change)
    with pytest.raises((ConfigError, RunError), match=r"settle\.db: "):
        jaxeval.settle_report()
    with pytest.raises((ConfigError, RunError), match=r"settle\.db: "):
        _settle(0.8, 0.84)


# a command against itself


def _against_itself(gain: str, **more: Any) -> Any:
    with in_process.programs():
        return jaxeval.settle_self(_command(gain), quiet=True, **more)


def _count() -> int:
    return len(Path("calls").read_text().splitlines())


def test_a_deterministic_command_runs_three_seeds_again() -> None:
    """Dies if all seeds run twice, recorded ones run again, or the noise is another one."""
    found = _against_itself("plain=0.8", seeds=6)
    assert found.deterministic and found.exit_code == 0 and _count() == 9
    assert found.sd_interval.low < found.sd < found.sd_interval.high and found.sd_within == 0
    assert "one run of a seed is enough" in repr(found)
    assert _against_itself("plain=0.8", seeds=6).first == found.first
    assert _count() == 9
    base = _settle("plain=0.8", "plain=0.81", seeds=4)
    assert base.known == 6 and [*base.scores["base"]] == [*found.first]


def test_noise_within_a_seed() -> None:
    """Dies if a command whose seeds have other scores again is deterministic, or unfit."""
    found = _against_itself("noisy=0.8", workers=1)
    assert not found.deterministic and found.exchangeable and _count() == 20
    assert 0.001 < found.sd_within < 0.006 < found.sd
    assert not any("does not reach" in note for note in found.notes)
    assert "against itself" in repr(found) and [*found.smallest] == [5, 10, 20, 30]


def test_runs_that_depend_on_those_before() -> None:
    """Dies if second runs that are always higher count as noise."""
    found = _against_itself("warms=0.8")
    assert not found.exchangeable and found.exit_code == 1 and found.interval.low > 0
    assert "second run of a seed scores higher" in repr(found)


def test_a_seed_that_does_not_reach_the_program() -> None:
    """Dies if scores that no seed changes pass."""
    with pytest.raises(DataError, match=r"seeds 1 to 3 have the same score, 0\.8: the seed"):
        _against_itself("const=0.8", seeds=9)
    assert _count() == 6
    found = _against_itself("noise=0")
    assert any("does not reach" in note for note in found.notes)


def test_a_failed_seed_and_too_few() -> None:
    """Dies if a crash is no error, a score is made up, or two seeds are run and three are not."""
    with pytest.raises(RunError, match="seed 3 has no score: exit code 1"):
        _against_itself("crash=3", retries=0, seeds=3)
    with pytest.raises(jaxeval.JaxevalError, match="3 or more"):
        settle(["self", _command("plain=0.8"), "--seeds", "2"])
