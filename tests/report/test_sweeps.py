"""The report of sweeps: best settings, no talk of seeds, figures that two sweeps share."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from jaxeval import runs
from jaxeval.report import __main__ as verb
from jaxeval.report import page, summary, sweep_data, sweep_panels, terminal
from jaxeval.runs.records import MemberRow
from tests.report import test_report
from tests.sweep import fabricated


def _rows(folder: Path, name: str) -> list[MemberRow]:
    return [row for row in runs.load(folder) if row.name.startswith(name)]


def test_summary_of_a_sweep(tmp_path: Path) -> None:
    """Dies if the best run's setting is another's, or the runs as good as it are miscounted."""
    rows = _rows(fabricated.fill(tmp_path), "transformer")
    found = summary.of_members(rows)
    dev = [row.dev for row in rows if row.dev is not None]
    best = next(row for row in rows if row.dev == max(dev))
    assert found.sweep is not None and found.sweep.setting == json.loads(best.hparams)
    assert found.sweep.near == sum(round(1000 * (max(dev) - d), 6) <= 10 for d in dev)
    lines = list(terminal.remarks(found))
    assert lines[0].startswith("24 runs of a random sweep: 2 diverged, 22 early stopped;")
    assert lines[1] == (
        f"dev: best {100 * max(dev):.2f}, median {100 * np.median(dev):.2f}; "
        f"{found.sweep.near} of 22 runs within 1 point of the best"
    )
    assert lines[3].startswith(f"its setting: batch_size {found.sweep.setting['batch_size']}, ")


def test_near_the_best() -> None:
    """Dies if a border is lost to single precision, or losses are ranked the wrong way round."""
    scores = np.array([0.9, np.float32(0.89), 0.8899, 0.5])
    assert summary.near_best(scores, True, True, 0.01).tolist() == [True, True, False, False]
    losses = np.array([100.0, 101.0, 101.5, 90.0 + 10.5])
    assert summary.near_best(losses, False, False, 0.01).tolist() == [True, True, False, True]
    assert summary.near_best(np.zeros(0), True, True, 0.01).tolist() == []


def test_report_of_a_folder_with_sweeps(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if a sweep gets a violin among seeds, or two sweeps do not share a figure of ranks."""
    folder = fabricated.fill(test_report.fill(tmp_path / "r", ["alpha"]))
    out = tmp_path / "figures"
    assert verb.main([str(folder), "--figures", str(out)]) == 0
    stems = {path.stem for path in out.iterdir()}
    panels = ("ranks", "best_settings", "marginals", "dev_test", "curves")
    assert stems == {
        "distributions_f1",
        "ranks_accuracy",
        *("id0_dev_test", "id0_curves"),
        *(f"{sweep}_{name}" for sweep in ("sweep0", "sweep1") for name in panels),
    }
    printed, html = capsys.readouterr().out, (folder / "report.html").read_text()
    assert printed.count(": a random sweep\n") == 2
    assert printed.count("runs of a random sweep: 2 diverged") == 2
    assert "Sweeps: score by rank" in html and "transformer, sweep (random sweep)" in html
    assert html.count("<svg") == 2 + 2 + 5 + 5
    violins, ranks = page.overview(summary.by_experiment(runs.load(folder)))
    assert {row[0] for row in violins.rows} == {"alpha"}
    assert {row[0] for row in ranks.rows} == {"attentive_lstm, sweep", "transformer, sweep"}


def test_best_settings_hold_their_numbers(tmp_path: Path) -> None:
    """Dies if values of a run that is not among the best, or not active, are counted."""
    rows = _rows(fabricated.fill(tmp_path, count=60), "transformer")
    scored = [(row.dev, json.loads(row.hparams)) for row in rows if row.dev is not None]
    top = max(dev for dev, _ in scored)
    best = [drawn for dev, drawn in scored if top - dev <= 0.1]
    sweep = sweep_data.of_members(rows)
    assert sweep is not None and len(best) > 3
    figure = sweep_panels.best_settings([sweep], 0.1)
    found = {(name, part): (n, values) for _, name, part, n, values in figure.rows}
    assert {name for name, _ in found} == {one.name for one in sweep.axes}
    counts = {k: sum(drawn["heads"] == k for drawn in best) for k in (2, 4, 8)}
    shown = ", ".join(f"{k}: {n}" for k, n in counts.items())
    assert found["heads", "best"] == (len(best), shown)
    rates = np.quantile([drawn["learning_rate"] for drawn in best], [0, 0.25, 0.5, 0.75, 1])
    assert found["learning_rate", "best"][1] == " / ".join(f"{v:.4g}" for v in rates)
    warm = [d["warmup_samples"] for d in best if d["scheduler"] == "warmup"]
    assert found["warmup_samples", "best"][0] == len(warm)
    assert found["warmup_samples", "all"][0] == sum("warmup_samples" in d for _, d in scored)


@pytest.mark.parametrize("count", [1, 2, 10])
@pytest.mark.parametrize("metric", ["accuracy", "perplexity"])
def test_small_and_lower_is_better(
    tmp_path: Path, capsys: pytest.CaptureFixture, count: int, metric: str
) -> None:
    """Dies if a sweep that has just begun, or of a loss, breaks the report."""
    higher = metric == "accuracy"
    fabricated.fill(tmp_path, count=count, metric=metric, higher_is_better=higher)
    assert verb.main([str(tmp_path), "--figures", str(tmp_path / "f")]) == 0
    printed = capsys.readouterr().out
    assert ("within 1 point of" if higher else "within 1 % of") in printed
    assert ("draw more runs" in printed) == (count < 5)
    rows = _rows(tmp_path, "transformer")
    sweep = sweep_data.of_members(rows)
    assert sweep is not None
    first = sweep.shown[np.argmax(sweep.gain)]
    assert first == (max if higher else min)(sweep.shown)


def test_no_run_with_a_score(tmp_path: Path) -> None:
    """Dies if a sweep that diverged throughout breaks the report."""
    folder = fabricated.fill(tmp_path, ("transformer",), count=10)
    with runs.open_store(folder) as store:
        ended = store.ended("sweep0").values()
        store.record(
            [dataclasses.replace(m, dev=None, test=None, status="diverged") for m in ended], []
        )
    assert verb.main([str(folder)]) == 0
    assert "10 diverged" in (folder / "report.html").read_text()


def test_report_of_an_unfinished_sweep(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Dies if the terminal or the page shows the runs that have ended as if they were all."""
    folder = fabricated.fill(tmp_path)
    (folder / "sweeps").mkdir()
    (folder / "sweeps" / "sweep1.json").write_text(json.dumps({"runs": [{}] * 30}))
    assert verb.main([str(folder)]) == 0
    for text in (capsys.readouterr().out, (folder / "report.html").read_text()):
        assert text.count("more of its runs have not ended") == 1
        assert "6 more of its runs have not ended" in text
