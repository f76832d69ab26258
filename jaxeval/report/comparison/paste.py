"""A comparison as LaTeX or Markdown to paste."""

from collections.abc import Sequence

from jaxeval.report.comparison import overall, tables, verdict
from jaxeval.report.comparison.tables import Row
from jaxeval.stats.study import ScoreStudy

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"\\": r"\textbackslash{}"}
)


def sentences(study: ScoreStudy) -> list[str]:
    """The verdict; of many data sets only what they say together."""
    scale = verdict.scale_of(study)
    together = overall.headline(study, scale)
    return together if tables.is_large(study) else [*together, *verdict.of_study(study, scale)]


def latex(study: ScoreStudy) -> str:
    """Two tables to paste (booktabs), the sentences and the signature as comments."""
    scale = verdict.scale_of(study)
    blocks = [
        *(latex_table(head, rows) for head, rows in tables.pasted(study, scale)),
        "\n".join(f"% {line}" for line in sentences(study)),
        f"% {verdict.signature(study)}",
    ]
    return "\n\n".join(blocks) + "\n"


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


def markdown(study: ScoreStudy) -> str:
    """The same for Markdown."""
    scale = verdict.scale_of(study)
    blocks = [
        *(_markdown_table(head, rows) for head, rows in tables.pasted(study, scale)),
        "\n".join(f"* {escaped(line)}" for line in sentences(study)),
        f"`{verdict.signature(study)}`",
    ]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for mark in "\\|*_`<":
        text = text.replace(mark, "\\" + mark)
    return text


def _markdown_table(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, ["---"] * len(head), *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
