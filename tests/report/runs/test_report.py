"""The report: right numbers, honest about members without scores, safe and self-contained."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import jaxeval
from jaxeval import runs, sources
from jaxeval.errors import ConfigError
from jaxeval.report import runs as document
from jaxeval.report.runs import experiments
from jaxeval.runs import records
from jaxeval.runs.layout import Layout
from tests.runs import test_store
from tests.verbs import report

DEV = [0.80, 0.85, 0.83, 0.85, 0.79]
TEST = [0.70, 0.78, 0.74, 0.72, 0.71]


def fill(
    folder: Path,
    names: Sequence[str] = ("alpha",),
    scores: Sequence = tuple(zip(DEV, TEST, strict=True)),
) -> Path:
    """A runs folder with experiments of the given names.

    A score of None means diverged, a dev score of 0 that it never was another.
    """
    ends, points = [], []
    for seed, (dev, test) in enumerate(scores, 1):
        status = "diverged" if dev is None else "early_stopped"
        more = {"status": status, "best_epoch": seed if dev else None}
        ends.append(test_store.result(seed, dev=dev, test=test, **more))
        points += [test_store.curve(seed, epoch, 0.1 * epoch) for epoch in range(1, 3 + seed)]
    for number, name in enumerate(names):
        test_store.write(folder, f"id{number}", ends, points, name=name)
    return folder


def test_summary_against_numpy_and_scipy(tmp_path: Path) -> None:
    """Dies if a quantile, the sd's denominator, or the chosen member is wrong."""
    summarized = experiments.summarize(runs.load(fill(tmp_path)))
    assert summarized.test is not None and summarized.dev is not None
    assert (summarized.test.min, summarized.test.median, summarized.test.max) == (0.70, 0.72, 0.78)
    assert summarized.test.q1 == pytest.approx(0.71)
    assert summarized.test.q3 == pytest.approx(0.74)
    assert summarized.test.mean == pytest.approx(0.73)
    assert summarized.test.sd == pytest.approx(np.sqrt(np.sum((np.array(TEST) - 0.73) ** 2) / 4))
    assert summarized.rho == pytest.approx(stats.spearmanr(DEV, TEST).statistic)
    assert (summarized.best_seed, summarized.best_test, summarized.ties) == (2, 0.78, 2)
    assert summarized.best_epochs == (1, 3.0, 5)


def test_lower_is_better(tmp_path: Path) -> None:
    """Dies if the best member of a loss is the one with the highest."""
    rows = [r._replace(higher_is_better=False, metric="loss") for r in runs.load(fill(tmp_path))]
    summarized = experiments.summarize(rows)
    assert (summarized.best_seed, summarized.best_dev) == (5, 0.79)


CASES = {
    "one": [(0.5, 0.4)],
    "two": [(0.5, 0.4), (0.6, 0.5)],
    "constant": [(0.5, 0.4)] * 5,
    "all diverged": [(None, None)] * 3,
    "some diverged": [(0.5, 0.4), (None, None), (0.6, 0.5), (0.7, 0.55)],
}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("case", CASES)
def test_awkward_experiments(tmp_path: Path, case: str, capsys: pytest.CaptureFixture) -> None:
    """Dies if few, equal or missing scores break the report or are hidden."""
    assert (
        report([str(fill(tmp_path, scores=CASES[case])), "--save", str(tmp_path / "p.html")]) == 0
    )
    printed, html = capsys.readouterr().out, (tmp_path / "p.html").read_text()
    lost = sum(dev is None for dev, _ in CASES[case])
    for text in (printed, html):
        assert (f"{lost} diverged" in text) == (lost > 0)
    if lost == len(CASES[case]):
        assert "none of them has a score" in printed and "train more seeds" not in printed
        assert "Test score against" not in html  # a figure without any mark
    elif len(CASES[case]) - lost < 5:
        assert "fewer than 5 scores" in printed and "fewer than 5 scores" in html
    if case in ("constant", "one", "two"):
        assert "rho between dev and test: not defined" in printed
    assert html.count(">diverged</td>") == lost


def test_tables_hold_the_numbers_behind_the_figures(tmp_path: Path) -> None:
    """Dies if members that stopped are carried forward, or a figure's table is not its data."""
    rows, points = runs.load(fill(tmp_path)), runs.load_curves(tmp_path)
    curve = experiments.draw([rows], points)[2]
    assert [(row[0], row[1]) for row in curve.rows] == [
        (1, 5), (2, 5), (3, 5), (4, 4), (5, 3), (6, 2), (7, 1),
    ]  # fmt: skip
    (violin,) = experiments._violins([rows])
    assert sorted(float(r[4]) for r in violin.rows if r[1] == "test") == sorted(
        round(100 * t, 3) for t in TEST
    )


def test_json_and_choice_of_an_experiment(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if --experiment is ignored or a wrong name goes unnoticed."""
    folder = fill(tmp_path, ["alpha", "beta"])
    assert report([str(folder), "--experiment", "beta", "--json", "-"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["experiments"]
    assert only["name"] == "beta" and only["test"]["n"] == 5
    with pytest.raises(ConfigError, match=r"alpha \(id0\), beta \(id1\)"):
        report([str(folder), "--experiment", "gamma"])


@pytest.mark.usefixtures("undrawn")
def test_members_that_never_learned_are_counted(tmp_path: Path) -> None:
    """Dies if they pass for others in the terminal, on the page or where models are compared, if
    epochs of the others pass for those of all, or if diverged members count."""
    scores = [(0.0, 0.1), (0.8, 0.7), (None, None), (0.0, 0.0), (0.9, 0.8), (0.7, 0.6)]
    folder = fill(tmp_path, ("alpha", "beta"), scores)
    rows = runs.load(folder)
    described = experiments.summarize([row for row in rows if row.name == "alpha"])
    lines = list(document._remarks(described))
    said = "2 of 6 never learned: dev f1 stayed 0, and their test score is that of the last epoch"
    assert described.never_learned == 2 and said in lines
    assert "scored epoch of the others: median 5, 2 to 6" in lines
    assert any(line.startswith("1 of 6 diverged: the loss was not finite") for line in lines)
    assert report([str(folder), "--save", str(tmp_path / "p.html")]) == 0
    assert (tmp_path / "p.html").read_text().count(said) == 2
    one, even = dataclasses.replace(described, never_learned=1), (3, 3.0, 3)
    lines = [*document._remarks(dataclasses.replace(one, test=None, best_epochs=even))]
    assert "1 of 6 never learned: dev f1 stayed 0" in lines
    assert "scored epoch of the others: 3" in lines
    nothing = experiments.summarize([row for row in rows if row.seed in (1, 4)])
    assert not [line for line in document._remarks(nothing) if "best" in line]
    lost = experiments.summarize([row for row in rows if row.status == "diverged"])
    assert any("the loss was not finite" in line for line in document._remarks(lost))
    warnings = sources.read(str(folder), Layout()).warnings
    assert f"beta: {said.replace('of 6', 'of 5')}" in warnings  # one diverged, without a score


def test_each_data_set_has_its_panel(tmp_path: Path) -> None:
    """Dies if experiments on different corpora share an axis, or the table does not say which."""
    rows = runs.load(fill(tmp_path, ["alpha", "beta", "gamma"]))
    corpora = {"alpha": "ewt", "beta": "gum", "gamma": "ewt"}
    moved = [r._replace(data=f"/d/{corpora[r.name]}", data_hash=corpora[r.name]) for r in rows]
    (drawn,) = experiments._violins(records.by_experiment(moved))
    panels = {axes.get_title(): axes for axes in drawn.drawing.axes}
    assert set(panels) == {"ewt", "gum"}
    ticks = [tick.get_text().split("\n")[0] for tick in panels["ewt"].get_xticklabels()]
    assert ticks == ["alpha", "gamma"]
    assert drawn.columns[-1] == "data set" and {row[-1] for row in drawn.rows} == {"ewt", "gum"}
    (drawn,) = experiments._violins(records.by_experiment(rows))
    assert len(drawn.drawing.axes) == 1


def test_figures_tell_experiments_of_one_name_apart(tmp_path: Path) -> None:
    """Dies if two violins, or two titles, have the same name."""
    first, *own = jaxeval.load(fill(tmp_path, ["alpha", "alpha"])).document().figures()
    assert {row[0] for row in first.rows} == {"alpha (id0)", "alpha (id1)"}
    assert len({figure.title for figure in own}) == len(own) == 4


def test_a_failure_has_its_reason(tmp_path: Path) -> None:
    """Dies if one must look through all members to see why some failed."""
    lost = {"status": "failed", "dev": None, "test": None, "message": "out of memory\nmore"}
    with runs.open_store(fill(tmp_path)) as store:
        store.record([test_store.result(s, experiment="id0", **lost) for s in (8, 9)], [])
    assert "2 failed: out of memory" in jaxeval.load(tmp_path).document().blocks


def test_many_experiments_are_a_row_each(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a folder of many experiments scrolls away, --details or a figure leaves one out, or
    a figure grows without end."""
    folder = fill(tmp_path, [f"model{k}" for k in range(12)])
    assert report([str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = [" ".join(line.split()) for line in lines if line.startswith("model")]
    assert len(said) == 12 and "members:" not in str(lines)
    found = jaxeval.load(folder).document()
    assert found.title == "Score distributions: 12 experiments" and len(found.blocks) == 1
    assert "model2 id2 test f1 (%) 5 early stopped 5 72.00 70.00 78.00" in said
    assert report([str(folder), "--details"]) == 0
    assert capsys.readouterr().out.count("members: 5 early stopped") == 12
    drawn = [*experiments._violins(records.by_experiment(runs.load(folder)))]
    assert {row[0] for figure in drawn for row in figure.rows} == {f"model{k}" for k in range(12)}
    assert all(max(figure.drawing.get_size_inches()) <= 16 for figure in drawn)
