"""A document on a terminal, as a page, in Markdown, in LaTeX, in a notebook."""

import html
import itertools
from collections.abc import Iterator, Sequence

from jaxeval.report import folding, latex_markdown, page, tables
from jaxeval.report.document import Block, Document, Heading, Table


def to_terminal(document: Document, details: bool = False, stderr: bool = False) -> None:
    """Prints the answer, the blocks, the notes folded by kind, the signature.

    Args:
      details: print all that was computed, and all notes.
    """
    console = tables.console(stderr)
    for line in document.answer:
        console.print(line, style="bold")
    every = [*document.blocks, *(document.details if details else ())]
    for before, block in itertools.pairwise([*document.answer[-1:], *every]):
        if not (isinstance(before, str | Heading) and isinstance(block, str)):
            console.print()
        if isinstance(block, Table):
            if block.title:
                console.print(block.title)
            tables.print_table(console, block.columns, block.rows, range(block.words))
        elif isinstance(block, Heading):
            console.print(block.text, style="bold")
        else:
            console.print(block)
    notes = folding.lines(document.notes, document.noun, details)
    if notes:
        console.print()
    for note in notes:
        console.print(note, style="yellow")
    behind = [] if details or not document.details else ["--details prints all that was computed"]
    for line in [document.signature] if details and document.signature else behind:
        console.print(line, style="dim")
    for line in document.last:
        console.print(line)


def to_text(document: Document) -> str:
    """The sentences alone."""
    return "\n".join(document.answer)


def to_page(document: Document) -> str:
    """One HTML file without scripts, which opens offline: all that is known, with figures."""
    figures = [page.drawn(figure, f"{figure.name}") for figure in document.figures()]
    return page.render(
        "document.html.jinja",
        document=document,
        sections=[*_sections([*document.blocks, *document.details])],
        figures=figures,
    )


def _sections(blocks: Sequence[Block]) -> Iterator[dict[str, object]]:
    """Blocks by heading; lines in a row are one list."""
    title, parts = "", list[dict[str, object]]()
    for kind, group in itertools.groupby(blocks, type):
        if kind is Heading:
            if title or parts:
                yield {"title": title, "parts": parts}
            title, parts = [*group][-1].text, []  # type: ignore[union-attr]
        elif kind is Table:
            parts += [{"table": table} for table in group]
        else:
            parts.append({"lines": [*group]})
    yield {"title": title, "parts": parts}


def to_notebook(document: Document) -> str:
    """The answer, the tables and the notes as HTML; all text is escaped."""
    parts = [_paragraphs(document.answer)]
    for block in document.blocks:
        if isinstance(block, Table):
            parts.append(_html_table(block))
        else:
            parts.append(_paragraphs([block.text if isinstance(block, Heading) else block]))
    return "".join([*parts, _paragraphs(folding.lines(document.notes, document.noun))])


def _html_table(table: Table) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in table.rows)
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    return (
        f"<table>{caption}<thead>{row('th', table.columns)}</thead><tbody>{body}</tbody></table>"
    )


def _paragraphs(lines: Sequence[str]) -> str:
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def to_markdown(document: Document) -> str:
    """Tables and sentences to paste."""
    parts = []
    for table in _paper(document):
        parts.append(latex_markdown.markdown_table(table.columns, table.rows))
        if table.title:
            parts.append(latex_markdown.escaped(table.title))
    said = [*document.answer, *folding.lines(document.notes, document.noun)]
    parts.append("\n".join(f"* {latex_markdown.escaped(line)}" for line in said))
    parts += [f"`{document.signature}`"] if document.signature else []
    return "\n\n".join(parts) + "\n"


def to_latex(document: Document) -> str:
    """Tables to paste (booktabs); sentences and the signature as comments."""
    parts = [
        latex_markdown.latex_float(table.columns, table.rows, table.title)
        if table.title
        else latex_markdown.latex_table(table.columns, table.rows)
        for table in _paper(document)
    ]
    said = [*document.answer, *folding.lines(document.notes, document.noun), document.signature]
    return "\n\n".join([*parts, "\n".join(f"% {line}" for line in said if line)]) + "\n"


def _paper(document: Document) -> Sequence[Table]:
    return document.paper or [block for block in document.blocks if isinstance(block, Table)]
