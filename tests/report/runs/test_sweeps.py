"""The report of sweeps: best settings, no talk of seeds, figures that two sweeps share."""

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple, cast

import pytest

import jaxeval
from jaxeval import runs
from jaxeval.report import runs as document
from jaxeval.report import sweeps
from jaxeval.report.runs import experiments
from jaxeval.runs.records import MemberRow
from jaxeval.studies import costs
from tests.report.runs import test_report
from tests.space import fabricated
from tests.verbs import report


def _rows(folder: Path, name: str) -> list[MemberRow]:
    return [row for row in runs.load(folder) if row.name.startswith(name)]


def test_summary_of_a_sweep(tmp_path: Path) -> None:
    """Dies if the best run's setting is another's, or the runs as good as it are miscounted."""
    rows = _rows(fabricated.fill(tmp_path), "transformer")
    described = experiments.summarize(rows)
    dev = [row.dev for row in rows if row.dev is not None]
    top = next(row for row in rows if row.dev == max(dev))
    assert described.sweep is not None and described.sweep.setting == json.loads(top.hparams)
    assert described.sweep.near == sum(round(1000 * (max(dev) - d), 6) <= 10 for d in dev)
    lines = list(document._remarks(described))
    assert lines[0].startswith("members: 2 diverged, 22 early stopped; each has its own setting")
    assert lines[3].startswith(
        f"its setting: batch_size {described.sweep.setting['batch_size']}, "
    )
    near = described.sweep.near - 1
    assert lines[4] == f"within 1 point of the best: {near} of 21 other dev scores"


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
    of_plan = sweeps.plan([known, known._replace(operations=operations)]).to_dict()
    first, second = cast(list[dict[str, object]], of_plan["cohorts"])
    assert (first["wasted"], first["megabytes"], first["micro_batch"]) == (0.25, 2.0, 16)
    whole = {name: of_plan[name] for name in ("compile_seconds", "train_seconds", "wasted")}
    if operations:
        assert second == first
        assert whole == {"compile_seconds": 16.0, "train_seconds": 6.0, "wasted": 0.25}
    else:
        assert {name for name, value in second.items() if value is not None} == {"runs", "size"}
        assert {*whole.values()} == {None}


def test_report_of_a_folder_with_sweeps(
    tmp_path: Path, capsys: pytest.CaptureFixture, undrawn: None
) -> None:
    """Dies if a sweep gets a violin among seeds, or two sweeps do not share a figure of ranks."""
    folder = fabricated.fill(test_report.fill(tmp_path / "r", ["alpha"]))
    assert report([str(folder), "--save", str(tmp_path / "p.html")]) == 0
    drawn = {figure.name: figure for figure in jaxeval.load(folder).document().figures()}
    panels = ("ranks", "marginals", "dev_test", "curves")
    assert drawn.keys() == {
        "distributions_f1",
        "ranks_accuracy",
        *("id0_dev_test", "id0_curves"),
        *(f"{sweep}_{name}" for sweep in ("sweep0", "sweep1") for name in panels),
    }
    printed, html = capsys.readouterr().out, (tmp_path / "p.html").read_text()
    assert printed.count(": a random sweep\n") == 2
    assert printed.count("members: 2 diverged, 22 early stopped; each") == 2
    assert "Sweeps: score by rank" in html and "a random sweep" in html
    assert html.count("<svg") == 2 + 2 + 4 + 4
    assert {row[0] for row in drawn["distributions_f1"].rows} == {"alpha"}
    swept = {row[0] for row in drawn["ranks_accuracy"].rows}
    assert swept == {"attentive_lstm, sweep", "transformer, sweep"}
    one = jaxeval.load(fabricated.fill(tmp_path / "one", ("transformer",)))
    assert [figure.name for figure in one.document().figures()] == [*panels]  # ranks once


def test_report_of_an_unfinished_sweep_without_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture, undrawn: None
) -> None:
    """Dies if the terminal or the page shows the runs that have ended as if they were all, or a
    sweep that diverged throughout breaks them."""
    folder = fabricated.fill(tmp_path, ("transformer",), count=4)
    (folder / "sweeps").mkdir()
    (folder / "sweeps" / "sweep0.json").write_text(json.dumps({"runs": [{}] * 10}))
    with runs.open_store(folder) as store:
        ended = store.ended("sweep0").values()
        store.record(
            [dataclasses.replace(m, dev=None, test=None, status="diverged") for m in ended], []
        )
    assert report([str(folder), "--save", str(tmp_path / "p.html")]) == 0
    for text in (capsys.readouterr().out, (tmp_path / "p.html").read_text()):
        assert "6 more of its runs have not ended" in text and "4 diverged" in text
