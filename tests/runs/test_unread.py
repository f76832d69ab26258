"""Columns of a score table that are not read are named, and those that part its scores doubted."""

import itertools
import json
from pathlib import Path

import pytest

from jaxeval.compare import __main__ as compare
from jaxeval.runs import tables
from jaxeval.runs.layout import Layout
from jaxeval.select import __main__ as select


def _table(folder: Path, head: str, rows: list[str]) -> str:
    path = folder / "t.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


def _rows(third: str = "{k}") -> list[str]:
    """Two models on three sets in five runs each."""
    grid = itertools.product("AB", ("sst", "mams", "trec"), range(5))
    return [
        f"{model},{of},{third.format(k=k)},0.{80 + n % 15}{k}"
        for n, (model, of, k) in enumerate(grid)
    ]


def test_columns_that_part_the_scores_are_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Dies if three data sets become one sample of 15 without a word, on the terminal, in JSON or
    of select, or if there is doubt where the column is read as the data set."""
    path = _table(tmp_path, "model,test_set,machine,score", _rows())
    assert compare.main(["--table", path, "--json", str(tmp_path / "j"), "--resamples", "9"]) == 0
    doubt = "test_set, machine: a few values, each of several scores of a model"
    for shown in (
        capsys.readouterr().out,
        " ".join(json.loads((tmp_path / "j").read_text())["warnings"]),
    ):
        shown = " ".join(shown.split())
        assert "not read: test_set, machine" in shown and doubt in shown
        assert "(test_set: sst, mams, trec)" in shown and "--column dataset=test_set" in shown
    select.main(["table", path, "--json", "-", "--budget", "6"])
    assert any(doubt in line for line in json.loads(capsys.readouterr().out)["warnings"])
    (note,) = tables.read(path, Layout(columns={"dataset": "test_set"})).warnings
    assert note == "not read: machine"


@pytest.mark.parametrize(
    ("third", "models"),
    [("one", "AB"), ("{model}", "AB"), ("{n}", "AB"), ("{k}", "A")],
)
def test_what_parts_nothing_is_only_named(tmp_path: Path, third: str, models: str) -> None:
    """Dies if a column is doubted that has one value of each model, as many as scores, or another
    value in other rows than those that are compared."""
    rows = [
        f"{model},{third.format(model=model, n=n, k=n % 2 if model == 'B' else 0)},{n / 10}"
        for model in "AB"
        for n in range(6)
    ]
    table = tables.read(_table(tmp_path, "model,beside,score", rows), Layout(models=[*models]))
    assert table.warnings == ("not read: beside",)


@pytest.mark.parametrize("odd", ["B,sst ,.7", "B,trec,.7", "A,sst,.7"])
def test_one_odd_row_is_no_end_of_doubt(tmp_path: Path, odd: str) -> None:
    """Dies if a misspelt value, or a set of one row of a model, ends the doubt about two sets."""
    grid = itertools.product("AB", ("sst", "mams"), range(3))
    rows = [odd, *(f"{model},{of},0.{80 + n}" for n, (model, of, _) in enumerate(grid))]
    named, doubt = tables.read(_table(tmp_path, "model,test_set,score", rows), Layout()).warnings
    assert named == "not read: test_set" and doubt.startswith("test_set: a few values")


@pytest.mark.parametrize("seed", ["seed", "run", "split"])
def test_numbered_rows_are_not_doubted(tmp_path: Path, seed: str) -> None:
    """Dies if what is recorded beside the seeds that all models share is taken for data sets."""
    rows = [
        f"{model},{k},{5 + k % 2},{k % 2 > 0},{'xy'[k % 2]}{model},2026-01-0{1 + k // 2},0.{k}"
        for model in "AB"
        for k in range(8)
    ]
    head = f"model,{seed},best_epoch,early_stopped,machine,date,score"
    warnings = tables.read(_table(tmp_path, head, rows), Layout()).warnings
    assert warnings[-1] == "not read: best_epoch, early_stopped, machine, date"


@pytest.mark.parametrize(
    ("of_b", "seeds", "said"),
    [
        ("mams", "", "test_set: A has sst, B has mams: if these are data sets or settings, "),
        ("sst mams", "", "test_set: A has sst, B has sst, mams: if"),
        ("mams", "4", "test_set: A has sst, B has mams: if"),
        ("mams", "0", None),
        ("sst", "", None),
        ("nan", "", None),
    ],
)
def test_models_on_other_sets_are_warned_of(
    tmp_path: Path, of_b: str, seeds: str, said: str | None
) -> None:
    """Dies if models that share neither their data nor a seed are compared without a word, or it
    is said of those that share either.

    Args:
      seeds: the first of B's, of which A's begin with 0; "": none are read.
    """
    of = {"A": ["sst"], "B": of_b.split()}
    rows = [
        f"{model},{of[model][k % len(of[model])]},{k},{k + int(seeds or 0) * (model == 'B')},0.{k}"
        for model in "AB"
        for k in range(4)
    ]
    head = f"model,test_set,beside,{'seed' if seeds else 'other'},score"
    path = _table(tmp_path, head, rows)
    warnings = tables.read(path, Layout()).warnings
    assert any(said in line for line in warnings) if said else "has" not in " ".join(warnings)


def test_a_state_is_never_taken_for_a_data_set(tmp_path: Path) -> None:
    """Dies if what a column State says is doubted, of whichever country."""
    rows = [f"{model},{state},.{k}" for model in "AB" for state in ("Ohio", "Iowa") for k in "123"]
    path = _table(tmp_path, "model,State,score", rows)
    assert tables.read(path, Layout()).warnings == ("not read: State",)


@pytest.mark.parametrize(
    ("name", "crashed", "read"),
    [
        *(("State", word, True) for word in ("crashed", "error", "canceled", "cancelled")),
        *(("STATUS", word, True) for word in ("KILLED", "timeout", " failed")),
        ("State", "Ohio", False),
    ],
)
def test_a_state_says_how_runs_ended(tmp_path: Path, name: str, crashed: str, read: bool) -> None:
    """Dies if the column of another program is passed over, or a word that is no status taken for
    one; or if a score that a failed run has counts, or is passed over without a warning."""
    rows = ["A,0,.5,finished", f"A,1,.6,{crashed}", "B,0,.7,finished", "B,1,.8,finished"]
    path = _table(tmp_path, f"model,seed,score,{name}", rows)
    table = tables.read(path, Layout())
    assert (len(table.score), len(table.failed.rows)) == ((3, 1) if read else (4, 0))
    if not read:
        assert table.statuses == {} and table.warnings == ("not read: State",)
        return
    assert table.statuses["A"] == {crashed: 1, "finished": 1}
    assert f"A: 1 of its scores are of runs whose status is {crashed}" in table.warnings[1]
    path = _table(tmp_path, f"model,seed,score,{name}", [r.replace(".6", "") for r in rows])
    table = tables.read(path, Layout())
    assert len(table.score) == 3 and len(table.unusable) == len(table.warnings) == 1


def test_values_of_any_kind(tmp_path: Path) -> None:
    """Dies if lists, which JSON may hold, or numbers and what is missing end in a traceback."""
    path = tmp_path / "t.json"
    layers = ([1], [1, 2], None)
    rows = [
        {"model": m, "layers": layers[k % 3], "rate": 0.1 * (k % 2), "score": k / 10}
        for m in "AB"
        for k in range(12)
    ]
    path.write_text(json.dumps(rows))
    named, doubt = tables.read(str(path), Layout()).warnings
    assert named == "not read: layers, rate" and doubt.startswith("layers, rate: a few values")


@pytest.mark.parametrize(
    "word", ["running", "Preempted", "preempting", "", "success", "completed"]
)
def test_scores_of_runs_that_have_not_ended(tmp_path: Path, word: str) -> None:
    """Dies if an empty cell or a good end makes a State unread or is warned of, or if a score that
    is not yet the last counts in silence."""
    rows = ["A,0,.5,finished", f"A,1,.6,{word}", "B,0,.7,finished", "B,1,.8,completed"]
    table = tables.read(_table(tmp_path, "model,seed,score,State", rows), Layout())
    warned = [line for line in table.warnings if "of its scores" in line]
    if word.lower() in ("running", "preempted", "preempting"):
        assert [line[: line.index(";")] for line in warned] == [
            f"A: 1 of its scores are of runs whose status is {word}"
        ]
    else:
        assert not warned
    assert sum(table.statuses["A"].values()) == 2 - (not word)


def test_an_empty_state_is_none(tmp_path: Path) -> None:
    """Dies if a column without a word is read as the status."""
    rows = [f"{model},{k},.{k}," for model in "AB" for k in (1, 2)]
    table = tables.read(_table(tmp_path, "model,seed,score,State", rows), Layout())
    assert table.statuses == {} and table.warnings == ("not read: State",)
