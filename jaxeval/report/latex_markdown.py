"""Tables and text as LaTeX or Markdown."""

from collections.abc import Sequence

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)


Row = Sequence[str]


def latex_table(head: Row, rows: Sequence[Row]) -> str:
    """A tabular (booktabs), names to the left and numbers to the right."""

    def line(cells: Row) -> str:
        return " & ".join(cell.translate(_LATEX).replace("<", "$<$") for cell in cells) + r" \\"

    columns = "l" + "r" * (len(head) - 1)
    body = "\n".join(map(line, rows))
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{line(head)}\n\\midrule\n{body}\n"
        "\\bottomrule\n\\end{tabular}"
    )


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for mark in "\\|*_`<":
        text = text.replace(mark, "\\" + mark)
    return text


def markdown_table(head: Row, rows: Sequence[Row]) -> str:
    """A table, all of whose cells are text."""
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
