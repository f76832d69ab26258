"""What all pages share: colours of a light and of a dark page, and boxes for what is wide."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jaxeval import report
from jaxeval.report import __main__ as verb
from jaxeval.report import figures, page, plots
from jaxeval.report.figures import Figure
from tests.report.runs import test_report

TEMPLATE = (Path(report.__file__).parent / "page.html.jinja").read_text()


def _figure(width: float = 4.0) -> Figure:
    drawing, axes = plots.canvas(width, 2.0)
    axes.plot([0, 1], [0, 1], color="white", linewidth=7)
    axes.scatter([0, 1], [0, 1], c=plots.COLOURS[:2], edgecolors="white")
    axes.set_ylabel("score")
    return Figure("f", "title", "caption", drawing, ("a",), [("1",)])


def test_a_figure_has_the_colours_of_its_page() -> None:
    """Dies if letters or axes stay black, or the ground white, on a dark page; or if a colour is
    named that a light or a dark page does not have."""
    svg = figures.to_svg(_figure(), "salt")
    assert not re.search("#000000|#ffffff|#dddddd", svg) and "currentColor" in svg
    assert "#d55e00" in svg  # other data keep their colours
    named = set(re.findall(r"var\((--\w+)\)", svg + TEMPLATE))
    assert {"--card", "--line", "--blue"} <= named
    for scheme in re.findall(r":root \{(.*?)\}", TEMPLATE, re.DOTALL):
        assert named == set(re.findall(r"(--\w+):", scheme))


def test_a_saved_figure_is_white_for_any_page(tmp_path: Path) -> None:
    """Dies if a file, which no page gives its colours, has none."""
    svg, *_ = figures.save(_figure(), tmp_path, "f")
    assert "fill: #ffffff" in svg.read_text() and "var(" not in svg.read_text()


class _Boxes(HTMLParser):
    """Tables and figures that no box lets scroll."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wide: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "div":
            self.open.append(dict(attrs).get("class") or "")
        if tag in ("table", "svg"):
            self.seen.add(tag)
            self.wide += [] if "scroll" in self.open else [tag]

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self.open.pop()


def test_what_is_wide_scrolls_in_its_own_box(tmp_path: Path) -> None:
    """Dies if a table or a figure makes a page of 375 points scroll."""
    folder = test_report.fill(tmp_path, ["a_name_of_many_words"])
    verb.main([str(folder), "--save", str(tmp_path / "page.html")])
    html = (tmp_path / "page.html").read_text()
    boxes = _Boxes()
    boxes.feed(html)
    assert boxes.seen == {"table", "svg"} and not boxes.wide
    assert "a_<wbr>name_<wbr>of_<wbr>many_<wbr>words" in html


@pytest.mark.parametrize(("width", "least"), [(4.0, "2.40in"), (12.0, "7.20in")])
def test_a_figure_is_never_too_small_to_read(width: float, least: str) -> None:
    """Dies if letters of 8 points become letters of 3 on a telephone."""
    assert page.drawn(_figure(width), "salt")["least"] == least


def test_heads_of_tables_wrap_and_numbers_do_not() -> None:
    """Dies if a long head makes a column as wide as itself, or an interval is broken."""
    rules = dict(re.findall(r"^([\w., :-]+) \{ ([^}]*)\}", TEMPLATE, re.MULTILINE))
    assert "nowrap" not in rules["th, td"] + rules["th"] and "nowrap" in rules["td"]
    assert page._breakable("a_b/<c>, d_") == "a_<wbr>b/&lt;c&gt;, d_"
