"""Tables and text as LaTeX or Markdown."""

import re
from collections.abc import Sequence

from jaxeval.errors import printable, printable_lines
from jaxeval.report.document import Bold

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {c: f"${c}$" for c in "<>|"}  # other characters in OT1, LaTeX's first encoding
    | {"±": r"$\pm$"}
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
        text = " & ".join(map(_latex_cell, cells))
        # else read as an argument of the command before
        return ("{}" if text.startswith(("[", "*")) else "") + text + r" \\"

    columns = "l" + "r" * (len(head) - 1)
    body = "\n".join(map(line, rows))
    return (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{line(head)}\n\\midrule\n{body}\n"
        "\\bottomrule\n\\end{tabular}"
    )


def latex_float(head: Row, rows: Sequence[Row], caption: str) -> str:
    """The same as a table with a caption."""
    body = latex_table(head, rows)
    said = _latex_cell(caption)
    return f"\\begin{{table}}\n\\centering\n\\caption{{{said}}}\n{body}\n\\end{{table}}"


def _latex_cell(cell: str) -> str:
    text = _MINUS.sub("$-$", printable(cell).translate(_LATEX))
    return f"\\textbf{{{text}}}" if isinstance(cell, Bold) else text


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\g<0>", printable_lines(text))


def markdown_table(head: Row, rows: Sequence[Row]) -> str:
    """A table, all of whose cells are text."""
    first, *others = ([_markdown_cell(cell) for cell in row] for row in (head, *rows))
    lines = [first, ["---"] * len(head), *others]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _markdown_cell(cell: str) -> str:
    return f"**{escaped(cell)}**" if isinstance(cell, Bold) else escaped(cell)
