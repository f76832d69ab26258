"""The report of sweeps: best settings, no talk of seeds, figures that two sweeps share."""

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import pytest
from matplotlib.markers import MarkerStyle

import jaxeval
from jaxeval import runs
from jaxeval.report import __main__ as verb
from jaxeval.report import figures as files
from jaxeval.report import plots
from jaxeval.report.runs import document, summary
from jaxeval.report.sweep import best, data, figures, panels, plan
from jaxeval.runs.records import MemberRow
from jaxeval.sensitivity import hyperparameters, recorded
from jaxeval.space import space
from jaxeval.studies import costs
from tests.report.runs import test_report
from tests.space import fabricated


def _rows(folder: Path, name: str) -> list[MemberRow]:
    return [row for row in runs.load(folder) if row.name.startswith(name)]


def test_summary_of_a_sweep(tmp_path: Path) -> None:
    """Dies if the best run's setting is another's, or the runs as good as it are miscounted."""
    rows = _rows(fabricated.fill(tmp_path), "transformer")
    described = summary.of_members(rows)
    dev = [row.dev for row in rows if row.dev is not None]
    top = next(row for row in rows if row.dev == max(dev))
    assert described.sweep is not None and described.sweep.setting == json.loads(top.hparams)
    assert described.sweep.near == sum(round(1000 * (max(dev) - d), 6) <= 10 for d in dev)
    lines = list(document._remarks(described))
    assert lines[0].startswith("24 runs of a random sweep: 2 diverged, 22 early stopped;")
    assert lines[1] == (
        f"dev: best {100 * max(dev):.2f}, median {100 * np.median(dev):.2f} of the 22 runs with a "
        f"score (2 have none); {described.sweep.near} of them within 1 point of the best"
    )
    assert lines[3].startswith(
        f"its setting: batch_size {described.sweep.setting['batch_size']}, "
    )


def test_near_the_best() -> None:
    """Dies if a border is lost to single precision, or losses are ranked the wrong way round."""
    scores = np.array([0.9, np.float32(0.89), 0.8899, 0.5])
    assert data.near_best(scores, 0.01, True).tolist() == [True, True, False, False]
    losses = np.array([100.0, 103.0, 103.5, 90.0 + 12.5])
    assert data.near_best(losses, 3.0, False).tolist() == [True, True, False, True]
    assert data.near_best(np.zeros(0), 0.01, True).tolist() == []


class _Shape(NamedTuple):
    """As `costs.Shape`."""

    def parameters(self) -> int:
        return 2**16

    def describe(self) -> str:
        return "as configured"


@pytest.mark.parametrize("operations", [0.0, 8.0])
def test_costs_that_are_not_known_are_null(operations: float) -> None:
    """Dies if a plan says of a task without a cost model that it costs next to nothing, or of
    another less than it knows."""
    shape = cast(costs.Shape, _Shape())
    known = costs.Estimate((0, 1), shape, 16, 8.0, 3.0, 8.0, 6.0)
    of_plan = plan.to_dict([known, known._replace(operations=operations)], [])
    first, second = cast(list[dict[str, object]], of_plan["cohorts"])
    assert (first["wasted"], first["megabytes"], first["micro_batch"]) == (0.25, 2.0, 16)
    whole = {name: of_plan[name] for name in ("compile_seconds", "train_seconds", "wasted")}
    if operations:
        assert second == first
        assert whole == {"compile_seconds": 16.0, "train_seconds": 6.0, "wasted": 0.25}
    else:
        assert {name for name, value in second.items() if value is not None} == {"runs", "size"}
        assert {*whole.values()} == {None}


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but not rendered: for tests of what is said beside them."""
    monkeypatch.setattr(files, "to_svg", lambda figure, salt: "<svg></svg>")


def test_report_of_a_folder_with_sweeps(
    tmp_path: Path, capsys: pytest.CaptureFixture, undrawn: None
) -> None:
    """Dies if a sweep gets a violin among seeds, or two sweeps do not share a figure of ranks."""
    folder = fabricated.fill(test_report.fill(tmp_path / "r", ["alpha"]))
    assert verb.main([str(folder), "--save", str(tmp_path / "p.html")]) == 0
    drawn = {figure.name: figure for figure in jaxeval.load(folder).document().figures()}
    panels = ("ranks", "near_best", "marginals", "dev_test", "curves")
    assert drawn.keys() == {
        "distributions_f1",
        "ranks_accuracy",
        *("id0_dev_test", "id0_curves"),
        *(f"{sweep}_{name}" for sweep in ("sweep0", "sweep1") for name in panels),
    }
    printed, html = capsys.readouterr().out, (tmp_path / "p.html").read_text()
    assert printed.count(": a random sweep\n") == 2
    assert printed.count("runs of a random sweep: 2 diverged") == 2
    assert "Sweeps: score by rank" in html and "a random sweep" in html
    assert html.count("<svg") == 2 + 2 + 5 + 5
    assert {row[0] for row in drawn["distributions_f1"].rows} == {"alpha"}
    swept = {row[0] for row in drawn["ranks_accuracy"].rows}
    assert swept == {"attentive_lstm, sweep", "transformer, sweep"}


def test_near_best_holds_their_numbers(tmp_path: Path) -> None:
    """Dies if values of a run that is not among the best, or not active, are counted."""
    rows = _rows(fabricated.fill(tmp_path, count=60), "transformer")
    scored = [(row.dev, json.loads(row.hparams)) for row in rows if row.dev is not None]
    top = max(dev for dev, _ in scored)
    near = [drawn for dev, drawn in scored if top - dev <= 0.1]
    sweep = data.of_members(rows)
    assert sweep is not None and len(near) > 3
    figure = best.near_best([sweep], 0.1)
    shown_by = {(name, part): (n, values) for _, name, part, n, values in figure.rows}
    assert {name for name, _ in shown_by} == {axis.name for axis in sweep.axes}
    counts = {k: sum(drawn["heads"] == k for drawn in near) for k in (2, 4, 8)}
    shown = ", ".join(f"{k}: {n}" for k, n in counts.items())
    assert shown_by["heads", "near best"] == (len(near), shown)
    rates = np.quantile([drawn["learning_rate"] for drawn in near], [0, 0.25, 0.5, 0.75, 1])
    assert shown_by["learning_rate", "near best"][1] == " / ".join(f"{v:.4g}" for v in rates)
    warm = [d["warmup_samples"] for d in near if d["scheduler"] == "warmup"]
    assert shown_by["warmup_samples", "near best"][0] == len(warm)
    assert shown_by["warmup_samples", "all"][0] == sum("warmup_samples" in d for _, d in scored)


def test_near_best_has_the_marks_of_its_legend(tmp_path: Path) -> None:
    """Dies if all sweeps have the same dots where the legend tells them apart."""
    sweep = data.of_members(_rows(fabricated.fill(tmp_path), "transformer"))
    assert sweep is not None
    drawn = best.near_best([sweep, sweep], 0.1).drawing
    marks = [c for axes in drawn.axes for c in axes.collections if c.get_offsets().size]
    for number in (0, 1):
        mark = MarkerStyle(plots.marker(number))
        path = mark.get_path().transformed(mark.get_transform()).vertices
        found = [c for c in marks if np.array_equal(c.get_paths()[0].vertices, path)]
        assert len(found) == len(marks) // 2 > 0


@pytest.mark.parametrize(("count", "metric"), [(1, "accuracy"), (10, "perplexity")])
def test_small_and_lower_is_better(
    tmp_path: Path, capsys: pytest.CaptureFixture, count: int, metric: str
) -> None:
    """Dies if a sweep that has just begun, or of a loss, breaks the report."""
    higher = metric == "accuracy"
    unit, margin = ("fraction", 0.01) if higher else ("perplexity", 3.0)
    named = {"metric": metric, "higher_is_better": higher, "unit": unit, "margin": margin}
    fabricated.fill(tmp_path, ("transformer",), count=count, **named)
    assert verb.main([str(tmp_path), "--save", str(tmp_path / "p.html")]) == 0
    printed = capsys.readouterr().out
    assert ("within 1 point of" if higher else "within 3 of") in printed
    assert ("draw more runs" in printed) == (count < 5)
    rows = _rows(tmp_path, "transformer")
    sweep = data.of_members(rows)
    assert sweep is not None
    first = sweep.shown[np.argmax(sweep.gain)]
    assert first == (max if higher else min)(sweep.shown)


def test_no_run_with_a_score(tmp_path: Path) -> None:
    """Dies if a sweep that diverged throughout breaks the report."""
    folder = fabricated.fill(tmp_path, ("transformer",), count=4)
    with runs.open_store(folder) as store:
        ended = store.ended("sweep0").values()
        store.record(
            [dataclasses.replace(m, dev=None, test=None, status="diverged") for m in ended], []
        )
    assert verb.main([str(folder), "--save", str(tmp_path / "p.html")]) == 0
    assert "4 diverged" in (tmp_path / "p.html").read_text()


def test_report_of_an_unfinished_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture, undrawn: None
) -> None:
    """Dies if the terminal or the page shows the runs that have ended as if they were all."""
    folder = fabricated.fill(tmp_path, ("transformer",), count=5)
    (folder / "sweeps").mkdir()
    (folder / "sweeps" / "sweep0.json").write_text(json.dumps({"runs": [{}] * 11}))
    assert verb.main([str(folder), "--save", str(tmp_path / "p.html")]) == 0
    for text in (capsys.readouterr().out, (tmp_path / "p.html").read_text()):
        assert text.count("more of its runs have not ended") == 1
        assert "6 more of its runs have not ended" in text


def test_two_sweeps_of_one_name(tmp_path: Path) -> None:
    """Dies if two sweeps of one name are one line of a legend and of a table."""
    folder = fabricated.fill(tmp_path, name="twice")
    ranks = jaxeval.load(folder).document().figures()[0]
    assert {row[0] for row in ranks.rows} == {"twice (sweep0)", "twice (sweep1)"}
    (legend,) = ranks.drawing.legends
    assert [text.get_text() for text in legend.get_texts()] == ["twice (sweep0)", "twice (sweep1)"]


def test_runs_without_a_score_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture, undrawn: None
) -> None:
    """Dies if diverged runs vanish from a line of best and median, or from a figure, unsaid."""
    folder = fabricated.fill(tmp_path, ("transformer",))
    assert verb.main([str(folder)]) == 0
    assert "of the 22 runs with a score (2 have none)" in capsys.readouterr().out
    sweep = data.of_members(_rows(folder, "transformer"))
    assert sweep is not None and sweep.lost == 2
    said = "2 of 24 runs of transformer, sweep ended without a score and are not shown."
    for figure in (
        figures.ranks([sweep]),
        panels.marginals([sweep]),
        best.near_best([sweep], 0.01),
    ):
        assert said in figure.caption


SPACE = {
    "rate": {"log_uniform": [1e-6, 1e-2]},
    "factor": {"uniform": [0.1, 0.9]},
    "layers": {"integer": [1, 5]},
    "heads": {"choices": [2, 4, 8]},
    "kind": {"choices": ["b", "a"], "ordered": True},
}


def _sweep(scores: list[float], **values: list) -> data.Sweep:
    declared = recorded.declared(space.from_dict(SPACE)).only(values)
    return data.Sweep("s", np.array(scores), hyperparameters.axes(values, declared, len(scores)))


def test_panels_take_their_scale_from_the_space() -> None:
    """Dies if kind, range or logarithm of a hyperparameter is guessed from its values."""
    sweep = _sweep(
        [0.1, 0.2, 0.3],
        rate=[1.1e-3, 1.2e-3, 1.3e-3],  # of so narrow a range nobody would guess a logarithm
        factor=[0.123456789012345678, 0.5, 0.3],  # three values only, but no categories
        layers=[1, 2, 2],
        heads=[8, 2, 2],
        kind=["a", "b", "b"],
    )
    drawn = dict(zip(SPACE, panels.marginals([sweep]).drawing.axes, strict=False))
    assert [drawn[name].get_xscale() for name in SPACE] == ["log", *["linear"] * 4]
    low, high = drawn["rate"].get_xlim()
    assert low < 1e-6 and 1e-2 < high < 1e-1
    low, high = drawn["factor"].get_xlim()
    assert 0 < low < 0.1 and 0.9 < high < 1
    assert all(tick == int(tick) for tick in drawn["layers"].get_xticks())
    assert drawn["layers"].get_xlim()[1] > 5
    labels = {n: [t.get_text() for t in drawn[n].get_xticklabels()] for n in ("heads", "kind")}
    assert labels == {"heads": ["2", "4", "8"], "kind": ["b", "a"]}  # 4 was never drawn
    boxes = dict(zip(SPACE, best.near_best([sweep], 0.01).drawing.axes, strict=False))
    assert boxes["rate"].get_yscale() == "log" and boxes["layers"].get_ylim()[1] > 5


def test_numbers_without_a_space_are_numbers() -> None:
    """Dies if few different numbers of a table are drawn as categories, or on a logarithm."""
    values = {"x": ["0.123456789012345678", "900", "1"]}
    axes = hyperparameters.axes(values, hyperparameters.Declared(), 3)
    sweep = data.Sweep("s", np.array([0.1, 0.2, 0.3]), axes)
    (panel,) = panels.marginals([sweep]).drawing.axes
    assert panel.get_xscale() == "linear" and len(panel.get_xticks()) > 3
    marks = panel.collections[0].get_offsets()
    assert marks[:, 0].tolist() == pytest.approx([0.123456789012345678, 900, 1])


@pytest.mark.parametrize(
    ("scores", "low", "high"), [([0.0] * 3, 0.0, 5.0), ([0.2, 0.3, 0.9], 20.0, 90.0)]
)
def test_panels_share_their_scores(scores: list[float], low: float, high: float) -> None:
    """Dies if panels have y axes of their own, or scores that are all 0 get one from -.04."""
    sweep = _sweep(scores, rate=[1e-3, 1e-4, 1e-5], heads=[2, 4, 8])
    for figure in (panels.marginals([sweep]), figures.ranks([sweep])):
        (limits,) = {panel.get_ylim() for panel in figure.drawing.axes}
        margin = 0.04 * (high - low)
        assert limits == pytest.approx((low - margin, high + margin))
