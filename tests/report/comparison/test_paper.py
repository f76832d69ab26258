"""The table for a paper: bold only where a model was shown to be better than all others."""

from pathlib import Path

import numpy as np
import pytest

from jaxeval.report.comparison import paste, tables, verdict
from jaxeval.report.latex_markdown import Bold
from jaxeval.runs import flat
from jaxeval.runs.layout import Layout
from jaxeval.stats import study
from jaxeval.stats.pairwise import Rules
from jaxeval.stats.study import ScoreStudy


def _study(folder: Path, means: dict[str, list[float]], seeds: int, **rules: bool) -> ScoreStudy:
    """Models with means on data sets d0, d1 ...; the same noise in all cells."""
    noise = np.random.default_rng(1).normal(0, 0.01, seeds)
    rows = [
        f"{model},d{d},{s},{mean + noise[s]:.6f}"
        for model, of in means.items()
        for d, mean in enumerate(of)
        for s in range(seeds)
    ]
    path = folder / "t.csv"
    path.write_text("model,dataset,seed,f1\n" + "\n".join(rows))
    return study.study(flat.read(str(path), Layout(**rules)), Rules(resamples=99))


def _bold(of: ScoreStudy) -> set[tuple[str, str]]:
    head, rows, _ = tables.paper(of, verdict.scale_of(of))
    cells = [(row[0], name, cell) for row in rows for name, cell in zip(head, row, strict=True)]
    return {(row, name) for row, name, cell in cells if isinstance(cell, Bold)}


@pytest.mark.parametrize("higher", [True, False])
def test_the_best_is_bold_where_it_was_shown(tmp_path: Path, higher: bool) -> None:
    """Dies if the highest mean alone makes a cell bold, or ties are, or losses are turned."""
    means = {"a": [0.5, 0.5, 0.5], "b": [0.7, 0.5, 0.7], "c": [0.6, 0.501, 0.7001]}
    of = _study(tmp_path, means, 10, higher_is_better=higher)
    assert _bold(of) == ({("b", "d0")} if higher else {("a", "d0"), ("a", "d2")})
    caption = tables.caption(of)
    assert f"({'higher' if higher else 'lower'} is better) over 10 runs" in caption
    assert "(Welch's t, Bergmann-Hommel over 9 comparisons, level .05, two-sided)" in caption


def test_a_higher_mean_is_not_bold(tmp_path: Path) -> None:
    """Dies if a difference that was not shown is bold."""
    assert not _bold(_study(tmp_path, {"a": [0.5, 0.501], "b": [0.501, 0.5]}, 5))


def test_many_data_sets_go_down(tmp_path: Path) -> None:
    """Dies if a table of eight data sets is wider than a page."""
    of = _study(tmp_path, {"a": [0.5] * 8, "b": [0.7] * 8}, 10)
    head, rows, _ = tables.paper(of, verdict.scale_of(of))
    assert (len(head), len(rows)) == (3, 8)
    assert _bold(of) == {(f"d{d}", "b") for d in range(8)}


def test_one_score_a_data_set_is_shown_without_sd(tmp_path: Path) -> None:
    """Dies if single scores have an sd, or are bold without a test."""
    of = _study(tmp_path, {"a": [0.5] * 8, "b": [0.7] * 8}, 1)
    _, rows, caption = tables.paper(of, verdict.scale_of(of))
    assert "±" not in "".join(map("".join, rows)) and "none is tested" in caption
    assert not _bold(of)


def test_latex_and_markdown_hold_the_same_cells(tmp_path: Path) -> None:
    """Dies if bold, the caption or the sign is lost in one of them."""
    of = _study(tmp_path, {"a&b": [0.5], "c": [0.7]}, 10)
    cell = _bold_cell(of)
    latex, markdown = paste.latex(of), paste.markdown(of)
    assert rf"\textbf{{{cell.replace('±', '$' + chr(92) + 'pm$')}}}" in latex
    assert latex.startswith("\\begin{table}\n\\centering\n\\caption{Mean $\\pm$ sd of f1")
    assert f"**{cell}**" in markdown and "Bold: shown to be better" in markdown


def _bold_cell(of: ScoreStudy) -> str:
    _, rows, _ = tables.paper(of, verdict.scale_of(of))
    (cell,) = (cell for row in rows for cell in row if isinstance(cell, Bold))
    return cell
