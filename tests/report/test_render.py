"""Documents as pages, Markdown and LaTeX: names as they are, whatever these would read in them."""

import ast
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from jaxeval import report
from jaxeval.report import Bold, Document, Figure, Heading, Table, plots, render

PACKAGE = Path(report.__file__).parent
NAMES = (
    "f1|macro", "$x$ and $y$", "~~old~~ ~a~", "[a](b)", "[a][b]", "[a]: b", "![a](b)", "[x] done",
    "&lt;", "# 1", "> 1", "<b>bold</b>", "*a* _b_ `c`", r"back\slash\*", "<https://a.org>",
    "[-0.12, 0.34]", "-0.5", "P(A better) [95 % CI]", "R&D 5 %", "- y", "+ y", "1. y", "12) y",
)  # fmt: skip


def test_shared_files_know_no_folder() -> None:
    """Dies if what all verbs share imports a folder, or a folder one that it does not show."""
    shared = {"document", "plots", "render", "scores", "text"}
    above = {"vectors": {"comparison"}, "runs": {"sweeps"}}
    above |= {"sensitivity": {"sweeps"}, "tuning": {"sweeps"}}
    folders = {path.stem for path in PACKAGE.iterdir() if path.suffix in ("", ".py")} - shared
    for file in PACKAGE.rglob("*.py"):
        folder = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        imported = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(
                "jaxeval.report."
            ):
                parts = str(node.module).split(".")[2:3]
                imported |= {*(parts or [alias.name for alias in node.names])}
        assert imported & folders <= above.get(folder, set()) | {folder}, file


def _texts(source: str, kind: str) -> list[str]:
    """Of all elements of a kind, as a reader of Markdown shows them; "" for other markup."""
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = markdown.parse(source)
    parts = [
        after.children or [] for before, after in itertools.pairwise(tokens) if before.type == kind
    ]
    plain = {"text", "text_special"}
    return ["".join(p.content for p in part if p.type in plain) for part in parts]


def test_markdown_shows_names_as_they_are() -> None:
    """Dies if a cell, of the head or below, or a sentence is read as markup, or if intervals, of
    which every table is full, are escaped."""
    written = render.to_markdown(Document(NAMES, [Table(NAMES, [NAMES, NAMES[::-1]])]))
    sentences, table = written[: written.index("| ")], written[written.index("| ") :]
    assert _texts(table, "th_open") == [*NAMES]
    assert _texts(table, "td_open") == [*NAMES, *NAMES[::-1]]
    assert _texts(sentences, "paragraph_open") == [*NAMES]
    assert re.search(r"(?<!\\)\$", table) is None  # GitHub's formulas
    for said in ("[-0.12, 0.34]", "0.92 [0.61, 0.99]", "95 % CI (t)", "p = .002"):
        assert f"{said}\n" == render.to_markdown(Document([said]))
    assert "**b\\***" in render.to_markdown(Document([], [Table(["a"], [[Bold("b*")]])]))


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("a > b | c < d", "a $>$ b $|$ c $<$ d"),
        ("[-0.12, -.05]", "{}[$-$0.12, $-$.05]"),
        ("-1.2e-07", "$-$1.2e$-$07"),
        ("-", "-"),
        ("bert-base-5 2019-05-01", "bert-base-5 2019-05-01"),
        ("*star", "{}*star"),
        (r"\x~^", r"\textbackslash{}x\textasciitilde{}\textasciicircum{}"),
        (Bold("0.5 ± 0.1"), r"\textbf{0.5 $\pm$ 0.1}"),
    ],
)
def test_latex_prints_what_stands_there(cell: str, written: str) -> None:
    """Dies if a first cell is read as an argument of the rule or row before it, a character is
    another one in OT1, or a negative number begins with a hyphen."""
    table = Table([cell, "n"], [[cell, "5"], ["b", cell]])
    said, _, *lines = render.to_latex(Document(["said"], [table])).splitlines()
    assert "{ll}" in render.to_latex(Document([], [table._replace(words=2)]))  # as in a terminal
    second = written.removeprefix("{}")
    assert [said, *lines[:2]] == ["% said", r"\begin{tabular}{lr}", r"\toprule"]
    assert lines[2] == rf"{written} & n \\"
    assert lines[4:6] == [rf"{written} & 5 \\", rf"b & {second} \\"]


def _figure(width: float = 4.0) -> Figure:
    drawing, axes = plots.canvas(width, 2.0)
    axes.plot([0, 1], [0, 1], color="white", linewidth=7)
    axes.scatter([0, 1], [0, 1], c=plots.COLOURS[:2], edgecolors="white")
    axes.set_ylabel("score")
    return Figure("f", "title", "caption", drawing, ("a",), [("1",)])


def test_a_figure_has_the_colours_of_its_page(tmp_path: Path) -> None:
    """Dies if letters or axes stay black, or the ground white, on a dark page; if a colour is
    named that a light or a dark page lacks; or if a file, which no page colours, has none."""
    svg = render.to_svg(_figure())
    assert not re.search("#000000|#ffffff|#dddddd", svg) and "currentColor" in svg
    assert "#d55e00" in svg  # other data keep their colours
    template = (PACKAGE / "page.css").read_text()
    named = set(re.findall(r"var\((--\w+)\)", svg + template))
    for scheme in re.findall(r":root \{(.*?)\}", template, re.DOTALL):
        assert named == set(re.findall(r"(--\w+):", scheme))
    saved, *_ = plots.save_all([_figure()], tmp_path / "new")
    assert "fill: #ffffff" in saved.read_text() and "var(" not in saved.read_text()


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


@pytest.mark.parametrize(("width", "least"), [(4.0, 230), (12.0, 691)])
def test_a_page_is_readable_offline_and_on_a_telephone(width: float, least: int) -> None:
    """Dies if a name is markup, a block or note is lost, a table or a figure makes a page of 375
    points scroll, letters of a figure become too small, or anything outside is asked for."""
    row = ["a_name_of_many_words", Bold("1 < 2"), "1,942 [1, 2]", "3 ± 1"]
    table = Table(["a_b/c", "<i>", "", ""], [row], "title_1")
    blocks = ["a line", table, Heading("<h>"), "under it"]
    html = render.to_page(
        Document(["yes & no"], blocks, ["note"], lambda: [table], figures=lambda: [_figure(width)])
    )
    boxes = _Boxes()
    boxes.feed(html)
    assert boxes.seen == {"table", "svg"} and not boxes.wide
    assert "a_<wbr>name_<wbr>of_<wbr>many_<wbr>words" in html and "<th scope" in html
    assert "<td>1,942 <wbr>[1, 2]</td><td>3 <wbr>± 1</td>" in html
    assert "a_<wbr>b/<wbr>c" in html and "<strong>1 &lt; 2</strong>" in html
    assert '<h2 id="s2">&lt;h&gt;</h2>' in html and "yes &amp; no" in html
    assert re.findall("<h([1-6])", html) == ["1", "2", "2", "3"]
    assert html.count("title_1") == 2 and html.index("a line") < html.index("under it")
    assert (
        f'class="strut" width="{least}"' in html
        and " style=" not in html
        and "<script" not in html
    )
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", html)
    rules = dict(re.findall(r"^([\w., :-]+) \{ ([^}]*)\}", html, re.MULTILINE))
    assert "nowrap" not in rules["th, td"] + rules["th"] and "nowrap" in rules["td"]


def test_terminal_and_notebook_say_the_same(capsys: pytest.CaptureFixture) -> None:
    """Dies if a part is lost, details are printed that nobody asked for, or text is markup."""
    table = Table(["[b]m[/b]", "n"], [["<x>", "1"], ["y", "22"]], "caption", words=1)
    details = ["deep"]
    document = Document(
        ["[b]yes[/b]"], [table], ["note"], lambda: details, signature="s", last=["end"]
    )
    render.to_terminal(document)
    shown = capsys.readouterr().out
    lines = [
        "[b]yes[/b]",
        "",
        "caption",
        "[b]m[/b]   n",
        "<x>        1",
        "y         22",
        "",
        "note",
    ]
    assert shown.splitlines() == [*lines, "--details prints all results", "end"]
    render.to_terminal(Document(["yes"], [Table(["m"], [[Bold("1")], ["2"]], bold="best.")]))
    assert capsys.readouterr().out.split() == ["yes", "*:", "best.", "m", "*1", "2"]
    render.to_terminal(document, details=True)
    assert "deep" in (out := capsys.readouterr().out) and out.endswith("note\ns\nend\n")
    html = render.to_notebook(document)
    assert '<td class="word">&lt;x&gt;</td><td>1</td>' in html and "<p>note</p>" in html
    assert "<caption>caption</caption>" in html and "deep" not in html
