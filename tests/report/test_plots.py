"""Parts of figures: long names, letters of any script, marks that hide nothing."""

import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from jaxeval.report import Figure, plots, render

LONG = "roberta-large-finetuned-on-mnli-then-sst2-lr2e-5-bs32-warmup"


@pytest.mark.parametrize("letters", [10, 14, 24])
def test_names_are_wrapped_not_cut(letters: int) -> None:
    """Dies if a line is too long, a name loses letters, or breaks where a separator is near."""
    lines = plots.wrapped(LONG, 24).split("\n")
    assert lines == ["roberta-large-finetuned-", "on-mnli-then-sst2-lr2e-", "5-bs32-warmup"]
    for name in ("x" * 4 * letters, "a_" * letters, "short"):
        lines = plots.wrapped(name, letters).split("\n")
        assert "".join(lines) == name and max(map(len, lines)) <= letters
    very_long = plots.wrapped("a" * 500 + "z", 10).split("\n")
    assert len(very_long) == 5 and very_long[2] == "\u2026" and very_long[-1].endswith("z")
    assert plots.wrapped("$x$", 2) == "\\$x\n\\$"  # no formula, no lone backslash


@pytest.mark.parametrize(("low", "high"), [(0.001698, 0.002496), (0.001, 0.0099), (1e-4, 0.1)])
def test_labels_of_a_log_axis_do_not_overlap(low: float, high: float) -> None:
    """Dies if a range within a decade has matplotlib's labels, one beside the other."""
    drawing, panel = plots.canvas(2.5, 2.4)
    panel.scatter([low, high], [0.0, 1.0])
    plots.log_axis(panel, low, high)
    drawing.draw_without_rendering()
    labels = [*panel.get_xticklabels(), *panel.get_xticklabels(minor=True)]
    boxes = sorted(
        of.get_window_extent().extents[[0, 2]].tolist() for of in labels if of.get_text()
    )
    assert len(boxes) > 1 and all(a[1] < b[0] for a, b in itertools.pairwise(boxes))


def test_legends_of_long_names_leave_room() -> None:
    """Dies if a legend is wider than its drawing, or takes the panel's height."""
    drawing, panel = plots.canvas(4.2, 3.6)
    plots.legend(drawing, {f"{LONG}-{k}": plots.line_style(k) for k in range(8)})
    drawing.draw_without_rendering()
    legend = drawing.legends[0].get_window_extent()
    assert legend.x0 >= 0 and legend.x1 <= drawing.bbox.x1
    assert panel.get_window_extent().height > 2.0 * drawing.dpi


@pytest.mark.parametrize("count", [3, 200, 2000])
def test_no_mark_hides_the_median(count: int) -> None:
    """Dies if marks are drawn above the quartiles and the median, or these are those of the marks
    where these are fewer than the scores."""
    values = np.random.default_rng(0).normal(size=count)
    ((drawing, _),) = plots.violins({"": [("a", {0: values, 1: values[:0]})]}, "score")
    (panel,) = drawing.axes
    _density, marks = panel.collections
    assert len(marks.get_offsets()) == min(count, 500)
    assert np.max(marks.get_offsets()[:, 0]) < 0 < panel.get_xlim()[1]  # the first one is left
    assert panel.get_xticklabels()[0].get_text() == f"a\n(n = {count} and 0)"
    white = [line for line in panel.lines if to_rgba(line.get_color()) == to_rgba("white")]
    assert white[-1].get_ydata() == pytest.approx([np.median(values)] * 2)
    assert all(line.get_zorder() > marks.get_zorder() for line in panel.lines)


def test_letters_without_a_font_are_boxes(tmp_path: Path) -> None:
    """Dies if a name of any script, or a control character, warns or breaks a figure."""
    drawing, panel = plots.canvas(3.0, 3.0)
    panel.set_title("x\U0001f9ec\uf8fe \x01")
    figure = Figure("named", "", "", drawing, (), ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots.save_all([figure], tmp_path)
        assert "\x01" not in render.to_svg(figure)
