"""A leaderboard as Markdown to paste."""

from jaxeval.report import latex_markdown
from jaxeval.report.items import boards, page, verdict
from jaxeval.stats.items import leaderboard
from jaxeval.stats.items.study import ItemStudy


def markdown(study: ItemStudy) -> str:
    """All models and tasks, what is said of all tasks, warnings and the signature."""
    table = boards.overview(leaderboard.of(study), study)
    rows = [[cell.text for cell in row] for row in table.rows]
    lines = [
        *(f"{line}." for line in verdict.directions(study)),
        table.caption,
        *(f"Warning: {line}" for line in page.warnings(study)),
        *page.headline(study),
    ]
    blocks = [
        latex_markdown.markdown_table(table.head, rows),
        "\n".join(f"* {latex_markdown.escaped(line)}" for line in lines),
        f"`{verdict.signature(study)}`",
    ]
    return "\n\n".join(blocks) + "\n"
