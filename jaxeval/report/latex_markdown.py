"""Tables and text as LaTeX or Markdown."""

import re
from collections.abc import Sequence

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {c: f"${c}$" for c in "<>|"}  # other characters in OT1, LaTeX's first encoding
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)
_MINUS = re.compile(r"(?<![\w.-])-(?=\.?\d)|(?<=\de)-(?=\d)")  # of numbers, not of names
# brackets, which intervals have too, only where they make a link or a box to tick
_MARKDOWN = re.compile(r"[\\|*_`<$~&]|(?<=\])[(\[:]|^[#>]|^\[(?=[ xX]\])")

Row = Sequence[str]


def latex_table(head: Row, rows: Sequence[Row]) -> str:
    """A tabular (booktabs), names to the left and numbers to the right."""

    def line(cells: Row) -> str:
        text = " & ".join(_MINUS.sub("$-$", cell.translate(_LATEX)) for cell in cells)
        # else read as an argument of the command before
        return ("{}" if text.startswith(("[", "*")) else "") + text + r" \\"

    columns = "l" + "r" * (len(head) - 1)
    body = "\n".join(map(line, rows))
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{line(head)}\n\\midrule\n{body}\n"
        "\\bottomrule\n\\end{tabular}"
    )


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def markdown_table(head: Row, rows: Sequence[Row]) -> str:
    """A table, all of whose cells are text."""
    first, *others = ([escaped(cell) for cell in row] for row in (head, *rows))
    lines = [first, ["---"] * len(head), *others]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
