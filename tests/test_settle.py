"""`jaxeval settle command` and `settle table`: verdicts, exit codes, the ledger, git, kills."""

import contextlib
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval.errors import ConfigError, JaxevalError
from jaxeval.settle import ledger
from tests import in_process, processes
from tests.verbs import settle

PROGRAM = """\
import random, sys
gain, seed = sys.argv[1], int(sys.argv[2])
with open("calls", "a") as calls: calls.write(f"{gain} {seed}\\n")
if gain == "crash" and seed == 2: sys.exit("out of memory")
if gain == "silent": sys.exit()
score = 1.0 if gain == "constant" else float(gain) + random.Random(seed).gauss(0, 0.01)
print("epoch 1 of 1\\naccuracy:", "nan" if gain == "nan" else score)
"""
BASE = f"{sys.executable} program.py 0.8 {{seed}}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, in which tests run."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _settle(gain: object, base: str = BASE, **more: Any) -> jaxeval.Settlement:
    candidate = BASE.replace("0.8", str(gain)) + " "
    with in_process.programs():
        return jaxeval.settle_command(base, candidate, quiet=True, **more)


def _calls() -> list[str]:
    path = Path("calls")
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize(
    ("gain", "more", "verdict", "code"),
    [
        (0.84, {}, "better", 0),
        (0.76, {}, "worse", 3),
        (0.76, {"lower_is_better": True}, "better", 0),
        (0.801, {"margin": 0.02}, "equal", 4),
        (0.84, {"margin": 0.02}, "better", 0),
        (0.801, {"seeds": 5}, "undecided", 1),
        (0.9, {"seeds": 2}, "undecided", 1),  # a third is not waited for
        (0.9, {"seeds": 1}, "undecided", 1),
        ("crash", {}, "failed", 1),
        ("silent", {}, "failed", 1),
        ("nan", {}, "failed", 1),
    ],
)
def test_verdicts_and_exit_codes(
    gain: object, more: dict[str, Any], verdict: str, code: int
) -> None:
    """Dies if a verdict or its exit code is another one, or the sentence says another."""
    found = _settle(gain, **more)
    assert (found.verdict, found.exit_code) == (verdict, code)
    words = {"failed": "No claim", "undecided": "is undecided"}.get(verdict, verdict)
    assert words in repr(found)
    seen = [len(scores) for scores in found.scores.values()]
    assert max(seen) <= more.get("seeds", 30)
    if verdict == "better":
        assert found.interval is not None and found.difference is not None
        low, high = found.interval.low, found.interval.high
        assert (high < 0) if more.get("lower_is_better") else (low > more.get("margin", 0.0))
        assert low <= found.difference <= high


def test_a_program_of_the_folder(folder: Path) -> None:
    """Dies if "./run" is looked for among the installed programs."""
    (folder / "run").write_text(f'#!/bin/sh\nexec {sys.executable} program.py "$@"\n')
    (folder / "run").chmod(0o755)
    found = jaxeval.settle_command("./run 0.8 {seed}", "./run 0.84 {seed}", quiet=True)
    assert found.verdict == "better"


def test_the_same_command_runs_nothing_again() -> None:
    """Dies if recorded seeds run again, or another verdict comes of them."""
    first, calls = _settle(0.84), len(_calls())
    again = _settle(0.84)
    assert len(_calls()) == calls
    assert (again.verdict, again.interval, again.scores) == (
        first.verdict,
        first.interval,
        first.scores,
    )
    assert any("settled before" in note for note in again.notes)
    assert _settle(0.84, seeds=3).verdict == "better"  # a decision is not taken back


def test_more_seeds_go_on() -> None:
    """Dies if an undecided comparison begins again, or its seeds run twice."""
    few = _settle(0.8005, seeds=4)
    many = _settle(0.8005, seeds=9)
    assert (few.verdict, few.looks, many.looks) == ("undecided", 4, 9)
    assert len(_calls()) == len({*_calls()}) == 18
    assert many.comparison == few.comparison == 1


def test_again_has_fresh_seeds() -> None:
    """Dies if a comparison that is settled anew rests on scores that it had."""
    first, anew = _settle(0.84, note="\udcff a\nb"), _settle(0.84, again=True)  # a byte of a shell
    assert anew.comparison == 2 and anew.first_seed == 1 + first.looks
    assert not {*first.scores["candidate"]} & {*anew.scores["candidate"]}


def test_a_winner_becomes_the_base_with_fresh_seeds() -> None:
    """Dies if scores with which a candidate won count for it as a base (winner's curse)."""
    won = _settle(0.84)
    next_base = BASE.replace("0.8", "0.84") + " "
    found = _settle(0.8405, next_base, seeds=5)
    assert found.first_seed == 1 + won.looks and found.known == 0
    assert not {*won.scores["candidate"]} & {*found.scores["base"]}
    third = _settle(0.8404, next_base, seeds=5)  # the base's fresh scores are used again
    assert third.known == 5 and third.scores["base"] == found.scores["base"]
    failed = _settle("silent", next_base)
    assert f"seed {failed.first_seed} failed 2 times" in failed.failures["candidate"]


def test_a_candidate_of_before_has_fresh_seeds() -> None:
    """Dies if scores for which a candidate is tried again, or is the base now, count for it."""
    tried = _settle(0.801, seeds=4)
    other = BASE.replace("0.8", "0.802") + "  "
    again = _settle(0.801, other, seeds=4)
    assert (tried.verdict, again.first_seed, again.known) == ("undecided", 5, 0)
    as_base = _settle(0.802, BASE.replace("0.8", "0.801") + " ", seeds=4)
    assert as_base.first_seed == 9


def test_another_margin_rests_on_the_same_scores() -> None:
    """Dies if the base's scores of the same comparison count as known before it."""
    first, calls = _settle(0.84), len(_calls())
    wider = _settle(0.84, margin=0.2)
    assert (wider.verdict, wider.comparison, wider.known) == ("equal", 2, 0)
    assert first.known == 0 and len(_calls()) == calls


def test_code_that_changes_under_way(folder: Path) -> None:
    """Dies if scores of two versions are those of one, and nothing says so."""
    more = 'with open("program.py", "a") as me: me.write("#")\n'
    (folder / "program.py").write_text(PROGRAM + more)
    assert any("ran (program.py); its scores may be" in note for note in _settle(0.84).notes)


@pytest.mark.parametrize("correction", ["none", "e-lond", "spending"])
def test_levels_of_a_night(correction: Any) -> None:
    """Dies if the level of a comparison is not the one of its place in the ledger."""
    gains = (0.84, 0.801, 0.802)
    levels = [_settle(gain, correction=correction, seeds=8).level for gain in gains]
    shares = [6 / (np.pi * k) ** 2 for k in (1, 2, 3)]
    kept = {"none": None, "e-lond": (1, 2, 2), "spending": (1, 1, 1)}[correction]
    expected = (
        [0.05] * 3 if kept is None else [0.05 * s * r for s, r in zip(shares, kept, strict=True)]
    )
    assert levels == pytest.approx(expected)


def test_a_killed_comparison_goes_on(folder: Path) -> None:
    """Dies if SIGKILL loses a recorded score, or changes the verdict."""
    slow = PROGRAM.replace('print("epoch', 'import time; time.sleep(0.02)\nprint("epoch')
    (folder / "program.py").write_text(slow)
    words = ["command", BASE, BASE.replace("0.8", "0.83") + " ", "--json", "out.json"]
    started = processes.start("settle", *words)
    while len(_calls()) < 4:
        assert not started.ended()
        time.sleep(0.02)
    started.send(signal.SIGKILL)
    started.wait()
    with contextlib.closing(sqlite3.connect("settle.db")) as sql, sql:
        known = {f"{seed}" for (seed,) in sql.execute("SELECT seed FROM scores")}
    assert known
    before = len(_calls())
    resumed = _settle(0.83)
    counts = _calls()
    assert all(counts.count(call) == 1 for call in counts[:-1] if counts.index(call) < before - 1)
    assert resumed.scores == _settle(0.83, ledger="fresh.db").scores


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([BASE.replace("{seed}", "1"), BASE], "expected {seed}"),
        ([BASE, BASE], "same command and the same code"),
        ([BASE, BASE + " ", "--folder", "nowhere"], "nowhere: no such folder"),
        ([BASE, BASE + " ", "--pattern", "("], "--pattern (: not a pattern"),
        ([BASE, BASE + " ", "--pattern", "x"], "expected one group"),
        ([BASE, BASE + " ", "--pattern", "(x)", "--json-field", "y"], "--json-field y or --pat"),
        ([BASE, BASE + " ", "--ledger", "program.py"], "program.py: not a ledger"),
        ([BASE, BASE + " ", "--alpha", "0"], "alpha"),
        ([BASE, BASE + " ", "--seeds", "0"], "seeds"),
        (["no_such_program {seed}", BASE], "no_such_program: no such program"),
    ],
)
def test_wrong_input_is_one_line(folder: Path, words: list[str], message: str) -> None:
    """Dies if a mistake is no error of one line, or leaves a file."""
    before = sorted(folder.iterdir())
    with pytest.raises(ConfigError) as found:
        settle(["command", *words])
    assert message in str(found.value) and "\n" not in str(found.value)
    assert sorted(p for p in folder.iterdir() if not p.name.startswith(".")) == before


def test_a_runs_database_is_no_ledger() -> None:
    """Dies if the tables of another file are changed."""
    with contextlib.closing(sqlite3.connect("other.db")) as sql, sql:
        sql.execute("CREATE TABLE members (x)")
    with pytest.raises(ConfigError, match="not a ledger"), ledger.opened(Path("other.db")):
        pass


def _table(models: dict[str, list[float]], **columns: list[Any]) -> list[dict[str, Any]]:
    return [
        {"model": model, "seed": seed, "f1": score}
        for model, scores in models.items()
        for seed, score in enumerate(scores, 1)
    ]


def test_a_table_in_the_order_of_seeds() -> None:
    """Dies if rows count in another order, or beyond a seed that a model lacks."""
    draw = np.random.default_rng(0)
    models = {"old": [*draw.normal(0.8, 0.01, 9)], "new": [*draw.normal(0.84, 0.01, 9)]}
    rows = _table(models)
    found = jaxeval.settle_table(rows, score="f1")
    assert (found.verdict, found.candidate, found.looks) == ("better", "new", 9)
    assert jaxeval.settle_table(rows[::-1], "old", "new", score="f1").scores == found.scores
    gap = [row for row in rows if (row["model"], row["seed"]) != ("old", 4)]
    assert jaxeval.settle_table(gap, score="f1").looks == 3
    split = [{**row, "split": row["seed"]} for row in rows]
    assert jaxeval.settle_table(split, score="f1").paired
    assert jaxeval.settle_table(models).verdict == "better"
    assert jaxeval.settle_table(rows, "new", "old", score="f1").exit_code == 3


@pytest.mark.parametrize(
    ("source", "models", "message"),
    [
        ({"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2, 3]}, (), "found 3 models"),
        ({"a": [1, 2, 3]}, (), "found 1 model"),
        ([{"model": "a", "score": 1}, {"model": "b", "score": 2}], ("a", "x"), "x"),
    ],
)
def test_wrong_tables(source: Any, models: tuple[str, ...], message: str) -> None:
    """Dies if a table that is no comparison of two models is settled."""
    with pytest.raises(JaxevalError, match=message):
        jaxeval.settle_table(source, *models)


def test_a_growing_table_is_followed(folder: Path) -> None:
    """Dies if new rows are not seen, or a file without a candidate ends it."""
    lines = ["model,seed,f1"] + [f"old,{seed},{0.8 + seed % 3 / 100}" for seed in range(1, 9)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    words = ["table", "t.csv", "old", "new", "--score", "f1", "--follow", "0.1"]
    started = processes.start("settle", *words)
    while "waiting" not in started.errors():
        assert not started.ended()
        time.sleep(0.02)
    lines += [f"new,{seed},{0.9 + seed % 3 / 100}" for seed in range(1, 9)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    ended = started.wait(30)
    assert ended.returncode == 0 and "new is better than old" in ended.stdout
