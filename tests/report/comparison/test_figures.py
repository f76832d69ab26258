"""Figures of comparisons: readable with many models, and honest about a control."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from jaxeval.report.comparison import figures
from jaxeval.report.figures import Figure
from jaxeval.runs import flat, layout
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
    table = flat.read(str(path), layout.Layout(columns={"score": "f1"}))
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
    table = flat.read(str(path), layout.Layout())
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


@pytest.fixture
def long_names(tmp_path: Path) -> study.ScoreStudy:
    """Three models with long names on six data sets; lower is better, and the last is worst."""
    draw = np.random.default_rng(3)
    lines = ["model,dataset,seed,mse"]
    for m, name in enumerate(("conv" * 20, "efficientnet_v2_large_384_in21ft1k" * 2, "mlp")):
        for d in range(6):
            scores = draw.normal(1.0 + m, 0.1, 5)
            lines += [f"{name},set {d},{k},{score:.4f}" for k, score in enumerate(scores)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines))
    table = flat.read(str(path), layout.Layout(columns={"score": "mse"}))
    return study.study(table, RULES)


def test_long_names_are_within_their_figures(long_names: study.ScoreStudy) -> None:
    """Dies if a name is cut off, or violins are pressed together by their names."""
    for figure in figures.draw(long_names):
        drawing = figure.drawing
        drawing.draw_without_rendering()
        box = drawing.get_tightbbox()
        width, height = _inches(figure)
        assert box.x0 >= -0.01 and box.x1 <= width + 0.01, figure.name
        assert box.y0 >= -0.01 and box.y1 <= height + 0.01, figure.name
        panels = [axes for axes in drawing.axes if axes.axison]
        assert all(axes.get_window_extent().height > 200 for axes in panels)
        if figure.name == "violins":
            labels = [label.get_window_extent() for label in panels[0].get_xticklabels()]
            assert all(a.x1 < b.x0 for a, b in itertools.pairwise(labels))


def test_figures_say_that_lower_is_better(long_names: study.ScoreStudy) -> None:
    """Dies if the profile of the worst model is the highest, or an axis does not say it."""
    drawn = {figure.name: figure for figure in figures.draw(long_names)}
    sides = {"violins": "get_ylabel", "ecdf": "get_xlabel", "profiles": "get_xlabel"}
    for name, side in sides.items():
        panel = drawn[name].drawing.axes[0]
        assert getattr(panel, side)() == "mse (lower is better)"
    profile = drawn["profiles"]
    best, _, worst = (line.get_ydata() for line in profile.drawing.axes[0].lines)
    assert np.mean(best) > np.mean(worst) + 0.3 and np.all(np.diff(best) >= 0)
    assert profile.columns[-1] == "share at or below"
