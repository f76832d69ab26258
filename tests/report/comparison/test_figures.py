"""Figures of comparisons: readable with many models, with the critical difference of ranks."""

import itertools

import numpy as np
import pytest

from jaxeval.report import Figure
from jaxeval.report.comparison import claims, figures
from jaxeval.stats import Rules, study
from jaxeval.stats.study import Study
from tests.stats import cubes
from tests.stats.test_datasets import DEMSAR

RULES = Rules(resamples=99)


def _study(
    names: list[str], data_sets: int, step: float, sd: float, higher: bool = True,
    control: str | None = None,
) -> Study:  # fmt: skip
    draw = np.random.default_rng(3)
    cells: dict[str, dict[str, list[float]]] = {}
    for m, name in enumerate(names):
        for d in range(data_sets):
            scores = draw.normal(0.5 + step * m, sd, 5)
            cells.setdefault(f"set {d}", {})[name] = scores.tolist()
    read = cubes.runs(cells, higher, "f1" if higher else "mse")
    return study.study(read, RULES, control=control)


def _inches(figure: Figure) -> tuple[float, float]:
    width, height = figure.drawing.get_size_inches()
    return float(width), float(height)


@pytest.mark.parametrize(("models", "data_sets"), [(12, 2), (2, 13)])
def test_many_models_and_data_sets_stay_readable(models: int, data_sets: int) -> None:
    """Dies if a figure grows without end, or a model is in none."""
    names = [f"model {m}" for m in range(models)]
    drawn = figures.draw(_study(names, data_sets, 0.005, 0.02, control="model 0"))
    assert all(max(_inches(figure)) <= 16 for figure in drawn)
    alike = [figure for figure in drawn if figure.name.startswith("violins")]
    assert [figure.name for figure in alike][:2] in (["violins"], ["violins", "violins_2"])
    rows = {row[:2] for figure in alike for row in figure.rows}
    assert rows == {(f"set {d}", name) for d in range(data_sets) for name in names}
    medians = [float(row[3]) for row in alike[0].rows]
    assert all(30 < median < 70 for median in medians)  # percent
    violins = drawn[0].drawing.axes
    assert all(len(axes.get_xticks()) <= 10 for axes in violins if axes.axison)


def _ranked(scores: np.ndarray, names: tuple[str, ...], runs: int) -> tuple[Study, Figure]:
    """The study and the diagram of scores [data sets, models], each of so many equal runs."""
    cells = {
        f"set{k}": {name: [score] * runs for name, score in zip(names, row, strict=True)}
        for k, row in enumerate(scores.tolist())
    }
    if runs > 1:
        cells["set0"][names[0]][0] += 1e-9  # else copies of one run
    whole = study.study(cubes.runs(cells), RULES)
    return whole, next(f for f in figures.draw(whole) if f.name == "critical_difference")


def test_the_critical_difference() -> None:
    """Dies if the bar is not Nemenyi's critical difference (Demsar 2006: 1.25 at .05)."""
    _, figure = _ranked(DEMSAR, ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"), 3)
    bars = [line.get_xdata() for line in figure.drawing.axes[0].lines]
    ((low, high),) = [ends for ends in bars if len(ends) == 2 and ends[0] == 1 and 2 < ends[1] < 3]
    assert high - low == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=2e-3)
    assert "on the same bar" in figure.caption and "Nemenyi" in figure.caption


@pytest.mark.parametrize(("data_sets", "test"), [(6, "t on pairs"), (7, "Wilcoxon signed-rank")])
def test_one_score_a_data_set_has_one_test(data_sets: int, test: str) -> None:
    """Dies if bars or sentences are those of Nemenyi's test, where the pairs' tests decide."""
    noise = np.random.default_rng(3).normal(0, 0.01, (data_sets, 3))
    whole, figure = _ranked(0.5 + noise + [0, 0.01, 0.1], ("a", "b", "c"), 1)
    assert [p.names for p in whole.pairs if p.shown] == [("a", "c"), ("b", "c")]
    assert whole.run_design and whole.run_design.across and whole.run_design.across.ranking
    assert whole.run_design.across.ranking.groups == (("b", "a"),)
    said = [*claims.over_data_sets(whole, whole.run_design.across)]
    assert test in figure.caption and "Nemenyi" not in f"{figure.caption} {said}"


@pytest.fixture(scope="module")
def long_names() -> Study:
    """Three models with long names on six data sets; lower is better, and the last is worst."""
    names = ["conv" * 20, "efficientnet_v2_large_384_in21ft1k" * 2, "mlp"]
    return _study(names, 6, 1.0, 0.1, higher=False)


def test_long_names_are_within_their_figures(long_names: Study) -> None:
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


def test_figures_say_that_lower_is_better(long_names: Study) -> None:
    """Dies if the axis does not say it."""
    violins, *_ = figures.draw(long_names)
    assert violins.drawing.axes[0].get_ylabel() == "mse (lower is better)"
