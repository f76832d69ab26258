"""Figures of comparisons: readable with many models, and honest about a control."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.report.comparison import figures
from jaxeval.report.figures import Figure
from jaxeval.runs import layout, tables
from jaxeval.stats import pairwise, ranking, study
from tests.stats.test_datasets import DEMSAR

RULES = pairwise.Rules(resamples=99)


def _study(
    folder: Path, models: int, datasets: int, control: str | None = None
) -> study.ScoreStudy:
    draw = np.random.default_rng(3)
    lines = ["model,dataset,seed,f1"]
    for m in range(models):
        for d in range(datasets):
            scores = draw.normal(0.5 + 0.005 * m, 0.02, 5)
            lines += [f"model {m},set {d},{k},{score:.4f}" for k, score in enumerate(scores)]
    path = folder / "scores.csv"
    path.write_text("\n".join(lines))
    table = tables.read(str(path), layout.Layout(columns={"score": "f1"}))
    return study.study(table, RULES, control=control)


def _inches(figure: Figure) -> tuple[float, float]:
    width, height = figure.drawing.get_size_inches()
    return float(width), float(height)


@pytest.mark.parametrize(("models", "datasets"), [(30, 2), (3, 30)])
def test_many_models_and_data_sets_stay_readable(
    tmp_path: Path, models: int, datasets: int
) -> None:
    """Dies if a figure grows without end, or a model is in none."""
    control = "model 0" if models == 30 else None  # fewer pairs to test
    whole = _study(tmp_path, models, datasets, control)
    drawn = figures.draw(whole)
    assert all(max(_inches(figure)) <= 16 for figure in drawn)
    for kind in ("violins", "ecdf"):
        alike = [figure for figure in drawn if figure.name.startswith(kind)]
        assert [figure.name for figure in alike][:2] in ([kind], [kind, f"{kind}_2"])
        rows = {row[:2] for figure in alike for row in figure.rows}
        assert rows == {(f"set {d}", f"model {m}") for d in range(datasets) for m in range(models)}
    violins = drawn[0].drawing.axes
    assert all(len(axes.get_xticks()) <= 10 for axes in violins if axes.axison)


def test_interval_of_a_control(tmp_path: Path) -> None:
    """Dies if the interval is not Bonferroni and Dunn's, or drawn without a control."""
    assert ranking.bonferroni_dunn(14, 4) == pytest.approx(2.394 * (20 / 84) ** 0.5, abs=1e-3)
    names = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
    path = tmp_path / "demsar.csv"
    rows = [f"set{k}," + ",".join(map(str, scores)) for k, scores in enumerate(DEMSAR)]
    path.write_text("\n".join(["dataset," + ",".join(names), *rows]))
    table = tables.read(str(path), layout.Layout())
    for control, width in (("C4.5", 0.857 + 1.168), (None, None)):
        whole = study.study(table, RULES, control=control)
        figure = next(f for f in figures.draw(whole) if f.name == "critical_difference")
        lines = [line for line in figure.drawing.axes[0].lines if line.get_gid() == "control"]
        if width is None:
            assert lines == [] and "joined by a bar" in figure.caption
            continue
        (line,) = lines
        low, high = line.get_xdata()  # of 3.143 +- 1.168, cut off at the last rank, 4
        assert (low, high) == pytest.approx((3.143 - 1.168, 4.0), abs=1e-3)
        assert high - low == pytest.approx(width, abs=1e-3)
        assert "Bonferroni-Dunn" in figure.caption and "control C4.5" in figure.caption
        (band,) = figure.drawing.axes[0].patches
        assert band.get_x() == pytest.approx(low)
