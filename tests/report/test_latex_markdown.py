"""Tables to paste: names as they are, whatever LaTeX or Markdown would read in them."""

import itertools
import re

import pytest
from markdown_it import MarkdownIt

from jaxeval.report import latex_markdown

NAMES = (
    "f1|macro", "$x$ and $y$", "~~old~~ ~a~", "[a](b)", "[a][b]", "[a]: b", "![a](b)", "[x] done",
    "&lt;", "# 1", "> 1", "<b>bold</b>", "*a* _b_ `c`", r"back\slash\*", "<https://a.org>",
    "[-0.12, 0.34]", "-0.5", "P(A better) [95 % CI]", "R&D 5 %",
)  # fmt: skip


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
    """Dies if a cell, of the head or below, or a sentence is read as markup."""
    table = latex_markdown.markdown_table(NAMES, [NAMES, NAMES[::-1]])
    assert _texts(table, "th_open") == [*NAMES]
    assert _texts(table, "td_open") == [*NAMES, *NAMES[::-1]]
    sentences = "\n".join(f"* {latex_markdown.escaped(name)}" for name in NAMES)
    assert _texts(sentences, "paragraph_open") == [*NAMES]
    assert re.search(r"(?<!\\)\$", table) is None  # GitHub's formulas


def test_markdown_leaves_numbers_readable() -> None:
    """Dies if intervals, of which every table is full, are escaped."""
    for said in ("[-0.12, 0.34]", "0.92 [0.61, 0.99]", "95 % CI (t)", "p = .002"):
        assert latex_markdown.escaped(said) == said


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("a > b | c < d", "a $>$ b $|$ c $<$ d"),
        ("-0.12", "$-$0.12"),
        ("[-0.12, -.05]", "{}[$-$0.12, $-$.05]"),
        ("-1.2e-07", "$-$1.2e$-$07"),
        ("-", "-"),
        ("bert-base-5 2019-05-01", "bert-base-5 2019-05-01"),
        ("*star", "{}*star"),
        ("[v2]", "{}[v2]"),
        (r"\x~^", r"\textbackslash{}x\textasciitilde{}\textasciicircum{}"),
    ],
)
def test_latex_prints_what_stands_there(cell: str, written: str) -> None:
    """Dies if a first cell is read as an argument of the rule or row before it, a character is
    another one in OT1, or a negative number begins with a hyphen."""
    lines = latex_markdown.latex_table([cell, "n"], [[cell, "5"], ["b", cell]]).splitlines()
    second = written.removeprefix("{}")
    assert lines[2] == rf"{written} & n \\"
    assert lines[4:6] == [rf"{written} & 5 \\", rf"b & {second} \\"]
