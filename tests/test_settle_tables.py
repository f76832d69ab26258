"""`jaxeval settle table` with files that are being written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxeval
from jaxeval import runs
from jaxeval.bandits import Settle
from jaxeval.settle import tables
from jaxeval.stats import anytime

ROWS = ["model,seed,f1", *(f"old,{seed},{0.8 + seed % 3 / 100:.2f}" for seed in range(1, 7))]
NEW = [f"new,{seed},{0.9 + seed % 3 / 100:.2f}" for seed in range(1, 7)]


@pytest.mark.parametrize("rest", ["", "5"])
def test_a_half_written_line_does_not_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    """Dies if the first digits of a score count as the score, or an ended file is waited for."""
    path, waits = tmp_path / "scores.csv", []
    path.write_text("\n".join([*ROWS, *NEW]))  # no end of the last line

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if rest and len(waits) == 1:
            with path.open("a") as stream:
                stream.write(f"{rest}\n")

    monkeypatch.setattr(tables.time, "sleep", sleep)
    found = jaxeval.settle_table(path, "old", "new", score="f1", follow=9, quiet=True)
    assert found.scores["new"][-1] == float(f"0.90{rest}") and waits == [9.0]
    assert found.verdict == "better"


def test_scores_that_change_while_they_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a score that a look saw may change, or a file that is written anew is refused."""
    path, same = tmp_path / "scores.csv", [line.replace("new,", "old,") for line in NEW]
    rows = [line.replace("old,", "new,") for line in same]
    texts = [[*same, *rows][:count] for count in (10, 9, 12)]
    texts += [[*same, *rows[:3], "new,4,0.5", *rows[4:]]]

    def write(_: float) -> None:
        path.write_text("\n".join(["model,seed,f1", *texts.pop(0)]) + "\n")

    monkeypatch.setattr(tables.time, "sleep", write)
    with pytest.raises(
        jaxeval.JaxevalError, match=r"csv: score 4 of new was 0\.91 and is 0\.5 now"
    ):
        jaxeval.settle_table(path, "old", "new", score="f1", follow=9, quiet=True)
    assert not texts


def test_a_seed_that_both_lack_is_under_way_while_the_table_grows() -> None:
    """Dies if seeds that end early count before slower ones."""
    rows = [line.split(",") for line in [*ROWS[1:], *NEW]]
    records = [{"model": m, "seed": int(k), "f1": float(x)} for m, k, x in rows if k != "3"]
    scores = jaxeval.read_scores(records, score="f1")
    waiting = tables.settled(scores, Settle(most=99), growing=True)
    assert waiting.looks == 2 and "only if it can never come" in waiting.notes[-1]
    assert tables.settled(scores, Settle(most=99)).looks == 5


def _rows(numbers: dict[str, list[int]]) -> list[dict[str, object]]:
    gain = {"old": 0.8, "new": 0.9}
    return [
        {"model": model, "seed": k, "f1": gain[model] + k * 7 % 10 / 100}
        for model, of in numbers.items()
        for k in of
    ]


def test_named_seeds_count_in_their_order() -> None:
    """Dies if seeds that are named count in another order, or others count."""
    seeds = [1337, 42, 7, 2024]
    rows = _rows({"old": [*seeds, 5], "new": [*seeds, 6]})
    found = jaxeval.settle_table(rows, "old", "new", score="f1", seeds=seeds)
    by_seed = {row["seed"]: row["f1"] for row in rows if row["model"] == "new"}
    assert [*found.scores["new"]] == [by_seed[seed] for seed in seeds]
    late = [row for row in rows if (row["model"], row["seed"]) != ("new", 42)]
    found = jaxeval.settle_table(late, "old", "new", score="f1", seeds=seeds)
    assert found.looks == 1 and "seed 42 of new has no score" in found.notes[-1]
    found = jaxeval.settle_table(rows, "old", "new", score="f1", seeds=[42, 7, 9])
    assert found.looks == 2 and "seed 9 of old and new has no score" in found.notes[-1]
    with pytest.raises(jaxeval.JaxevalError, match="no column of seeds"):
        jaxeval.settle_table({"a": [1, 2], "b": [1, 2]}, seeds=[1, 2])


def test_a_dict_has_its_models_by_name() -> None:
    """Dies if names choose no models of a dict of scores, or the first is not the base."""
    found = jaxeval.settle_table({"x": [0], "new": [2, 3], "old": [1, 1]}, "old", "new")
    assert {name: [*of] for name, of in found.scores.items()} == {"old": [1, 1], "new": [2, 3]}


def test_seeds_that_are_not_consecutive_are_not_waited_for(tmp_path: Path) -> None:
    """Dies if a table of sparse seeds is followed for ever."""
    rows = _rows({"old": [42, 1337], "new": [42, 1337]})
    lines = [f"{row['model']},{row['seed']},{row['f1']}" for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(["model,seed,f1", *lines]) + "\n")
    with pytest.raises(jaxeval.JaxevalError, match="no seed between 42 and 1337"):
        jaxeval.settle_table(tmp_path / "t.csv", score="f1", follow=9)


@pytest.mark.parametrize(
    "text", [b"\x00\xff\x00\n" * 9, b"model,seed,f1\nold,1,0.8,9\nnew,1,0.8\n"]
)
def test_a_damaged_file_is_not_waited_for(tmp_path: Path, text: bytes) -> None:
    """Dies if a file that never becomes a table is read for ever."""
    (tmp_path / "t.csv").write_bytes(text)
    with pytest.raises(jaxeval.JaxevalError, match=r"t\.csv"):
        jaxeval.settle_table(tmp_path / "t.csv", "old", "new", follow=9)


def test_failed_runs_of_a_table() -> None:
    """Dies if the base's failed run is a verdict, or one is no lost pair with wins."""
    numbers = [*range(1, 11)]
    rows = [{**row, "status": "completed"} for row in _rows({"old": numbers, "new": numbers})]
    failed = [
        {**row, "f1": None, "status": "failed"}
        if row["model"] == "old" and row["seed"] == 4
        else row
        for row in rows
    ]
    turned = [row for row in rows if row["model"] == "old"]
    turned += [{**row, "status": "failed"} for row in rows if row["model"] == "new"][3:]
    turned += [row for row in rows if row["model"] == "new"][:3]
    first = jaxeval.settle_table(turned, "old", "new", score="f1", missing="drop")
    assert first.failures == {"new": "seed 4 failed"}
    with pytest.raises(jaxeval.JaxevalError, match="old: seed 4 failed; nothing can be settled"):
        jaxeval.settle_table(failed, score="f1", missing="drop")
    never = [{**r, "status": "failed"} if r["model"] == "new" else r for r in rows]
    assert jaxeval.settle_table(never, "old", "new", score="f1").failures == {
        "new": "seed 1 failed"
    }
    for how in ("t", "wins"):
        with pytest.raises(jaxeval.JaxevalError, match="new: seed 1 failed; nothing can be"):
            jaxeval.settle_table(never, "new", "old", score="f1", statistic=how)
    found = jaxeval.settle_table(failed, score="f1", missing="drop", statistic="wins")
    assert (found.verdict, found.wins) == ("better", (10, 0)) and len(found.scores["old"]) == 9


@pytest.mark.parametrize("failing", ["old", "new"])
def test_a_run_that_fails_after_the_decision(failing: str) -> None:
    """Dies if a claim is taken back when a later run fails, or nobody is told."""
    rows = [{**row, "status": "ok"} for row in _rows({m: [*range(1, 11)] for m in ("old", "new")})]
    for row in rows:
        if (row["model"], row["seed"]) == (failing, 10):
            row |= {"f1": None, "status": "failed"}
    found = jaxeval.settle_table(rows, "old", "new", score="f1", missing="drop")
    assert (found.verdict, found.looks, found.failures) == ("better", 9, {})
    assert f"{failing}: seed 10 failed; the claim rests on earlier seeds" in found.notes


def test_a_crash_that_counts_as_a_score_is_named() -> None:
    """Dies if a claim stands beside a difference of the other sign without a word, or a crash
    that keeps it from being made is not named."""
    sides = {"old": [0.8, 0.801, 0.802, 0.803, 0.804, 0.805]}
    sides["new"] = [*(score + 0.05 for score in sides["old"][:5]), 0.1]
    said = str(jaxeval.settle_table(sides))
    assert said.startswith("new is better than old: difference -0.075")
    assert "lies outside the interval" in said.splitlines()[0]
    del sides["new"][5]
    assert "outside" not in str(jaxeval.settle_table(sides))
    sides["new"][1] = 0.1
    notes = jaxeval.settle_table(sides).notes
    assert any(note.startswith("1 of 5 scores of new is far worse") for note in notes)


def test_items_are_pairs() -> None:
    """Dies if items count as runs, or not as pairs of one item."""
    draw = np.random.default_rng(0)
    hard = draw.random(120)
    rows = [
        {"model": model, "id": f"q{k}", "score": float(draw.random() < gain * (1 - hard[k]))}
        for model, gain in (("old", 0.7), ("new", 1.3))
        for k in draw.permutation(120)
    ]
    found = jaxeval.settle_table(rows, column={"item": "id"}, statistic="betting")
    by_item = {
        model: {r["id"]: r["score"] for r in rows if r["model"] == model}
        for model in ("old", "new")
    }
    gaps = [by_item["new"][item] - by_item["old"][item] for item in by_item["old"]]
    assert found.paired and found.looks == 120 and found.correlation is not None
    expected = anytime.settle(gaps, statistic="betting")
    assert found.interval is not None and found.interval[:2] == expected.interval
    with pytest.raises(jaxeval.JaxevalError, match="no column 'nix'"):
        jaxeval.settle_table(rows, column={"item": "nix"})
    named = [{"system": r["model"], "id": r["id"], "f1": r["score"]} for r in rows]
    again = jaxeval.settle_table(named, column={"item": "id"}, statistic="betting")
    assert again.difference == found.difference  # names say what columns are, as of runs


def test_a_winner_of_few_pairs_among_ties_has_no_interval_around_0() -> None:
    """Dies if a sentence says "better" beside a median difference of 0, CI [0, 0]."""
    sides = {"old": [0.0] * 40, "new": [1.0] * 15 + [0.0] * 25}
    (said,) = jaxeval.settle_table(sides, statistic="wins").document().answer
    assert said == "new is better than old: 15 pairs won, 0 lost (40 pairs)."


def test_a_change_without_effect_is_said() -> None:
    """Dies if equal scores at every seed pass for noise."""
    draw = np.random.default_rng(1).normal(size=6)
    rows = [{"model": m, "seed": k, "f1": x} for m in ("old", "new") for k, x in enumerate(draw)]
    assert "the change has no effect" in jaxeval.settle_table(rows, score="f1").notes[0]


@pytest.mark.parametrize("statistic", ["t", "wins"])
@pytest.mark.parametrize("lower", [False, True])
def test_looks_that_contradict_each_other_claim_nothing(statistic: Any, lower: bool) -> None:
    """Dies if early scores decide against later ones, or an empty interval is shown turned."""
    noise = np.random.default_rng(5).normal(0, 0.02, (2, 80))
    drift = np.where(np.arange(80) < 25, 0.12, -0.3)
    scores = {"old": 0.5 + noise[0], "new": 0.5 + noise[1] + drift}
    found = jaxeval.settle_table(
        {name: of[:25] for name, of in scores.items()}, statistic=statistic, lower_is_better=lower
    )
    assert found.verdict == ("worse" if lower else "better")
    found = jaxeval.settle_table(scores, statistic=statistic, lower_is_better=lower)
    assert found.verdict == "undecided" and found.needed is None and found.decided is None
    assert found.interval is not None and "disagree" in found.interval.absent
    assert any("early and late scores disagree" in note for note in found.notes)


def test_an_open_difference_needs_more_seeds_than_were_seen() -> None:
    """Dies if six seeds of spreads 1 to 3 leave open what "about 5 seeds" would settle."""
    old, new = [801, 799, 797, 801, 805, 800], [808, 832, 819, 840, 820, 836]
    assert jaxeval.settle_table({"old": old, "new": new}).needed == 7


@pytest.mark.parametrize("failing", ["new", "old"])
def test_an_end_among_failures_is_infinite(failing: str) -> None:
    """Dies if an end of -inf is moved to the least float, which is shown in 309 digits."""
    rows = [
        {**row, "status": "failed" if row["model"] == failing and n % 4 == 0 else "completed"}
        for name in ("old", "new")
        for n, row in enumerate(_rows({name: [*range(1, 31)]}), 1)
    ]
    found = jaxeval.settle_table(rows, "old", "new", score="f1", missing="drop", statistic="wins")
    assert found.interval is not None and "e+308" not in str(found.interval)
    assert np.inf in map(abs, found.interval[:2]) and "inf" in found.document().answer[0]


def test_a_number_of_seeds_is_the_most_that_count() -> None:
    """Dies if scores, or failed runs, after the last seed that was asked for count."""
    rows = [{**row, "status": "completed"} for row in _rows({"old": [*range(1, 9)]})]
    rows += [{**row, "status": "completed"} for row in _rows({"new": [*range(1, 8)]})]
    rows.append({"model": "new", "seed": 8, "f1": None, "status": "failed"})
    found = jaxeval.settle_table(rows, "old", "new", score="f1", missing="drop", seeds=4)
    assert [*map(len, found.scores.values())] == [4, 4] and not found.failures


@pytest.mark.parametrize("names, hint", [(("old", "newe"), "did you mean new"), (("a", "b"), "")])
def test_a_model_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: Any, hint: str, capsys: Any
) -> None:
    """Dies if a typo is waited for in silence, or a table of other models for ever."""
    (tmp_path / "t.csv").write_text("\n".join([*ROWS, *NEW]) + "\n")
    monkeypatch.setattr(tables.time, "sleep", lambda seconds: (_ for _ in ()).throw(KeyError))
    with pytest.raises(KeyError if hint else jaxeval.JaxevalError):
        jaxeval.settle_table(tmp_path / "t.csv", *names, score="f1", follow=9)
    assert hint in capsys.readouterr().err


def test_runs_that_have_not_ended_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies if a runs folder whose first members still train is an error."""
    runs.open_store(tmp_path).close()
    monkeypatch.setattr(tables.time, "sleep", lambda seconds: (_ for _ in ()).throw(KeyError))
    with pytest.raises(KeyError):
        jaxeval.settle_table(tmp_path, "old", "new", follow=9, quiet=True)


def test_what_cannot_grow_is_not_waited_for() -> None:
    """Dies if /dev/zero, or scores in memory, are read for ever."""
    with pytest.raises(jaxeval.JaxevalError, match="follow: expected a file"):
        jaxeval.settle_table({"a": [1, 2, 3], "b": [1, 2, 3]}, follow=9)
    with pytest.raises(jaxeval.JaxevalError, match="a device or a pipe"):
        jaxeval.settle_table("/dev/zero", "old", "new", follow=9)
