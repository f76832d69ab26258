"""A comparison as LaTeX or Markdown to paste."""

from jaxeval.report import latex_markdown
from jaxeval.report.comparison import answer, overall, tables, verdict
from jaxeval.stats.study import ScoreStudy


def sentences(study: ScoreStudy) -> list[str]:
    """The answer, warnings, direction, failed runs, verdict; or what data sets say together."""
    scale = verdict.scale_of(study)
    warned = (f"Warning: {line}" for line in study.warnings)
    known = [*warned, verdict.direction(study), *verdict.counted(study.table)]
    known = [line if line.endswith((".", "?", "!")) else f"{line}." for line in known]
    together = [*answer.sentences(study, scale), *known, *overall.headline(study, scale)]
    return together if tables.is_large(study) else [*together, *verdict.of_study(study, scale)]


def latex(study: ScoreStudy) -> str:
    """Tables to paste (booktabs), the paper's first; sentences and the signature as comments."""
    scale = verdict.scale_of(study)
    blocks = [
        latex_markdown.latex_float(*tables.paper(study, scale)),
        *(latex_markdown.latex_table(head, rows) for head, rows in tables.pasted(study, scale)),
        "\n".join(f"% {line}" for line in sentences(study)),
        f"% {verdict.signature(study)}",
    ]
    return "\n\n".join(blocks) + "\n"


def markdown(study: ScoreStudy) -> str:
    """The same for Markdown."""
    scale = verdict.scale_of(study)
    head, rows, caption = tables.paper(study, scale)
    blocks = [
        latex_markdown.markdown_table(head, rows),
        latex_markdown.escaped(caption),
        *(latex_markdown.markdown_table(head, rows) for head, rows in tables.pasted(study, scale)),
        "\n".join(f"* {latex_markdown.escaped(line)}" for line in sentences(study)),
        f"`{verdict.signature(study)}`",
    ]
    return "\n\n".join(blocks) + "\n"
