"""Parts of figures: long names, letters of any script, marks that hide nothing."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgba

from jaxeval.report import figures, glyphs, plots
from jaxeval.report.figures import Figure

LONG = "roberta-large-finetuned-on-mnli-then-sst2-lr2e-5-bs32-warmup"


@pytest.mark.parametrize("letters", [10, 14, 24])
def test_names_are_wrapped_not_cut(letters: int) -> None:
    """Dies if a line is too long, a name loses letters, or breaks where a separator is near."""
    lines = plots.wrapped(LONG, 24).split("\n")
    assert lines == ["roberta-large-finetuned-", "on-mnli-then-sst2-lr2e-", "5-bs32-warmup"]
    for name in ("x" * 4 * letters, "a_" * letters, "short"):
        lines = plots.wrapped(name, letters).split("\n")
        assert "".join(lines) == name and max(map(len, lines)) <= letters
    assert max(map(len, plots.wrapped("模型" * 8, letters).split("\n"))) <= letters // 2
    very_long = plots.wrapped("a" * 500 + "z", 10).split("\n")
    assert len(very_long) == 5 and very_long[2] == "\u2026" and very_long[-1].endswith("z")
    assert plots.wrapped("$x$", 2) == "\\$x\n\\$"  # no formula, no lone backslash


def test_legends_of_long_names_leave_room() -> None:
    """Dies if a legend is wider than its drawing, or takes the panel's height."""
    drawing, panel = plots.canvas(4.2, 3.6)
    plots.legend(drawing, plots.lines({f"{LONG}-{k}": k for k in range(8)}))
    drawing.draw_without_rendering()
    legend = drawing.legends[0].get_window_extent()
    assert legend.x0 >= 0 and legend.x1 <= drawing.bbox.x1
    assert panel.get_window_extent().height > 2.0 * drawing.dpi


@pytest.mark.parametrize("count", [8, 200])
def test_no_mark_hides_the_median(count: int) -> None:
    """Dies if marks are drawn above the quartiles and the median."""
    _, panel = plots.canvas(3.0, 3.0)
    values = np.random.default_rng(0).normal(size=count)
    plots.violin(panel, 0.0, values, plots.colour(0), plots.marker(0))
    marks = panel.collections[-1]
    assert len(marks.get_offsets()) == count
    white = [line for line in panel.lines if to_rgba(line.get_color()) == to_rgba("white")]
    assert white[-1].get_ydata() == pytest.approx([np.median(values)] * 2)
    assert all(line.get_zorder() > marks.get_zorder() for line in panel.lines)


def _named(name: str) -> Figure:
    drawing, panel = plots.canvas(3.0, 3.0)
    panel.set_xticks([0.5], [name])
    return Figure("named", "", "", drawing, (), ())


def test_letters_that_no_font_has_are_told_once(
    tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    """Dies if each letter is warned of, by matplotlib and for every file, or none is."""
    glyphs._tell.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            figures.save(_named("x\U0001f9ec\uf8fe é"), tmp_path, "named")  # in private use
            figures.to_svg(_named("x\U0001f9ec\uf8fe é"), "salt")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("figures: no installed font has ") and "\uf8fe" in line
    assert "é" not in line


def test_other_fonts_have_the_letters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Dies if an installed font with the letters is not taken."""
    letters, own = glyphs._letters, font_manager.findfont(font_manager.FontProperties())
    serif = font_manager.findfont("DejaVu Serif")
    has = {str(own): letters(own) - {"é"}, str(serif): frozenset("é")}
    monkeypatch.setattr(glyphs, "_letters", lambda path: has.get(str(path), frozenset()))
    glyphs._families.cache_clear()
    figure = _named("café")
    figures.save(figure, tmp_path, "named")
    glyphs._families.cache_clear()
    label = figure.drawing.axes[0].get_xticklabels()[0]
    assert label.get_fontfamily() == ["sans-serif", "DejaVu Serif"]
