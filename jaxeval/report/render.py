"""A document on a terminal, as a page, in a notebook, in Markdown and in LaTeX."""

import errno
import html
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jaxeval.errors import printable, printable_lines
from jaxeval.report import figures, folding
from jaxeval.report.document import Block, Bold, Document, Heading, Table

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Console

_WIDEST = 400  # columns of a printed table, which is wider than the terminal rather than cut
_WIDE = 9.0  # inches; from here a figure gets the width of the page
_SMALLEST = 0.6  # of its size: a figure scrolls where it would be smaller, as its letters would be
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


def _console(stderr: bool) -> "Console":
    from rich.console import Console

    class Piped(Console):
        """Leaves a pipe without a reader to `cli.run`; rich would exit with 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError(errno.EPIPE, "the reader has gone")

        def print(self, *objects: Any, **how: Any) -> None:
            """Names may hold control characters, which a terminal would obey: they are escaped."""
            shown = (printable_lines(of) if isinstance(of, str) else of for of in objects)
            super().print(*shown, **how)

    of = Piped(markup=False, emoji=False, highlight=False, stderr=stderr)
    of.soft_wrap = not of.is_terminal  # lines are whole in a file, and end with words on a screen
    return of


def _print_table(console: "Console", of: Table) -> None:
    """Columns of words to the left, numbers to the right."""
    from rich.table import Table as Grid
    from rich.text import Text

    if of.title:
        console.print(of.title)
    grid = Grid(box=None, pad_edge=False)
    for k, name in enumerate(of.columns):
        justify: Any = "left" if k < of.words else "right"
        grid.add_column(Text(printable_lines(name)), justify=justify, no_wrap=True)
    for row in of.rows:
        grid.add_row(*(Text(printable_lines(cell)) for cell in row))
    width = console.width
    console.width = max(width, _WIDEST)
    console.print(grid)
    console.width = width


def to_terminal(document: Document, details: bool = False, stderr: bool = False) -> None:
    """Prints the answer, the blocks, the notes folded by kind, the signature.

    Args:
      details: print all that was computed, and all notes.
    """
    console = _console(stderr)
    for line in document.answer:
        console.print(line, style="bold")
    every = [*document.blocks, *(document.details if details else ())]
    for before, block in itertools.pairwise([*document.answer[-1:], *every]):
        if not (isinstance(before, str | Heading) and isinstance(block, str)):
            console.print()
        if isinstance(block, Table):
            _print_table(console, block)
        elif isinstance(block, Heading):
            console.print(block.text, style="bold")
        else:
            console.print(block)
    notes = folding.lines(document.notes, document.noun, details)
    for line in [*([""] if notes else []), *notes]:
        console.print(line, style="yellow")
    behind = [] if details or not document.details else ["--details prints all that was computed"]
    for line in [document.signature] if details and document.signature else behind:
        console.print(line, style="dim")
    for line in document.last:
        console.print(line)


def to_page(document: Document) -> str:
    """One HTML file without scripts, which opens offline: all that is known, with figures."""
    import jinja2

    loader = jinja2.PackageLoader("jaxeval.report", ".")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["breakable"] = _breakable
    environment.tests["bold"] = lambda cell: isinstance(cell, Bold)
    drawn = []
    for figure in document.figures():
        width = figure.drawing.get_figwidth()
        size = {"wide": width > _WIDE, "least": f"{_SMALLEST * width:.2f}in"}
        drawn.append(figure._asdict() | {"svg": figures.to_svg(figure, figure.name)} | size)
    sections = [*_sections([*document.blocks, *document.details])]
    template = environment.get_template("page.html.jinja")
    return printable_lines(template.render(document=document, sections=sections, figures=drawn))


def _breakable(name: object) -> "Markup":
    """A name that may go on in the next line after _, / and a comma."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?<=[_/,])(?=\w)", "<wbr>", str(escape(name))))


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

    def row(tag: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

    parts = []
    notes = folding.lines(document.notes, document.noun)
    for block in [*document.answer, *document.blocks, *notes]:
        if not isinstance(block, Table):
            line = block.text if isinstance(block, Heading) else block
            parts.append(f"<p>{html.escape(line)}</p>")
            continue
        title = f"<caption>{html.escape(block.title)}</caption>" if block.title else ""
        body = "".join(row("td", cells) for cells in block.rows)
        head = f"<thead>{row('th', block.columns)}</thead>"
        parts.append(f"<table>{title}{head}<tbody>{body}</tbody></table>")
    return "".join(parts)


def to_markdown(document: Document) -> str:
    """Tables and sentences to paste."""
    parts = []
    for table in _paper(document):
        first, *others = (
            [_markdown(cell) for cell in row] for row in (table.columns, *table.rows)
        )
        lines = [first, ["---"] * len(first), *others]
        parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
        parts += [_markdown(table.title)] if table.title else []
    said = [*document.answer, *folding.lines(document.notes, document.noun)]
    parts.append("\n".join(f"* {_markdown(line)}" for line in said))
    parts += [f"`{document.signature}`"] if document.signature else []
    return "\n\n".join(parts) + "\n"


def _markdown(cell: str) -> str:
    """Text that Markdown shows as it is."""
    text = _MARKDOWN.sub(r"\\\g<0>", printable_lines(cell))
    return f"**{text}**" if isinstance(cell, Bold) else text


def to_latex(document: Document) -> str:
    """Tables to paste (booktabs); sentences and the signature as comments."""
    parts = []
    for table in _paper(document):
        head, *rows = map(_latex_row, (table.columns, *table.rows))
        columns = "l" + "r" * (len(table.columns) - 1)
        text = f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\n\\midrule\n"
        text += "\n".join([*rows, "\\bottomrule\n\\end{tabular}"])
        if table.title:
            caption = f"\\caption{{{_latex(table.title)}}}"
            text = f"\\begin{{table}}\n\\centering\n{caption}\n{text}\n\\end{{table}}"
        parts.append(text)
    said = [*document.answer, *folding.lines(document.notes, document.noun), document.signature]
    return "\n\n".join([*parts, "\n".join(f"% {printable(of)}" for of in said if of)]) + "\n"


def _latex_row(cells: Sequence[str]) -> str:
    text = " & ".join(map(_latex, cells))
    # else read as an argument of the command before
    return ("{}" if text.startswith(("[", "*")) else "") + text + r" \\"


def _latex(cell: str) -> str:
    text = _MINUS.sub("$-$", printable(cell).translate(_LATEX))
    return f"\\textbf{{{text}}}" if isinstance(cell, Bold) else text


def _paper(document: Document) -> Sequence[Table]:
    return document.paper or [block for block in document.blocks if isinstance(block, Table)]
